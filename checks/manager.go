package checks

import (
	"context"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// Manager manages the checks and the windows of one project. A *client.Client is the Manager of its key's project on a server, and a
// *monitor.Project that of a project in this process, so code written for a Manager works on both. A Manager is safe for
// concurrent use.
//
// The errors are the same on both. They match [ErrNotFound], [ErrExists], [ErrCheckLimit], [ErrNotPaused],
// [ErrNotDown], [ErrAcknowledged], [ErrAmbiguousSlug], [ErrBodyUnavailable], [ErrBodyCorrupt], [ErrUnavailable] and that of a context that has ended by [errors.Is]. They are a
// *[FieldError] for a setting, a range or an identifier that is refused, and a *[channels.SelectError] for a channel that does
// not exist. What belongs to another project is not found. A client has more errors: those of its key and of other programs.
//
// Each range over an iterator reads again. An error is the last pair; after the end of the context, it can follow others.
// [Collect] returns all values as a slice.
type Manager interface {
	// Check returns a check of the project.
	Check(ctx context.Context, id uuid.UUID) (Snapshot, error)
	// CheckBySlug returns the check with a slug. The error is ErrAmbiguousSlug if several have it.
	CheckBySlug(ctx context.Context, slug string) (Snapshot, error)
	// CheckByUniqueKey returns the check with a unique key; see [UniqueKey].
	CheckByUniqueKey(ctx context.Context, key string) (Snapshot, error)
	// Checks returns the checks that the query selects, oldest first.
	Checks(ctx context.Context, q Query) ([]Snapshot, error)
	// Create adds a check. Without Spec.Channels, it alerts all channels of the project in a monitor, and none on a server, as the API
	// says; set Channels for both to do the same.
	Create(ctx context.Context, spec Spec) (Snapshot, error)
	// Update changes the settings that the spec sets.
	Update(ctx context.Context, id uuid.UUID, spec Spec) (Snapshot, error)
	// Upsert updates the oldest check that equals the spec in the unique fields, or creates one, and says which. A unique
	// field that the spec does not set matches no check. Without unique fields, Upsert creates a check.
	Upsert(ctx context.Context, spec Spec, unique ...UniqueField) (c Snapshot, created bool, err error)
	// Pause stops the monitoring of a check.
	Pause(ctx context.Context, id uuid.UUID) (Snapshot, error)
	// Resume makes a paused check new.
	Resume(ctx context.Context, id uuid.UUID) (Snapshot, error)
	// Acknowledge says who takes the outage of a check that is down on, so that reminders and escalation stop. If somebody else
	// has it, the error is ErrAcknowledged unless the spec takes it over.
	Acknowledge(ctx context.Context, id uuid.UUID, spec AckSpec) (Snapshot, error)
	// AcknowledgeMany does that for all checks that are down and that the query selects, and leaves out those that somebody else has
	// unless the spec takes them over. Checks that go down later are not covered. Without For and Note, what the same person has already
	// keeps its end and its note. The order is that of age; with an error, the report has what was done before it.
	AcknowledgeMany(ctx context.Context, q AckQuery, spec AckSpec) (AckReport, error)
	// Unacknowledge gives an outage back, if anybody has it: a reminder says so, and the escalation policy begins again.
	Unacknowledge(ctx context.Context, id uuid.UUID) (Snapshot, error)
	// Delete removes a check with its log and returns it as it was.
	Delete(ctx context.Context, id uuid.UUID) (Snapshot, error)
	// EditChecks makes many changes, in the order of the list, and calls done after each. At the first that fails it stops and keeps
	// those before it; but an error for which skip returns true leaves only that check as it was, and done gets it. Nil functions skip
	// nothing and report nothing. A monitor commits many changes at once; a client makes one or two requests for each.
	EditChecks(ctx context.Context, list []CheckEdit, skip func(error) bool, done func(i int, skipped error)) error
	// Pings returns the pings of a check that the query selects, newest first, without their bodies.
	Pings(ctx context.Context, id uuid.UUID, q PingQuery) iter.Seq2[pings.Ping, error]
	// PingBody returns the body of ping number n. The error is ErrNotFound if there is no such ping or it has no body.
	PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error)
	// Flips returns the flips of a check in a range, newest first.
	Flips(ctx context.Context, id uuid.UUID, in flips.Range) iter.Seq2[flips.Flip, error]
	// Stats returns the figures of each UTC day between two instants, oldest first.
	Stats(ctx context.Context, id uuid.UUID, from, to time.Time) ([]DayStats, error)
	// Channels returns the channels of the project, oldest first. A client gets their ID, Name and Kind alone.
	Channels(ctx context.Context) ([]channels.Channel, error)
	// Windows returns the maintenance windows and snoozes that the query selects, in the order of their starts.
	Windows(ctx context.Context, q WindowQuery) ([]gate.Window, error)
	// Window returns a maintenance window or a snooze of the project.
	Window(ctx context.Context, id uuid.UUID) (gate.Window, error)
	// AddWindow adds a maintenance window or a snooze, and returns it with its ID, By and CreatedAt. Alerts of the checks that it covers
	// wait from its start to its end.
	AddWindow(ctx context.Context, w gate.Window) (gate.Window, error)
	// EndWindow ends a maintenance window or a snooze now. One that has not begun is deleted.
	EndWindow(ctx context.Context, id uuid.UUID) (gate.Window, error)
	// Probe tests that the database answers queries.
	Probe(ctx context.Context) error
}

// CheckEdit is a change of one check, for [Manager.EditChecks]. With Delete it deletes the check with the ID, else it updates that check
// as [Manager.Update] does. Without an ID it does what [Manager.Upsert] does with [UniqueSlug], and Spec must have a slug.
type CheckEdit struct {
	ID     uuid.UUID
	Delete bool
	// Spec has the settings to change.
	Spec Spec
	// With, unless nil, returns the Spec of an update from the check as it is. Its error is that of the change. It must be quick, must
	// not call the Manager, and may run several times.
	With func(Snapshot) (Spec, error)
}

// Query selects checks. The zero value selects all checks of a project.
type Query struct {
	Slug string   // only checks with this slug; "" for any
	Tags []string // only checks with all of these tags, compared as whole words
}

// PingQuery selects pings of a check. The zero value selects all that the plan keeps.
type PingQuery struct {
	Limit int       // at most so many of the newest; 0 for any number
	Since time.Time // only pings at or after this instant; the zero time for any
}

// WindowQuery selects maintenance windows and snoozes of a project. The zero value selects all that have not ended.
type WindowQuery struct {
	// Kind, unless "", selects one kind.
	Kind gate.WindowKind
	// EndsAfter, unless it is the zero time, also selects those that have ended after an instant. They are kept as long as flips.
	EndsAfter time.Time
}

// Select returns those of the pings that the query selects. It may change the list.
func (q PingQuery) Select(list []pings.Ping) []pings.Ping {
	list = slices.DeleteFunc(list, func(p pings.Ping) bool { return p.At.Before(q.Since) })
	if q.Limit > 0 {
		list = list[:min(len(list), q.Limit)]
	}
	return list
}

// Collect returns all that an iterator yields, or nothing and its error.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// DistinctTags returns the tags, each once. ok is false if no check can have them all: together they are longer than the tags of
// a check.
func (q Query) DistinctTags() (tags []string, ok bool) {
	tags = distinct(slices.Clone(q.Tags))
	length := len(tags) - 1 // the blanks between them
	for _, tag := range tags {
		length += utf8.RuneCountInString(tag)
	}
	return tags, length <= maxTags
}

// Snapshot is a check as it was at one instant: its settings and what they and the pings made of it. The zero time means
// "none".
type Snapshot struct {
	// ID identifies the check. It is zero for a client with a read-only key.
	ID uuid.UUID
	// UniqueKey identifies the check without revealing ID.
	UniqueKey string

	// Settings are what a user sets. From a client, Timeout is 0 for a Cron check, and TZ is "" if the check has neither a
	// schedule nor quiet hours.
	Settings

	// Status is the state at the instant.
	Status Status
	// NPings is the number of pings received, ignored ones included.
	NPings int64
	// Started reports whether a run is in progress. From a client, it is false unless the server reports it.
	Started bool
	// LastPing is when the last success or failure was received; from a client, in whole seconds.
	LastPing time.Time
	// NextPing is when the next ping is expected; from a client, in whole seconds.
	NextPing time.Time

	// Ack is the acknowledgement of the outage, if there is one that holds at the instant; from a client, its times are in whole
	// seconds, and By is "" with a read-only key.
	Ack gate.Ack

	// Channels are the channels that receive the alerts.
	Channels []uuid.UUID

	// PingURL and BadgeURL are the addresses of the check on a server, and "" in a monitor.
	PingURL, BadgeURL string

	// Check is the check itself in a monitor: the state machine with its recent runs. It is nil from a client.
	Check *Check
}

// DisplayName returns what people call the check: its name, or else its slug, or else the first 8 digits of its ID, or of its
// UniqueKey for a client with a read-only key.
func (s Snapshot) DisplayName() string {
	if s.ID == uuid.Nil {
		return displayName(s.Settings, s.UniqueKey)
	}
	return displayName(s.Settings, s.ID.String())
}

// Stored returns the checks of snapshots of a monitor, and passes on an error: Stored(project.Checks(ctx, q)).
func Stored(list []Snapshot, err error) ([]Check, error) {
	if err != nil {
		return nil, err
	}
	stored := make([]Check, len(list))
	for i, s := range list {
		stored[i] = *s.Check
	}
	return stored, nil
}

// Snapshot returns the check as it is at an instant. It shares the memory of c.
func (c Check) Snapshot(now time.Time) Snapshot {
	return Snapshot{
		ID: c.ID, UniqueKey: c.UniqueKey(), Settings: c.Settings,
		Status: c.Status(now), NPings: c.NPings, Started: c.Started(now), LastPing: c.LastPing, NextPing: c.NextPing(now),
		Ack: c.Acknowledged(now), Channels: c.Channels, Check: &c,
	}
}
