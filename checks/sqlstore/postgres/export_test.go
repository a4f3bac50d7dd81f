package postgres

// ParseURL exports parseURL.
var ParseURL = parseURL

// Elsewhere exports elsewhere.
var Elsewhere = elsewhere
