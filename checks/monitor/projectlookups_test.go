package monitor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// counting is a store that counts the lookups of keys and projects, and those of checks by slug.
type counting struct {
	store.Store
	lookups, slugs *atomic.Int64
}

func (c counting) Keys(ctx context.Context, f store.KeyFilter) ([]checks.Key, error) {
	c.lookups.Add(1)
	return c.Store.Keys(ctx, f)
}

func (c counting) Projects(ctx context.Context, f store.ProjectFilter) ([]checks.Project, error) {
	c.lookups.Add(1)
	return c.Store.Projects(ctx, f)
}

func (c counting) BySlug(ctx context.Context, pingKey, slug string) (uuid.UUID, []uuid.UUID, error) {
	c.slugs.Add(1)
	return c.Store.BySlug(ctx, pingKey, slug)
}

// TestLookups has two servers revoke keys and delete a project. A server looks up keys and projects once in five seconds,
// and sees its own changes at once. A ping by slug takes one lookup for both its project and its check.
func TestLookups(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := counting{open(), new(atomic.Int64), new(atomic.Int64)}
		here := newSetup(t, database{store}, checks.ProjectSpec{Name: "p"})
		there := here.with(t, open(), monitor.Config{})
		here.create(t, checks.Spec{Slug: new("job")})
		// once compares the lookups while fn runs ten times.
		once := func(what string, fn func() error) {
			t.Helper()
			before := store.lookups.Load()
			for range 10 {
				must(t, fn())
			}
			if n := store.lookups.Load() - before; n != 1 {
				t.Errorf("10 uses of %s took %d lookups, want 1", what, n)
			}
		}
		newKey := func() (text string, key checks.Key) {
			t.Helper()
			text, key, err := here.CreateKey(t.Context(), here.project.ID, checks.ReadWrite)
			must(t, err)
			once("a key", func() error {
				got, err := here.Projects().Authenticate(t.Context(), text)
				if got.ID != key.ID {
					t.Errorf("the key is %v, want %v", got.ID, key.ID)
				}
				return err
			})
			return text, key
		}
		refused := func(what, text string) {
			t.Helper()
			if _, err := here.Projects().Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("key revoked %s: error %v, want ErrNotFound", what, err)
			}
		}
		text, key := newKey()
		must(t, here.DeleteKey(t.Context(), here.project.ID, key.ID))
		refused("by this server", text)

		text, key = newKey()
		must(t, on(there).DeleteKey(t.Context(), here.project.ID, key.ID))
		here.clock.Advance(5 * time.Second)
		refused("by another server, five seconds ago", text)

		ping := func() error {
			_, _, err := here.PingSlug(t.Context(), here.project.PingKey, "job", false, pings.Signal{Kind: pings.Success})
			return err
		}
		before := store.lookups.Load()
		for range 10 {
			must(t, ping())
		}
		if n, others := store.slugs.Load(), store.lookups.Load()-before; n != 10 || others != 0 {
			t.Errorf("10 pings by slug took %d lookups of slugs and %d others, want 10 and none", n, others)
		}
		must(t, there.Projects().Delete(t.Context(), here.project.ID))
		if err := ping(); !errors.Is(err, checks.ErrNotFound) { // its checks are gone at once
			t.Errorf("ping of a deleted project: error %v, want ErrNotFound", err)
		}

		var err error
		here.project, _, err = here.CreateProject(t.Context(), checks.ProjectSpec{Name: "another"})
		must(t, err)
		text, key = newKey()
		must(t, on(there).DeleteKey(t.Context(), key.ProjectID, key.ID))
		here.clock.Advance(-time.Hour)
		refused("by another server, before the clock was set back", text)
	})
}
