package sqlstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

func (f fixture) projects(t *testing.T, filter store.ProjectFilter) []checks.Project {
	t.Helper()
	found, err := f.Projects(t.Context(), filter)
	must(t, err)
	return found
}

// testProjects: Projects looks at all fields of its filter, compares whole values with their case, and sorts by name. A
// name that is in use is [checks.ErrExists].
func testProjects(t *testing.T, f fixture) {
	second := f.addProject(t, newProject("another"))
	for _, test := range []struct {
		name   string
		filter store.ProjectFilter
		want   []checks.Project
	}{
		{"all, by name", store.ProjectFilter{}, []checks.Project{second, f.project}},
		{"ID", store.ProjectFilter{ID: &second.ID}, []checks.Project{second}},
		{"name", store.ProjectFilter{Name: new("another")}, []checks.Project{second}},
		{"ping key", store.ProjectFilter{PingKey: new("ping-another")}, []checks.Project{second}},
		{"badge key", store.ProjectFilter{BadgeKey: new("badge-another")}, []checks.Project{second}},
		{"unknown ID", store.ProjectFilter{ID: new(uuid.New())}, nil},
		{"zero ID", store.ProjectFilter{ID: new(uuid.Nil)}, nil},
		{"name in another case", store.ProjectFilter{Name: new("Another")}, nil},
		{"empty ping key", store.ProjectFilter{PingKey: new("")}, nil},
		{"SQL as badge key", store.ProjectFilter{BadgeKey: new("x' OR '1'='1")}, nil},
		{"ID and name of two projects", store.ProjectFilter{ID: &second.ID, Name: &f.project.Name}, nil},
	} {
		same(t, test.name, f.projects(t, test.filter), test.want)
	}

	twin := newProject("another")
	twin.BadgeKey, twin.PingKey = "b", "p"
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveProject(ctx, twin) })
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("second project with the same name: error %v, want ErrExists", err)
	}
}

// testRename: saving a project that is there changes its name, its ping key and its settings alone.
func testRename(t *testing.T, f fixture) {
	other := f.addProject(t, newProject("other"))
	rename := func(p checks.Project) error {
		return f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveProject(ctx, p) })
	}
	want, changed := f.project, f.project
	want.Name, want.PingKey, want.Storm = "renamed", "p", gate.Storm{Checks: 3, Window: 90 * time.Second}
	changed.Name, changed.BadgeKey, changed.PingKey, changed.CreatedAt = "renamed", "b", "p", noon.Add(time.Hour)
	changed.Storm = want.Storm
	must(t, rename(changed))
	same(t, "renamed project", f.projects(t, store.ProjectFilter{ID: &want.ID}), []checks.Project{want})
	changed.Name = other.Name
	if err := rename(changed); !errors.Is(err, checks.ErrExists) {
		t.Errorf("a name in use: error %v, want ErrExists", err)
	}
	changed.Name, changed.PingKey = want.Name, other.PingKey
	if err := rename(changed); !errors.Is(err, checks.ErrExists) {
		t.Errorf("a ping key in use: error %v, want ErrExists", err)
	}
}

// testAccounts: an account is a name with a plan. Its projects count their checks together and share a limit, which the
// project that was added last with one has set.
func testAccounts(t *testing.T, f fixture) {
	free := newProject("free")
	free.Plan = "free"
	f.addProject(t, free)
	sibling := f.addProject(t, newProject("sibling"))
	f.createMany(t, 2)
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		for project, want := range map[uuid.UUID]int{f.project.ID: 2, sibling.ID: 2, free.ID: 0} {
			if _, err := tx.LockAccount(ctx, project); err != nil {
				return err
			}
			if n, err := tx.CountChecks(ctx, project); err != nil || n != want {
				return fmt.Errorf("counted %d checks, want %d; error %w", n, want, err)
			}
		}
		if _, err := tx.LockAccount(ctx, uuid.New()); !errors.Is(err, checks.ErrNotFound) {
			return fmt.Errorf("LockAccount of an unknown project: error %w, want ErrNotFound", err)
		}
		return nil
	})

	limited := newProject("limited")
	limited.MaxChecks = 7
	f.addProject(t, limited)
	f.addProject(t, newProject("without a limit of its own"))
	for name, want := range map[string]int{"sibling": 7, "limited": 7, "without a limit of its own": 7, "free": 0} {
		if got := f.projects(t, store.ProjectFilter{Name: &name}); len(got) != 1 || got[0].MaxChecks != want {
			t.Errorf("project %q: %+v, want the limit of its account, %d", name, got, want)
		}
	}
}

// testFirstProject: of several servers that add a project if there is none, one does.
func testFirstProject(t *testing.T, f fixture) {
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, f.project.ID)
	})
	var created atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
				return writer(ctx, tx).SaveFirstProject(ctx, newProject(fmt.Sprint("project ", i)))
			})
			if err == nil {
				created.Add(1)
			} else if !errors.Is(err, checks.ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("%d servers created a first project, want 1", created.Load())
	}
}

// testDeleteProject: checks, channels, status pages and keys go with their project. A deleted project is
// [checks.ErrNotFound].
func testDeleteProject(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{Slug: new("a")})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	key := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Hash: hashOf("key"), CreatedAt: noon}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveKey(ctx, key) })
	other := f.addProject(t, newProject("other"))
	page := checks.StatusPage{ID: uuid.New(), ProjectID: f.project.ID, Slug: "acme", Title: "Acme", CreatedAt: noon}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveStatusPage(ctx, page) })

	remove := func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, f.project.ID)
	}
	f.update(t, remove)
	f.gone(t, c.ID)
	same(t, "keys of a deleted project", f.keys(t, store.KeyFilter{Hash: &key.Hash}), []checks.Key(nil))
	same(t, "channels of a deleted project", f.channels(t), []channels.Channel(nil))
	same(t, "status pages of a deleted project", f.statusPages(t, store.StatusPageFilter{}), []checks.StatusPage(nil))
	same(t, "projects left", f.projects(t, store.ProjectFilter{}), []checks.Project{other})
	if err := f.Update(t.Context(), remove); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("DeleteProject of a deleted project: error %v, want ErrNotFound", err)
	}
}

func (f fixture) keys(t *testing.T, filter store.KeyFilter) []checks.Key {
	t.Helper()
	found, err := f.Keys(t.Context(), filter)
	must(t, err)
	return found
}

// testKeys: keys are found by their hash and listed with the oldest first. Only their own project can delete them.
func testKeys(t *testing.T, f fixture) {
	first := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Scope: checks.ReadWrite, Hash: hashOf("one"), Hint: "rcw_one", CreatedAt: noon}
	second := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Scope: checks.ReadOnly, Hash: hashOf("two"), Hint: "rcr_two", CreatedAt: noon.Add(time.Second)}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(writer(ctx, tx).SaveKey(ctx, second), writer(ctx, tx).SaveKey(ctx, first))
	})
	same(t, "by hash", f.keys(t, store.KeyFilter{Hash: new(hashOf("two"))}), []checks.Key{second})
	same(t, "by the zero hash", f.keys(t, store.KeyFilter{Hash: new([32]byte{})}), []checks.Key(nil))
	same(t, "all, oldest first", f.keys(t, store.KeyFilter{ProjectID: &f.project.ID}), []checks.Key{first, second})
	for _, scope := range checks.Scopes() {
		key := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Scope: scope, Hash: hashOf(string(scope)), CreatedAt: noon}
		f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveKey(ctx, key) })
		same(t, string(scope), f.keys(t, store.KeyFilter{Hash: &key.Hash}), []checks.Key{key})
	}
	ends := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Scope: checks.ReadWrite, Hash: hashOf("ends"), CreatedAt: noon, ExpiresAt: noon.Add(time.Hour)}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveKey(ctx, ends) })
	same(t, "before the end", f.keys(t, store.KeyFilter{ExpiredAt: new(ends.ExpiresAt.Add(-time.Microsecond))}), []checks.Key(nil))
	same(t, "after the end", f.keys(t, store.KeyFilter{ExpiredAt: new(ends.ExpiresAt)}), []checks.Key{ends})
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteKey(ctx, uuid.New(), first.ID)
	})
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("DeleteKey of another project's key: error %v, want ErrNotFound", err)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteKey(ctx, f.project.ID, first.ID)
	})
	same(t, "deleted key", f.keys(t, store.KeyFilter{Hash: new(hashOf("one"))}), []checks.Key(nil))
}

// testKeyErrors: a hash that is in use is [checks.ErrExists]. An unknown project is not, whether or not it is an error.
func testKeyErrors(t *testing.T, f fixture) {
	stray := checks.Key{ID: uuid.New(), ProjectID: uuid.New(), Hash: hashOf("stray"), CreatedAt: noon}
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveKey(ctx, stray) })
	if errors.Is(err, checks.ErrExists) || errors.Is(err, store.ErrUnavailable) { // no error is fine, too
		t.Errorf("key of an unknown project: error %v, want another one", err)
	}
	err = f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		k := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Hash: hashOf("one"), CreatedAt: noon}
		twin := k
		twin.ID = uuid.New()
		return cmp.Or(writer(ctx, tx).SaveKey(ctx, k), writer(ctx, tx).SaveKey(ctx, twin))
	})
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("two keys with one hash: error %v, want ErrExists", err)
	}
}

// testSetting: concurrent callers that store a setting all get the same value.
func testSetting(t *testing.T, f fixture) {
	var wg sync.WaitGroup
	values := make([]string, 8)
	for i := range values {
		wg.Go(func() {
			s, err := f.Setting(t.Context(), noon, store.Setting{Name: "secret", Value: fmt.Sprint("value ", i)})
			if err != nil {
				t.Error(err)
			}
			values[i] = s.Value
		})
	}
	wg.Wait()
	for _, v := range values {
		if v != values[0] || v == "" {
			t.Fatalf("callers got %q, want one value for all", values)
		}
	}
}

// testSettingsEnd stores settings that end, twice, and forgets them after their time.
func testSettingsEnd(t *testing.T, f fixture) {
	one, other := uuid.New(), uuid.New()
	end := func(id uuid.UUID, now, until time.Time) {
		t.Helper()
		_, err := f.Setting(t.Context(), now, store.Setting{Name: id.String(), Value: "ended", Until: until})
		must(t, err)
	}
	ended := func(id uuid.UUID, now time.Time, want bool) {
		t.Helper()
		if got, err := f.Setting(t.Context(), now, store.Setting{Name: id.String()}); err != nil || (got.Value != "") != want {
			t.Errorf("setting %v: %+v, error %v, want one: %v", id, got, err, want)
		}
	}
	ended(one, noon, false)
	end(one, noon, noon.Add(time.Hour))
	end(one, noon, noon.Add(time.Hour))
	ended(one, noon.Add(time.Hour-time.Microsecond), true)
	ended(one, noon.Add(time.Hour), false)
	ended(other, noon, false)
	end(other, noon.Add(time.Hour-time.Microsecond), noon.Add(2*time.Hour))
	ended(one, noon, true)
	end(uuid.New(), noon.Add(time.Hour), noon.Add(3*time.Hour))
	ended(one, noon, false) // removed
	ended(other, noon, true)
}

// testLeases lets several holders take the lease of a task.
func testLeases(t *testing.T, f fixture) {
	lease := func(task string, now time.Time, mine store.Setting) store.Setting {
		mine.Name = task
		l, err := f.Setting(t.Context(), now, mine)
		if err != nil {
			t.Error(err)
		}
		return l
	}
	var wg sync.WaitGroup
	got := make([]store.Setting, 8)
	for i := range got {
		wg.Go(func() {
			got[i] = lease("task", noon, store.Setting{Value: fmt.Sprint(i), Until: noon.Add(time.Minute)})
		})
	}
	wg.Wait()
	first := got[0]
	same(t, "until", first.Until, noon.Add(time.Minute))
	for _, l := range got {
		same(t, "lease", l, first)
	}
	other := store.Setting{Name: "other", Value: "other", Until: noon.Add(time.Hour)}
	same(t, "before the end", lease("task", noon.Add(time.Minute-time.Microsecond), other), first)
	same(t, "of another task", lease("other", noon, other), other)
	first.Until = noon.Add(2 * time.Minute)
	same(t, "renewed", lease("task", noon.Add(time.Second), first), first)
	same(t, "before the new end", lease("task", noon.Add(time.Minute), other), first)
	short := store.Setting{Name: "other", Value: "short", Until: noon.Add(time.Minute)}
	same(t, "of a wrong clock", lease("other", noon, short), short)
	same(t, "one without an end", lease("other", noon, store.Setting{Value: "x"}), short)
	other.Name = "task"
	same(t, "after the end", lease("task", noon.Add(2*time.Minute), other), other)
}
