package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// stepTime is how long a transaction of ChangeMany should take. Pings wait for it: on SQLite all, on PostgreSQL those of its checks.
	stepTime = 100 * time.Millisecond
	// firstStep and maxStep bound the changes of a transaction.
	firstStep, maxStep = 50, 500
)

// Change is a change of one check, for [Project.ChangeMany]: what the method of a similar name does.
type Change struct {
	id      uuid.UUID   // of the check, or zero with a spec
	spec    checks.Spec // of a check to create
	bySlug  bool        // updates the check that has the slug of the spec
	account bool        // whether it needs the lock of the account
	edit    func(p *Project, now time.Time) edit
}

// Updating is [Project.UpdateFunc].
func Updating(id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) Change {
	return Change{id: id, account: true, edit: func(p *Project, now time.Time) edit { return p.updating(fn, now) }}
}

// Pausing is [Project.Pause].
func Pausing(id uuid.UUID) Change { return Change{id: id, edit: (*Project).pausing} }

// Resuming is [Project.Resume].
func Resuming(id uuid.UUID) Change { return Change{id: id, edit: (*Project).resuming} }

// Acknowledging is [Project.Acknowledge], but without For and Note it leaves alone what the same person has already.
func Acknowledging(id uuid.UUID, spec checks.AckSpec) Change {
	return Change{id: id, edit: func(p *Project, now time.Time) edit { return p.acknowledging(spec, now, true) }}
}

// Unacknowledging is [Project.Unacknowledge] of one acknowledgement. Its error is [checks.ErrChanged] if the outage is over, or if it
// has another acknowledgement or none.
func Unacknowledging(id uuid.UUID, ack gate.Ack) Change {
	return Change{id: id, edit: func(p *Project, now time.Time) edit { return p.unacknowledging(&ack, now) }}
}

// Restoring is [Project.Restore].
func Restoring(id uuid.UUID, before checks.State, at time.Time) Change {
	return Change{id: id, edit: func(p *Project, _ time.Time) edit { return p.restoring(before, at) }}
}

// Deleting is [Project.Delete].
func Deleting(id uuid.UUID) Change {
	return Change{id: id, edit: func(p *Project, _ time.Time) edit { return p.deleting() }}
}

// Creating is [Project.Create].
func Creating(spec checks.Spec) Change { return Change{spec: spec, account: true} }

// Upserting is [Project.Upsert] of the check with the slug of the spec, which must have one.
func Upserting(spec checks.Spec) Change {
	return Change{spec: spec, account: true, bySlug: spec.Slug != nil && *spec.Slug != ""}
}

// Changed is what became of a [Change].
type Changed struct {
	// Before is the check before the change, or the zero value for a new check. After is the check after it, or the zero value for
	// one that is deleted.
	Before, After checks.Check
	// Created reports that the check is new.
	Created bool
	// Err is why the check stayed as it was, an error that ChangeMany was to skip, or nil.
	Err error
}

// ChangeMany changes many checks, in the order of the list. It commits after about a tenth of a second, and again and again, so
// that pings and other changes get their turn, and calls done for each change after its commit. At the first change that fails it
// stops and keeps those before it; but an error for which skip returns true leaves only that check as it was. When ctx ends, it stops as
// soon. So what done has seen is what was done. Nil functions skip nothing, and tell nobody. skip and the functions of the changes
// must be quick and must not call the monitor; they may run several times. Errors: those of the methods, and that of ctx.
func (p *Project) ChangeMany(ctx context.Context, list []Change, skip func(error) bool, done func(i int, c Changed)) error {
	if skip == nil {
		skip = func(error) bool { return false }
	}
	size := firstStep
	for next := 0; next < len(list); {
		if err := ctx.Err(); err != nil {
			return p.about(err)
		}
		s := step{Project: p, list: list[next:min(next+size, len(list))], skip: skip}
		switch err := s.commit(ctx); {
		case err == nil:
		case len(s.list) > 1 && ctx.Err() == nil && !store.Away(err):
			size = 1 // only the change that the database refuses must fail
			continue
		case len(s.list) == 1 && ctx.Err() == nil && skip(err):
			s.results = []Changed{{Err: err}}
		case ctx.Err() != nil && !errors.Is(err, ctx.Err()): // as of a transaction that ended with it
			return p.about(fmt.Errorf("%w: %w", ctx.Err(), err))
		default:
			return p.about(err)
		}
		for i, c := range s.results {
			if done != nil {
				done(next+i, c)
			}
		}
		if next += len(s.results); s.failed != nil {
			return p.about(s.failed)
		}
		size = nextStep(size, len(s.list), s.took)
		if next < len(list) {
			p.store.Rest(ctx)
		}
	}
	return nil
}

// EditChecks is [Project.ChangeMany] for a [checks.Manager].
func (p *Project) EditChecks(ctx context.Context, list []checks.CheckEdit, skip func(error) bool, done func(i int, skipped error)) error {
	changes := make([]Change, len(list))
	for i, e := range list {
		switch {
		case e.Delete:
			changes[i] = Deleting(e.ID)
		case e.ID == uuid.Nil:
			changes[i] = Upserting(e.Spec)
		default:
			changes[i] = Updating(e.ID, func(c checks.Check) (checks.Spec, error) {
				if e.With == nil {
					return e.Spec, nil
				}
				return e.With(c.Snapshot(p.now()))
			})
		}
	}
	return p.ChangeMany(ctx, changes, skip, func(i int, c Changed) {
		if done != nil {
			done(i, c.Err)
		}
	})
}

// nextStep returns the size of the next step after one of another size, which made n changes in a time.
func nextStep(size, n int, took time.Duration) int {
	fitting := int(int64(n) * int64(stepTime) / max(int64(took), 1))
	return min(max(fitting, size/2, 1), 2*size, maxStep)
}

// step is a transaction of ChangeMany.
type step struct {
	*Project
	list []Change
	skip func(error) bool

	results []Changed // of the changes that it has made, or skipped
	failed  error     // of the first other one
	took    time.Duration
}

// commit makes the changes. With an error it has made none.
func (s *step) commit(ctx context.Context) error {
	now := s.now()
	var begin time.Time
	err := s.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		s.results, s.failed = nil, nil
		begin = time.Now() // the database lets it write now
		g, err := s.lock(ctx, tx)
		if err != nil {
			return err
		}
		for _, c := range s.list {
			mark := len(g.changes)
			changed, err := s.apply(ctx, g, c, now)
			if g.err != nil {
				return g.err
			}
			if err != nil {
				g.changes = g.changes[:min(mark, len(g.changes))]
				if !s.skip(err) {
					s.failed = err
					break
				}
				changed.Err = err
			}
			s.results = append(s.results, changed)
		}
		return g.flush(ctx)
	})
	s.took = time.Since(begin)
	if len(s.list) == 1 && s.list[0].spec.ID != uuid.Nil && errors.Is(err, checks.ErrExists) {
		err = taken("uuid", s.list[0].spec.ID)
	}
	return err
}

// lock locks the account, if any change needs that, and all checks.
func (s *step) lock(ctx context.Context, tx store.Tx) (*gathering, error) {
	g := &gathering{Tx: tx, locked: make(map[uuid.UUID]*store.Locked), slugs: make(map[string][]uuid.UUID)}
	if slices.ContainsFunc(s.list, func(c Change) bool { return c.account }) {
		var err error
		if g.project, err = tx.LockAccount(ctx, s.id); err != nil {
			return nil, err
		}
	}
	ids, names := make(map[uuid.UUID]bool), []string(nil)
	for _, c := range s.list {
		if c.id != uuid.Nil {
			ids[c.id] = true
		}
		if c.bySlug {
			names = append(names, *c.spec.Slug)
			g.slugs[*c.spec.Slug] = nil
		}
	}
	if len(names) > 0 {
		nodes, err := tx.Related(ctx, s.id, names)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if list, wanted := g.slugs[n.Slug]; wanted {
				g.slugs[n.Slug] = append(list, n.ID)
				ids[n.ID] = true
			}
		}
	}
	list := make([]uuid.UUID, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	found, err := tx.LockWhole(ctx, list)
	for _, l := range found {
		if l.ProjectID == s.id {
			g.locked[l.ID] = l
		}
	}
	return g, err
}

// apply makes one change.
func (s *step) apply(ctx context.Context, g *gathering, c Change, now time.Time) (changed Changed, err error) {
	if c.bySlug {
		if found := g.slugs[*c.spec.Slug]; len(found) > 0 {
			spec := c.spec
			c = Updating(found[0], func(checks.Check) (checks.Spec, error) { return spec, nil })
		}
	}
	if c.edit == nil {
		changed.After, err = s.create(ctx, g, c.spec, now)
		changed.Created = err == nil
		return changed, err
	}
	l := g.locked[c.id]
	if l == nil {
		return changed, checks.ErrNotFound
	}
	was := *l
	changed.Before = own(l.Check)
	if err = c.edit(s.Project, now)(ctx, g, l); err != nil {
		*l = was
	}
	if g.locked[l.ID] != nil {
		changed.After = own(l.Check)
		g.renamed(l.ID, changed.Before.Slug, changed.After.Slug)
	}
	return changed, err
}

// create adds a check.
func (s *step) create(ctx context.Context, g *gathering, spec checks.Spec, now time.Time) (checks.Check, error) {
	fresh, err := checks.New(s.id, spec, now)
	if err != nil {
		return fresh, err
	}
	channels := "*"
	if spec.Channels != nil {
		channels = *spec.Channels
	}
	if err = s.insert(ctx, g, g.project, &fresh, channels, g.project.CheckLimit()); err == nil {
		g.renamed(fresh.ID, "", fresh.Slug)
	}
	return own(fresh), err
}

// gathering is a transaction that reads once what the changes of a step share, and keeps what they write until the end of the step,
// so that it is one statement a table.
type gathering struct {
	store.Tx
	project checks.Project              // if the account is locked
	locked  map[uuid.UUID]*store.Locked // also new ones
	slugs   map[string][]uuid.UUID      // which checks have the slugs of the specs, oldest first
	err     error                       // of the database

	saved, deleted []*store.Locked
	changes        []store.Change

	channels *[]channels.Channel // of the project, once they were read
	account  *int                // the checks of the account, once they were counted
	spools   func() ([]store.SpoolState, time.Time, error)
}

// renamed notes the slug of a check, for upserts that follow.
func (g *gathering) renamed(id uuid.UUID, from, to string) {
	if from == to {
		return
	}
	if list, wanted := g.slugs[from]; wanted {
		g.slugs[from] = slices.DeleteFunc(list, func(other uuid.UUID) bool { return other == id })
	}
	if list, wanted := g.slugs[to]; wanted {
		g.slugs[to] = append(list, id)
	}
}

func (g *gathering) SaveChecks(_ context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		if _, known := g.locked[l.ID]; !known && g.account != nil {
			*g.account++
		}
		g.locked[l.ID] = l
		if !slices.Contains(g.saved, l) {
			g.saved = append(g.saved, l)
		}
	}
	return nil
}

func (g *gathering) DeleteChecks(_ context.Context, locked ...*store.Locked) error {
	for _, l := range locked {
		delete(g.locked, l.ID)
		g.renamed(l.ID, l.Slug, "")
		if g.account != nil {
			*g.account--
		}
	}
	g.deleted = append(g.deleted, locked...)
	return nil
}

// Change keeps changes of checks, for the audit log: nothing else is changed in a step.
func (g *gathering) Change(_ context.Context, list ...store.Change) (store.Writer, error) {
	g.changes = append(g.changes, list...)
	return nil, nil
}

// Channels returns those of the project, for which alone changes ask.
func (g *gathering) Channels(ctx context.Context, f store.ChannelFilter) (list []channels.Channel, err error) {
	if g.channels == nil {
		list, g.err = g.Tx.Channels(ctx, f)
		g.channels = &list
	}
	return *g.channels, g.err
}

func (g *gathering) CountChecks(ctx context.Context, project uuid.UUID) (n int, err error) {
	if g.account == nil {
		if err := g.flush(ctx); err != nil {
			return 0, err
		}
		n, g.err = g.Tx.CountChecks(ctx, project)
		g.account = &n
	}
	return *g.account, g.err
}

func (g *gathering) Spools(ctx context.Context) (states []store.SpoolState, oldest time.Time, err error) {
	if g.spools == nil {
		states, oldest, g.err = g.Tx.Spools(ctx)
		err = g.err
		g.spools = func() ([]store.SpoolState, time.Time, error) { return states, oldest, err }
	}
	return g.spools()
}

// Related writes what was kept first, because it may be about that.
func (g *gathering) Related(ctx context.Context, project uuid.UUID, names []string) (nodes []selection.Node, err error) {
	if err := g.flush(ctx); err != nil {
		return nil, err
	}
	nodes, g.err = g.Tx.Related(ctx, project, names)
	return nodes, g.err
}

// flush writes what was kept.
func (g *gathering) flush(ctx context.Context) error {
	changes, saved, deleted := g.changes, g.saved, g.deleted
	g.changes, g.saved, g.deleted = nil, nil, nil
	if _, g.err = g.Tx.Change(ctx, changes...); g.err != nil {
		return g.err
	}
	if len(saved) > 0 {
		if g.err = g.Tx.SaveChecks(ctx, saved); g.err != nil {
			return g.err
		}
	}
	if len(deleted) > 0 {
		if g.err = g.Tx.DeleteChecks(ctx, deleted...); g.err != nil {
			return g.err
		}
	}
	return g.err
}
