// Package flips holds the status changes of a check and the query that selects some of them.
//
// A [Flip] is a change between up and down, with its [Reason] (section 2.3 of the [API]). A [Range] selects flips by
// time. It contains its start and not its end, so each flip is in one of two adjacent windows:
//
//	monday := flips.Range{From: midnight, Until: midnight.AddDate(0, 0, 1)}
//	recent := flips.Range{Last: time.Hour}
//
// [Downtime] says how long a check was up, down and neither in a span of time, and [Split] in each of several spans, such
// as days. [Times.Availability] is the share of the watched time in which it was up.
//
// [RetentionBoundary] is the instant before which flips may be removed (section 8).
//
// The package is pure: the current time is always an argument. It is safe for concurrent use. Instants of flips are in
// UTC and whole microseconds, which is what databases keep.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package flips

import "time"

// A Flip is the moment at which a check went up or went down.
type Flip struct {
	// At is when the status changed, in UTC and whole microseconds. For an overdue ping it is the deadline.
	At time.Time
	// Up is true if the check went up, false if it went down.
	Up bool
	// Reason is why the check went up or down. It is "" from a client, because the API does not tell it.
	Reason Reason
}

// A Reason says why a check went up or down.
type Reason string

// The reasons of a flip. A check goes up by a success and goes down by one of the others.
const (
	Success Reason = "success" // the job signalled success
	Failure Reason = "fail"    // the job signalled failure
	Overdue Reason = "overdue" // the expected ping did not arrive within the grace time
	Overrun Reason = "overrun" // a run did not end within its maximum run time, or else the grace time
)

// Words says why in the words of alerts and pages: "a run was missed". A reason of a later version is its name.
func (r Reason) Words() string {
	switch r {
	case Success:
		return "the job reported success"
	case Failure:
		return "the job reported a failure"
	case Overdue:
		return "a run was missed"
	case Overrun:
		return "a run timed out"
	}
	return string(r)
}

// retentionMonths is how many full months of flips are kept besides the current one (server/API.md section 8).
const retentionMonths = 2

// RetentionBoundary returns the instant before which flips may be removed: the start, in UTC, of the month two before
// that of now. A flip at the boundary is kept. This keeps the current month and two full months.
func RetentionBoundary(now time.Time) time.Time {
	year, month, _ := now.UTC().Date()
	return time.Date(year, month-retentionMonths, 1, 0, 0, 0, 0, time.UTC)
}
