package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// StatusPages returns status pages, oldest first.
func (s *Store) StatusPages(ctx context.Context, f store.StatusPageFilter) (list []checks.StatusPage, err error) {
	err = s.view(ctx, func() { list = s.statusPagesWhere(f) })
	return list, err
}

// StatusPages returns status pages, oldest first.
func (t *transaction) StatusPages(_ context.Context, f store.StatusPageFilter) ([]checks.StatusPage, error) {
	return t.s.statusPagesWhere(f), nil
}

func (s *Store) statusPagesWhere(f store.StatusPageFilter) (list []checks.StatusPage) {
	for _, p := range s.statusPages {
		if is(f.ProjectID, p.ProjectID) && is(f.Slug, p.Slug) {
			p.Tags = slices.Clone(p.Tags)
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b checks.StatusPage) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return list
}

// SaveStatusPage adds a status page, or writes its texts and its tags.
func (t *transaction) SaveStatusPage(_ context.Context, p checks.StatusPage) error {
	saved, found := t.s.statusPages[p.ID]
	if t.s.projects[p.ProjectID] == nil || found && saved.ProjectID != p.ProjectID {
		return checks.ErrNotFound
	}
	for _, other := range t.s.statusPages {
		if other.Slug == p.Slug && other.ID != p.ID {
			return checks.ErrExists
		}
	}
	if found {
		p.CreatedAt = saved.CreatedAt
	}
	p.Tags = slices.Clone(p.Tags)
	put(t, t.s.statusPages, p.ID, p)
	return nil
}

// DeleteStatusPage removes a status page of a project.
func (t *transaction) DeleteStatusPage(_ context.Context, projectID, id uuid.UUID) error {
	if p, found := t.s.statusPages[id]; !found || p.ProjectID != projectID {
		return checks.ErrNotFound
	}
	drop(t, t.s.statusPages, id)
	return nil
}
