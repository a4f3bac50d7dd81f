package flips

import "time"

// A Window selects flips by time (server/API.md section 4.10). A flip is in the window if it satisfies every bound that
// is set. Contradicting bounds are no error; the window is empty. The zero value has no bounds.
type Window struct {
	// Last, unless zero, selects flips that are at most that old.
	Last time.Duration
	// Start, unless zero, selects flips newer than it. A flip at Start is not in the window.
	Start time.Time
	// End, unless zero, selects flips older than it. A flip at End is not in the window.
	End time.Time
}

// Bounds returns the window as bounds for the query of a store: after < At and At < before, both strict. A bound that
// is the zero time does not apply.
//
// The bounds are in UTC and whole microseconds, as instants of flips are, so a database that cuts to microseconds does
// not change their meaning. The inclusive lower bound of Last becomes the microsecond before it.
func (w Window) Bounds(now time.Time) (after, before time.Time) {
	if !w.Start.IsZero() {
		// An At in whole microseconds is after Start if it is after Start cut to microseconds.
		after = w.Start.UTC().Truncate(time.Microsecond)
	}
	if w.Last != 0 {
		since := ceil(now.UTC().Add(-w.Last)).Add(-time.Microsecond)
		if after.IsZero() || since.After(after) {
			after = since
		}
	}
	if !w.End.IsZero() {
		before = ceil(w.End.UTC())
	}
	return after, before
}

// Contains reports whether a flip at the given instant is in the window. It cuts the instant to whole microseconds, as
// a store does.
func (w Window) Contains(at, now time.Time) bool {
	at = at.Truncate(time.Microsecond)
	after, before := w.Bounds(now)
	return (after.IsZero() || at.After(after)) && (before.IsZero() || at.Before(before))
}

// ceil rounds t up to a whole microsecond.
func ceil(t time.Time) time.Time {
	whole := t.Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return whole
}
