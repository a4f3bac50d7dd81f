package checks

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Status is the status of a check.
type Status string

// The statuses of a check. Grace is never stored: it follows from the clock.
const (
	StatusNew    Status = "new"    // no success or failure was received yet, or the check was resumed
	StatusUp     Status = "up"     // the last ping was a success, and the next is not due yet
	StatusGrace  Status = "grace"  // the next ping is due and has not come, and the grace time has not passed
	StatusDown   Status = "down"   // the job failed, a ping was missed, or a run timed out
	StatusPaused Status = "paused" // monitoring is off
)

// Check is one monitored job with its settings and its state. It is a value: the methods that change it return a copy.
// Times are in UTC and have microseconds. The zero time means "none". Its JSON has the names of the API where that has the same; times are
// in RFC 3339, durations in nanoseconds, and zero values are left out.
type Check struct {
	ID        uuid.UUID `json:"id,omitzero"`
	ProjectID uuid.UUID `json:"project_id,omitzero"`
	// BadgeKey identifies the check in the URL of its badge. It is random, so that the URL does not reveal ID.
	BadgeKey  uuid.UUID `json:"badge_key,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`

	Settings
	// TimingSince is when the settings that decide deadlines last changed, but for another grace that leaves the check late as it was.
	// No deadline is earlier than that, so a change cannot take the check down in the past.
	TimingSince time.Time `json:"timing_since,omitzero"`

	// Channels are the integrations that receive the alerts.
	Channels []uuid.UUID `json:"channels,omitempty"`

	State

	plan plan // the compiled Schedule and QuietHours, see Plans
}

// State is what pings and the clock have made of a check. Its JSON is what package sqlstore keeps.
type State struct {
	// Stored is the status after the last event: new, up, down or paused. See [Check.Status] for that at an instant.
	Stored Status `json:"status"`
	// StoredSince is when the check last went up or down, or was paused or resumed. It is the zero time on a new check.
	// See [Check.Since] for the status at an instant.
	StoredSince time.Time `json:"since,omitzero"`
	// NPings counts the pings received, ignored ones included.
	NPings int64 `json:"n_pings"`
	// LastPing is when the last success or failure was received.
	LastPing time.Time `json:"last_ping,omitzero"`
	// WatchedFrom is when a ping arrived that was sent so much later than its time that the next one was overdue as well, and
	// began the watch of a check that was new or paused. The next ping is expected from then, not from LastPing. It is the
	// zero time otherwise.
	WatchedFrom time.Time `json:"watched_from,omitzero"`
	// Runs are the runs whose ends were not received, at most 100. See [Check.InProgress] for those at an instant.
	Runs OpenRuns `json:"runs,omitempty"`
	// Ended are the runs that ended last, so that a start that is sent again begins no run.
	Ended EndedRuns `json:"ended,omitempty"`
	// Alerting is the state of the alert rules.
	Alerting alerting `json:"alerting,omitzero"`
	// Ack is the acknowledgement of the outage of a check that is down, or the zero value.
	Ack gate.Ack `json:"ack,omitzero"`
	// History has the last runs and the totals of the newest day.
	History History `json:"history,omitzero"`
}

// Validate returns a *[FieldError] if the schedule, the time zone or the quiet hours cannot be evaluated, which no check
// from [New] has. Such a check does not go down by the clock, and [Check.Ping] and [Check.Update] return the error.
func (c Check) Validate() error {
	if !c.UsesTZ() {
		return nil
	}
	return c.compiled().err
}

// DisplayName returns what people call the check: its name, or else its slug, or else the first 8 digits of its ID. Alerts,
// pages and the command line call it so.
func (c Check) DisplayName() string { return displayName(c.Settings, c.ID.String()) }

func displayName(s Settings, id string) string {
	for _, name := range []string{s.Name, s.Slug} {
		visible := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
		if strings.ContainsFunc(name, visible) {
			return name
		}
	}
	return id[:min(len(id), 8)]
}

// SortName returns the display name as lists sort it: in lower case and on one line.
func (c Check) SortName() string {
	c.Name = prose.Name(c.Name)
	return strings.ToLower(c.DisplayName())
}

// SearchText returns the texts of the check in which searches look for words in lower case: [Check.SortName], the slug and
// the tags.
func (c Check) SearchText() string {
	return c.SortName() + "\n" + c.Slug + "\n" + strings.ToLower(prose.Plain(strings.Join(c.TagList(), " ")))
}

// UniqueKey returns the identifier that a read-only key sees instead of the UUID.
func (c Check) UniqueKey() string { return UniqueKey(c.ID) }

// UniqueKey returns the unique_key of the check with an identifier: 40 hexadecimal digits that do not reveal it.
func UniqueKey(id uuid.UUID) string {
	sum := sha1.Sum([]byte(hex.EncodeToString(id[:8])))
	return hex.EncodeToString(sum[:])
}

// Status returns the status at an instant, whether or not anyone has recorded the change yet.
func (c Check) Status(now time.Time) Status {
	switch c.Stored {
	case StatusUp, StatusNew:
		if deadline := c.Deadline(); !deadline.IsZero() && !now.Before(deadline) {
			return StatusDown
		}
		if c.Stored == StatusUp {
			if due := c.ExpectedAfter(later(c.LastPing, c.WatchedFrom)); !due.IsZero() && !now.Before(due) {
				return StatusGrace
			}
		}
	}
	return c.Stored
}

// Since returns since when the check has the status that it has at an instant, which must not be before the last event.
// What the clock alone has done counts, whether or not anyone has recorded it:
//
//   - new: since the check was created or resumed, or was paused if a start has ended the pause
//   - up: since it last went up; a ping that came within the grace time does not interrupt that
//   - grace: since the ping was due, or the timing was changed after that
//   - down: since the failure or the deadline
//   - paused: since the last pause
func (c Check) Since(now time.Time) time.Time {
	switch status := c.Status(now); {
	case status == StatusGrace:
		return later(c.ExpectedAfter(later(c.LastPing, c.WatchedFrom)), c.TimingSince, c.StoredSince)
	case status == StatusDown && c.Stored != StatusDown:
		return c.Deadline()
	case c.StoredSince.IsZero():
		return c.CreatedAt
	}
	return c.StoredSince
}

// NextPing returns when the next ping is expected. While the check is in grace, that is in the past. It is the zero
// time for a check that is new, paused or down at the given instant.
func (c Check) NextPing(now time.Time) time.Time {
	switch c.Status(now) {
	case StatusUp, StatusGrace:
		return c.ExpectedAfter(later(c.LastPing, c.WatchedFrom))
	}
	return time.Time{}
}

// Started reports whether a run is in progress at an instant.
func (c Check) Started(now time.Time) bool { return len(c.InProgress(now)) > 0 }

// InProgress returns the runs that are in progress at an instant, which must not be before the last event. They have started,
// no ping has ended them, and they have not taken longer than RunLimit.
func (c Check) InProgress(now time.Time) (list []OpenRun) {
	if c.MaxRuntime == 0 && c.Stored != StatusDown && c.Status(now) == StatusDown {
		return nil // see settle
	}
	for _, run := range c.Runs {
		if run.Open && now.Before(c.overrunAt(run)) {
			list = append(list, run)
		}
	}
	return list
}

// Deadline returns when the check goes down unless a ping comes before. It is the zero time for a check that cannot go
// down by the clock: one that is paused or down, or new with no run in progress.
//
// With MaxRuntime, the first run in progress to take too long decides, whatever other runs do. Without it, the run that started
// last decides: a job that died and runs again is no trouble.
func (c Check) Deadline() time.Time {
	_, deadline, _ := c.Outlook()
	return deadline
}

// Outlook returns what the clock will do to the check unless a ping comes before: when the next ping is expected, [Check.Deadline]
// and [Check.Wake]. Each is the zero time if there is none; a ping is expected only of a check that is up.
func (c Check) Outlook() (next, deadline, wake time.Time) {
	switch c.Stored {
	case StatusUp:
		if next = c.ExpectedAfter(later(c.LastPing, c.WatchedFrom)); !next.IsZero() {
			deadline = next.Add(c.Grace)
		}
	case StatusNew:
	default:
		return next, deadline, c.Alerting.Next
	}
	if len(c.Runs) > 0 {
		if run := c.decisive(); run.Open && (deadline.IsZero() || c.overrunAt(run).Before(deadline)) {
			deadline = c.overrunAt(run)
		}
	}
	if !deadline.IsZero() && deadline.Before(c.TimingSince) {
		deadline = c.TimingSince
	}
	wake = c.Alerting.Next
	if wake.IsZero() || !deadline.IsZero() && deadline.Before(wake) {
		wake = deadline
	}
	return next, deadline, wake
}

// Wake returns the instant at which [Check.Settle] next has something to do: the deadline, or an alert that is due
// earlier. It is the zero time when there is nothing to wait for.
func (c Check) Wake() time.Time {
	_, _, wake := c.Outlook()
	return wake
}

// decisive returns the open run whose end is watched, or the zero value.
func (c Check) decisive() OpenRun {
	oldest, newest := c.Runs.Span()
	if c.MaxRuntime > 0 {
		return oldest
	}
	return newest
}

// overrunAt returns when a run will have taken too long.
func (c Check) overrunAt(run OpenRun) time.Time { return run.StartedAt.Add(c.RunLimit()) }

// NewTooLong reports whether a check has been new for longer than its period and its grace time, since it was created or resumed
// or its timing changed: no success or failure has started the watch.
func (c Check) NewTooLong(now time.Time) bool {
	due := c.ExpectedAfter(later(c.CreatedAt, c.StoredSince, c.TimingSince))
	return c.Stored == StatusNew && c.Deadline().IsZero() && !due.IsZero() && now.After(due.Add(c.Grace))
}

// ExpectedAfter returns when the ping after one at the given instant is due, by the present settings, in UTC. It is the
// zero time for the zero time, and if the schedule has no further time or [Check.Validate] refuses it.
func (c Check) ExpectedAfter(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	if !c.IsCron() {
		return t.Add(c.Timeout)
	}
	p := c.compiled()
	switch {
	case p.schedule == nil && c.plan.compiled: // see [Plans.Attach]
		return t
	case p.schedule == nil:
		return time.Time{}
	}
	next := p.schedule.Next(t.In(p.zone))
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func later(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
