package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// MaxBody is the maximum size of a ping's body in bytes.
const MaxBody = ingest.MaxBody

// Ping records a signal for a check and returns the log entry. When Ping returns without an error, the ping is durable.
// If ctx ends first, the ping may or may not have been recorded. Errors: [checks.ErrNotFound]; *[checks.FieldError] for
// an invalid signal, a body larger than [MaxBody] or a time beyond [pings.MaxQueued]; [checks.ErrUnavailable] for any error of
// the database that is not known to be the fault of this ping; the error of ctx.
//
// With a [Config].Spool, a ping that goes to the spool is durable too. The entry has only a time then, and nobody has looked
// whether there is such a check.
func (m *Monitor) Ping(ctx context.Context, id uuid.UUID, signal pings.Signal) (pings.Ping, error) {
	ping, err := m.ingest.Ping(ctx, id, signal)
	if err != nil {
		return ping, about("check", id, err)
	}
	return ping, nil
}

// PingSlug records a signal for the check with a slug, in the project with the ping key. With create, it creates a
// missing check: its name is the slug, it gets all channels, and the account may have up to twice its limit of checks.
// Errors: those of [Monitor.Ping], [checks.ErrAmbiguousSlug], [checks.ErrCheckLimit], also of [Config].MaxCreated,
// *[checks.CreateRateError].
func (m *Monitor) PingSlug(ctx context.Context, pingKey, slug string, create bool, signal pings.Signal) (ping pings.Ping, created bool, err error) {
	ping, created, err = m.ingest.PingSlug(ctx, pingKey, slug, create, signal)
	if err != nil {
		return ping, created, about("slug", slug, err)
	}
	return ping, created, nil
}

// Job returns the reporter of a check's job. It has the methods and the semantics of a *client.Pinger, without a server
// between: start, success, or failure with the error of the job, and a panic with its stack. The errors of a ping are those
// of [Monitor.Ping]. Of a body larger than [MaxBody], the end is kept.
//
// A job does not wait for its monitoring. A ping is tried once, for at most 3 seconds. If the database is unavailable then,
// or does not answer, the ping waits in memory, up to 10,000 pings with 32 MiB of bodies, and its error is a
// [job.ErrPending]. Those after it join it at once. The monitor records them with their times, in their order, as soon as
// the database is there, and judges no deadline before. [Monitor.Stop] waits for that, within Config.StopTimeout, and counts
// those that are left. With a Config.Spool, pings go there instead, and survive the process.
//
//	err := mon.Job(check.ID).Run(ctx, backup)
//
// Job reads nothing: if no check has the identifier, each ping returns [checks.ErrNotFound].
func (m *Monitor) Job(id uuid.UUID) *job.Job { return m.jobs.reporter(&target{id: id}) }

// Check returns a check of any project: the state machine, of which [checks.Check.Status] is the status at an instant.
// [Project.Check] returns what most programs need. Error: [checks.ErrNotFound].
func (m *Monitor) Check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	c, err := m.anyCheck(ctx, id)
	return c, about("check", id, err)
}
