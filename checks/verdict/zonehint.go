package verdict

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// steadyRuns is how many runs in a row must be off by the same time, within steadyWithin, to doubt the time zone. Jobs may
	// be off by less than leastOff for other reasons.
	steadyRuns   = 3
	steadyWithin = 20 * time.Minute
	leastOff     = 55 * time.Minute
	// maxExpected bounds the runs expected in the day before one: the distance to a run of a dense schedule says nothing.
	maxExpected = 24
)

// zoneHint says that the time zone may be wrong if runs arrive steadily off the times at which the schedule expects them.
func (b *builder) zoneHint() {
	c := b.Check
	if !c.IsCron() || c.NextPing(b.Now).IsZero() && c.Status(b.Now) != checks.StatusDown {
		return
	}
	var least, most time.Duration
	n, timed, before := 0, true, time.Time{}
	runs := c.History.Recent.Runs()
	for i := len(runs) - 1; i >= 0 && n < steadyRuns; i-- {
		run := runs[i]
		if run.Result == checks.RunMissed {
			continue
		}
		start := run.At.Add(-run.Duration)
		expected, ok := nearest(c, start)
		if !ok || start.Before(c.TimingSince) || expected.Equal(before) {
			return
		}
		off := start.Sub(expected)
		if n == 0 {
			least, most = off, off
		}
		least, most, before = min(least, off), max(most, off), expected
		n, timed = n+1, timed && run.Duration > 0
	}
	mean := (least + most) / 2
	if n < steadyRuns || most-least > steadyWithin || mean.Abs() < leastOff {
		return
	}
	direction, doubt := "before", "The"
	if mean > 0 {
		direction = "after"
		if !timed {
			doubt = "If they do not take that long, the"
		}
	}
	b.say(plain(fmt.Sprintf("The last %d runs arrived about %s %s the expected time. %s time zone of the check, %s, may be wrong.",
		n, prose.Period(mean.Abs().Round(30*time.Minute)), direction, doubt, c.TZ)))
}

// nearest returns the time at which a run was expected that lies next to an instant, if the schedule is not dense.
func nearest(c checks.Check, at time.Time) (expected time.Time, ok bool) {
	next := c.ExpectedAfter(at.Add(-24 * time.Hour))
	for range maxExpected {
		if next.IsZero() || next.After(at) {
			break
		}
		expected, next = next, c.ExpectedAfter(next)
	}
	switch {
	case expected.IsZero() || next.IsZero() || !next.After(at):
		return time.Time{}, false
	case next.Sub(at) < at.Sub(expected):
		expected = next
	}
	return expected, true
}
