package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestListsAreTheCallers changes checks that a list has returned. Later lists and pings do not see it.
func TestListsAreTheCallers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s, mon, c := withCheck(t, db)
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Start})
		must(t, err)
		for range 3 {
			list, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &c.ProjectID})
			if err != nil || len(list) != 1 || len(list[0].Runs) != 1 || list[0].Runs[0].ID.Valid {
				t.Fatal(list, err)
			}
			list[0].Runs[0].ID = uuid.NullUUID{UUID: uuid.New(), Valid: true}
		}
		p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		if err != nil || p.Duration == nil {
			t.Errorf("the ping did not end the run: duration %v, error %v", p.Duration, err)
		}
	})
}

// TestListOfManyChecks lists more checks than one query looks up, while some are pinged and others deleted.
func TestListOfManyChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s, mon, c := withCheck(t, db)
		want := []uuid.UUID{c.ID}
		must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			var locked []*store.Locked
			for range 600 {
				c, err := checks.New(c.ProjectID, checks.Spec{}, mon.Now())
				if err != nil {
					return err
				}
				locked = append(locked, &store.Locked{Check: c})
				want = append(want, c.ID)
			}
			return tx.SaveChecks(ctx, locked)
		}))
		for range 3 {
			var got []uuid.UUID
			list, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &c.ProjectID})
			must(t, err)
			for _, c := range list {
				got = append(got, c.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("the list has %d of %d checks, or another order", len(got), len(want))
			}
			for i := 0; i < len(want); i += 50 {
				_, err := mon.Ping(t.Context(), want[i], pings.Signal{Kind: pings.Success})
				must(t, err)
			}
			_, err = mon.Project(c.ProjectID).Delete(t.Context(), want[300])
			must(t, err)
			want = slices.Delete(want, 300, 301)
		}
	})
}

// TestBySlug looks up checks by the ping key of their project and their slug, as pings do.
func TestBySlug(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := db.Open(t).Database()
		mon := monitorOn(t, s)
		var projects []checks.Project
		for _, name := range []string{"a", "b", "empty"} {
			_, err := mon.OpenProject(t.Context(), name)
			must(t, err)
			p, err := mon.Projects().ByName(t.Context(), name)
			must(t, err)
			projects = append(projects, p)
		}
		var jobs []uuid.UUID
		for _, project := range []checks.Project{projects[0], projects[0], projects[1]} {
			c, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: new("job")})
			must(t, err)
			jobs = append(jobs, c.ID)
		}
		_, err := mon.Project(projects[0].ID).Create(t.Context(), checks.Spec{Slug: new("other")})
		must(t, err)
		for _, test := range []struct {
			project checks.Project
			slug    string
			want    []uuid.UUID
		}{
			{projects[0], "job", jobs[:2]},
			{projects[1], "job", jobs[2:]},
			{projects[1], "other", nil},
			{projects[0], "Job", nil},
			{projects[2], "job", nil},
		} {
			project, ids, err := s.BySlug(t.Context(), test.project.PingKey, test.slug)
			if err != nil || project != test.project.ID || !slices.Equal(ids, test.want) {
				t.Errorf("%s/%s: project %v, checks %v, want %v; error %v", test.project.Name, test.slug, project, ids, test.want, err)
			}
		}
		if _, _, err := s.BySlug(t.Context(), "nokey", "job"); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("without a project: error %v, want ErrNotFound", err)
		}
	})
}
