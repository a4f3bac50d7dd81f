package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// MaxBody is the maximum size of a ping's body in bytes.
const MaxBody = ingest.MaxBody

// Ping records a signal for a check and returns the log entry. When Ping returns without an error, the ping is durable.
// If ctx ends first, the ping may or may not have been recorded. Errors: [checks.ErrNotFound]; *[checks.FieldError] for
// an invalid signal, a body larger than [MaxBody] or a time beyond [pings.MaxQueued]; [ErrUnavailable]; the error of ctx.
//
// With a [Config].Spool, a ping that goes to the spool is durable too. The entry has only a time then, and nobody has looked
// whether there is such a check.
func (m *Monitor) Ping(ctx context.Context, id uuid.UUID, signal pings.Signal) (pings.Ping, error) {
	return m.ingest.Ping(ctx, id, signal)
}

// PingSlug records a signal for the check with a slug, in the project with the ping key. With create, it creates a
// missing check: its name is the slug, it gets all channels, and the account may have up to twice its limit of checks.
// Errors: those of [Monitor.Ping], [checks.ErrAmbiguousSlug], [checks.ErrCheckLimit], [ErrCreatedChecks],
// *[CreateRateError].
func (m *Monitor) PingSlug(ctx context.Context, pingKey, slug string, create bool, signal pings.Signal) (ping pings.Ping, created bool, err error) {
	return m.ingest.PingSlug(ctx, pingKey, slug, create, signal)
}

// CheckIDBySlug returns the identifier of the check with a slug, in the project with the ping key. Errors:
// [checks.ErrNotFound], [checks.ErrAmbiguousSlug], [ErrUnavailable].
func (m *Monitor) CheckIDBySlug(ctx context.Context, pingKey, slug string) (uuid.UUID, error) {
	id, _, err := m.admin.CheckIDBySlug(ctx, pingKey, slug, false, true)
	return id, err
}

// Replay records the pings in the spool until it is empty, or until the next ping must wait for those of other monitors. It
// returns how many pings it has taken out. Once a second, it also saves this monitor's progress in the database.
// [Monitor.Run] calls Replay five times a second; call it only in a program that does not call Run, and then from one
// goroutine. Error: [ErrUnavailable]; the pings stay in the spool then.
func (m *Monitor) Replay(ctx context.Context) (taken int, err error) { return m.ingest.Replay(ctx) }

// SpoolStats describes the pings in the spool of a [Monitor].
type SpoolStats = ingest.SpoolStats

// Spooled describes the pings that wait in the spool, from memory. ok is false for a monitor without a spool.
func (m *Monitor) Spooled() (stats SpoolStats, ok bool) { return m.ingest.SpoolStats() }

// Pings returns the pings of a check that arrived last, in the reverse order of their numbers, without bodies: up to 100 on
// the free plan, up to 1000 on the paid plan. A ping with an earlier time ([pings.Signal.At]) stands where it
// arrived. Error: [checks.ErrNotFound].
func (m *Monitor) Pings(ctx context.Context, id uuid.UUID) ([]pings.Ping, error) {
	limit, err := m.admin.PingLimit(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := m.store.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{id}, Limit: limit})
	return all[id], err
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
	return m.store.Pings(ctx, store.PingQuery{Checks: ids, Since: since, Limit: min(most, project.PingLimit()), Brief: true})
}
