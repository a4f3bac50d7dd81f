package checks

import (
	"crypto/sha1"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// Status is the state of a check (API-V3.md section 3).
type Status string

// The states of a check. Grace is never stored: it follows from the clock.
const (
	StatusNew    Status = "new"    // no ping was received yet
	StatusUp     Status = "up"     // the last ping was a success, and the next is not due yet
	StatusGrace  Status = "grace"  // the next ping is due and has not come, and the grace time has not passed
	StatusDown   Status = "down"   // a failure was signalled, or a ping is overdue
	StatusPaused Status = "paused" // monitoring is off
)

// Check is one monitored job: its settings and its state (API-V3.md section 2.1). It is a value: the methods that
// change it return a copy. Times are in UTC with microseconds; the zero time stands for "none".
type Check struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	// BadgeKey names the check in the address of its badge; it cannot be derived from ID.
	BadgeKey  uuid.UUID
	CreatedAt time.Time

	Settings
	// TimingSince is when the settings that decide deadlines last changed. A deadline that a change would put into the
	// past is at that instant instead, so that history is not rewritten.
	TimingSince time.Time

	// Channels are the integrations that are told of alerts.
	Channels []uuid.UUID

	State

	plan plan // the compiled Schedule and QuietHours; see Plans
}

// State is what pings and the clock have made of a check.
type State struct {
	// Stored is the state at the last event: new, up, down or paused. [Check.Status] tells the state at an
	// instant.
	Stored Status
	// Since is when the check last went up or down, or was paused or resumed. It is the zero time on a new check.
	Since time.Time
	// NPings counts the pings received, ignored ones included.
	NPings int64
	// LastPing is when the last success or failure was received.
	LastPing time.Time
	// LastStart is when the current run began, zero when none is in progress.
	LastStart time.Time
	// LastStartRun is the run identifier of the current run.
	LastStartRun uuid.NullUUID
	// Runs are the starts that wait for their end, to tell how long a run took.
	Runs pings.Runs
	// Alerting is what the alert rules remember.
	Alerting Alerting
}

// UniqueKey returns the identifier that stands for the check where its UUID is not to be shown (section 2.1).
func (c Check) UniqueKey() string { return UniqueKey(c.ID) }

// UniqueKey returns the unique_key of the check with this identifier: 40 hexadecimal digits from which the UUID
// cannot be found.
func UniqueKey(id uuid.UUID) string {
	sum := sha1.Sum([]byte(hex.EncodeToString(id[:8])))
	return hex.EncodeToString(sum[:])
}

// Status returns the state at an instant, whether or not anyone has recorded the change yet.
func (c Check) Status(now time.Time) Status {
	switch c.Stored {
	case StatusUp, StatusNew:
		if deadline := c.Deadline(); !deadline.IsZero() && !now.Before(deadline) {
			return StatusDown
		}
		if c.Stored == StatusUp {
			if due := c.expected(); !due.IsZero() && !now.Before(due) {
				return StatusGrace
			}
		}
	}
	return c.Stored
}

// NextPing returns when the next ping is expected, or the zero time when the check is new, paused or down at that
// instant. While the check is in grace, the time lies in the past.
func (c Check) NextPing(now time.Time) time.Time {
	switch c.Status(now) {
	case StatusUp, StatusGrace:
		return c.expected()
	}
	return time.Time{}
}

// Started reports whether a run is in progress at an instant.
func (c Check) Started(now time.Time) bool {
	return !c.LastStart.IsZero() && (c.Stored == StatusDown || c.Status(now) != StatusDown)
}

// Deadline returns the instant at which the check goes down if nothing happens before, or the zero time when it
// does not: when it is paused, down already, or new without a run in progress.
func (c Check) Deadline() time.Time {
	var deadline time.Time
	switch c.Stored {
	case StatusUp:
		if due := c.expected(); !due.IsZero() {
			deadline = due.Add(c.Grace)
		}
	case StatusNew:
	default:
		return time.Time{}
	}
	if end := c.overrunAt(); !end.IsZero() && (deadline.IsZero() || end.Before(deadline)) {
		deadline = end
	}
	if !deadline.IsZero() && deadline.Before(c.TimingSince) {
		deadline = c.TimingSince
	}
	return deadline
}

// overrunAt returns the instant from which the run in progress takes too long, or the zero time when there is none.
func (c Check) overrunAt() time.Time {
	if c.LastStart.IsZero() {
		return time.Time{}
	}
	return c.LastStart.Add(c.runLimit())
}

// expected returns when the ping after the last one is due, or the zero time when the schedule has no more times.
func (c Check) expected() time.Time {
	if c.LastPing.IsZero() {
		return time.Time{}
	}
	return c.expectedAfter(c.LastPing)
}

// expectedAfter returns when the ping after one at the given instant is due, or the zero time when the schedule has no
// more times.
func (c Check) expectedAfter(t time.Time) time.Time {
	if !c.IsCron() {
		return t.Add(c.Timeout)
	}
	p := c.plan
	if !p.compiled {
		var err error
		if p, err = compile(c); err != nil {
			// Such a check was validated where the zone was known. Due at once makes it heard of; the zero time
			// would make it silent for ever.
			return t
		}
	}
	next := p.schedule.Next(t.In(p.zone))
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}
