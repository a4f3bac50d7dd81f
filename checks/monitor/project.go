package monitor

import (
	"context"
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// Project manages the checks of one project, and all else that belongs to it: channels, alerts, keys and status pages. It
// has the methods of a *client.Client, so that code for a [checks.Administrator] works on both, and is the [job.Registry] of a
// scheduler's jobs. [Monitor.OpenProject] and [Monitor.Project] return one. It is safe for concurrent use.
//
// A check, channel or page of another project is not found, as if it did not exist. If the project does not exist, each
// method returns [checks.ErrNotFound].
type Project struct {
	*service
	id uuid.UUID
}

var (
	_ checks.Administrator = (*Project)(nil)
	_ job.Registry         = (*Project)(nil)
)

// Project returns the project with this identifier. It reads nothing: whether there is such a project, the methods find.
func (m *Monitor) Project(id uuid.UUID) *Project { return &Project{m.service, id} }

// OpenProject returns the project with this name, and creates it if there is none. Error: *[checks.FieldError] for a name
// that is empty or longer than 100 characters.
func (m *Monitor) OpenProject(ctx context.Context, name string) (*Project, error) {
	projects := m.Projects()
	p, err := projects.ByName(ctx, name)
	if errors.Is(err, checks.ErrNotFound) {
		p, _, err = projects.Create(ctx, checks.ProjectSpec{Name: name})
		if errors.Is(err, checks.ErrExists) { // another program has just created it
			p, err = projects.ByName(ctx, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return m.Project(p.ID), nil
}

// ID returns the identifier of the project, which is stable.
func (p *Project) ID() uuid.UUID { return p.id }

// about says that an error is about the project.
func (p *Project) about(err error) error { return about("project", p.id, err) }

// snapshot returns what a method about one check returns.
func (p *Project) snapshot(id uuid.UUID, c checks.Check, err error) (checks.Snapshot, error) {
	if err != nil {
		return checks.Snapshot{}, about("check", id, err)
	}
	return c.Snapshot(p.now()), nil
}

// exists returns the error of a query about the project. If that is nil and nothing was found, it returns
// [checks.ErrNotFound] unless the project exists.
func (p *Project) exists(ctx context.Context, found int, err error) error {
	if err == nil && found == 0 {
		_, err = p.project(ctx, store.ProjectFilter{ID: &p.id})
	}
	return err
}

// pingLimit returns how many pings of a check are listed.
func (p *Project) pingLimit(ctx context.Context, id uuid.UUID) (int, error) {
	if _, err := p.check(ctx, id); err != nil {
		return 0, err
	}
	project, err := p.cached.byID.get(ctx, p.id, p.now())
	if err != nil {
		return 0, err
	}
	return store.PingLimit(project), nil
}

// Probe tests that the database answers queries.
func (p *Project) Probe(ctx context.Context) error { return p.store.Probe(ctx, false) }

// Pings returns the pings of a check that the query selects, in the reverse order of their numbers, without bodies: of the newest
// 1000, or 100 on the free plan. One query reads them. A ping with an earlier time ([pings.Signal.At]) stands where it arrived.
// Errors: *[checks.FieldError] for the limit, [checks.ErrNotFound].
func (p *Project) Pings(ctx context.Context, id uuid.UUID, q checks.PingQuery) iter.Seq2[pings.Ping, error] {
	return ofCheck(ctx, id, func() ([]pings.Ping, error) {
		if err := checks.ValidateLimit(q.Limit); err != nil {
			return nil, err
		}
		limit, err := p.pingLimit(ctx, id)
		if err != nil {
			return nil, err
		}
		if q.Limit > 0 && q.Since.IsZero() {
			limit = min(limit, q.Limit)
		}
		all, err := p.store.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{id}, Limit: limit})
		return q.Select(all[id]), err
	})
}

// PingBody returns the body of ping number n as it was received, from the database or from object storage. The error is
// [checks.ErrNotFound] if [Project.Pings] does not return the ping, or it has no body, [checks.ErrBodyUnavailable] if
// object storage is unavailable, and [checks.ErrBodyCorrupt] if it returns something else.
func (p *Project) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	ping, err := p.PingWithBody(ctx, id, n)
	return ping.Body, err
}

// PingWithBody returns ping number n with its body and what was left out of that, as only this method and [Project.LastFailures]
// tell. Errors: those of [Project.PingBody].
func (p *Project) PingWithBody(ctx context.Context, id uuid.UUID, n int64) (pings.Ping, error) {
	ping, err := p.withBody(ctx, id, n)
	if err != nil {
		return pings.Ping{}, about("check", id, err)
	}
	return ping, nil
}

func (p *Project) withBody(ctx context.Context, id uuid.UUID, n int64) (ping pings.Ping, err error) {
	limit, err := p.pingLimit(ctx, id)
	if err != nil {
		return ping, err
	}
	all, err := p.store.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{id}, Number: &n, Limit: limit})
	if err != nil {
		return ping, err
	}
	if found := all[id]; len(found) > 0 {
		ping = found[0]
	}
	switch {
	case ping.BodySize == 0:
		return ping, checks.ErrNotFound
	case ping.BodyKey != "":
		ping.Body, err = p.bodies.read(ctx, ping)
	}
	return ping, err
}
