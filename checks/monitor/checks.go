package monitor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Check returns a check. Error: [checks.ErrNotFound].
func (p *Project) Check(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	c, err := p.check(ctx, id)
	return p.snapshot(id, c, err)
}

// check returns a check of the project.
func (p *Project) check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	c, err := p.anyCheck(ctx, id)
	if err == nil && c.ProjectID != p.id {
		return checks.Check{}, checks.ErrNotFound
	}
	return c, err
}

// anyCheck returns a check of any project.
func (s *service) anyCheck(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return one(s.store.Checks(ctx, store.CheckFilter{ID: &id}))
}

// CheckBySlug returns the check with a slug. Errors: [checks.ErrNotFound], also for the empty slug;
// [checks.ErrAmbiguousSlug] if several checks have it.
func (p *Project) CheckBySlug(ctx context.Context, slug string) (c checks.Snapshot, err error) {
	defer describe(&err, "slug", slug)
	if slug == "" {
		return c, checks.ErrNotFound
	}
	list, err := p.checks(ctx, checks.Query{Slug: slug})
	if len(list) > 1 {
		return c, checks.ErrAmbiguousSlug
	}
	return p.first(list, err)
}

// CheckByUniqueKey returns the check with a unique key; see [checks.UniqueKey]. Error: [checks.ErrNotFound].
func (p *Project) CheckByUniqueKey(ctx context.Context, key string) (checks.Snapshot, error) {
	c, err := p.first(p.store.Checks(ctx, store.CheckFilter{ProjectID: &p.id, UniqueKey: &key}))
	return c, about("check", key, err)
}

// first returns the first check of a list as it is now.
func (p *Project) first(list []checks.Check, err error) (checks.Snapshot, error) {
	c, err := one(list, err)
	if err != nil {
		return checks.Snapshot{}, err
	}
	return c.Snapshot(p.now()), nil
}

// Checks returns the checks that the query selects, oldest first. See [Project.EachCheck] for a list that need not be in memory.
func (p *Project) Checks(ctx context.Context, q checks.Query) ([]checks.Snapshot, error) {
	list, err := p.checks(ctx, q)
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

// EachCheck returns the checks that the query selects, oldest first, as an iterator. A query reads 500 checks, so that an
// iteration needs little memory, and the database waits for nobody who takes time over a check. Each check is as it was when
// it was read; those added during the iteration may be missing. After an error the iteration ends.
func (p *Project) EachCheck(ctx context.Context, q checks.Query) iter.Seq2[checks.Snapshot, error] {
	return func(yield func(checks.Snapshot, error) bool) {
		found := 0
		for c, err := range p.each(ctx, q) {
			if err != nil {
				yield(checks.Snapshot{}, p.about(err))
				return
			}
			found++
			if !yield(c.Snapshot(p.now()), nil) {
				return
			}
		}
		if err := p.exists(ctx, found, nil); err != nil {
			yield(checks.Snapshot{}, p.about(err))
		}
	}
}

// checks returns the checks that the query selects, oldest first.
func (p *Project) checks(ctx context.Context, q checks.Query) ([]checks.Check, error) {
	list, err := checks.Collect(p.each(ctx, q))
	return list, p.exists(ctx, len(list), err)
}

// each yields the checks that the query selects, oldest first.
func (p *Project) each(ctx context.Context, q checks.Query) iter.Seq2[checks.Check, error] {
	tags, some := q.DistinctTags()
	filter := store.CheckFilter{ProjectID: &p.id, Tags: tags}
	if q.Slug != "" {
		filter.Slug = &q.Slug
	}
	if !some || !checks.ValidSlug(q.Slug) { // no check has another slug, and PostgreSQL refuses invalid UTF-8
		return func(func(checks.Check, error) bool) {}
	}
	return p.store.EachCheck(ctx, filter)
}

// Create adds a check. Without Spec.Channels it alerts all channels of the project, as a check of [Project.Register] does. If the
// project has none, and so with "*", it gets the first one that is created. Errors: *[checks.FieldError] for an invalid setting, *[channels.SelectError],
// [checks.ErrCheckLimit], a *[checks.FieldError] for "uuid" that wraps [checks.ErrExists] for a Spec.ID in use.
func (p *Project) Create(ctx context.Context, spec checks.Spec) (checks.Snapshot, error) {
	c, _, err := p.Upsert(ctx, spec)
	return c, err
}

// Upsert updates the oldest check that equals the spec in the unique fields, or creates one. Created reports which. A
// unique field that the spec does not set matches no check. Without unique fields, Upsert always creates a check. Of
// concurrent upserts of the same check, one creates it and the others update it. A new check gets channels as one of
// [Project.Create] does. Errors: those of [Project.Create].
func (p *Project) Upsert(ctx context.Context, spec checks.Spec, unique ...checks.UniqueField) (c checks.Snapshot, created bool, err error) {
	return p.upsert(ctx, spec, unique, "*")
}

// UpsertBare is [Project.Upsert] for a server of the API: without Spec.Channels, a new check has no channels, as
// section 4.3 of the API says.
func (p *Project) UpsertBare(ctx context.Context, spec checks.Spec, unique ...checks.UniqueField) (c checks.Snapshot, created bool, err error) {
	return p.upsert(ctx, spec, unique, "")
}

// upsert is Upsert with the channels of a new check that has none in its spec.
func (p *Project) upsert(ctx context.Context, spec checks.Spec, unique []checks.UniqueField, channels string) (c checks.Snapshot, created bool, err error) {
	defer describe(&err, "project", p.id)
	now := p.now()
	fresh, err := checks.New(p.id, spec, now)
	if err != nil {
		return checks.Snapshot{}, false, err
	}
	if spec.Channels != nil {
		channels = *spec.Channels
	}
	match, some, err := matchOf(spec, unique)
	if err != nil {
		return checks.Snapshot{}, false, err
	}
	var stored checks.Check
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		project, err := tx.LockAccount(ctx, p.id)
		if err != nil {
			return err
		}
		if some {
			l, err := findOne(ctx, tx, p.id, match)
			if err != nil {
				return err
			}
			if l != nil {
				created = false
				err = p.updateLocked(ctx, tx, l, spec, now)
				stored = l.Check
				return err
			}
		}
		created = true
		stored = fresh
		return p.insert(ctx, tx, project, &stored, channels, project.CheckLimit())
	})
	if spec.ID != uuid.Nil && errors.Is(err, checks.ErrExists) {
		err = taken("uuid", spec.ID)
	}
	if err != nil {
		return checks.Snapshot{}, false, err
	}
	stored.Tags = slices.Clone(stored.Tags) // the store may keep the others
	return stored.Snapshot(p.now()), created, nil
}

// matchOf returns the match for the unique fields of an upsert. some is false if no check can match.
func matchOf(spec checks.Spec, unique []checks.UniqueField) (match store.Match, some bool, err error) {
	some = len(unique) > 0
	for _, field := range unique {
		var given bool
		switch field {
		case checks.UniqueName:
			match.Name, given = spec.Name, spec.Name != nil
		case checks.UniqueSlug:
			match.Slug, given = spec.Slug, spec.Slug != nil
		case checks.UniqueTags:
			match.Tags, given = spec.Tags, spec.Tags != nil
		case checks.UniqueTimeout:
			match.Timeout, given = spec.Timeout, spec.Timeout != nil
		case checks.UniqueGrace:
			match.Grace, given = spec.Grace, spec.Grace != nil
		default:
			return store.Match{}, false, &checks.FieldError{Field: "unique",
				Reason: fmt.Sprintf("has an unexpected item: %q, the allowed ones are name, slug, tags, timeout and grace", field)}
		}
		some = some && given
	}
	return match, some, nil
}

// findOne locks the oldest check that matches, or returns nil. The caller holds the account's lock, so that no other
// transaction makes a check match.
func findOne(ctx context.Context, tx store.AdminTx, projectID uuid.UUID, match store.Match) (*store.Locked, error) {
	ids, err := tx.FindChecks(ctx, projectID, match)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return tx.LockCheck(ctx, ids[0])
}

// insert adds a check under the account's lock, unless that exceeds the limit. A limit of 0 is none.
func (s *service) insert(ctx context.Context, tx store.AdminTx, project checks.Project, c *checks.Check, selection string, limit int) error {
	if limit > 0 {
		used, err := tx.CountChecks(ctx, project.ID)
		if err != nil {
			return err
		}
		if used >= limit {
			return fmt.Errorf("%w: %d checks", checks.ErrCheckLimit, limit)
		}
	}
	awaits, err := selectChannels(ctx, tx, c, selection)
	if err != nil {
		return err
	}
	if err := checkAfter(ctx, tx, *c, true); err != nil {
		return err
	}
	changes, err := s.checkChanges(ctx, tx, checks.Check{Settings: checks.Defaults()}, *c)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].From = "" // not the default
	}
	if _, err := s.note(ctx, tx, aboutCheck(*c, "check.create", changes...)); err != nil {
		return err
	}
	return tx.SaveChecks(ctx, []*store.Locked{{Check: *c, Awaits: awaits}})
}

// selectChannels sets the channels that a selection names (server/API.md section 4.3 rule 3). awaits reports that it selects all
// where there is none.
func selectChannels(ctx context.Context, tx store.AdminTx, c *checks.Check, text string) (awaits bool, err error) {
	available, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &c.ProjectID})
	if err != nil {
		return false, err
	}
	ids, err := selection.Select(available, text)
	if err != nil {
		return false, err
	}
	c.Channels = ids
	return text == "*" && len(available) == 0, nil
}

// Update changes the settings that the spec sets. With an error it changes nothing. Errors: *[checks.FieldError],
// *[channels.SelectError], [checks.ErrNotFound].
func (p *Project) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Snapshot, error) {
	now := p.now()
	if err := spec.Validate(now); err != nil {
		return checks.Snapshot{}, about("check", id, err)
	}
	account := spec.Channels != nil || spec.After != nil || spec.Slug != nil
	return p.change(ctx, id, account, p.updating(func(checks.Check) (checks.Spec, error) { return spec, nil }, now))
}

// UpdateFunc changes the settings that fn returns for the check as it is, and lets nobody change it meanwhile. So fn can
// compare the check with what its caller has seen. UpdateFunc returns the error of fn as it is, and then changes nothing.
// fn must be quick and must not call the monitor. It may run several times. Errors: also those of [Project.Update].
func (p *Project) UpdateFunc(ctx context.Context, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Snapshot, error) {
	var refused error
	c, err := p.change(ctx, id, true, p.updating(func(c checks.Check) (spec checks.Spec, err error) {
		spec, refused = fn(c)
		return spec, refused
	}, p.now()))
	if refused != nil && err != nil {
		return checks.Snapshot{}, refused
	}
	return c, err
}

// edit changes a locked check, and saves it and its entry in the audit log.
type edit func(ctx context.Context, tx store.AdminTx, l *store.Locked) error

// updating changes the settings that fn returns.
func (p *Project) updating(fn func(checks.Check) (checks.Spec, error), now time.Time) edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		spec, err := fn(own(l.Check))
		if err != nil {
			return err
		}
		return p.updateLocked(ctx, tx, l, spec, now)
	}
}

// own returns a check that shares no list with the store.
func own(c checks.Check) checks.Check {
	c.Tags, c.Channels = slices.Clone(c.Tags), slices.Clone(c.Channels)
	return c
}

func (s *service) updateLocked(ctx context.Context, tx store.AdminTx, l *store.Locked, spec checks.Spec, now time.Time) error {
	if err := s.mayJudge(ctx, tx, l, now); err != nil {
		return err
	}
	updated, effects, err := l.Check.Update(spec, now)
	if err != nil {
		return err
	}
	if spec.Channels != nil {
		if l.Awaits, err = selectChannels(ctx, tx, &updated, *spec.Channels); err != nil {
			return err
		}
	}
	if changed := updated.After != l.After; changed || updated.Slug != l.Slug {
		if err := checkAfter(ctx, tx, updated, changed); err != nil {
			return err
		}
	}
	changes, err := s.checkChanges(ctx, tx, l.Check, updated)
	if err != nil {
		return err
	}
	if _, err := s.note(ctx, tx, aboutCheck(updated, "check.update", changes...)); err != nil {
		return err
	}
	l.Apply(updated, effects)
	l.SettingsChanged = true
	return tx.SaveChecks(ctx, []*store.Locked{l})
}

// lockCheck locks a check of the project.
func (p *Project) lockCheck(ctx context.Context, tx store.AdminTx, id uuid.UUID) (*store.Locked, error) {
	l, err := tx.LockCheck(ctx, id)
	if err == nil && l.ProjectID != p.id {
		return nil, checks.ErrNotFound
	}
	return l, err
}

// change runs fn on a locked check and returns the changed check. If fn may select channels, or change what follows what, it needs
// the lock of the account, which must be taken before that of the check.
func (p *Project) change(ctx context.Context, id uuid.UUID, account bool, fn edit) (checks.Snapshot, error) {
	var c checks.Check
	err := p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if account {
			if _, err := tx.LockAccount(ctx, p.id); err != nil {
				return err
			}
		}
		l, err := p.lockCheck(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx, l); err != nil {
			return err
		}
		c = l.Check
		return nil
	})
	c.Tags = slices.Clone(c.Tags) // the store may keep the others
	return p.snapshot(id, c, err)
}

// Pause stops the monitoring of a check until a ping or [Project.Resume]. Error: [checks.ErrNotFound].
func (p *Project) Pause(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return p.change(ctx, id, false, p.pausing(p.now()))
}

func (p *Project) pausing(now time.Time) edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		if err := p.mayJudge(ctx, tx, l, now); err != nil {
			return err
		}
		l.Pause(now)
		if len(l.Pauses) > 0 {
			if _, err := p.note(ctx, tx, aboutCheck(l.Check, "check.pause")); err != nil {
				return err
			}
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}
}

// Resume makes a paused check new. Errors: [checks.ErrNotFound], [checks.ErrNotPaused].
func (p *Project) Resume(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return p.change(ctx, id, false, p.resuming(p.now()))
}

func (p *Project) resuming(now time.Time) edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		c, err := l.Check.Resume(now)
		if err != nil {
			return err
		}
		l.Check = c
		if _, err := p.note(ctx, tx, aboutCheck(c, "check.resume")); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}
}

// Restore undoes a pause or a resume of a check, as [checks.Check.Restore] does: the check is as if that had not been.
// Errors: [checks.ErrNotFound], [checks.ErrChanged].
func (p *Project) Restore(ctx context.Context, id uuid.UUID, before checks.State, at time.Time) (checks.Snapshot, error) {
	return p.change(ctx, id, false, p.restoring(before, at))
}

func (p *Project) restoring(before checks.State, at time.Time) edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		c, err := l.Check.Restore(before, at)
		if err != nil {
			return err
		}
		if l.Stored == checks.StatusPaused {
			l.Unpaused = append(l.Unpaused, at)
		}
		l.Check = c
		if _, err := p.note(ctx, tx, aboutCheck(c, "check.restore")); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}
}

// Delete removes a check with its log, flips and deliveries, and returns it as it was. Error: [checks.ErrNotFound].
func (p *Project) Delete(ctx context.Context, id uuid.UUID) (checks.Snapshot, error) {
	return p.change(ctx, id, false, p.deleting())
}

func (p *Project) deleting() edit {
	return func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		if _, err := p.note(ctx, tx, aboutCheck(l.Check, "check.delete")); err != nil {
			return err
		}
		return tx.DeleteChecks(ctx, l)
	}
}

// mayJudge returns [store.ErrUnavailable] if a change of a check would judge a deadline that must wait for pings in a
// spool or in sockets.
func (s *service) mayJudge(ctx context.Context, tx store.AdminTx, l *store.Locked, now time.Time) error {
	wake := l.Wake()
	err := s.hold.Judge(ctx, tx, s.now)(wake, now)
	if err == nil && !wake.IsZero() && !now.Before(wake) && s.ingest.Settled(now).Before(wake) {
		err = hold.ErrHeld
	}
	if errors.Is(err, hold.ErrHeld) {
		return fmt.Errorf("%w for changes of this check: %w", store.ErrUnavailable, err)
	}
	return err
}
