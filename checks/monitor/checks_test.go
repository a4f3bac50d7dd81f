package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestUpsert covers server/API.md section 4.3 rule 4.
func TestUpsert(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		spec := checks.Spec{Name: new("backup"), Timeout: new(time.Hour)}
		first, created, err := s.Upsert(t.Context(), s.project.ID, spec, checks.UniqueName)
		if err != nil || !created {
			t.Fatalf("first upsert: created %v, error %v", created, err)
		}
		spec.Timeout = new(2 * time.Hour)
		again, created, err := s.Upsert(t.Context(), s.project.ID, spec, checks.UniqueName)
		if err != nil || created || again.ID != first.ID || again.Timeout != 2*time.Hour {
			t.Errorf("second upsert: created %v, same check %v, timeout %v, error %v", created, again.ID == first.ID, again.Timeout, err)
		}
		_, created, err = s.Upsert(t.Context(), s.project.ID, spec, checks.UniqueName, checks.UniqueSlug)
		if err != nil || !created {
			t.Errorf("upsert by a field that the spec lacks: created %v, error %v, want a new check", created, err)
		}
		if _, _, err = s.Upsert(t.Context(), s.project.ID, spec, "uuid"); err == nil {
			t.Error("upsert by an unknown field was accepted")
		}
		if _, err := s.Create(t.Context(), uuid.New(), spec); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("create in an unknown project: error %v, want ErrNotFound", err)
		}
	})
}

// TestReturnedTagsAreACopy changes the tags of the checks that methods return, while the store caches the check.
func TestReturnedTagsAreACopy(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Tags: []string{"db", "prod"}})
		for _, do := range []func(ctx context.Context, id uuid.UUID) (checks.Check, error){s.Pause, s.Check, s.Pause} {
			c.Tags[0] = "changed"
			s.ping(t, c.ID, pings.Success)
			var err error
			if c, err = do(t.Context(), c.ID); err != nil || !slices.Equal(c.Tags, []string{"db", "prod"}) {
				t.Errorf("the check has the tags %q, error %v", c.Tags, err)
			}
		}
	})
}

func TestConcurrentUpserts(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		var created atomic.Int64
		together(16, func(i int) {
			_, one, err := s.Upsert(t.Context(), s.project.ID, checks.Spec{Name: new("one"), Desc: new(fmt.Sprint(i))}, checks.UniqueName)
			if err != nil {
				t.Error(err)
			}
			if one {
				created.Add(1)
			}
		})
		list, err := s.Checks(t.Context(), s.project.ID, checks.Query{})
		if created.Load() != 1 || len(list) != 1 || err != nil {
			t.Errorf("created %d checks, and there are %d, want 1; error %v", created.Load(), len(list), err)
		}
	})
}

// TestCheckLimit creates checks in two projects of one account, up to the limit of server/API.md section 8.
func TestCheckLimit(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s := newSetup(t, open(), checks.ProjectSpec{Name: "p", Plan: "free"})
		sibling, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "q", Plan: "free"})
		must(t, err)
		var created atomic.Int64
		together(30, func(i int) {
			_, err := s.Create(t.Context(), []uuid.UUID{s.project.ID, sibling.ID}[i%2], checks.Spec{})
			switch {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, checks.ErrCheckLimit):
				t.Error(err)
			}
		})
		if n := created.Load(); n != 20 {
			t.Errorf("created %d checks, want 20", n)
		}
		for i := range 25 { // pings create checks up to twice the limit
			_, created, err := s.PingSlug(t.Context(), s.project.PingKey, fmt.Sprint("slug-", i), true, pings.Signal{})
			if want := i < 20; created != want || want == errors.Is(err, checks.ErrCheckLimit) {
				t.Errorf("ping %d: created %v, error %v", i, created, err)
			}
		}
	})
}

func TestRefusedUpdateChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Name: new("before")})
		for what, spec := range map[string]checks.Spec{
			"invalid field":   {Name: new("after"), Timeout: new(time.Second)},
			"unknown channel": {Name: new("after"), Channels: new("nobody")},
		} {
			if _, err := s.Update(t.Context(), c.ID, spec); err == nil {
				t.Errorf("%s: the update was accepted", what)
			}
			if got, _ := s.Check(t.Context(), c.ID); got.Name != "before" {
				t.Errorf("%s: the update has changed the name to %q", what, got.Name)
			}
		}
		_, err := s.Update(t.Context(), c.ID, checks.Spec{Channels: new("nobody")})
		if _, ok := errors.AsType[*channels.SelectError](err); !ok {
			t.Errorf("unknown channel: error %v, want a *channels.SelectError", err)
		}
		for _, spec := range []checks.Spec{{}, {Channels: new("*")}} {
			if _, err := s.Update(t.Context(), uuid.New(), spec); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("unknown check: error %v, want ErrNotFound", err)
			}
		}
	})
}

func TestUpdateFunc(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Name: new("before"), Tags: []string{"first"}})
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				_, err := s.UpdateFunc(t.Context(), c.ID, func(c checks.Check) (checks.Spec, error) {
					return checks.Spec{Tags: append(c.Tags, fmt.Sprint(i)), Channels: new("*")}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		got, err := s.Check(t.Context(), c.ID)
		must(t, err)
		if len(got.Tags) != 9 || got.Tags[0] != "first" {
			t.Errorf("the tags are %q: an update is lost", got.Tags)
		}
		seen := errors.New("seen")
		_, err = s.UpdateFunc(t.Context(), c.ID, func(c checks.Check) (checks.Spec, error) {
			c.Tags[0] = "changed"
			return checks.Spec{Name: new("after")}, seen
		})
		if err != seen {
			t.Errorf("error %v, want that of the function", err)
		}
		var field *checks.FieldError
		_, err = s.UpdateFunc(t.Context(), c.ID, func(checks.Check) (checks.Spec, error) {
			return checks.Spec{Name: new("after"), Grace: new(time.Second)}, nil
		})
		if !errors.As(err, &field) || field.Field != "grace" {
			t.Errorf("error %v, want one about grace", err)
		}
		if got, _ := s.Check(t.Context(), c.ID); got.Name != "before" || got.Tags[0] != "first" {
			t.Errorf("a refused update has changed the check: %q, %q", got.Name, got.Tags)
		}
		_, err = s.UpdateFunc(t.Context(), uuid.New(), func(checks.Check) (checks.Spec, error) { return checks.Spec{}, nil })
		if !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("unknown check: error %v, want ErrNotFound", err)
		}
	})
}

func TestPauseResumeDelete(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{})
		s.ping(t, c.ID, pings.Success)
		if got, err := s.Pause(t.Context(), c.ID); err != nil || got.Status(s.Now()) != checks.StatusPaused || got.NPings != 1 {
			t.Errorf("paused: %+v, error %v", got.State, err)
		}
		if got, err := s.Resume(t.Context(), c.ID); err != nil || got.Status(s.Now()) != checks.StatusNew {
			t.Errorf("resumed: %+v, error %v", got.State, err)
		}
		if _, err := s.Resume(t.Context(), c.ID); !errors.Is(err, checks.ErrNotPaused) {
			t.Errorf("resumed twice: error %v, want ErrNotPaused", err)
		}
		if got, err := s.Delete(t.Context(), c.ID); err != nil || got.ID != c.ID || got.NPings != 1 {
			t.Errorf("deleted: %+v, error %v", got.State, err)
		}
		for what, do := range map[string]func() error{
			"Check":    func() error { _, err := s.Check(t.Context(), c.ID); return err },
			"Pause":    func() error { _, err := s.Pause(t.Context(), c.ID); return err },
			"Resume":   func() error { _, err := s.Resume(t.Context(), c.ID); return err },
			"Delete":   func() error { _, err := s.Delete(t.Context(), c.ID); return err },
			"Ping":     func() error { _, err := s.Ping(t.Context(), c.ID, pings.Signal{}); return err },
			"Pings":    func() error { _, err := s.Pings(t.Context(), c.ID); return err },
			"PingBody": func() error { _, err := s.PingBody(t.Context(), c.ID, 1); return err },
			"Flips":    func() error { _, err := s.Flips(t.Context(), c.ID, flips.Range{}); return err },
		} {
			if err := do(); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("%s of a deleted check: error %v, want ErrNotFound", what, err)
			}
		}
	})
}
