package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// CreateStatusPage adds a status page with the project, slug, title, description and tags of p.
func (a *admin) CreateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	p.ID, p.CreatedAt = uuid.New(), a.Now()
	return a.saveStatusPage(ctx, p, func(list []checks.StatusPage, p checks.StatusPage) (checks.StatusPage, error) {
		return p, checks.ValidateCount(len(list), checks.MaxStatusPages, "status pages")
	})
}

// UpdateStatusPage replaces the slug, title, description and tags of a page.
func (a *admin) UpdateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	return a.saveStatusPage(ctx, p, func(list []checks.StatusPage, p checks.StatusPage) (checks.StatusPage, error) {
		saved, ok := pageByID(list, p.ID)
		if !ok {
			return p, checks.ErrNotFound
		}
		saved.Slug, saved.Title, saved.Description, saved.Tags = p.Slug, p.Title, p.Description, p.Tags
		return saved, nil
	})
}

// saveStatusPage saves the page that fn returns. The list that fn gets has the pages of the project; the account's lock
// keeps them from changing.
func (a *admin) saveStatusPage(
	ctx context.Context, p checks.StatusPage, fn func(list []checks.StatusPage, p checks.StatusPage) (checks.StatusPage, error),
) (saved checks.StatusPage, err error) {
	if p, err = p.Normalize(); err != nil {
		return checks.StatusPage{}, err
	}
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.ProjectID); err != nil {
			return err
		}
		found, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &p.ProjectID})
		if err != nil {
			return err
		}
		if saved, err = fn(found, p); err != nil {
			return err
		}
		if err := tx.SaveStatusPage(ctx, saved); err != nil {
			return err
		}
		before, ok := pageByID(found, saved.ID)
		if !ok {
			return a.note(ctx, tx, aboutPage(saved, "status_page.create", pageChanges(before, saved)...))
		}
		return a.noteChanged(ctx, tx, aboutPage(saved, "status_page.update", pageChanges(before, saved)...))
	})
	if err != nil {
		return checks.StatusPage{}, err
	}
	return saved, nil
}

func pageByID(list []checks.StatusPage, id uuid.UUID) (checks.StatusPage, bool) {
	return where(list, func(p checks.StatusPage) bool { return p.ID == id })
}

// DeleteStatusPage removes a status page of a project.
func (a *admin) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		list, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &projectID})
		if err != nil {
			return err
		}
		p, ok := pageByID(list, id)
		if !ok {
			return checks.ErrNotFound
		}
		if err := a.note(ctx, tx, aboutPage(p, "status_page.delete")); err != nil {
			return err
		}
		return tx.DeleteStatusPage(ctx, projectID, id)
	})
}

// StatusPages returns the status pages of a project, oldest first.
func (a *admin) StatusPages(ctx context.Context, projectID uuid.UUID) ([]checks.StatusPage, error) {
	found, err := a.Store.StatusPages(ctx, store.StatusPageFilter{ProjectID: &projectID})
	return found, a.Exists(ctx, projectID, len(found), err)
}

// AllStatusPages returns the status pages of all projects, oldest first.
func (a *admin) AllStatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	return a.Store.StatusPages(ctx, store.StatusPageFilter{})
}

// StatusPageByID returns a status page of any project.
func (a *admin) StatusPageByID(ctx context.Context, id uuid.UUID) (checks.StatusPage, error) {
	return one(a.Store.StatusPages(ctx, store.StatusPageFilter{ID: &id}))
}

// StatusPage returns the status page with a slug, in any project.
func (a *admin) StatusPage(ctx context.Context, slug string) (checks.StatusPage, error) {
	if !checks.ValidStatusPageSlug(slug) {
		return checks.StatusPage{}, checks.ErrNotFound
	}
	return one(a.Store.StatusPages(ctx, store.StatusPageFilter{Slug: &slug}))
}
