package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// CreateStatusPage adds a status page with the slug, title, description and tags of page. It ignores the other fields and
// sets them in the page that it returns. From then on anyone can read the page without a key. Errors:
// *[checks.FieldError], also for the field "project" when that has [checks.MaxStatusPages]; [checks.ErrExists] for a
// slug in use in any project.
func (p *Project) CreateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	page.ProjectID = p.id
	page, err := p.admin.CreateStatusPage(ctx, page)
	return page, p.about(err)
}

// UpdateStatusPage replaces the slug, title, description and tags of the page with the ID of page. The old slug is free
// afterwards. Errors: *[checks.FieldError]; [checks.ErrExists] for a slug in use in any project; [checks.ErrNotFound].
func (p *Project) UpdateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	page.ProjectID = p.id
	saved, err := p.admin.UpdateStatusPage(ctx, page)
	return saved, about("status page", page.ID, err)
}

// DeleteStatusPage removes a status page. Error: [checks.ErrNotFound].
func (p *Project) DeleteStatusPage(ctx context.Context, id uuid.UUID) error {
	return about("status page", id, p.admin.DeleteStatusPage(ctx, p.id, id))
}

// StatusPages returns the status pages of the project, oldest first.
func (p *Project) StatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	list, err := p.admin.StatusPages(ctx, p.id)
	return list, p.about(err)
}
