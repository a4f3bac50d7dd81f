package flips

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Times says how a check spent a span of time. The four add up to the span.
type Times struct {
	// Up includes the grace time, in which a check still counts as up.
	Up time.Duration
	// Down begins at the failure or the missed deadline.
	Down time.Duration
	// Unwatched is when the check was neither up nor down: before its first flip, and from a pause to the next flip.
	Unwatched time.Duration
	// Maintenance is the time within maintenance windows in which the check was down. It counts neither as Up nor as Down.
	Maintenance time.Duration
}

// Add returns the times of two spans together.
func (t Times) Add(u Times) Times {
	return Times{Up: t.Up + u.Up, Down: t.Down + u.Down, Unwatched: t.Unwatched + u.Unwatched, Maintenance: t.Maintenance + u.Maintenance}
}

// Availability returns the share of the watched time in which the check was up, from 0 to 1. Time in which it was paused,
// otherwise unwatched, or down within maintenance does not count. ok is false if the check was not watched at all.
func (t Times) Availability() (share float64, ok bool) {
	if t.Up+t.Down == 0 {
		return 0, false
	}
	return float64(t.Up) / float64(t.Up+t.Down), true
}

// Percent returns the availability for people, such as "99.87 %", or "" if the check was not watched at all. It cuts after
// two decimals: "100%" says that the check was never down outside maintenance.
func (t Times) Percent() string {
	share, ok := t.Availability()
	switch {
	case !ok:
		return ""
	case t.Down == 0:
		return "100%"
	}
	return fmt.Sprintf("%.2f%%", math.Floor(1e4*share)/1e2)
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
	if from.IsZero() {
		from = to
		for _, f := range list {
			if f.At.Before(from) {
				from = f.At
			}
		}
		for _, at := range pauses {
			if at.Before(from) {
				from = at
			}
		}
	}
	return Split(list, []time.Time{from, to}, pauses...)[0]
}

// Split is [Downtime] for spans that follow each other: it returns the times of each span between two neighbouring bounds,
// such as those of days. The bounds ascend; the list has the flips before the last of them. With fewer than two bounds
// there is no span.
func Split(list []Flip, bounds []time.Time, pauses ...time.Time) []Times {
	if len(bounds) < 2 {
		return nil
	}
	type change struct {
		at   time.Time
		into func(*Times) *time.Duration
	}
	up := func(t *Times) *time.Duration { return &t.Up }
	down := func(t *Times) *time.Duration { return &t.Down }
	unwatched := func(t *Times) *time.Duration { return &t.Unwatched }
	changes := make([]change, 0, len(list)+len(pauses)+1)
	for _, f := range slices.Backward(list) {
		into := down
		if f.Up {
			into = up
		}
		changes = append(changes, change{f.At, into})
	}
	for _, at := range pauses {
		changes = append(changes, change{at, unwatched})
	}
	// A stable sort: a pause at the instant of a flip comes after it.
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	changes = append(changes, change{bounds[len(bounds)-1], nil})
	spans := make([]Times, len(bounds)-1)
	from, span, into := bounds[0], 0, unwatched
	for _, c := range changes {
		for span < len(spans) && from.Before(c.at) {
			until, end := c.at, bounds[span+1]
			if !until.Before(end) {
				until = end
			}
			if until.After(from) {
				*into(&spans[span]) += until.Sub(from)
				from = until
			}
			if !from.Before(end) {
				span++
			}
		}
		into = c.into
	}
	return spans
}

// SplitMaintained is [Split] for a check with maintenance windows: where they cover a time in which the check was down, that is in
// Maintenance instead of Down. The stretches of maintenance are those that [Join] returns.
func SplitMaintained(list []Flip, bounds, pauses []time.Time, maintenance []Span) []Times {
	if len(bounds) < 2 || len(maintenance) == 0 || bounds[len(bounds)-1].Before(bounds[0]) {
		return Split(list, bounds, pauses...)
	}
	edges := slices.Clone(bounds)
	for _, m := range maintenance {
		for _, at := range []time.Time{m.Start, m.End} {
			if at.After(bounds[0]) && at.Before(bounds[len(bounds)-1]) {
				edges = append(edges, at)
			}
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	spans := make([]Times, len(bounds)-1)
	span, next := 0, 0
	for i, t := range Split(list, edges, pauses...) {
		for span < len(spans)-1 && !edges[i].Before(bounds[span+1]) {
			span++
		}
		for next < len(maintenance) && !edges[i].Before(maintenance[next].End) {
			next++
		}
		if next < len(maintenance) && !edges[i].Before(maintenance[next].Start) {
			t.Maintenance, t.Down = t.Down, 0
		}
		spans[span] = spans[span].Add(t)
	}
	return spans
}
