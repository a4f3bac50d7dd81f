package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/pings"
)

// Ping records a signal for a check and returns the log entry. When Ping returns without an error, the ping is durable.
// If ctx ends first, the ping may or may not have been recorded. Errors: [checks.ErrNotFound]; *[checks.FieldError] for
// an invalid signal, a body larger than [MaxBody] or a time beyond [pings.MaxQueued]; [ErrUnavailable]; the error of ctx.
//
// With a [Config].Spool, a ping that goes to the spool is durable too. The entry has only a time then, and nobody has looked
// whether there is such a check.
func (m *Monitor) Ping(ctx context.Context, id uuid.UUID, signal pings.Signal) (pings.Ping, error) {
	if err := m.validate(signal); err != nil {
		return pings.Ping{}, err
	}
	return m.writer.submit(ctx, &queuedPing{check: id, signal: signal})
}

// validate returns a *[checks.FieldError] for a signal that cannot be recorded.
func (m *Monitor) validate(signal pings.Signal) error {
	refuse := func(field, format string, args ...any) error {
		return &checks.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	if err := checks.ValidateSignal(signal); err != nil {
		return err
	}
	switch {
	case len(signal.Body) > MaxBody:
		return refuse("body", "is too large: %d bytes, the maximum is %d", len(signal.Body), MaxBody)
	case signal.At.IsZero():
		return nil
	}
	switch age := m.Now().Sub(signal.At); {
	case age > pings.MaxQueued:
		return refuse("at", "is too old: the maximum is %v", pings.MaxQueued)
	case age < -pings.MaxAhead:
		return refuse("at", "is in the future: %s", signal.At.Format(time.RFC3339))
	}
	return nil
}

// PingSlug records a signal for the check with a slug, in the project with the ping key. With create, it creates a
// missing check: its name is the slug, it gets all channels, and the account may have up to twice its limit of checks.
// Errors: those of [Monitor.Ping], [checks.ErrAmbiguousSlug], [checks.ErrCheckLimit], [ErrCreatedChecks],
// *[CreateRateError].
func (m *Monitor) PingSlug(ctx context.Context, pingKey, slug string, create bool, signal pings.Signal) (ping pings.Ping, created bool, err error) {
	if err := m.validate(signal); err != nil {
		return pings.Ping{}, false, err
	}
	target := slugTarget{pingKey, slug, create}
	id, created, err := m.lookUpOrSpool(ctx, target)
	if errors.Is(err, hold.ErrHeld) {
		ping, err = m.writer.submit(ctx, &queuedPing{slug: target, signal: signal})
		return ping, false, err
	}
	if err != nil {
		return pings.Ping{}, false, err
	}
	ping, err = m.Ping(ctx, id, signal)
	return ping, created, err
}

// lookUpOrSpool looks up the check of a ping. The error is hold.ErrHeld if the ping must go to the spool without.
func (m *Monitor) lookUpOrSpool(ctx context.Context, target slugTarget) (id uuid.UUID, created bool, err error) {
	switch {
	case m.writer.spooling == nil:
		return m.lookUpSlug(ctx, target, true)
	case !checks.ValidPingKey(target.PingKey) || target.Slug == "" || !checks.ValidSlug(target.Slug):
		return uuid.Nil, false, checks.ErrNotFound
	case m.writer.spooling.isActive():
		return uuid.Nil, false, hold.ErrHeld
	}
	within, cancel := context.WithTimeout(ctx, spoolAfter)
	defer cancel()
	id, created, err = m.lookUpSlug(within, target, true)
	if errors.Is(err, ErrUnavailable) || err != nil && within.Err() != nil && ctx.Err() == nil {
		return uuid.Nil, false, hold.ErrHeld
	}
	return id, created, err
}

// CheckIDBySlug returns the identifier of the check with a slug, in the project with the ping key. Errors:
// [checks.ErrNotFound], [checks.ErrAmbiguousSlug], [ErrUnavailable].
func (m *Monitor) CheckIDBySlug(ctx context.Context, pingKey, slug string) (uuid.UUID, error) {
	id, _, err := m.lookUpSlug(ctx, slugTarget{PingKey: pingKey, Slug: slug}, true)
	return id, err
}

// lookUpSlug returns the check of a ping by slug, or creates it. limited applies Config.CreateRate.
func (m *Monitor) lookUpSlug(ctx context.Context, target slugTarget, limited bool) (id uuid.UUID, created bool, err error) {
	return m.admin.CheckIDBySlug(ctx, target.PingKey, target.Slug, target.Create, limited)
}

// Pings returns the pings of a check that arrived last, in the reverse order of their numbers, without bodies: up to 100 on
// the free plan, up to 1000 on the paid plan. A ping with an earlier time ([pings.Signal.At]) stands where it
// arrived. Error: [checks.ErrNotFound].
func (m *Monitor) Pings(ctx context.Context, id uuid.UUID) ([]pings.Ping, error) {
	limit, err := m.admin.PingLimit(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.store.Pings(ctx, id, limit)
}

// RecentPings returns the newest pings of checks of a project since an instant, newest first, with the number, kind, time,
// run, exit status, duration and body size of each. It may return some that are older, but of no check more than most, nor
// more than [Monitor.Pings] lists. A check without any is not in the map. The number of queries does not depend on the
// number of checks. The caller sees to it that they are in the project. Error: [checks.ErrNotFound] for an unknown project.
func (m *Monitor) RecentPings(ctx context.Context, projectID uuid.UUID, ids []uuid.UUID, since time.Time, most int) (map[uuid.UUID][]pings.Ping, error) {
	project, err := m.admin.CachedProject(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return m.store.RecentPings(ctx, ids, since, min(most, project.PingLimit()))
}
