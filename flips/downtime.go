package flips

import (
	"slices"
	"time"
)

// Times says how a check spent a span of time. The three add up to the span.
type Times struct {
	// Up includes the grace time, in which a check still counts as up.
	Up time.Duration
	// Down begins at the failure or the missed deadline.
	Down time.Duration
	// Unwatched is when the check was neither up nor down: before its first flip, and from a pause to the next flip.
	Unwatched time.Duration
}

// Downtime returns how a check spent the time between two instants, exactly.
//
// The list has the flips of the check before to, newest first. To know the status at from, it needs the newest flip
// before from as well. A pause writes no flip, so the instants of pauses are an argument of their own, in any order. A
// pause ends at the next flip, because a check that was resumed is new until it goes up or down. Without its pause, a
// check that was paused while down counts as down until the next flip.
//
// The zero from stands for the oldest flip or pause. If from is not before to, all three times are 0.
func Downtime(list []Flip, from, to time.Time, pauses ...time.Time) Times {
	var times Times
	type change struct {
		at   time.Time
		into *time.Duration
	}
	changes := make([]change, 0, len(list)+len(pauses)+1)
	for _, f := range slices.Backward(list) {
		into := &times.Down
		if f.Up {
			into = &times.Up
		}
		changes = append(changes, change{f.At, into})
	}
	for _, at := range pauses {
		changes = append(changes, change{at, &times.Unwatched})
	}
	// A stable sort: a pause at the instant of a flip comes after it.
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	changes = append(changes, change{to, nil})
	if from.IsZero() {
		from = changes[0].at
	}
	into := &times.Unwatched
	for _, c := range changes {
		until := c.at
		if until.After(to) {
			until = to
		}
		if until.After(from) {
			*into += until.Sub(from)
			from = until
		}
		into = c.into
	}
	return times
}
