package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// check is a check with what belongs to it. In a [store.Locked] it is the Row.
type check struct {
	checks.Check // with the Channels that exist, oldest first
	number       int64
	project      *project
	wake         time.Time // when there is something to settle
	log          []*entry  // without gaps, oldest first
	flips        []flip    // in the order of their numbers
	pauses       []checks.Transition
	months       []store.Month // by time; replaced, never changed
	lastDuration *time.Duration
	deleted      bool
}

// cloneCheck returns a check that shares no memory with c, except for its compiled schedule, which never changes.
func cloneCheck(c checks.Check) checks.Check {
	c.Tags, c.Channels, c.Runs = slices.Clone(c.Tags), slices.Clone(c.Channels), slices.Clone(c.Runs)
	return c
}

// Checks returns checks with their channels, oldest first.
func (s *Store) Checks(ctx context.Context, f store.CheckFilter) (list []checks.Check, err error) {
	err = s.view(ctx, func() {
		for _, c := range s.find(f.ID, f.ProjectID, f.Slug, func(c *check) bool {
			return is(f.BadgeKey, c.BadgeKey) && c.HasTags(f.Tags) && (f.UniqueKey == nil || c.UniqueKey() == *f.UniqueKey)
		}) {
			list = append(list, cloneCheck(c.Check))
		}
	})
	return list, err
}

// find returns the checks that meet all conditions, oldest first. A condition that is nil allows all.
func (s *Store) find(id, projectID *uuid.UUID, slug *string, allow func(*check) bool) (found []*check) {
	consider := func(c *check) {
		if is(projectID, c.ProjectID) && is(slug, c.Slug) && allow(c) {
			found = append(found, c)
		}
	}
	switch {
	case id != nil:
		if c := s.checks[*id]; c != nil {
			consider(c)
		}
	case projectID != nil:
		p := s.projects[*projectID]
		switch {
		case p == nil:
		case slug != nil && *slug != "": // pings come by slug
			for _, c := range p.bySlug[*slug] {
				consider(c)
			}
		default:
			for _, c := range p.checks {
				consider(c)
			}
		}
	default:
		for _, c := range s.checks {
			consider(c)
		}
	}
	slices.SortFunc(found, func(a, b *check) int { return cmp.Compare(a.number, b.number) })
	return found
}

// BySlug returns the project with a ping key and its checks with a slug, oldest first.
func (s *Store) BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error) {
	projects, err := s.Projects(ctx, store.ProjectFilter{PingKey: &pingKey})
	if err != nil || len(projects) == 0 {
		return uuid.Nil, nil, cmp.Or(err, error(checks.ErrNotFound))
	}
	ids, err = s.FindChecks(ctx, projects[0].ID, store.Match{Slug: &slug})
	return projects[0].ID, ids, err
}

// FindChecks returns the checks of a project that equal the match, oldest first.
func (s *Store) FindChecks(ctx context.Context, projectID uuid.UUID, m store.Match) (ids []uuid.UUID, err error) {
	err = s.view(ctx, func() { ids = s.match(projectID, m) })
	return ids, err
}

// FindChecks returns the checks of a project that equal the match, oldest first.
func (t *transaction) FindChecks(_ context.Context, projectID uuid.UUID, m store.Match) ([]uuid.UUID, error) {
	return t.s.match(projectID, m), nil
}

func (s *Store) match(projectID uuid.UUID, m store.Match) (ids []uuid.UUID) {
	for _, c := range s.find(nil, &projectID, m.Slug, func(c *check) bool {
		return is(m.Name, c.Name) && is(m.Grace, c.Grace) &&
			(m.Tags == nil || checks.JoinTags(m.Tags) == checks.JoinTags(c.Tags)) &&
			(m.Timeout == nil || !c.IsCron() && c.Timeout == *m.Timeout)
	}) {
		ids = append(ids, c.ID)
	}
	return ids
}

// LockCheck returns a check with its channels.
func (t *transaction) LockCheck(_ context.Context, id uuid.UUID) (*store.Locked, error) {
	c := t.s.checks[id]
	if c == nil {
		return nil, checks.ErrNotFound
	}
	return &store.Locked{Check: cloneCheck(c.Check), Row: c}, nil
}

// LockChecks returns the checks that exist, each once and without channels.
func (t *transaction) LockChecks(_ context.Context, ids []uuid.UUID) ([]*store.Locked, error) {
	locked := make([]*store.Locked, 0, len(ids))
	seen := make(map[*check]bool, len(ids))
	for _, id := range ids {
		if c := t.s.checks[id]; c != nil && !seen[c] {
			seen[c] = true
			locked = append(locked, c.locked())
		}
	}
	return locked, nil
}

// locked returns a copy of the check without its channels.
func (c *check) locked() *store.Locked {
	copied := c.Check
	copied.Channels = nil
	return &store.Locked{Check: cloneCheck(copied), Row: c}
}

// LockDue returns the checks that have something to settle, the longest due first. It looks at all checks, which the
// watcher can afford once a second.
func (t *transaction) LockDue(_ context.Context, now time.Time, limit int) ([]*store.Locked, error) {
	var due []*check
	for _, c := range t.s.checks {
		if !c.wake.IsZero() && !c.wake.After(now) {
			due = append(due, c)
		}
	}
	slices.SortFunc(due, func(a, b *check) int { return a.wake.Compare(b.wake) })
	var locked []*store.Locked
	for _, c := range due[:min(limit, len(due))] {
		l := c.locked()
		l.Due = true
		locked = append(locked, l)
	}
	return locked, nil
}

// SaveChecks writes checks and their changes.
func (t *transaction) SaveChecks(_ context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		if l.Row == nil {
			c, err := t.insert(l.Check)
			if err != nil {
				return err
			}
			l.Row = c
		}
		c := l.Row.(*check)
		if c.deleted {
			continue
		}
		save(t, c)
		if l.SettingsChanged && t.s.projects[l.ProjectID] == nil {
			return checks.ErrNotFound
		}
		if l.SettingsChanged {
			t.saveSettings(c, l.Check)
		}
		c.State = cloneCheck(l.Check).State
		c.wake = c.Wake()
		t.saveLog(c, l)
		c.saveMonths(l)
		l.SettingsChanged, l.Pings, l.Uploads, l.Transitions, l.Pauses, l.Alerts = false, nil, nil, nil, nil, nil
		l.Days, l.Folds = nil, nil
	}
	return nil
}

// insert adds a check. The settings of a new check count as changed.
func (t *transaction) insert(added checks.Check) (*check, error) {
	p := t.s.projects[added.ProjectID]
	if p == nil {
		return nil, checks.ErrNotFound
	}
	if t.s.checks[added.ID] != nil {
		return nil, checks.ErrExists
	}
	c := &check{Check: checks.Check{ID: added.ID}, number: t.s.next(), project: p}
	put(t, t.s.checks, c.ID, c)
	put(t, p.checks, c.ID, c)
	t.saveSettings(c, added)
	return c, nil
}

// saveSettings writes the settings of a check and its channels.
func (t *transaction) saveSettings(c *check, changed checks.Check) {
	switch {
	case c.project.ID != changed.ProjectID:
		t.moveSlug(c, "")
		drop(t, c.project.checks, c.ID)
		c.project, c.Slug = t.s.projects[changed.ProjectID], ""
		put(t, c.project.checks, c.ID, c)
		t.moveSlug(c, changed.Slug)
	case c.Slug != changed.Slug:
		t.moveSlug(c, changed.Slug)
	}
	c.Check = cloneCheck(changed)
	c.Channels = t.s.existing(changed.Channels)
	// A check whose schedule cannot be evaluated is due as soon as it was pinged.
	_ = t.s.plans.Attach(&c.Check)
}

// moveSlug moves a check in the index of its project from its slug to another one. A check without a slug is not there.
func (t *transaction) moveSlug(c *check, slug string) {
	bySlug := c.project.bySlug
	if c.Slug != "" {
		rest := slices.DeleteFunc(slices.Clone(bySlug[c.Slug]), func(other *check) bool { return other == c })
		if len(rest) > 0 {
			put(t, bySlug, c.Slug, rest)
		} else {
			drop(t, bySlug, c.Slug)
		}
	}
	if slug != "" {
		put(t, bySlug, slug, append(bySlug[slug], c))
	}
}

// DeleteDeliveries removes the deliveries of a locked check.
func (t *transaction) DeleteDeliveries(_ context.Context, l *store.Locked) error {
	c := l.Row.(*check)
	t.removeDeliveries(func(d *delivery) bool { return d.check == c && d.ChannelID != store.OnAlert.ID })
	return nil
}

// DeleteCheck removes a locked check. PrunePings removes its log.
func (t *transaction) DeleteCheck(_ context.Context, l *store.Locked) error {
	c := l.Row.(*check)
	t.deleteCheck(c)
	t.removeDeliveries(func(d *delivery) bool { return d.check == c })
	return nil
}

// deleteCheck removes a check but its deliveries.
func (t *transaction) deleteCheck(c *check) {
	if c.deleted {
		return
	}
	drop(t, t.s.checks, c.ID)
	drop(t, c.project.checks, c.ID)
	t.moveSlug(c, "")
	save(t, c)
	c.deleted = true
	save(t, &t.s.deleted)
	t.s.deleted = append(t.s.deleted, c)
}
