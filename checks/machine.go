package checks

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// Transition is a change of a check to up or to down. Pause and resume are none.
type Transition struct {
	From   Status // State.Stored before: new, up, down or paused
	To     Status // StatusUp or StatusDown
	At     time.Time
	Reason flips.Reason
}

// Flip returns the transition as the status change of section 2.3 of the API.
func (t Transition) Flip() flips.Flip {
	return flips.Flip{At: t.At, Up: t.To == StatusUp, Reason: t.Reason}
}

// EndsAtOnce reports whether t is a transition that ended a pause at the instant at which the pause began.
func (t Transition) EndsAtOnce(pause Transition) bool {
	return pause.To == StatusPaused && t.From == StatusPaused && t.At.Equal(pause.At)
}

// New returns a new check of a project. What the spec leaves nil has its default, and there are no integrations: the
// caller resolves Spec.Channels. The error is a *[FieldError].
func New(projectID uuid.UUID, spec Spec, now time.Time) (Check, error) {
	now = instant(now)
	c := Check{
		ID: uuid.New(), ProjectID: projectID, BadgeKey: uuid.New(), CreatedAt: now,
		Settings: Defaults(), TimingSince: now, State: State{Stored: StatusNew},
	}
	if spec.ID != uuid.Nil {
		c.ID = spec.ID
	}
	if err := spec.Validate(now); err != nil {
		return Check{}, err
	}
	return spec.applyTo(c), nil
}

// instant returns a time as checks have it: in UTC, cut to microseconds.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Settle applies what the clock alone has done until now. If the deadline has passed, the check goes down, at the
// instant of the deadline; alerts that are due are raised. Every event settles first, so the state does not depend on
// when the watcher looks. [Check.Wake] returns when there is something to settle.
func (c Check) Settle(now time.Time) (Check, Effects) {
	now = instant(now)
	var effects Effects
	deadline := c.Deadline()
	switch next := c.Alerting.Next; {
	case !deadline.IsZero() && !now.Before(deadline):
		reason := flips.Overdue
		if run := c.decisive(); run.Open && !c.overrunAt(run).After(deadline) {
			reason = flips.Overrun
		}
		if c.MaxRuntime == 0 { // or the run would take the check down once more, after another run succeeds
			c.Runs = c.Runs.Only()
		}
		at := later(deadline, c.StoredSince) // a start that was recorded late may be overdue since before the newest transition
		c = c.addRun(Run{At: at, Result: RunMissed}, false, !at.Before(c.newest()), &effects)
		c = c.enter(Transition{From: c.Stored, To: StatusDown, At: at, Reason: reason}, now, &effects)
	case !next.IsZero() && !now.Before(next):
		c = c.review(now, &effects)
	}
	if c.Stored == StatusDown && len(c.Runs) > 0 { // a run has its effect once
		c.Runs = c.Runs.keep(func(run OpenRun) bool { return now.Before(c.overrunAt(run)) })
	}
	return c, effects
}

// Ping applies a signal that was received at an instant, and returns the entry for the ping log. The state follows the
// order of receipt, not that of the calls: a ping older than the newest event of the check is logged and counted, and
// changes only what newer events left open. It may be at most 2 minutes late. The error is a *[FieldError] for a
// signal that [pings.Signal.Normalized] refuses, or that of [Check.Validate]; nothing has changed then.
//
// A signal with an earlier time ([pings.Signal.At]) changes the state only if it is the newest, and raises no alert. A
// time after now counts as now. Effects then has only the alerts that Settle(now) would raise. A signal that may have waited
// ([pings.Signal.WaitedSince]) judges no deadline from then on; the next call of Settle does, if the signal has not moved it.
func (c Check) Ping(signal pings.Signal, now time.Time) (Check, pings.Ping, Effects, error) {
	signal, err := signal.Normalized()
	if err != nil {
		return c, pings.Ping{}, Effects{}, refuse("signal", "is not valid: %w", err)
	}
	if !c.plan.compiled { // a check with a plan takes pings whatever has become of its time zone
		if err := c.Validate(); err != nil {
			return c, pings.Ping{}, Effects{}, err
		}
	}
	now = instant(now)
	at := now
	if !signal.At.IsZero() {
		at = earlier(instant(signal.At), now)
	}
	judged := now
	if !signal.WaitedSince.IsZero() {
		judged = earlier(instant(signal.WaitedSince), now)
	}
	c, effects := c.Settle(judged)
	kind := c.Classify(signal)
	if c.Stored == StatusPaused && c.ManualResume && !c.overtaken(at) {
		kind = pings.Ignored
	}
	c.NPings++
	ping := pings.Ping{
		N: c.NPings, Kind: kind, At: at,
		Scheme: signal.Scheme, Method: signal.Method, RemoteAddr: signal.RemoteAddr, UserAgent: signal.UserAgent,
		RunID: signal.RunID, ExitStatus: signal.ExitStatus, Body: signal.Body, BodySize: int64(len(signal.Body)),
		BodyCut: signal.BodyCut, BodyCharset: signal.BodyCharset,
		WrongMethod: kind == pings.Ignored && c.Methods == "POST" && signal.Method != "" && signal.Method != "POST",
	}
	switch {
	case !signal.At.IsZero():
		c = c.queued(&ping, now, &effects)
	case kind == pings.Start:
		c = c.rewind(&ping).start(signal.RunID, at, &effects)
	case kind == pings.Success || kind == pings.Failure:
		c = c.rewind(&ping)
		c = c.end(&ping, true, !at.Before(c.newest()), &effects).finish(kind, at, &effects)
	}
	return c, ping, effects, nil
}

// Replay is [Check.Ping] for a signal that was received at an instant and waited for the database since. It is late
// however old it is: if it lies further back than 2 minutes, it counts as a signal that a job sent later.
func (c Check) Replay(signal pings.Signal, at time.Time) (Check, pings.Ping, Effects, error) {
	if newest := c.newest(); at.Before(newest) && !late(at, newest) {
		if signal.At.IsZero() {
			signal.At = at
		}
		at = newest
	}
	return c.Ping(signal, at)
}

// newest returns the instant of the newest event that the state reflects: a success, a failure, the start of a run in
// progress, a transition, a pause or a resume.
func (c Check) newest() time.Time {
	newest := later(c.LastPing, c.StoredSince)
	if len(c.Runs) > 0 {
		newest = later(newest, c.newestStart())
	}
	return newest
}

// newestStart returns when the newest run in progress started, or the zero time.
func (c Check) newestStart() time.Time {
	_, newest := c.Runs.Span()
	return newest.StartedAt
}

// overtaken reports whether the check was paused or resumed after a ping was received.
func (c Check) overtaken(at time.Time) bool {
	return at.Before(c.StoredSince) && (c.Stored == StatusPaused || c.Stored == StatusNew)
}

// rewind moves the newest event back to a ping that is too old to be late. A clock was set back then, and without this
// all pings would be late until the clock catches up.
func (c Check) rewind(ping *pings.Ping) Check {
	at, newest := ping.At, c.newest()
	if !at.Before(newest) || late(at, newest) {
		return c
	}
	c.LastPing, c.StoredSince = earlier(c.LastPing, at), earlier(c.StoredSince, at)
	c.Runs = c.Runs.rewind(at, ping.RunID)
	return c
}

// start applies the start of a run. A start that repeats after the end of its run begins none. A late start begins none if a
// pause or a resume came after it, or a success or a failure that may have ended that run.
func (c Check) start(run uuid.NullUUID, at time.Time, effects *Effects) Check {
	if len(c.Ended) > 0 && c.Ended.repeats(run, at) {
		return c
	}
	mayHaveEnded := at.Before(c.LastPing) && (!run.Valid || c.MaxRuntime == 0)
	overtaken := mayHaveEnded || c.overtaken(at)
	if run.Valid || !at.Before(c.LastPing) { // a run without an identifier was ended by any ping after it
		c.Runs = c.Runs.start(run, at, !overtaken)
	}
	if overtaken {
		return c
	}
	if c.Stored == StatusPaused {
		c.Stored = StatusNew
	}
	if c.Alerting.Failures > 0 { // the next failure may be that this run does not end
		return c.review(later(at, c.newest()), effects)
	}
	return c
}

// finish applies a success or a failure, whose run has ended.
func (c Check) finish(kind pings.Kind, at time.Time, effects *Effects) Check {
	switch {
	case at.Before(c.LastPing):
		return c.stay(kind, at, effects)
	case c.overtaken(at):
		if c.Stored == StatusPaused {
			c.LastPing = at // a resume would clear it
		}
		return c
	}
	c.LastPing, c.WatchedFrom = at, time.Time{}
	to, reason := StatusUp, flips.Success
	if kind == pings.Failure {
		to, reason = StatusDown, flips.Failure
	}
	if c.Stored == to {
		return c.stay(kind, at, effects)
	}
	// If a missed deadline took the check down before this ping was recorded, it goes up again at that deadline.
	t := Transition{From: c.Stored, To: to, At: later(at, c.StoredSince), Reason: reason}
	return c.enter(t, later(at, c.newest()), effects)
}

// stay applies a success or a failure that leaves the status as it is. It raises the alert about a queued success, which
// waits for a ping that comes in time. While the check is down and the alert waits for more failures in a row, a failure
// counts, unless it was received before the check went down.
func (c Check) stay(kind pings.Kind, at time.Time, effects *Effects) Check {
	switch a := c.Alerting; {
	case c.Stored == StatusUp && !a.HeldSince.IsZero() && a.Next.IsZero():
	case c.Stored == StatusDown && a.Failures > 0 && kind == pings.Failure && !late(at, a.Since):
		c, _ = c.count(later(at, c.newest()), maxAlertAfter)
		c.Alerting = c.Alerting.failed(at, at)
	default:
		return c
	}
	return c.review(later(at, c.newest()), effects)
}

// endRuns ends the runs in progress that a success or a failure ends: its own or, without an identifier and unless a run
// without one is in progress, all. Without MaxRuntime, the end of the newest run ends all that are older, and so does any failure.
func (c Check) endRuns(ping *pings.Ping) Check {
	own := func(run OpenRun) bool { return run.ID == ping.RunID }
	later := func(run OpenRun) bool { return ping.At.Before(run.StartedAt) } // recorded before this ping, but received after it
	all, before := !ping.RunID.Valid, c.Runs
	if c.MaxRuntime > 0 {
		all = all && !slices.ContainsFunc(before, func(run OpenRun) bool { return run.Open && own(run) && !later(run) })
	} else {
		_, newest := before.keep(func(run OpenRun) bool { return !later(run) }).Span()
		all = all || ping.Kind == pings.Failure || own(newest)
	}
	c.Runs = before.keep(func(run OpenRun) bool { return later(run) || !all && !own(run) })
	for i, run := range before {
		if run.Open && !c.Runs[i].Open && run.ID.Valid && !own(run) {
			c.Ended = c.Ended.add(run.ID.UUID, ping.At)
		}
	}
	return c
}

// Pause turns monitoring off until the check is resumed or, without ManualResume, pinged. It ends the run in progress
// and drops alerts that are held back and the acknowledgement. Those who were notified that the check is down hear of its recovery. Pings received before it no longer change the status.
func (c Check) Pause(now time.Time) (Check, Effects) {
	now = instant(now)
	c, effects := c.Settle(now)
	c.Alerting, c.Ack = alerting{Owed: c.owed()}, gate.Ack{}
	c.StoredSince = later(now, c.newest())
	c.Stored = StatusPaused
	c.Runs = c.Runs.Only()
	return c, effects
}

// Resume makes a paused check new. It clears the last ping, and keeps the count of pings. The error is [ErrNotPaused].
func (c Check) Resume(now time.Time) (Check, error) {
	if c.Stored != StatusPaused {
		return c, ErrNotPaused
	}
	c.StoredSince = later(instant(now), c.newest())
	c.Stored = StatusNew
	c.LastPing, c.WatchedFrom = time.Time{}, time.Time{}
	c.Runs = c.Runs.Only()
	return c, nil
}

// Restore undoes a pause or a resume at an instant, which is State.StoredSince after it: the check gets the status, the last
// ping, the runs in progress, the alerts and the acknowledgement of the state before, which [Check.Settle] had settled at that instant. The error
// is [ErrChanged] if the check was pinged, paused or resumed since; nothing has changed then.
func (c Check) Restore(before State, at time.Time) (Check, error) {
	after := StatusPaused
	if before.Stored == StatusPaused {
		after = StatusNew
	}
	if c.Stored != after || !c.StoredSince.Equal(at) || c.NPings != before.NPings {
		return c, ErrChanged
	}
	c.Stored, c.StoredSince = before.Stored, before.StoredSince
	c.LastPing, c.WatchedFrom = before.LastPing, before.WatchedFrom
	c.Alerting, c.Ack = before.Alerting, before.Ack
	if c.Stored == StatusDown && c.RepeatEvery > 0 || c.Stored != StatusPaused && c.Alerting != (alerting{}) { // its rules may have changed since
		c.Alerting.Next = at
	}
	c.Runs = c.Runs.Only(before.Runs.Open()...)
	return c, nil
}

// Update changes settings. New timing counts from the last ping on, but takes the check down no earlier than now. New
// alert rules take effect at once, on all alerts that were not raised before: also on those that are held back, and on those
// about what the clock alone has done. The caller resolves Spec.Channels. The error is a *[FieldError]; nothing has changed
// then.
func (c Check) Update(spec Spec, now time.Time) (Check, Effects, error) {
	now = instant(now)
	if err := spec.Validate(now); err != nil {
		return c, Effects{}, err
	}
	changed := spec.applyTo(c)
	if !changed.plan.compiled {
		if err := changed.Validate(); err != nil {
			return c, Effects{}, err
		}
	}
	if c.RecordOnly && !changed.RecordOnly && c.Stored == StatusDown && c.Alerting.Failures == 0 { // alerted as new: what was raised before may have been dropped
		c.Alerting = alerting{Since: c.StoredSince, HeldSince: c.StoredSince, Failures: max(changed.AlertAfter, 1), FailedAt: now, ExpectedAt: now}
	}
	before, limited := c.timing(), c.MaxRuntime > 0
	settled, effects := c.ruledBy(changed).Settle(now)
	c, c.State = changed, settled.State
	if limited && c.MaxRuntime == 0 { // from now on, a newer result supersedes an older run
		c.Runs = c.Runs.keep(func(run OpenRun) bool { return !run.StartedAt.Before(c.LastPing) })
	}
	if timing := c.timing(); timing != before {
		before.grace, before.runLimit = timing.grace, timing.runLimit
		if timing != before || !c.staysLate(settled, now) {
			c.TimingSince = now
		}
		if c.Alerting.Failures > 0 { // failures that the new timing would put into the past do not count
			c.Alerting.ExpectedAt = later(c.Alerting.ExpectedAt, now.Add(-c.Grace))
		}
		again, more := c.Settle(now)
		c = again
		effects.add(more)
	}
	c = c.review(now, &effects)
	return c, effects, nil
}

// staysLate reports whether the check is late with another grace as it was before, so that it is late since the same instant, and no
// deadline is in the past.
func (c Check) staysLate(before Check, now time.Time) bool {
	_, deadline, _ := c.Outlook()
	return before.Status(now) == StatusGrace && c.Status(now) == StatusGrace && deadline.After(now)
}

// ruledBy returns the check with the alert rules of another one, for an event that follows the old timing and the new rules.
func (c Check) ruledBy(rules Check) Check {
	if c.QuietHours != rules.QuietHours || c.TZ != rules.TZ {
		hours := rules.compiled().hours
		c.plan = c.compiled()
		c.plan.hours, c.QuietHours = hours, rules.QuietHours
	}
	c.AlertAfter, c.RepeatEvery, c.RecordOnly = rules.AlertAfter, rules.RepeatEvery, rules.RecordOnly
	return c
}
