package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// account is a name with a plan. Its projects share a limit of checks.
type account struct {
	name string
	plan checks.Plan
}

// project is a project with its checks.
type project struct {
	checks.Project // MaxChecks is that of the account
	checks         map[uuid.UUID]*check
	bySlug         map[string][]*check // those with a slug
}

func (p *project) account() account { return account{p.Account, p.Plan} }

// project returns a project with the limit of its account.
func (s *Store) project(p *project) checks.Project {
	found := p.Project
	found.MaxChecks = s.accounts[p.account()]
	return found
}

// is reports whether a filter allows a value.
func is[T comparable](wanted *T, value T) bool { return wanted == nil || *wanted == value }

// Projects returns projects by name.
func (s *Store) Projects(ctx context.Context, f store.ProjectFilter) (list []checks.Project, err error) {
	err = s.view(ctx, func() {
		for _, p := range s.projects {
			if is(f.ID, p.ID) && is(f.Name, p.Name) && is(f.PingKey, p.PingKey) && is(f.BadgeKey, p.BadgeKey) {
				list = append(list, s.project(p))
			}
		}
	})
	slices.SortFunc(list, func(a, b checks.Project) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Keys returns API keys, oldest first.
func (s *Store) Keys(ctx context.Context, f store.KeyFilter) (list []checks.Key, err error) {
	err = s.view(ctx, func() {
		for _, k := range s.keys {
			if is(f.ProjectID, k.ProjectID) && is(f.Hash, k.Hash) {
				list = append(list, k)
			}
		}
	})
	slices.SortFunc(list, func(a, b checks.Key) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return list, err
}

// LockAccount returns a project. Transactions run one after the other, so nothing needs a lock.
func (t *transaction) LockAccount(_ context.Context, projectID uuid.UUID) (checks.Project, error) {
	p := t.s.projects[projectID]
	if p == nil {
		return checks.Project{}, checks.ErrNotFound
	}
	return t.s.project(p), nil
}

// CountChecks returns the number of checks in the account of a project.
func (t *transaction) CountChecks(_ context.Context, projectID uuid.UUID) (n int, err error) {
	own := t.s.projects[projectID]
	if own == nil {
		return 0, nil
	}
	for _, p := range t.s.projects {
		if p.account() == own.account() {
			n += len(p.checks)
		}
	}
	return n, nil
}

// CountProjects returns the number of projects.
func (t *transaction) CountProjects(context.Context) (int, error) { return len(t.s.projects), nil }

// InsertProject adds a project, and its account if that is new.
func (t *transaction) InsertProject(_ context.Context, p checks.Project) error {
	for _, other := range t.s.projects {
		if other.ID == p.ID || other.Name == p.Name || other.PingKey == p.PingKey || other.BadgeKey == p.BadgeKey {
			return checks.ErrExists
		}
	}
	added := &project{Project: p, checks: make(map[uuid.UUID]*check), bySlug: make(map[string][]*check)}
	if p.MaxChecks > 0 {
		put(t, t.s.accounts, added.account(), p.MaxChecks)
	}
	put(t, t.s.projects, p.ID, added)
	return nil
}

// DeleteProject removes a project and all that belongs to it.
func (t *transaction) DeleteProject(ctx context.Context, id uuid.UUID) error {
	p := t.s.projects[id]
	if p == nil {
		return checks.ErrNotFound
	}
	for _, c := range p.checks {
		t.deleteCheck(c)
	}
	t.removeDeliveries(func(d *delivery) bool { return d.check.project == p })
	for _, c := range t.s.channels {
		if c.ProjectID == id {
			drop(t, t.s.channels, c.ID)
			t.removeIncidents(c.ID)
		}
	}
	for _, p := range t.s.statusPages {
		if p.ProjectID == id {
			drop(t, t.s.statusPages, p.ID)
		}
	}
	for _, k := range t.s.keys {
		if k.ProjectID == id {
			drop(t, t.s.keys, k.ID)
		}
	}
	drop(t, t.s.projects, id)
	return nil
}

// InsertKey adds an API key.
func (t *transaction) InsertKey(_ context.Context, k checks.Key) error {
	if t.s.projects[k.ProjectID] == nil {
		return checks.ErrNotFound
	}
	for _, other := range t.s.keys {
		if other.ID == k.ID || other.Hash == k.Hash {
			return checks.ErrExists
		}
	}
	put(t, t.s.keys, k.ID, k)
	return nil
}

// DeleteKey removes an API key of a project.
func (t *transaction) DeleteKey(_ context.Context, projectID, id uuid.UUID) error {
	if k, found := t.s.keys[id]; !found || k.ProjectID != projectID {
		return checks.ErrNotFound
	}
	drop(t, t.s.keys, id)
	return nil
}
