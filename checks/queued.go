package checks

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// queued applies a ping that its job sent later than at its time ([pings.Signal.At]). It raises no alert, and changes the
// status only if it is the newest: no success, failure or start, and no pause or resume came after it. If the ping after it
// is overdue too, it says nothing about the status, but begins the watch of a check that is new or paused. A start begins no
// run, which could only take the check down. A success or a failure ends its run, and is one of the history, in any case.
func (c Check) queued(ping *pings.Ping, now time.Time, effects *Effects) Check {
	at, run := ping.At, ping.RunID
	isNewest := !at.Before(c.LastPing) && !at.Before(c.newestStart()) && !c.overtaken(at)
	pairs := isNewest || run.Valid // without an identifier, a newer ping may be the other end of the run
	switch {
	case ping.Kind == pings.Start && pairs && !c.Ended.repeats(run, at):
		c.Runs = c.Runs.start(run, at, false)
		return c
	case ping.Kind != pings.Success && ping.Kind != pings.Failure:
		return c
	}
	c = c.end(ping, pairs, false, effects)
	if !isNewest {
		return c
	}
	c.LastPing = at
	if due := c.ExpectedAfter(c.LastPing); !due.IsZero() && !now.Before(due.Add(c.Grace)) {
		if c.Stored == StatusUp || c.Stored == StatusDown {
			return c
		}
		c.WatchedFrom = now // or a check whose pings always arrive so late would never be watched
	}
	t := Transition{From: c.Stored, To: StatusUp, At: later(at, c.StoredSince), Reason: flips.Success}
	if ping.Kind == pings.Failure {
		t.To, t.Reason = StatusDown, flips.Failure
	}
	if t.From == t.To {
		return c
	}
	effects.Transitions = append(effects.Transitions, t)
	return c.enterQuietly(t)
}

// enterQuietly gives a check the status that the transition of a queued ping leads to. The alert about it waits: that
// about a failure until the check fails again or is pinged in time, that about a success until it is pinged in time.
func (c Check) enterQuietly(t Transition) Check {
	before := c.Alerting
	owed := c.owed()
	c.Stored, c.StoredSince, c.Ack = t.To, t.At, gate.Ack{}
	c.Alerting = alerting{Since: t.At, HeldSince: before.HeldSince, Owed: owed}
	if !before.HeldSince.IsZero() {
		c.Alerting.Next = before.Next // the end of the quiet hours
	}
	switch {
	case t.To == StatusDown:
		c.Alerting = c.Alerting.failed(t.At, later(t.At, c.WatchedFrom))
		if c.Alerting.Next.IsZero() {
			c.Alerting.Next, _ = c.nextFailure()
		}
	case !before.HeldSince.IsZero():
	case owed:
		c.Alerting.HeldSince = t.At
	default: // nobody was notified that it was down
		c.Alerting = alerting{}
	}
	return c
}
