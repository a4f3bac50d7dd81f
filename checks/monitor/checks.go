package monitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// Create adds a check to a project. Errors: *[checks.FieldError] for an invalid setting, *[channels.SelectError],
// [checks.ErrCheckLimit], [checks.ErrNotFound] for an unknown project, [checks.ErrExists] for a Spec.ID in use.
func (m *Monitor) Create(ctx context.Context, projectID uuid.UUID, spec checks.Spec) (checks.Check, error) {
	c, _, err := m.Upsert(ctx, projectID, spec)
	return c, err
}

// Upsert updates the project's oldest check that equals the spec in the unique fields, or creates one. Created reports
// which. A unique field that the spec does not set matches no check. Without unique fields, Upsert always creates a
// check. Of concurrent upserts of the same check, one creates it and the others update it. Errors: those of
// [Monitor.Create].
func (m *Monitor) Upsert(ctx context.Context, projectID uuid.UUID, spec checks.Spec, unique ...checks.UniqueField) (c checks.Check, created bool, err error) {
	now := m.Now()
	fresh, err := checks.New(projectID, spec, now)
	if err != nil {
		return checks.Check{}, false, err
	}
	match, some, err := matchOf(spec, unique)
	if err != nil {
		return checks.Check{}, false, err
	}
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		project, err := tx.LockAccount(ctx, projectID)
		if err != nil {
			return err
		}
		if some {
			l, err := findOne(ctx, tx, projectID, match)
			if err != nil {
				return err
			}
			if l != nil {
				created = false
				err = m.updateLocked(ctx, tx, l, spec, now)
				c = l.Check
				return err
			}
		}
		created = true
		c = fresh
		return insert(ctx, tx, project, &c, spec.Channels, project.CheckLimit())
	})
	if err != nil {
		return checks.Check{}, false, err
	}
	c.Tags = slices.Clone(c.Tags) // the store may keep the others
	return c, created, nil
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
func findOne(ctx context.Context, tx store.Tx, projectID uuid.UUID, match store.Match) (*store.Locked, error) {
	ids, err := tx.FindChecks(ctx, projectID, match)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return tx.LockCheck(ctx, ids[0])
}

// insert adds a check under the account's lock, unless that exceeds the limit. A limit of 0 is none.
func insert(ctx context.Context, tx store.Tx, project checks.Project, c *checks.Check, selection *string, limit int) error {
	if limit > 0 {
		used, err := tx.CountChecks(ctx, project.ID)
		if err != nil {
			return err
		}
		if used >= limit {
			return fmt.Errorf("%w: %d checks", checks.ErrCheckLimit, limit)
		}
	}
	if err := selectChannels(ctx, tx, c, selection); err != nil {
		return err
	}
	return tx.SaveChecks(ctx, []*store.Locked{{Check: *c}})
}

// selectChannels sets the channels that a selection names (server/API.md section 4.3 rule 3). A nil selection changes
// nothing.
func selectChannels(ctx context.Context, tx store.Tx, c *checks.Check, selection *string) error {
	if selection == nil {
		return nil
	}
	available, err := tx.Channels(ctx, c.ProjectID)
	if err != nil {
		return err
	}
	ids, err := channels.Select(available, *selection)
	if err != nil {
		return err
	}
	c.Channels = ids
	return nil
}

// Update changes the settings that the spec sets (server/API.md section 4.4). With an error it changes nothing. Errors:
// *[checks.FieldError], *[channels.SelectError], [checks.ErrNotFound].
func (m *Monitor) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Check, error) {
	now := m.Now()
	if err := spec.Validate(now); err != nil {
		return checks.Check{}, err
	}
	var projectID uuid.UUID
	if spec.Channels != nil {
		// Selecting channels needs the account's lock, which must be taken before the lock of the check.
		c, err := m.Check(ctx, id)
		if err != nil {
			return checks.Check{}, err
		}
		projectID = c.ProjectID
	}
	return m.change(ctx, id, projectID, func(ctx context.Context, tx store.Tx, l *store.Locked) error {
		return m.updateLocked(ctx, tx, l, spec, now)
	})
}

// UpdateFunc changes the settings that fn returns for the check as it is, and lets nobody change it meanwhile. So fn can
// compare the check with what its caller has seen. UpdateFunc returns the error of fn as it is, and then changes nothing.
// fn must be quick and must not call the monitor. It may run several times. Errors: also those of [Monitor.Update].
func (m *Monitor) UpdateFunc(ctx context.Context, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Check, error) {
	now := m.Now()
	// Selecting channels needs the account's lock, which must be taken before the lock of the check.
	c, err := m.Check(ctx, id)
	if err != nil {
		return checks.Check{}, err
	}
	return m.change(ctx, id, c.ProjectID, func(ctx context.Context, tx store.Tx, l *store.Locked) error {
		current := l.Check
		current.Tags, current.Channels = slices.Clone(current.Tags), slices.Clone(current.Channels)
		spec, err := fn(current)
		if err != nil {
			return err
		}
		return m.updateLocked(ctx, tx, l, spec, now)
	})
}

func (m *Monitor) updateLocked(ctx context.Context, tx store.Tx, l *store.Locked, spec checks.Spec, now time.Time) error {
	if err := m.mayJudge(ctx, tx, l, now); err != nil {
		return err
	}
	updated, effects, err := l.Check.Update(spec, now)
	if err != nil {
		return err
	}
	if err := selectChannels(ctx, tx, &updated, spec.Channels); err != nil {
		return err
	}
	l.Apply(updated, effects)
	l.SettingsChanged = true
	return tx.SaveChecks(ctx, []*store.Locked{l})
}

// change runs fn on a locked check and returns the changed check. If a project is given, it locks its account first.
func (m *Monitor) change(ctx context.Context, id, projectID uuid.UUID, fn func(ctx context.Context, tx store.Tx, l *store.Locked) error) (c checks.Check, err error) {
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if projectID != uuid.Nil {
			if _, err := tx.LockAccount(ctx, projectID); err != nil {
				return err
			}
		}
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx, l); err != nil {
			return err
		}
		c = l.Check
		return nil
	})
	if err != nil {
		return checks.Check{}, err
	}
	c.Tags = slices.Clone(c.Tags) // the store may keep the others
	return c, nil
}

// Pause stops the monitoring of a check (server/API.md section 4.5). Error: [checks.ErrNotFound].
func (m *Monitor) Pause(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	now := m.Now()
	return m.change(ctx, id, uuid.Nil, func(ctx context.Context, tx store.Tx, l *store.Locked) error {
		if err := m.mayJudge(ctx, tx, l, now); err != nil {
			return err
		}
		l.Pause(now)
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// Resume makes a paused check new (server/API.md section 4.6). Errors: [checks.ErrNotFound], [checks.ErrNotPaused].
func (m *Monitor) Resume(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	now := m.Now()
	return m.change(ctx, id, uuid.Nil, func(ctx context.Context, tx store.Tx, l *store.Locked) error {
		c, err := l.Check.Resume(now)
		if err != nil {
			return err
		}
		l.Check = c
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// Delete removes a check with its log, flips and deliveries, and returns it as it was (server/API.md section 4.7).
// Error: [checks.ErrNotFound].
func (m *Monitor) Delete(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return m.change(ctx, id, uuid.Nil, func(ctx context.Context, tx store.Tx, l *store.Locked) error {
		return tx.DeleteCheck(ctx, l)
	})
}

// Check returns a check; [checks.Check.Status] is its status at an instant. Error: [checks.ErrNotFound].
func (m *Monitor) Check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return one(m.store.Checks(ctx, store.CheckFilter{ID: &id}))
}

// CheckByUniqueKey returns the check of a project that has this unique key (server/API.md section 2.1). Error:
// [checks.ErrNotFound].
func (m *Monitor) CheckByUniqueKey(ctx context.Context, projectID uuid.UUID, key string) (checks.Check, error) {
	return one(m.store.Checks(ctx, store.CheckFilter{ProjectID: &projectID, UniqueKey: &key}))
}

// CheckQuery restricts a list of checks. The zero value allows all.
type CheckQuery struct {
	Slug *string  // only checks with this slug
	Tags []string // only checks with all of these tags, compared as whole words
}

// Checks returns the checks of a project that the query selects, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) Checks(ctx context.Context, projectID uuid.UUID, q CheckQuery) ([]checks.Check, error) {
	var list []checks.Check
	var err error
	if q.Slug == nil || checks.ValidSlug(*q.Slug) { // no check has another slug, and PostgreSQL refuses invalid UTF-8
		list, err = m.store.Checks(ctx, store.CheckFilter{ProjectID: &projectID, Slug: q.Slug, Tags: q.Tags})
	}
	return list, m.exists(ctx, projectID, len(list), err)
}

// CheckBySlug returns the check of a project with a slug. Errors: [checks.ErrNotFound], also for an unknown project and
// the empty slug; [checks.ErrAmbiguousSlug] if several checks have it.
func (m *Monitor) CheckBySlug(ctx context.Context, projectID uuid.UUID, slug string) (checks.Check, error) {
	if slug == "" {
		return checks.Check{}, checks.ErrNotFound
	}
	list, err := m.Checks(ctx, projectID, CheckQuery{Slug: &slug})
	if len(list) > 1 {
		return checks.Check{}, checks.ErrAmbiguousSlug
	}
	return one(list, err)
}

// exists returns the error of a query about a project. If that is nil and nothing was found, it returns
// [checks.ErrNotFound] unless the project exists.
func (m *Monitor) exists(ctx context.Context, projectID uuid.UUID, found int, err error) error {
	if err == nil && found == 0 {
		_, err = m.Project(ctx, projectID)
	}
	return err
}

// one returns the first item of a list, or [checks.ErrNotFound]. It passes on the error of the query.
func one[T any](list []T, err error) (first T, _ error) {
	if err == nil && len(list) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return first, err
	}
	return list[0], nil
}

// provision creates a check for a ping by slug, or returns the one that another ping has just created. limited applies
// Config.CreateRate.
func (m *Monitor) provision(ctx context.Context, projectID uuid.UUID, slug string, limited bool) (id uuid.UUID, created bool, err error) {
	spec := checks.Spec{Name: &slug, Slug: &slug, Channels: new("*")}
	now := m.Now()
	fresh, err := checks.New(projectID, spec, now)
	if err != nil {
		return uuid.Nil, false, err
	}
	undo := func() {}
	if limited {
		if undo, err = m.creations.take(projectID, now); err != nil {
			return uuid.Nil, false, err
		}
	}
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		project, err := tx.LockAccount(ctx, projectID)
		if err != nil {
			return err
		}
		ids, err := tx.FindChecks(ctx, projectID, store.Match{Slug: &slug})
		switch {
		case err != nil:
			return err
		case len(ids) > 1:
			return checks.ErrAmbiguousSlug
		case len(ids) == 1:
			id, created = ids[0], false
			return nil
		}
		if err := m.roomForCreated(ctx, tx, projectID); err != nil {
			return err
		}
		c := fresh
		id, created = c.ID, true
		return insert(ctx, tx, project, &c, spec.Channels, 2*project.CheckLimit())
	})
	if err == nil && !created {
		undo()
	}
	return id, created, err
}

// roomForCreated returns [ErrCreatedChecks] if pings may not create another check in the project.
func (m *Monitor) roomForCreated(ctx context.Context, tx store.Tx, projectID uuid.UUID) error {
	if m.maxCreated == 0 {
		return nil
	}
	all, err := tx.FindChecks(ctx, projectID, store.Match{})
	if err == nil && len(all) >= m.maxCreated {
		return fmt.Errorf("%w: %d", ErrCreatedChecks, m.maxCreated)
	}
	return err
}
