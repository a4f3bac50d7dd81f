package checks

// MaxLate exports maxLate.
const MaxLate = maxLate
