package checks

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// Reason says why a check went up or down.
type Reason string

// The reasons of a transition.
const (
	ReasonSuccess Reason = "success" // a success was signalled
	ReasonFail    Reason = "fail"    // a failure was signalled
	ReasonOverdue Reason = "overdue" // the expected ping did not come in time
	ReasonOverrun Reason = "overrun" // a run started and did not end within the grace time
)

// Transition is a change of a check to up or to down. Pausing and resuming make none.
type Transition struct {
	From   Status // the stored state before: new, up, down or paused
	To     Status // StatusUp or StatusDown
	At     time.Time
	Reason Reason
}

// Flip returns the transition as the status change of API-V3.md section 2.3.
func (t Transition) Flip() flips.Flip { return flips.Flip{At: t.At, Up: t.To == StatusUp} }

// New returns a new check in the given project with the settings of a spec, defaults for the rest, and no
// integrations (the caller resolves Spec.Channels). The error is a *[FieldError].
func New(projectID uuid.UUID, spec Spec, now time.Time) (Check, error) {
	now = Instant(now)
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

// Instant returns a time as Rollcall keeps it: in UTC, cut to microseconds.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Settle applies what the clock alone has done: where the deadline has passed, the check goes down at the instant
// of the deadline, and alerts that are due are raised. Every event settles first, so that the state does not depend on
// how soon a watcher has come by. [Check.Wake] tells when there is something to settle.
func (c Check) Settle(now time.Time) (Check, Effects) {
	var effects Effects
	c = c.settle(Instant(now), &effects)
	return c, effects
}

func (c Check) settle(now time.Time, effects *Effects) Check {
	deadline := c.Deadline()
	if deadline.IsZero() || now.Before(deadline) {
		if next := c.Alerting.Next; !next.IsZero() && !now.Before(next) {
			return c.review(now, effects)
		}
		return c
	}
	reason := ReasonOverdue
	if end := c.overrunAt(); !end.IsZero() && !end.After(deadline) {
		reason = ReasonOverrun
	}
	// The start has had its effect. Kept, it would take the check down again as soon as another run succeeds.
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c.enter(Transition{From: c.Stored, To: StatusDown, At: deadline, Reason: reason}, now, effects)
}

// Ping applies a signal that was received at an instant, and returns the entry for the ping log (API-V3.md sections 2.1.1
// and 3). The state follows the order of receipt: a ping that was received before others which are recorded already is
// logged and counted, and changes only what those have left undecided. See [pings.MaxLate] for how late it may be.
func (c Check) Ping(signal pings.Signal, at time.Time) (Check, pings.Ping, Effects) {
	signal, at = signal.Cleaned(), Instant(at)
	var effects Effects
	c = c.settle(at, &effects)
	kind := c.Classify(signal)
	if c.Stored == StatusPaused && c.ManualResume && !c.overtaken(at) {
		kind = pings.Ignored
	}
	c.NPings++
	ping := pings.Ping{
		N: c.NPings, Kind: kind, At: at,
		Scheme: signal.Scheme, Method: signal.Method, RemoteAddr: signal.RemoteAddr, UserAgent: signal.UserAgent,
		RunID: signal.RunID, ExitStatus: signal.ExitStatus, Body: signal.Body, BodySize: int64(len(signal.Body)),
	}
	switch kind {
	case pings.Start:
		c = c.rewind(at).start(signal.RunID, at, &effects)
	case pings.Success, pings.Fail:
		var took time.Duration
		var paired bool
		if c.Runs, took, paired = c.Runs.End(signal.RunID, at); paired {
			ping.Duration = &took
		}
		c = c.rewind(at).finish(kind, signal.RunID, at, &effects)
	}
	return c, ping, effects
}

// newest returns the instant of the newest event that the state reflects.
func (c Check) newest() time.Time { return later(later(c.LastPing, c.LastStart), c.Since) }

// overtaken reports whether the check was paused or resumed after a ping was received.
func (c Check) overtaken(at time.Time) bool {
	return at.Before(c.Since) && (c.Stored == StatusPaused || c.Stored == StatusNew)
}

// rewind forgets when the check was last changed if that seems to lie in the future because a clock was set back.
// Otherwise pings would be late until the clock has caught up.
func (c Check) rewind(at time.Time) Check {
	newest := c.newest()
	if !at.Before(newest) || pings.Late(at, newest) {
		return c
	}
	c.LastPing, c.LastStart, c.Since = earlier(c.LastPing, at), earlier(c.LastStart, at), earlier(c.Since, at)
	return c
}

// start applies the start of a run. A late one begins no run if the check has been pinged, paused or resumed since:
// that was the end of this run, or of any.
func (c Check) start(run uuid.NullUUID, at time.Time, effects *Effects) Check {
	ended := at.Before(c.LastPing)
	if run.Valid || !ended { // without an identifier, an end received later has ended this run
		c.Runs = c.Runs.Start(run, at)
	}
	if ended || at.Before(c.LastStart) || c.overtaken(at) {
		return c
	}
	c.LastStart, c.LastStartRun = at, run
	if c.Stored == StatusPaused {
		c.Stored = StatusNew
	}
	if c.Alerting.Failures > 0 { // that the run does not end can be the next failure
		return c.review(later(at, c.newest()), effects)
	}
	return c
}

// finish applies a success or a failure.
func (c Check) finish(kind pings.Kind, run uuid.NullUUID, at time.Time, effects *Effects) Check {
	if !at.Before(c.LastStart) {
		c = c.endRun(kind, run, at)
	}
	switch {
	case at.Before(c.LastPing):
		if kind == pings.Fail {
			c = c.failAgain(at, effects)
		}
		return c
	case c.overtaken(at):
		if c.Stored == StatusPaused {
			c.LastPing = at // a resume would have cleared it
		}
		return c
	}
	c.LastPing = at
	to, reason := StatusUp, ReasonSuccess
	if kind == pings.Fail {
		to, reason = StatusDown, ReasonFail
	}
	if c.Stored == to {
		if kind == pings.Fail {
			c = c.failAgain(at, effects)
		}
		return c
	}
	// Where a deadline took the check down before this ping was recorded, it goes up after that.
	t := Transition{From: c.Stored, To: to, At: later(at, c.Since), Reason: reason}
	return c.enter(t, later(at, c.newest()), effects)
}

// failAgain counts a failure of a check that is down. One received before the check went down is none in this row.
func (c Check) failAgain(at time.Time, effects *Effects) Check {
	if c.Stored != StatusDown || c.Alerting.Failures == 0 || pings.Late(at, c.Alerting.Since) {
		return c
	}
	c.Alerting = c.Alerting.failed(at, at)
	return c.review(later(at, c.newest()), effects)
}

// endRun ends the run in progress, unless the ping is a success of another run. A start that is overdue already (which
// it can become while the check is down) must not outlive any ping.
func (c Check) endRun(kind pings.Kind, run uuid.NullUUID, at time.Time) Check {
	if kind == pings.Fail || !run.Valid || run == c.LastStartRun || !c.overrunAt().After(at) {
		c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	}
	return c
}

// Pause stops monitoring until the check is resumed, or, unless ManualResume is set, until it is pinged
// (API-V3.md section 4.5). Alerts that are held back are dropped. Pings received before have no effect any more, even
// if they are recorded later.
func (c Check) Pause(now time.Time) (Check, Effects) {
	now = Instant(now)
	c, effects := c.Settle(now)
	c.Since = later(now, c.newest())
	c.Stored = StatusPaused
	c.Alerting = Alerting{}
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c, effects
}

// Resume makes a paused check new again, as if it had never been pinged; its log and its count of pings stay
// (API-V3.md section 4.6). The error is [ErrNotPaused].
func (c Check) Resume(now time.Time) (Check, error) {
	if c.Stored != StatusPaused {
		return c, ErrNotPaused
	}
	c.Since = later(Instant(now), c.newest())
	c.Stored = StatusNew
	c.LastPing = time.Time{}
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c, nil
}

// Update applies changed settings (section 4.4). A change of the timing counts from the last ping on, but can take
// the check down no earlier than now. A change of the alert rules holds at once, for alerts that are held back too.
// The error is a *[FieldError], and then nothing was changed. The caller resolves Spec.Channels.
func (c Check) Update(spec Spec, now time.Time) (Check, Effects, error) {
	now = Instant(now)
	if err := spec.Validate(now); err != nil {
		return c, Effects{}, err
	}
	c, effects := c.Settle(now)
	before := c.timing()
	c = spec.applyTo(c)
	if c.timing() != before {
		c.TimingSince = now
		if c.Alerting.Failures > 0 { // failures that the new timing would put into the past are none
			c.Alerting.ExpectedAt = later(c.Alerting.ExpectedAt, now.Add(-c.Grace))
		}
		c = c.settle(now, &effects)
	}
	c = c.review(now, &effects)
	return c, effects, nil
}
