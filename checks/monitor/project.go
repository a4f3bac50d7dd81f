package monitor

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// Project manages the checks of one project, and all else that belongs to it: channels, alerts, keys and status pages. It
// has the methods of a *client.Client, so that code for a [checks.Manager] works on both, and is the [job.Registry] of a
// scheduler's jobs. [Monitor.OpenProject] and [Monitor.Project] return one. It is safe for concurrent use.
//
// A check, channel or page of another project is not found, as if it did not exist. If the project does not exist, each
// method returns [checks.ErrNotFound].
type Project struct {
	*service
	id uuid.UUID
}

var (
	_ checks.Manager = (*Project)(nil)
	_ job.Registry   = (*Project)(nil)
)

// Project returns the project with this identifier. It reads nothing: whether there is such a project, the methods find.
func (m *Monitor) Project(id uuid.UUID) *Project { return &Project{m.service, id} }

// OpenProject returns the project with this name, and creates it if there is none. Error: *[checks.FieldError] for a name
// that is empty or longer than 100 characters.
func (m *Monitor) OpenProject(ctx context.Context, name string) (*Project, error) {
	p, err := m.admin.OpenProject(ctx, name)
	if err != nil {
		return nil, about("project", name, err)
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

// check returns a check of the project.
func (p *Project) check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return p.admin.CheckOf(ctx, p.id, id)
}

// Check returns a check. Error: [checks.ErrNotFound].
func (p *Project) Check(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	c, err := p.admin.CheckOf(ctx, p.id, id)
	return p.snapshot(id, c, err)
}

// CheckBySlug returns the check with a slug. Errors: [checks.ErrNotFound], also for the empty slug;
// [checks.ErrAmbiguousSlug] if several checks have it.
func (p *Project) CheckBySlug(ctx context.Context, slug string) (checks.Snapshot, error) {
	c, err := p.admin.CheckBySlug(ctx, p.id, slug)
	if err != nil {
		return checks.Snapshot{}, about("slug", slug, err)
	}
	return c.Snapshot(p.now()), nil
}

// CheckByUniqueKey returns the check with a unique key; see [checks.UniqueKey]. Error: [checks.ErrNotFound].
func (p *Project) CheckByUniqueKey(ctx context.Context, key string) (checks.Snapshot, error) {
	c, err := p.admin.CheckByUniqueKey(ctx, p.id, key)
	if err != nil {
		return checks.Snapshot{}, about("check", key, err)
	}
	return c.Snapshot(p.now()), nil
}

// Checks returns the checks that the query selects, oldest first.
func (p *Project) Checks(ctx context.Context, q checks.Query) ([]checks.Snapshot, error) {
	list, err := p.admin.Checks(ctx, p.id, q)
	if err != nil {
		return nil, p.about(err)
	}
	now := p.now()
	result := make([]checks.Snapshot, len(list))
	for i, c := range list {
		result[i] = c.Snapshot(now)
	}
	return result, nil
}

// Tags returns the tags of the checks, each once, sorted.
func (p *Project) Tags(ctx context.Context) ([]string, error) {
	list, err := p.admin.Checks(ctx, p.id, checks.Query{})
	var tags []string
	for _, c := range list {
		tags = append(tags, c.TagList()...)
	}
	slices.Sort(tags)
	return slices.Compact(tags), p.about(err)
}

// Create adds a check. Errors: *[checks.FieldError] for an invalid setting, *[channels.SelectError],
// [checks.ErrCheckLimit], a *[checks.FieldError] for "uuid" that wraps [checks.ErrExists] for a Spec.ID in use.
func (p *Project) Create(ctx context.Context, spec checks.Spec) (checks.Snapshot, error) {
	c, _, err := p.Upsert(ctx, spec)
	return c, err
}

// Upsert updates the oldest check that equals the spec in the unique fields, or creates one. Created reports which. A
// unique field that the spec does not set matches no check. Without unique fields, Upsert always creates a check. Of
// concurrent upserts of the same check, one creates it and the others update it. Errors: those of [Project.Create].
func (p *Project) Upsert(ctx context.Context, spec checks.Spec, unique ...checks.UniqueField) (c checks.Snapshot, created bool, err error) {
	stored, created, err := p.admin.Upsert(ctx, p.id, spec, unique...)
	if err != nil {
		return checks.Snapshot{}, false, p.about(err)
	}
	return stored.Snapshot(p.now()), created, nil
}

// Update changes the settings that the spec sets. With an error it changes nothing. Errors: *[checks.FieldError],
// *[channels.SelectError], [checks.ErrNotFound].
func (p *Project) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Snapshot, error) {
	c, err := p.admin.Update(ctx, p.id, id, spec)
	return p.snapshot(id, c, err)
}

// UpdateFunc changes the settings that fn returns for the check as it is, and lets nobody change it meanwhile. So fn can
// compare the check with what its caller has seen. UpdateFunc returns the error of fn as it is, and then changes nothing.
// fn must be quick and must not call the monitor. It may run several times. Errors: also those of [Project.Update].
func (p *Project) UpdateFunc(ctx context.Context, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Snapshot, error) {
	var refused error
	c, err := p.admin.UpdateFunc(ctx, p.id, id, func(c checks.Check) (spec checks.Spec, _ error) {
		spec, refused = fn(c)
		return spec, refused
	})
	if refused != nil && err != nil {
		return checks.Snapshot{}, refused
	}
	return p.snapshot(id, c, err)
}

// Pause stops the monitoring of a check until a ping or [Project.Resume]. Error: [checks.ErrNotFound].
func (p *Project) Pause(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	c, err := p.admin.Pause(ctx, p.id, id)
	return p.snapshot(id, c, err)
}

// Resume makes a paused check new. Errors: [checks.ErrNotFound], [checks.ErrNotPaused].
func (p *Project) Resume(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	c, err := p.admin.Resume(ctx, p.id, id)
	return p.snapshot(id, c, err)
}

// Restore undoes a pause or a resume of a check, as [checks.Check.Restore] does: the check is as if that had not been.
// Errors: [checks.ErrNotFound], [checks.ErrChanged].
func (p *Project) Restore(ctx context.Context, id uuid.UUID, before checks.State, at time.Time) (checks.Snapshot, error) {
	c, err := p.admin.Restore(ctx, p.id, id, before, at)
	return p.snapshot(id, c, err)
}

// Delete removes a check with its log, flips and deliveries, and returns it as it was. Error: [checks.ErrNotFound].
func (p *Project) Delete(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	c, err := p.admin.Delete(ctx, p.id, id)
	return p.snapshot(id, c, err)
}

// Transfer moves a check to another project. It keeps its identifier, so that its ping address and its badge stay, its
// settings and state, and its log and flips. It loses its channels with their deliveries, also those that wait to be sent,
// and gets all channels of the other project. A slug that a check there has becomes ambiguous. If that is this project,
// nothing changes. Errors: [checks.ErrNotFound] for the check and for the other project, [checks.ErrCheckLimit].
func (p *Project) Transfer(ctx context.Context, id, to uuid.UUID) (checks.Snapshot, error) {
	c, err := p.admin.Transfer(ctx, p.id, id, to)
	return p.snapshot(id, c, err)
}

// Register creates or updates the check with the slug of spec and returns the reporter of its job, as a [job.Registry]
// does. The reporter is that of [Monitor.Job]. Register tries for at most 5 seconds.
func (p *Project) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	reporter, err := p.jobs.Registry(p.id).Register(ctx, spec)
	return reporter, p.about(err)
}

// PauseExcept pauses the checks with the tag whose slug is not in slugs, as a [job.Registry] does.
func (p *Project) PauseExcept(ctx context.Context, tag string, slugs []string) error {
	return p.about(p.jobs.Registry(p.id).PauseExcept(ctx, tag, slugs))
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
		limit, err := p.admin.PingLimit(ctx, p.id, id)
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
// [checks.ErrNotFound] if [Project.Pings] does not return the ping, or it has no body, and [checks.ErrBodyUnavailable] if
// object storage is unavailable.
func (p *Project) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	ping, err := p.PingWithBody(ctx, id, n)
	return ping.Body, err
}

// PingWithBody returns ping number n with its body and what was left out of that, as only this method and [Views.LastFailures]
// tell. Errors: those of [Project.PingBody].
func (p *Project) PingWithBody(ctx context.Context, id uuid.UUID, n int64) (pings.Ping, error) {
	ping, err := p.withBody(ctx, id, n)
	if err != nil {
		return pings.Ping{}, about("check", id, err)
	}
	return ping, nil
}

func (p *Project) withBody(ctx context.Context, id uuid.UUID, n int64) (ping pings.Ping, err error) {
	limit, err := p.admin.PingLimit(ctx, p.id, id)
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

// Channels returns the channels of the project, oldest first.
func (p *Project) Channels(ctx context.Context) ([]channels.Channel, error) {
	list, err := p.admin.Channels(ctx, p.id)
	return list, p.about(err)
}
