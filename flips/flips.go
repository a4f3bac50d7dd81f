// Package flips holds the status changes of a check and the query that selects some of them.
//
// A [Flip] is a change between up and down (server/API.md section 2.3). A [Window] is the time filter of the list of
// flips (section 4.10). [ParseWindow] reads one from query parameters; code can also make one:
//
//	w := flips.Window{Last: time.Hour}
//	after, before := w.Bounds(now)
//	// A store selects the flips with after < at and at < before.
//	// A bound that is the zero time does not apply.
//
// [Downtime] says how long a check was up, down and neither in a span of time, and [Split] in each of several spans, such
// as the days of a zone ([Days]). [Times.Availability] is the share of the watched time in which it was up.
//
// [RetentionBoundary] is the instant before which flips may be removed (section 8).
//
// The package is pure: the current time is always an argument. It is safe for concurrent use. Instants of flips are in
// UTC and whole microseconds, which is what databases keep.
package flips

import "time"

// A Flip is the moment at which a check went up or went down.
type Flip struct {
	// At is when the status changed, in UTC and whole microseconds. For an overdue ping it is the deadline.
	At time.Time
	// Up is true if the check went up, false if it went down.
	Up bool
}

// retentionMonths is how many full months of flips are kept besides the current one (server/API.md section 8).
const retentionMonths = 2

// RetentionBoundary returns the instant before which flips may be removed: the start, in UTC, of the month two before
// that of now. A flip at the boundary is kept. This keeps the current month and two full months (server/API.md sections
// 4.10 and 8).
func RetentionBoundary(now time.Time) time.Time {
	year, month, _ := now.UTC().Date()
	return time.Date(year, month-retentionMonths, 1, 0, 0, 0, 0, time.UTC)
}
