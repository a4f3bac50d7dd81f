package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// counting is a store that counts how often keys and projects are looked up.
type counting struct {
	monitor.Store
	lookups *atomic.Int64
}

func (c counting) Keys(ctx context.Context, f monitor.KeyFilter) ([]checks.Key, error) {
	c.lookups.Add(1)
	return c.Store.Keys(ctx, f)
}

func (c counting) Projects(ctx context.Context, f monitor.ProjectFilter) ([]checks.Project, error) {
	c.lookups.Add(1)
	return c.Store.Projects(ctx, f)
}

// TestLookups: keys and projects are not looked up for each request, what this process changes holds at once, and
// what another one changes holds after five seconds.
func TestLookups(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := counting{db.Open(t), new(atomic.Int64)}
		here := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
		there, err := monitor.New(db.Open(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		here.create(t, checks.Spec{Slug: new("job")})
		newKey := func() (text string, key checks.Key) {
			t.Helper()
			text, key, err := here.CreateKey(t.Context(), here.project.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if got, err := here.Authenticate(t.Context(), text); err != nil || got.ID != key.ID {
					t.Fatalf("a new key is %v, %v", got, err)
				}
			}
			return text, key
		}
		refused := func(what, text string) {
			t.Helper()
			if _, err := here.Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("a key that was revoked %s: %v", what, err)
			}
		}
		before := store.lookups.Load()
		text, key := newKey()
		if n := store.lookups.Load() - before; n != 1 {
			t.Errorf("%d lookups for 10 uses of a key", n)
		}
		if err := here.RevokeKey(t.Context(), here.project.ID, key.ID); err != nil {
			t.Fatal(err)
		}
		refused("here", text)

		text, key = newKey()
		if err := there.RevokeKey(t.Context(), here.project.ID, key.ID); err != nil {
			t.Fatal(err)
		}
		here.clock.Advance(5 * time.Second)
		refused("elsewhere", text)

		ping := func() error {
			_, _, err := here.PingSlug(t.Context(), here.project.PingKey, "job", false, pings.Signal{Kind: pings.Success})
			return err
		}
		before = store.lookups.Load()
		for range 10 {
			if err := ping(); err != nil {
				t.Fatal(err)
			}
		}
		if n := store.lookups.Load() - before; n != 1 {
			t.Errorf("%d lookups for 10 pings by one ping key", n)
		}
		if err := there.DeleteProject(t.Context(), here.project.ID); err != nil {
			t.Fatal(err)
		}
		if err := ping(); !errors.Is(err, checks.ErrNotFound) { // its checks are gone at once
			t.Errorf("a ping for a project that was deleted: %v", err)
		}
		// A clock that is set back does not make what is remembered last longer.
		text, key = newKeyOf(t, here, "another")
		if err := there.RevokeKey(t.Context(), key.ProjectID, key.ID); err != nil {
			t.Fatal(err)
		}
		here.clock.Advance(-time.Hour)
		refused("before the clock was set back", text)
	})
}

// newKeyOf returns a key of a new project after it was used.
func newKeyOf(t *testing.T, s setup, name string) (string, checks.Key) {
	t.Helper()
	_, keys, err := s.CreateProject(t.Context(), monitor.ProjectSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.Authenticate(t.Context(), keys.ReadWrite)
	if err != nil {
		t.Fatal(fmt.Errorf("a key of a new project: %w", err))
	}
	return keys.ReadWrite, key
}
