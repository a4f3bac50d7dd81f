package checks

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
)

// Effects are the consequences of an event besides the changed check, in the order in which they happened.
type Effects struct {
	Transitions []Transition
	Alerts      []Alert
	// Days are totals to add to those of earlier days: the day that [History].Today has left, or a run that was reported
	// after its day. A day can come several times.
	Days []Day
}

// add adds what happened next.
func (e *Effects) add(next Effects) {
	e.Transitions = append(e.Transitions, next.Transitions...)
	e.Alerts = append(e.Alerts, next.Alerts...)
	e.Days = append(e.Days, next.Days...)
}

// Alert is a message about a check to its channels.
type Alert struct {
	// RaisedAt is the instant of the event that raised the alert.
	RaisedAt time.Time
	// Status is the status that the alert reports: StatusUp or StatusDown.
	Status Status
	// At is when that status began: the instant of the transition. It is the zero time when the alert rules were set
	// after the transition, so that the check did not keep it.
	At time.Time
	// Reminder is 0 for the alert itself and counts the reminders that the check is still down from 1. It restarts
	// when RepeatEvery was 0 in between.
	Reminder int
	// Since is the instant of the first transition that was not reported, because of quiet hours or because a queued
	// ping made it, or the zero time.
	Since time.Time
}

// alerting is the state of the alert rules of a check. It is the zero value when there is nothing to keep, and so
// always on a check without rules.
type alerting struct {
	// Since is the instant of the transition to the current status.
	Since time.Time `json:"since,omitzero"`
	// Failures counts the failures since the check went down, until the alert about it is raised. Then it is 0. Those of the clock
	// are counted when somebody asks, see count.
	Failures int `json:"failures,omitzero"`
	// FailedAt is the instant of the last failure, and ExpectedAt the time at which the run that failed was expected.
	FailedAt   time.Time `json:"failed_at,omitzero"`
	ExpectedAt time.Time `json:"expected_at,omitzero"`
	// HeldSince is the instant of the first transition whose alert waits: for the end of quiet hours, or, after a queued
	// success, for a ping that comes in time.
	HeldSince time.Time `json:"held_since,omitzero"`
	// RepeatFrom is the instant from which RepeatEvery counts: that of the last alert or reminder.
	RepeatFrom time.Time `json:"repeat_from,omitzero"`
	// Reminders counts the reminders since the alert.
	Reminders int `json:"reminders,omitzero"`
	// Returned is when the last acknowledgement of the outage ended, and Remind says that no reminder has followed since.
	Returned time.Time `json:"returned,omitzero"`
	Remind   bool      `json:"remind,omitzero"`
	// Owed says of a check that was paused after an alert that it was down that no alert has said since that it is up.
	Owed bool `json:"owed,omitzero"`
	// Next is the instant at which an alert may be due if nothing happens before, or the zero time.
	Next time.Time `json:"next,omitzero"`
}

// enter gives a check the status that a transition leads to, and raises the alert about it or starts to wait for it.
func (c Check) enter(t Transition, now time.Time, effects *Effects) Check {
	owed, held := c.owed(), c.Alerting.HeldSince
	c.Stored, c.StoredSince, c.Ack = t.To, t.At, gate.Ack{}
	effects.Transitions = append(effects.Transitions, t)
	c.Alerting = alerting{Since: t.At, HeldSince: held, Owed: owed}
	switch {
	case t.To == StatusDown:
		c.Alerting.Failures, c.Alerting.FailedAt, c.Alerting.ExpectedAt = 1, t.At, t.At
		if t.Reason != flips.Failure {
			c.Alerting.ExpectedAt = t.At.Add(-c.Grace)
		}
		return c.raise(now, effects)
	case owed || !held.IsZero():
		return c.raise(now, effects)
	}
	// No alert said that it was down, so none says that it is up.
	c.Alerting = alerting{}
	return c
}

// owed reports whether an alert has said that the check is down, and none since that it is up.
func (c Check) owed() bool {
	return c.Alerting.Owed || c.Stored == StatusDown && c.Alerting.Failures == 0
}

// failed counts a failure.
func (a alerting) failed(at, expected time.Time) alerting {
	a.Failures = min(a.Failures+1, maxAlertAfter)
	if !late(at, a.FailedAt) {
		a.FailedAt, a.ExpectedAt = at, expected
	}
	return a
}

// review asks the gate again about the alert that waits, if any, and about reminders.
func (c Check) review(now time.Time, effects *Effects) Check {
	switch {
	case c.Stored == StatusDown && c.Alerting.Failures > 0, c.Stored == StatusUp && !c.Alerting.HeldSince.IsZero():
		return c.raise(now, effects)
	case c.Stored == StatusDown && (c.RepeatEvery > 0 || !c.Ack.At.IsZero() || !c.Alerting.Returned.IsZero()):
		return c.remind(now, effects)
	}
	c.Alerting = alerting{Owed: c.Alerting.Owed}
	return c
}

// Policies returns the alert rules of the check and the acknowledgement of its outage, as package gate asks for them. Those of its
// project are not among them. Quiet hours that cannot be evaluated are none: better an alert at night than no alert.
func (c Check) Policies() gate.Policies {
	p := gate.Policies{AlertAfter: c.AlertAfter, RepeatEvery: c.RepeatEvery, RecordOnly: c.RecordOnly, Ack: c.Ack, Returned: c.Alerting.Returned}
	if c.QuietHours != "" {
		hours := c.compiled().hours
		p.Quiet = &hours
	}
	return p
}

// Parent returns the check as the gate sees it when another one follows it. A paused check keeps no alert back.
func (c Check) Parent(now time.Time) gate.Parent {
	p := gate.Parent{Name: c.DisplayName()}
	switch c.Status(now) {
	case StatusDown:
		p.Down = true
	case StatusGrace:
		p.Late = c.Deadline()
	case StatusUp:
		p.Up = c.StoredSince
	}
	return p
}

// nextFailure returns when a check that is down fails again unless it is pinged: the next expected ping does not arrive
// either, or a run in progress does not end in time. expected is the value of ExpectedAt after that failure. Both are the
// zero time when no ping is expected any more.
func (c Check) nextFailure() (at, expected time.Time) {
	a := c.Alerting
	if expected = c.ExpectedAfter(a.ExpectedAt); expected.After(a.ExpectedAt) {
		at = expected.Add(c.Grace)
	} else { // the schedule has no further time, or cannot be evaluated
		expected = time.Time{}
	}
	if end := c.nextOverrun(a.FailedAt); !end.IsZero() && (at.IsZero() || end.Before(at)) {
		at, expected = end, later(end.Add(-c.Grace), a.ExpectedAt)
	}
	return at, expected
}

// nextOverrun returns when the first run in progress after a failure will have taken too long, or the zero time. Without
// MaxRuntime that is a run that began after the failure.
func (c Check) nextOverrun(failed time.Time) (next time.Time) {
	if c.MaxRuntime == 0 {
		if _, newest := c.Runs.Span(); newest.StartedAt.After(failed) {
			next = c.overrunAt(newest)
		}
		return next
	}
	for _, run := range c.Runs {
		if end := c.overrunAt(run); run.Open && end.After(failed) && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}

// count counts the failures that the clock alone has caused by now, up to a number. next is when the one after them follows without a
// ping, or the zero time.
func (c Check) count(now time.Time, most int) (counted Check, next time.Time) {
	for c.Alerting.Failures < most {
		at, expected := c.nextFailure()
		if next = at; at.IsZero() || now.Before(at) {
			break
		}
		c.Alerting = c.Alerting.failed(at, expected)
	}
	return c, next
}

// raise raises the alert about the current status, unless the gate keeps it back or drops it.
func (c Check) raise(now time.Time, effects *Effects) Check {
	e := gate.Event{Kind: gate.Up}
	if c.Stored == StatusDown {
		if e.Kind = gate.Down; c.Alerting.Failures < c.AlertAfter {
			c, e.NextFailure = c.count(now, c.AlertAfter)
		}
		e.Failures = c.Alerting.Failures
	}
	switch d := gate.Decide(e, c.Policies(), now); {
	case d.Action == gate.Drop: // Failures stays, so that the alert is raised once nothing drops it any more
		c.Alerting.Next = time.Time{}
		return c
	case d.Action == gate.Wait:
		if d.Why != gate.ByFailures && c.Alerting.HeldSince.IsZero() {
			c.Alerting.HeldSince = c.Alerting.Since
		}
		c.Alerting.Next = d.Until
		return c
	}
	effects.Alerts = append(effects.Alerts,
		Alert{RaisedAt: now, Status: c.Stored, At: c.Alerting.Since, Since: c.Alerting.HeldSince})
	since := c.Alerting.Since
	if c.Alerting = (alerting{}); c.Stored == StatusDown && (c.RepeatEvery > 0 || !c.Ack.At.IsZero()) {
		if c.Alerting.Since = since; !c.Ack.Active(now) {
			c.Alerting.Returned = c.Ack.Until
		}
		c = c.next(now, now)
	}
	return c
}

// remind raises a reminder that the check is still down, unless the gate says that it is too early or drops it: after RepeatEvery, and
// at the end of an acknowledgement. A reminder that comes late does not delay those after it.
func (c Check) remind(now time.Time, effects *Effects) Check {
	from := c.Alerting.RepeatFrom
	policies := c.Policies()
	var until time.Time // the end of the quiet hours to which it is put off, unless they were changed
	put := from.After(now) && policies.Quiet != nil
	if put {
		until, put = policies.Quiet.Until(now)
	}
	switch {
	case put:
		from = until
	case from.IsZero(), from.After(now): // the rule was set after the alert, or quiet hours were taken away
		from = now
	}
	if end := c.Ack.Until; !end.IsZero() && !now.Before(end) && !end.Equal(c.Alerting.Returned) {
		c.Alerting.Returned, c.Alerting.Remind = end, true
	}
	returned := c.Alerting.Remind
	if !returned && c.RepeatEvery == 0 {
		return c.next(from, now)
	}
	e := gate.Event{Kind: gate.Reminder}
	if !returned {
		e.Last = from
	}
	switch d := gate.Decide(e, policies, now); {
	case returned && d.Action != gate.Send:
		c.Alerting.Next = d.Until
		return c
	case d.Action == gate.Wait:
	case !d.Until.IsZero(): // dropped in quiet hours
		from = d.Until
	default:
		if from = now; !returned {
			from = now.Add(-(now.Sub(e.Last) % c.RepeatEvery))
		}
		if d.Action == gate.Send {
			c.Alerting.Reminders, c.Alerting.Remind = c.Alerting.Reminders+1, false
			effects.Alerts = append(effects.Alerts,
				Alert{RaisedAt: now, Status: StatusDown, At: c.Alerting.Since, Reminder: c.Alerting.Reminders})
		}
	}
	return c.next(from, now)
}

// next sets when the next reminder may be due: RepeatEvery after an instant, or at the end of the acknowledgement.
func (c Check) next(from, now time.Time) Check {
	a := &c.Alerting
	if a.RepeatFrom, a.Next = (time.Time{}), (time.Time{}); c.RepeatEvery > 0 {
		a.RepeatFrom, a.Next = from, from.Add(c.RepeatEvery)
	}
	if end := c.Ack.Until; end.After(now) && (a.Next.IsZero() || end.Before(a.Next)) {
		a.Next = end
	}
	return c
}
