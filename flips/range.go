package flips

import "time"

// A Range selects flips by time: those with From <= At < Until that are at most Last old. A bound that is zero does not
// apply, so the zero value selects all flips. Bounds that exclude each other are no error: no flip is in the range.
type Range struct {
	// Last, unless zero, selects flips that are at most that old.
	Last time.Duration
	// From, unless zero, is the start of the range. A flip at From is in it.
	From time.Time
	// Until, unless zero, is the end of the range. A flip at Until is not in it.
	Until time.Time
}

// Bounds returns the range as bounds for the query of a store: from <= At and At < until. A bound that is the zero time
// does not apply.
//
// The bounds are in UTC and whole microseconds, as instants of flips are, so a database that cuts to microseconds does
// not change their meaning.
func (r Range) Bounds(now time.Time) (from, until time.Time) {
	if !r.From.IsZero() {
		from = ceil(r.From.UTC())
	}
	if r.Last != 0 {
		if since := ceil(now.UTC().Add(-r.Last)); from.IsZero() || since.After(from) {
			from = since
		}
	}
	if !r.Until.IsZero() {
		until = ceil(r.Until.UTC())
	}
	return from, until
}

// Contains reports whether a flip at the given instant is in the range. It cuts the instant to whole microseconds, as
// a store does.
func (r Range) Contains(at, now time.Time) bool {
	at = at.Truncate(time.Microsecond)
	from, until := r.Bounds(now)
	return (from.IsZero() || !at.Before(from)) && (until.IsZero() || at.Before(until))
}

// ceil rounds t up to a whole microsecond.
func ceil(t time.Time) time.Time {
	whole := t.Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return whole
}
