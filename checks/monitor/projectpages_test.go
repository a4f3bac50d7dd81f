package monitor_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestStatusPages(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx := t.Context()
		other, err := s.OpenProject(ctx, "other")
		must(t, err)
		page, err := s.CreateStatusPage(ctx, checks.StatusPage{ProjectID: s.project.ID, Slug: "acme", Title: " Acme ", Tags: []string{"web", "web"}})
		if err != nil || page.Title != "Acme" || len(page.Tags) != 1 || page.ID == uuid.Nil || !page.CreatedAt.Equal(noon) {
			t.Fatalf("created %+v, error %v", page, err)
		}
		changed := page
		changed.Slug, changed.Title, changed.Description, changed.Tags = "acme-web", "Acme web", "Our web.", nil
		if got, err := s.UpdateStatusPage(ctx, changed); err != nil || !cmp.Equal(got, changed) {
			t.Errorf("updated to %+v, error %v, want %+v", got, err, changed)
		}
		s.statusPagesAre(t, s.project.ID, changed)
		s.statusPagesAre(t, other.ID)
		if err := s.DeleteStatusPage(ctx, s.project.ID, page.ID); err != nil {
			t.Error(err)
		}
		s.statusPagesAre(t, s.project.ID)
	})
}

// statusPagesAre compares the status pages of a project, and those among all pages.
func (s setup) statusPagesAre(t *testing.T, project uuid.UUID, want ...checks.StatusPage) {
	t.Helper()
	list, err := s.StatusPages(t.Context(), project)
	all, allErr := s.Projects().StatusPages(t.Context())
	must(t, errors.Join(err, allErr))
	all = slices.DeleteFunc(all, func(p checks.StatusPage) bool { return p.ProjectID != project })
	for what, got := range map[string][]checks.StatusPage{"of the project": list, "among all": all} {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("status pages %s (-want +got):\n%s", what, diff)
		}
	}
}

func TestStatusPageErrors(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		ctx := t.Context()
		other, err := s.OpenProject(ctx, "other")
		must(t, err)
		page, err := s.CreateStatusPage(ctx, checks.StatusPage{ProjectID: s.project.ID, Slug: "acme", Title: "Acme"})
		must(t, err)
		create := func(p checks.StatusPage) error { _, err := s.CreateStatusPage(ctx, p); return err }
		update := func(p checks.StatusPage) error { _, err := s.UpdateStatusPage(ctx, p); return err }
		list := func(id uuid.UUID) error { _, err := s.StatusPages(ctx, id); return err }
		for _, test := range []struct {
			what string
			err  error
			want error
		}{
			{"a second page with the slug", create(checks.StatusPage{ProjectID: other.ID, Slug: "acme", Title: "Twin"}), checks.ErrExists},
			{"a page in an unknown project", create(checks.StatusPage{ProjectID: uuid.New(), Slug: "a", Title: "A"}), checks.ErrNotFound},
			{"an update of another project's page", update(checks.StatusPage{ID: page.ID, ProjectID: other.ID, Slug: "a", Title: "A"}), checks.ErrNotFound},
			{"an update of an unknown page", update(checks.StatusPage{ID: uuid.New(), ProjectID: s.project.ID, Slug: "a", Title: "A"}), checks.ErrNotFound},
			{"a removal of another project's page", s.DeleteStatusPage(ctx, other.ID, page.ID), checks.ErrNotFound},
			{"a removal in an unknown project", s.DeleteStatusPage(ctx, uuid.New(), page.ID), checks.ErrNotFound},
			{"the pages of an unknown project", list(uuid.New()), checks.ErrNotFound},
		} {
			if !errors.Is(test.err, test.want) {
				t.Errorf("%s: error %v, want %v", test.what, test.err, test.want)
			}
		}
		for want, err := range map[string]error{
			"slug":  create(checks.StatusPage{ProjectID: s.project.ID, Slug: "A", Title: "A"}),
			"title": update(checks.StatusPage{ID: page.ID, ProjectID: s.project.ID, Slug: "acme"}),
		} {
			if refused, ok := errors.AsType[*checks.FieldError](err); !ok || refused.Field != want {
				t.Errorf("error %v, want one about the %s", err, want)
			}
		}
		s.statusPagesAre(t, s.project.ID, page)
	})
}

// TestStatusPageLimit has many callers create pages at once. The project gets as many as it may have.
func TestStatusPageLimit(t *testing.T) {
	s := newSetup(t, dbtest.Memory(t), checks.ProjectSpec{Name: "p"})
	var created, refused atomic.Int64
	together(120, func(i int) {
		_, err := s.CreateStatusPage(t.Context(), checks.StatusPage{ProjectID: s.project.ID, Slug: fmt.Sprint("page-", i), Title: "Page"})
		if e, ok := errors.AsType[*checks.FieldError](err); ok && e.Error() == "project has 100 status pages, the maximum" {
			refused.Add(1)
		} else if err == nil {
			created.Add(1)
		}
	})
	if created.Load() != checks.MaxStatusPages || refused.Load() != 20 {
		t.Errorf("created %d pages and refused %d, want 100 and 20", created.Load(), refused.Load())
	}
}
