package checks

import (
	"time"

	"github.com/rollcall-dev/rollcall/pings"
)

// Effects are what an event brought about besides the changed check, in the order in which it happened.
type Effects struct {
	Transitions []Transition
	Alerts      []Alert
}

// Alert is a message about a check that its integrations are to be sent.
type Alert struct {
	// RaisedAt is the instant of the event that raised the alert.
	RaisedAt time.Time
	// Status is what is told: StatusUp or StatusDown, the state that the check had come to.
	Status Status
	// At is when that state began: the instant of the transition. It is the zero time where the check had nothing to
	// remember it by, because its rules came later.
	At time.Time
	// Reminder is 0 for the alert itself, and counts from 1 the messages that the check is still down.
	Reminder int
	// Since is the instant of the first transition that was not told because of quiet hours. It is the zero time for
	// an alert that was not held back.
	Since time.Time
}

// Alerting is what a check has to remember for its alert rules. It is the zero value whenever there is nothing to
// remember, and so always on a check without rules.
type Alerting struct {
	// Since is the instant of the transition to the present state.
	Since time.Time
	// Failures counts the failures since the check went down, while the alert about that has not been raised;
	// otherwise it is 0.
	Failures int
	// FailedAt is the instant of the last of them, and ExpectedAt the time from which the next ping is expected: that
	// of the run that failed.
	FailedAt, ExpectedAt time.Time
	// HeldSince is the instant of the first transition that was not told because of quiet hours.
	HeldSince time.Time
	// RepeatFrom is the instant of the alert or the reminder after which the next reminder comes.
	RepeatFrom time.Time
	// Reminders counts the reminders since the alert.
	Reminders int
	// Next is the instant at which an alert may be due if nothing happens before, or the zero time.
	Next time.Time
}

// Wake returns the instant from which on [Check.Settle] has something to do: the deadline, or an alert that is due
// before it. It is the zero time when there is nothing to wait for.
func (c Check) Wake() time.Time {
	deadline, next := c.Deadline(), c.Alerting.Next
	if deadline.IsZero() || !next.IsZero() && next.Before(deadline) {
		return next
	}
	return deadline
}

// enter puts a check into the state that a transition leads to.
func (c Check) enter(t Transition, now time.Time, effects *Effects) Check {
	told := c.Stored == StatusDown && c.Alerting.Failures == 0
	held := c.Alerting.HeldSince
	c.Stored, c.Since = t.To, t.At
	effects.Transitions = append(effects.Transitions, t)
	c.Alerting = Alerting{Since: t.At, HeldSince: held}
	switch {
	case t.To == StatusDown:
		c.Alerting = c.Alerting.failed(t.At, t.At)
		if t.Reason != ReasonFail {
			c.Alerting.ExpectedAt = t.At.Add(-c.Grace)
		}
		return c.review(now, effects)
	case told || !held.IsZero():
		return c.tell(now, effects)
	}
	// Nobody was told that it was down.
	c.Alerting = Alerting{}
	return c
}

// failed counts a failure.
func (a Alerting) failed(at, expected time.Time) Alerting {
	a.Failures = min(a.Failures+1, MaxAlertAfter)
	if !pings.Late(at, a.FailedAt) {
		a.FailedAt, a.ExpectedAt = at, expected
	}
	return a
}

// review raises what the rules say is due at an instant, and finds the next instant at which something may be.
func (c Check) review(now time.Time, effects *Effects) Check {
	switch {
	case c.Stored == StatusDown && c.Alerting.Failures > 0:
		return c.confirm(now, effects)
	case c.Stored == StatusDown:
		return c.remind(now, effects)
	case c.Stored == StatusUp && !c.Alerting.HeldSince.IsZero():
		return c.tell(now, effects)
	}
	c.Alerting = Alerting{}
	return c
}

// confirm counts the failures up to an instant that the clock alone has made, and tells that the check is down when
// they are enough.
func (c Check) confirm(now time.Time, effects *Effects) Check {
	for c.Alerting.Failures < c.AlertAfter {
		at, expected := c.nextFailure()
		if at.IsZero() {
			break // no further ping is expected, so this is the last chance to tell
		}
		if now.Before(at) {
			c.Alerting.Next = at
			return c
		}
		c.Alerting = c.Alerting.failed(at, expected)
	}
	return c.tell(now, effects)
}

// nextFailure returns when a check that is down fails again if nothing happens before: the next expected ping does
// not come either, or a run that has begun since the last failure does not end in time. expected is the time from
// which the ping after that is expected. Both are zero when no ping is expected any more.
func (c Check) nextFailure() (at, expected time.Time) {
	a := c.Alerting
	if expected = c.expectedAfter(a.ExpectedAt); expected.After(a.ExpectedAt) {
		at = expected.Add(c.Grace)
	} else { // there are no more times, or none can be found
		expected = time.Time{}
	}
	if c.LastStart.After(a.FailedAt) {
		if end := c.LastStart.Add(c.Grace); at.IsZero() || end.Before(at) {
			at, expected = end, later(c.LastStart, a.ExpectedAt)
		}
	}
	return at, expected
}

// tell raises the alert about the present state, or holds it back until the end of the quiet hours.
func (c Check) tell(now time.Time, effects *Effects) Check {
	if end, quiet := c.quietUntil(now); quiet {
		if c.Alerting.HeldSince.IsZero() {
			c.Alerting.HeldSince = c.Alerting.Since
		}
		c.Alerting.Next = end
		return c
	}
	effects.Alerts = append(effects.Alerts,
		Alert{RaisedAt: now, Status: c.Stored, At: c.Alerting.Since, Since: c.Alerting.HeldSince})
	if c.Stored == StatusDown && c.RepeatEvery > 0 {
		c.Alerting = Alerting{Since: c.Alerting.Since, RepeatFrom: now, Next: now.Add(c.RepeatEvery)}
	} else {
		c.Alerting = Alerting{}
	}
	return c
}

// remind tells again that the check is down, if that is due. A reminder that would come in quiet hours is left out,
// and the next one comes a full period after their end. One that comes late does not move those after it.
func (c Check) remind(now time.Time, effects *Effects) Check {
	a := c.Alerting
	if c.RepeatEvery == 0 {
		c.Alerting = Alerting{}
		return c
	}
	if a.RepeatFrom.IsZero() { // the rule has come after the alert
		a.RepeatFrom = now
	}
	if periods := now.Sub(a.RepeatFrom) / c.RepeatEvery; periods > 0 {
		if end, quiet := c.quietUntil(now); quiet {
			a.RepeatFrom = end
		} else {
			a.Reminders++
			a.RepeatFrom = a.RepeatFrom.Add(periods * c.RepeatEvery)
			effects.Alerts = append(effects.Alerts,
				Alert{RaisedAt: now, Status: StatusDown, At: a.Since, Reminder: a.Reminders})
		}
	}
	a.Next = a.RepeatFrom.Add(c.RepeatEvery)
	c.Alerting = a
	return c
}

// quietUntil reports whether an instant is in the quiet hours of the check, and when they end.
func (c Check) quietUntil(now time.Time) (end time.Time, quiet bool) {
	if c.QuietHours == "" {
		return time.Time{}, false
	}
	p := c.plan
	if !p.compiled {
		var err error
		if p, err = compile(c); err != nil {
			return time.Time{}, false // better an alert at night than none
		}
	}
	return p.hours.Until(now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
