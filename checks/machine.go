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
		Timeout: DefaultTimeout, Grace: DefaultGrace, TZ: DefaultTZ, TimingSince: now,
		State: State{Stored: StatusNew},
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
	if !c.LastStart.IsZero() && !c.LastStart.Add(c.Grace).After(deadline) {
		reason = ReasonOverrun
	}
	// The start has had its effect. Kept, it would take the check down again as soon as another run succeeds.
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c.enter(Transition{From: c.Stored, To: StatusDown, At: deadline, Reason: reason}, now, effects)
}

// Ping applies a signal and returns the entry for the ping log (API-V3.md sections 2.1.1 and 3).
func (c Check) Ping(signal pings.Signal, now time.Time) (Check, pings.Ping, Effects) {
	signal, now = signal.Cleaned(), Instant(now)
	var effects Effects
	c = c.settle(now, &effects)
	kind := c.Classify(signal)
	if c.Stored == StatusPaused && c.ManualResume {
		kind = pings.Ignored
	}
	c.NPings++
	ping := pings.Ping{
		N: c.NPings, Kind: kind, At: now,
		Scheme: signal.Scheme, Method: signal.Method, RemoteAddr: signal.RemoteAddr, UserAgent: signal.UserAgent,
		RunID: signal.RunID, ExitStatus: signal.ExitStatus, Body: signal.Body, BodySize: int64(len(signal.Body)),
	}
	switch kind {
	case pings.Start:
		c.LastStart, c.LastStartRun = now, signal.RunID
		c.Runs = c.Runs.Start(signal.RunID, now)
		if c.Stored == StatusPaused {
			c.Stored = StatusNew
		}
		if c.Alerting.Failures > 0 { // that the run does not end can be the next failure
			c = c.review(now, &effects)
		}
	case pings.Success, pings.Fail:
		var took time.Duration
		var paired bool
		if c.Runs, took, paired = c.Runs.End(signal.RunID, now); paired {
			ping.Duration = &took
		}
		c = c.finish(kind, signal.RunID, now, &effects)
	}
	return c, ping, effects
}

// finish applies a success or a failure.
func (c Check) finish(kind pings.Kind, run uuid.NullUUID, now time.Time, effects *Effects) Check {
	c.LastPing = now
	// A start that is overdue already (which it can become while the check is down) must not outlive this ping.
	if kind == pings.Fail || !run.Valid || run == c.LastStartRun || !c.LastStart.Add(c.Grace).After(now) {
		c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	}
	to, reason := StatusUp, ReasonSuccess
	if kind == pings.Fail {
		to, reason = StatusDown, ReasonFail
	}
	switch {
	case c.Stored != to:
		return c.enter(Transition{From: c.Stored, To: to, At: now, Reason: reason}, now, effects)
	case c.Alerting.Failures > 0:
		c.Alerting = c.Alerting.failed(now, now)
		return c.review(now, effects)
	}
	return c
}

// Pause stops monitoring until the check is resumed, or, unless ManualResume is set, until it is pinged
// (section 4.5). Alerts that are held back are dropped. Pausing a paused check changes nothing.
func (c Check) Pause(now time.Time) (Check, Effects) {
	c, effects := c.Settle(Instant(now))
	c.Stored = StatusPaused
	c.Alerting = Alerting{}
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c, effects
}

// Resume makes a paused check new again, as if it had never been pinged; its log and its count of pings stay
// (section 4.6). The error is [ErrNotPaused].
func (c Check) Resume() (Check, error) {
	if c.Stored != StatusPaused {
		return c, ErrNotPaused
	}
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

// timing is what decides a check's deadlines besides its pings.
type timing struct {
	timeout, grace time.Duration
	schedule, tz   string
}

func (c Check) timing() timing {
	if c.IsCron() {
		return timing{grace: c.Grace, schedule: c.Schedule, tz: c.TZ}
	}
	return timing{grace: c.Grace, timeout: c.Timeout}
}
