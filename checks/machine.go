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

// Alerts reports whether integrations are told of the transition: always when the check went down, and when it
// came up from down.
func (t Transition) Alerts() bool { return t.To == StatusDown || t.From == StatusDown }

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
// of the deadline. Every event settles first, so that nothing depends on how soon a watcher has come by.
func (c Check) Settle(now time.Time) (Check, []Transition) {
	deadline := c.Deadline()
	if deadline.IsZero() || now.Before(deadline) {
		return c, nil
	}
	reason := ReasonOverdue
	if !c.LastStart.IsZero() && !c.LastStart.Add(c.Grace).After(deadline) {
		reason = ReasonOverrun
	}
	t := Transition{From: c.Stored, To: StatusDown, At: deadline, Reason: reason}
	c.Stored = StatusDown
	// The start has had its effect. Kept, it would take the check down again as soon as another run succeeds.
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c, []Transition{t}
}

// Ping applies a signal and returns the entry for the ping log (API-V3.md sections 2.1.1 and 3).
func (c Check) Ping(signal pings.Signal, now time.Time) (Check, pings.Ping, []Transition) {
	signal, now = signal.Cleaned(), Instant(now)
	c, transitions := c.Settle(now)
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
	case pings.Success, pings.Fail:
		var took time.Duration
		var paired bool
		if c.Runs, took, paired = c.Runs.End(signal.RunID, now); paired {
			ping.Duration = &took
		}
		c, transitions = c.finish(kind, signal.RunID, now, transitions)
	}
	return c, ping, transitions
}

// finish applies a success or a failure.
func (c Check) finish(kind pings.Kind, run uuid.NullUUID, now time.Time, done []Transition) (Check, []Transition) {
	c.LastPing = now
	// A start that is overdue already (which it can become while the check is down) must not outlive this ping.
	if kind == pings.Fail || !run.Valid || run == c.LastStartRun || !c.LastStart.Add(c.Grace).After(now) {
		c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	}
	to, reason := StatusUp, ReasonSuccess
	if kind == pings.Fail {
		to, reason = StatusDown, ReasonFail
	}
	if c.Stored != to {
		done = append(done, Transition{From: c.Stored, To: to, At: now, Reason: reason})
		c.Stored = to
	}
	return c, done
}

// Pause stops monitoring until the check is resumed, or, unless ManualResume is set, until it is pinged
// (section 4.5). Pausing a paused check changes nothing.
func (c Check) Pause(now time.Time) (Check, []Transition) {
	c, transitions := c.Settle(Instant(now))
	c.Stored = StatusPaused
	c.LastStart, c.LastStartRun = time.Time{}, uuid.NullUUID{}
	return c, transitions
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
// the check down no earlier than now. The error is a *[FieldError], and then nothing was changed. The caller
// resolves Spec.Channels.
func (c Check) Update(spec Spec, now time.Time) (Check, []Transition, error) {
	now = Instant(now)
	if err := spec.Validate(now); err != nil {
		return c, nil, err
	}
	c, transitions := c.Settle(now)
	before := c.timing()
	c = spec.applyTo(c)
	if c.timing() == before {
		return c, transitions, nil
	}
	c.TimingSince = now
	c, more := c.Settle(now)
	return c, append(transitions, more...), nil
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
