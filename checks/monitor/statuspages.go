package monitor

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// CreateStatusPage adds a status page with the project, slug, title, description and tags of p. It ignores the other
// fields of p and sets them in the page that it returns. From then on anyone can read the page without a key. Errors:
// *[checks.FieldError], also for the field "project" when that has [checks.MaxStatusPages]; [checks.ErrExists] for a
// slug in use in any project; [checks.ErrNotFound] for the project.
func (m *Monitor) CreateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	p.ID, p.CreatedAt = uuid.New(), m.Now()
	return m.saveStatusPage(ctx, p, func(list []checks.StatusPage) (checks.StatusPage, error) {
		if len(list) >= checks.MaxStatusPages {
			return p, &checks.FieldError{Field: "project", Reason: fmt.Sprintf("has %d status pages, the maximum", len(list))}
		}
		return p, nil
	})
}

// UpdateStatusPage replaces the slug, title, description and tags of the page with the project and the ID of p. The old
// slug is free afterwards. Errors: *[checks.FieldError]; [checks.ErrExists] for a slug in use in any project;
// [checks.ErrNotFound].
func (m *Monitor) UpdateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	return m.saveStatusPage(ctx, p, func(list []checks.StatusPage) (checks.StatusPage, error) {
		for _, saved := range list {
			if saved.ID == p.ID {
				saved.Slug, saved.Title, saved.Description, saved.Tags = p.Slug, p.Title, p.Description, p.Tags
				return saved, nil
			}
		}
		return p, checks.ErrNotFound
	})
}

// saveStatusPage saves the page that fn returns. The list that fn gets has the pages of the project; the account's lock
// keeps them from changing.
func (m *Monitor) saveStatusPage(
	ctx context.Context, p checks.StatusPage, fn func(list []checks.StatusPage) (checks.StatusPage, error),
) (saved checks.StatusPage, err error) {
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.ProjectID); err != nil {
			return err
		}
		list, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &p.ProjectID})
		if err != nil {
			return err
		}
		if saved, err = fn(list); err != nil {
			return err
		}
		if saved, err = saved.Normalize(); err != nil {
			return err
		}
		return tx.SaveStatusPage(ctx, saved)
	})
	if err != nil {
		return checks.StatusPage{}, err
	}
	return saved, nil
}

// DeleteStatusPage removes a status page of a project. Error: [checks.ErrNotFound].
func (m *Monitor) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		return tx.DeleteStatusPage(ctx, projectID, id)
	})
}

// StatusPages returns the status pages of a project, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) StatusPages(ctx context.Context, projectID uuid.UUID) ([]checks.StatusPage, error) {
	list, err := m.store.StatusPages(ctx, store.StatusPageFilter{ProjectID: &projectID})
	return list, m.exists(ctx, projectID, len(list), err)
}

// AllStatusPages returns the status pages of all projects, oldest first.
func (m *Monitor) AllStatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	return m.store.StatusPages(ctx, store.StatusPageFilter{})
}

// StatusPage returns the status page with a slug, in any project. Error: [checks.ErrNotFound].
func (m *Monitor) StatusPage(ctx context.Context, slug string) (checks.StatusPage, error) {
	if !checks.ValidStatusPageSlug(slug) {
		return checks.StatusPage{}, checks.ErrNotFound
	}
	return one(m.store.StatusPages(ctx, store.StatusPageFilter{Slug: &slug}))
}
