package monitor

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// CreateStatusPage adds a status page with the project, slug, title, description and tags of p. It ignores the other
// fields of p and sets them in the page that it returns. From then on anyone can read the page without a key. Errors:
// *[checks.FieldError], also for the field "project" when that has [checks.MaxStatusPages]; [checks.ErrExists] for a
// slug in use in any project; [checks.ErrNotFound] for the project.
func (m *Monitor) CreateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	return m.admin.CreateStatusPage(ctx, p)
}

// UpdateStatusPage replaces the slug, title, description and tags of the page with the project and the ID of p. The old
// slug is free afterwards. Errors: *[checks.FieldError]; [checks.ErrExists] for a slug in use in any project;
// [checks.ErrNotFound].
func (m *Monitor) UpdateStatusPage(ctx context.Context, p checks.StatusPage) (checks.StatusPage, error) {
	return m.admin.UpdateStatusPage(ctx, p)
}

// DeleteStatusPage removes a status page of a project. Error: [checks.ErrNotFound].
func (m *Monitor) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return m.admin.DeleteStatusPage(ctx, projectID, id)
}

// StatusPages returns the status pages of a project, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) StatusPages(ctx context.Context, projectID uuid.UUID) ([]checks.StatusPage, error) {
	return m.admin.StatusPages(ctx, projectID)
}

// AllStatusPages returns the status pages of all projects, oldest first.
func (m *Monitor) AllStatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	return m.store.StatusPages(ctx, store.StatusPageFilter{})
}

// StatusPage returns the status page with a slug, in any project. Error: [checks.ErrNotFound].
func (m *Monitor) StatusPage(ctx context.Context, slug string) (checks.StatusPage, error) {
	return m.admin.StatusPage(ctx, slug)
}
