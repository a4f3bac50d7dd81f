package flips

import (
	"math"
	"time"
)

// A Window picks flips by time: the query of API-V3.md section 4.10. A flip is
// in the window when every bound that is set holds, so bounds that contradict
// each other make a window that holds nothing; that is not an error. The zero
// value has no bounds and holds every flip.
type Window struct {
	// Seconds, unless nil, picks the flips of the last that many seconds: those
	// not older than now minus Seconds. [ParseWindow] allows 0 to [MaxSeconds];
	// a Window made in code may reach further back, up to 292 years.
	Seconds *int64
	// Start, unless the zero time, picks the flips newer than it: a flip at
	// Start itself is not in the window.
	Start time.Time
	// End, unless the zero time, picks the flips older than it: a flip at End
	// itself is not in the window.
	End time.Time
}

// Bounds returns w as one pair of bounds for the query of a store: the flips
// in the window are those with after < At and At < before, both strictly. A
// bound that is the zero time does not apply.
//
// The bounds are in UTC and whole microseconds, as instants of flips are, and
// exact for them: a bound that a database cuts to microseconds means the same
// as before. That is how the inclusive lower bound of Seconds becomes a strict
// one: "not before t" is "after the microsecond that precedes t".
func (w Window) Bounds(now time.Time) (after, before time.Time) {
	if !w.Start.IsZero() {
		// At > Start, for an At in whole microseconds, is At > Start cut to them.
		after = w.Start.UTC().Truncate(time.Microsecond)
	}
	if w.Seconds != nil {
		const limit = int64(math.MaxInt64 / time.Second)
		age := time.Duration(min(max(*w.Seconds, -limit), limit)) * time.Second
		since := ceil(now.UTC().Add(-age)).Add(-time.Microsecond)
		if after.IsZero() || since.After(after) {
			after = since
		}
	}
	if !w.End.IsZero() {
		before = ceil(w.End.UTC())
	}
	return after, before
}

// Contains reports whether a flip at the instant at is in the window. The
// instant is cut to whole microseconds first, as a store does.
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
