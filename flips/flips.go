// Package flips holds the status changes of a check and the query that picks
// some of them.
//
// A [Flip] is one change between up and down (API-V3.md section 2.3). A
// [Window] is the time filter of the list of flips (section 4.10); it is read
// from query parameters by [ParseWindow], or made in code:
//
//	w := flips.Window{Seconds: new(int64(3600))} // the last hour
//	after, before := w.Bounds(now)
//	// a store selects the flips with after < at and at < before,
//	// leaving out the condition of a bound that is the zero time
//
// Flips are kept for a limited time: [RetentionBoundary] is the instant before
// which they may be removed (section 8).
//
// The package is pure: the current time is always an argument, and everything
// in it can be used by several goroutines at once. Instants of flips are whole
// microseconds in UTC, which is what databases keep.
package flips

import "time"

// A Flip is the moment at which a check went up or went down.
type Flip struct {
	// At is when the status changed, in UTC and in whole microseconds. For a
	// check that went down because a ping was overdue it is the deadline.
	At time.Time
	// Up is true when the check went up, false when it went down.
	Up bool
}

// retentionMonths is how many full months of flips are kept beside the current
// one: API-V3.md section 8.
const retentionMonths = 2

// RetentionBoundary returns the instant before which flips may be removed: the
// start, in UTC, of the month two before the month of now. The flips of the
// current month and of the two full months before it are kept (API-V3.md
// sections 4.10 and 8). A flip at the boundary itself is kept.
func RetentionBoundary(now time.Time) time.Time {
	year, month, _ := now.UTC().Date()
	return time.Date(year, month-retentionMonths, 1, 0, 0, 0, 0, time.UTC)
}
