package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

func (f fixture) statusPages(t *testing.T, filter store.StatusPageFilter) []checks.StatusPage {
	t.Helper()
	found, err := f.StatusPages(t.Context(), filter)
	must(t, err)
	return found
}

func (f fixture) addStatusPage(t *testing.T, p checks.StatusPage) checks.StatusPage {
	t.Helper()
	p.ID = uuid.New()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, p) })
	return p
}

// testStatusPages: status pages come back as they were saved, oldest first, and are found by their slug and their
// project.
func testStatusPages(t *testing.T, f fixture) {
	other := f.addProject(t, newProject("other"))
	third := f.addStatusPage(t, checks.StatusPage{ProjectID: other.ID, Slug: "third", Title: "3", CreatedAt: noon.Add(2 * time.Second)})
	second := f.addStatusPage(t, checks.StatusPage{ProjectID: f.project.ID, Slug: "second", Title: "2", CreatedAt: noon.Add(time.Second)})
	first := f.addStatusPage(t, checks.StatusPage{
		ProjectID: f.project.ID, Slug: "first", Title: `"1" <☃>`, Description: "a\nb", Tags: []string{"web", "ünï"}, CreatedAt: noon,
		Names: map[uuid.UUID]string{uuid.New(): `"1" <☃>`, uuid.New(): "\\u0000"}, MinOutage: 90 * time.Second,
	})
	for _, test := range []struct {
		name   string
		filter store.StatusPageFilter
		want   []checks.StatusPage
	}{
		{"all, oldest first", store.StatusPageFilter{}, []checks.StatusPage{first, second, third}},
		{"project", store.StatusPageFilter{ProjectID: &f.project.ID}, []checks.StatusPage{first, second}},
		{"slug", store.StatusPageFilter{Slug: new("first")}, []checks.StatusPage{first}},
		{"slug in another case", store.StatusPageFilter{Slug: new("First")}, nil},
		{"empty slug", store.StatusPageFilter{Slug: new("")}, nil},
		{"slug of another project", store.StatusPageFilter{ProjectID: &other.ID, Slug: new("first")}, nil},
		{"unknown project", store.StatusPageFilter{ProjectID: new(uuid.New())}, nil},
	} {
		same(t, test.name, f.statusPages(t, test.filter), test.want)
	}

	changed := first
	changed.Slug, changed.Title, changed.Description, changed.Tags = "renamed", "One", "", nil
	changed.Names, changed.MinOutage = nil, 0
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		later := changed
		later.CreatedAt = noon.Add(time.Hour) // stays as it was
		if err := writer(ctx, tx).SaveStatusPage(ctx, later); err != nil {
			return err
		}
		found, err := tx.StatusPages(ctx, store.StatusPageFilter{ProjectID: &f.project.ID})
		same(t, "in the transaction that changes one", found, []checks.StatusPage{changed, second})
		return err
	})
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteStatusPage(ctx, f.project.ID, second.ID)
	})
	same(t, "after a change and a removal", f.statusPages(t, store.StatusPageFilter{}), []checks.StatusPage{changed, third})
}

// testStatusPageErrors: a slug that is in use in any project is [checks.ErrExists]. Only their own project can change
// or delete pages.
func testStatusPageErrors(t *testing.T, f fixture) {
	other := f.addProject(t, newProject("other"))
	page := f.addStatusPage(t, checks.StatusPage{ProjectID: f.project.ID, Slug: "acme", Title: "Acme", CreatedAt: noon})
	neighbour := f.addStatusPage(t, checks.StatusPage{ProjectID: other.ID, Slug: "neighbour", Title: "N", CreatedAt: noon.Add(time.Second)})
	twin, moved, foreign := page, neighbour, page
	twin.ID, twin.ProjectID = uuid.New(), other.ID
	moved.Slug = page.Slug
	foreign.ProjectID = other.ID
	for _, test := range []struct {
		name string
		fn   func(ctx context.Context, tx store.Tx) error
		want error
	}{
		{"a page with a slug in use", func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, twin) }, checks.ErrExists},
		{"a change to a slug in use", func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, moved) }, checks.ErrExists},
		{"another project's page", func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, foreign) }, checks.ErrNotFound},
		{"removal of another project's page", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteStatusPage(ctx, other.ID, page.ID)
		}, checks.ErrNotFound},
		{"removal of an unknown page", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteStatusPage(ctx, other.ID, uuid.New())
		}, checks.ErrNotFound},
	} {
		if err := f.Update(t.Context(), test.fn); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
	same(t, "after all errors", f.statusPages(t, store.StatusPageFilter{}), []checks.StatusPage{page, neighbour})
}
