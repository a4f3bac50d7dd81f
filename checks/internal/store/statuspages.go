package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// StatusPageFilter selects status pages. A nil field matches all.
type StatusPageFilter struct {
	ProjectID *uuid.UUID
	Slug      *string
}

// StatusPageReader reads status pages.
type StatusPageReader interface {
	// StatusPages returns status pages, oldest first.
	StatusPages(ctx context.Context, f StatusPageFilter) ([]checks.StatusPage, error)
}

// StatusPageWriter changes status pages in a transaction.
type StatusPageWriter interface {
	// SaveStatusPage adds a status page, or writes the Slug, the Title, the Description and the Tags of the one with its
	// ID. The project and CreatedAt of a page never change. Errors: [checks.ErrExists] for a slug in use, in any project;
	// [checks.ErrNotFound] for the ID of another project's page. The caller sees to it that the project exists.
	SaveStatusPage(ctx context.Context, p checks.StatusPage) error
	// DeleteStatusPage removes a status page of a project. The error is [checks.ErrNotFound] for the page of another
	// project.
	DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error
}
