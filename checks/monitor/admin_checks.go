package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Create adds a check to a project.
func (a *admin) Create(ctx context.Context, projectID uuid.UUID, spec checks.Spec) (checks.Check, error) {
	c, _, err := a.Upsert(ctx, projectID, spec)
	return c, err
}

// Upsert updates the oldest check that equals the spec in the unique fields, or creates one.
func (a *admin) Upsert(ctx context.Context, projectID uuid.UUID, spec checks.Spec, unique ...checks.UniqueField) (c checks.Check, created bool, err error) {
	now := a.Now()
	fresh, err := checks.New(projectID, spec, now)
	if err != nil {
		return checks.Check{}, false, err
	}
	match, some, err := matchOf(spec, unique)
	if err != nil {
		return checks.Check{}, false, err
	}
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
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
				err = a.updateLocked(ctx, tx, l, spec, now)
				c = l.Check
				return err
			}
		}
		created = true
		c = fresh
		return a.insert(ctx, tx, project, &c, spec.Channels, project.CheckLimit())
	})
	if spec.ID != uuid.Nil && errors.Is(err, checks.ErrExists) {
		err = checks.Taken("uuid", spec.ID)
	}
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
func findOne(ctx context.Context, tx store.AdminTx, projectID uuid.UUID, match store.Match) (*store.Locked, error) {
	ids, err := tx.FindChecks(ctx, projectID, match)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return tx.LockCheck(ctx, ids[0])
}

// insert adds a check under the account's lock, unless that exceeds the limit. A limit of 0 is none.
func (a *admin) insert(ctx context.Context, tx store.AdminTx, project checks.Project, c *checks.Check, selection *string, limit int) error {
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
	changes, err := a.checkChanges(ctx, tx, checks.Check{Settings: checks.Defaults()}, *c)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].From = "" // not the default
	}
	if err := a.note(ctx, tx, aboutCheck(*c, "check.create", changes...)); err != nil {
		return err
	}
	return tx.SaveChecks(ctx, []*store.Locked{{Check: *c}})
}

// selectChannels sets the channels that a selection names (server/API.md section 4.3 rule 3). A nil selection changes
// nothing.
func selectChannels(ctx context.Context, tx store.AdminTx, c *checks.Check, text *string) error {
	if text == nil {
		return nil
	}
	available, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &c.ProjectID})
	if err != nil {
		return err
	}
	ids, err := selection.Select(available, *text)
	if err != nil {
		return err
	}
	c.Channels = ids
	return nil
}

// Update changes the settings that the spec sets.
func (a *admin) Update(ctx context.Context, projectID, id uuid.UUID, spec checks.Spec) (checks.Check, error) {
	now := a.Now()
	if err := spec.Validate(now); err != nil {
		return checks.Check{}, err
	}
	return a.change(ctx, projectID, id, spec.Channels != nil, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		return a.updateLocked(ctx, tx, l, spec, now)
	})
}

// UpdateFunc changes the settings that fn returns for the check as it is, under its lock.
func (a *admin) UpdateFunc(ctx context.Context, projectID, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Check, error) {
	now := a.Now()
	return a.change(ctx, projectID, id, true, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		current := l.Check
		current.Tags, current.Channels = slices.Clone(current.Tags), slices.Clone(current.Channels)
		spec, err := fn(current)
		if err != nil {
			return err
		}
		return a.updateLocked(ctx, tx, l, spec, now)
	})
}

func (a *admin) updateLocked(ctx context.Context, tx store.AdminTx, l *store.Locked, spec checks.Spec, now time.Time) error {
	if err := a.mayJudge(ctx, tx, l, now); err != nil {
		return err
	}
	updated, effects, err := l.Check.Update(spec, now)
	if err != nil {
		return err
	}
	if err := selectChannels(ctx, tx, &updated, spec.Channels); err != nil {
		return err
	}
	changes, err := a.checkChanges(ctx, tx, l.Check, updated)
	if err != nil {
		return err
	}
	if err := a.noteChanged(ctx, tx, aboutCheck(updated, "check.update", changes...)); err != nil {
		return err
	}
	l.Apply(updated, effects)
	l.SettingsChanged = true
	return tx.SaveChecks(ctx, []*store.Locked{l})
}

// change runs fn on a locked check of a project and returns the changed check. If fn may select channels, it needs the
// lock of the account, which must be taken before that of the check.
func (a *admin) change(
	ctx context.Context, projectID, id uuid.UUID, account bool, fn func(ctx context.Context, tx store.AdminTx, l *store.Locked) error,
) (c checks.Check, err error) {
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if account {
			if _, err := tx.LockAccount(ctx, projectID); err != nil {
				return err
			}
		}
		l, err := tx.LockCheck(ctx, id)
		if err == nil && l.ProjectID != projectID {
			err = checks.ErrNotFound
		}
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

// Pause stops the monitoring of a check.
func (a *admin) Pause(ctx context.Context, projectID, id uuid.UUID) (checks.Check, error) {
	now := a.Now()
	return a.change(ctx, projectID, id, false, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		if err := a.mayJudge(ctx, tx, l, now); err != nil {
			return err
		}
		l.Pause(now)
		if len(l.Pauses) > 0 {
			if err := a.note(ctx, tx, aboutCheck(l.Check, "check.pause")); err != nil {
				return err
			}
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// Resume makes a paused check new.
func (a *admin) Resume(ctx context.Context, projectID, id uuid.UUID) (checks.Check, error) {
	now := a.Now()
	return a.change(ctx, projectID, id, false, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		c, err := l.Check.Resume(now)
		if err != nil {
			return err
		}
		l.Check = c
		if err := a.note(ctx, tx, aboutCheck(c, "check.resume")); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// Restore undoes a pause or a resume.
func (a *admin) Restore(ctx context.Context, projectID, id uuid.UUID, before checks.State, at time.Time) (checks.Check, error) {
	return a.change(ctx, projectID, id, false, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		c, err := l.Check.Restore(before, at)
		if err != nil {
			return err
		}
		if l.Stored == checks.StatusPaused {
			l.Unpaused = append(l.Unpaused, at)
		}
		l.Check = c
		if err := a.note(ctx, tx, aboutCheck(c, "check.restore")); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// Delete removes a check and returns it as it was.
func (a *admin) Delete(ctx context.Context, projectID, id uuid.UUID) (checks.Check, error) {
	return a.change(ctx, projectID, id, false, func(ctx context.Context, tx store.AdminTx, l *store.Locked) error {
		if err := a.note(ctx, tx, aboutCheck(l.Check, "check.delete")); err != nil {
			return err
		}
		return tx.DeleteCheck(ctx, l)
	})
}

// Check returns a check of any project.
func (a *admin) Check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return one(a.Store.Checks(ctx, store.CheckFilter{ID: &id}))
}

// CheckOf returns a check of a project.
func (a *admin) CheckOf(ctx context.Context, projectID, id uuid.UUID) (checks.Check, error) {
	c, err := a.Check(ctx, id)
	if err == nil && c.ProjectID != projectID {
		return checks.Check{}, checks.ErrNotFound
	}
	return c, err
}

// CheckByBadgeKey returns the check with this badge key.
func (a *admin) CheckByBadgeKey(ctx context.Context, key uuid.UUID) (checks.Check, error) {
	return one(a.Store.Checks(ctx, store.CheckFilter{BadgeKey: &key}))
}

// CheckByUniqueKey returns the check of a project that has this unique key.
func (a *admin) CheckByUniqueKey(ctx context.Context, projectID uuid.UUID, key string) (checks.Check, error) {
	return one(a.Store.Checks(ctx, store.CheckFilter{ProjectID: &projectID, UniqueKey: &key}))
}

// Checks returns the checks of a project that the query selects, oldest first.
func (a *admin) Checks(ctx context.Context, projectID uuid.UUID, q checks.Query) ([]checks.Check, error) {
	var list []checks.Check
	var err error
	tags, some := q.DistinctTags()
	filter := store.CheckFilter{ProjectID: &projectID, Tags: tags}
	if q.Slug != "" {
		filter.Slug = &q.Slug
	}
	if some && checks.ValidSlug(q.Slug) { // no check has another slug, and PostgreSQL refuses invalid UTF-8
		list, err = a.Store.Checks(ctx, filter)
	}
	return list, a.Exists(ctx, projectID, len(list), err)
}

// CheckBySlug returns the only check of a project with a slug.
func (a *admin) CheckBySlug(ctx context.Context, projectID uuid.UUID, slug string) (checks.Check, error) {
	if slug == "" {
		return checks.Check{}, checks.ErrNotFound
	}
	list, err := a.Checks(ctx, projectID, checks.Query{Slug: slug})
	if len(list) > 1 {
		return checks.Check{}, checks.ErrAmbiguousSlug
	}
	return one(list, err)
}
