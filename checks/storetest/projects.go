package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

func testProjects(t *testing.T, f fixture) {
	second := newProject("another")
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.InsertProject(ctx, second) })
	for what, filter := range map[string]monitor.ProjectFilter{
		"by identifier": {ID: &second.ID},
		"by name":       {Name: new("another")},
		"by ping key":   {PingKey: new("ping-another")},
		"by badge key":  {BadgeKey: new("badge-another")},
	} {
		same(t, what, f.projects(t, filter), []checks.Project{second})
	}
	for what, filter := range map[string]monitor.ProjectFilter{
		"by identifier":           {ID: new(uuid.New())},
		"by the zero identifier":  {ID: new(uuid.Nil)},
		"by name":                 {Name: new("Another")},
		"by ping key":             {PingKey: new("")},
		"by badge key":            {BadgeKey: new("x' OR '1'='1")},
		"by two, of two projects": {ID: &second.ID, Name: &f.project.Name},
	} {
		same(t, what+", none", f.projects(t, filter), []checks.Project(nil))
	}
	same(t, "all, by name", f.projects(t, monitor.ProjectFilter{}), []checks.Project{second, f.project})

	twin := newProject("another")
	twin.BadgeKey, twin.PingKey = "b", "p"
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.InsertProject(ctx, twin) })
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("a second project of the same name: %v, want ErrExists", err)
	}
}

func (f fixture) projects(t *testing.T, filter monitor.ProjectFilter) []checks.Project {
	t.Helper()
	list, err := f.Projects(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func testAccountsAndPlans(t *testing.T, f fixture) {
	free := newProject("free")
	free.Plan = checks.Free
	sibling := newProject("sibling")
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		return errors.Join(tx.InsertProject(ctx, free), tx.InsertProject(ctx, sibling))
	})
	f.create(t, checks.Spec{})
	f.create(t, checks.Spec{})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		for project, want := range map[uuid.UUID]int{f.project.ID: 2, sibling.ID: 2, free.ID: 0} {
			if _, err := tx.LockAccount(ctx, project); err != nil {
				return err
			}
			n, err := tx.CountChecks(ctx, project)
			if err != nil || n != want {
				return fmt.Errorf("%d checks, want %d: %w", n, want, err)
			}
		}
		_, err := tx.LockAccount(ctx, uuid.New())
		if !errors.Is(err, checks.ErrNotFound) {
			return fmt.Errorf("the account of no project: %w", err)
		}
		return nil
	})
	limited := newProject("limited")
	limited.MaxChecks = 7
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.InsertProject(ctx, limited) })
	if got := f.projects(t, monitor.ProjectFilter{ID: &sibling.ID}); len(got) != 1 || got[0].MaxChecks != 7 {
		t.Errorf("a limit is the account's: %v", got)
	}
}

func testDeleteProject(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{Slug: new("a")})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail}, noon)
	key := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Hash: hashOf("key"), CreatedAt: noon}
	other := newProject("other")
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		return errors.Join(tx.InsertKey(ctx, key), tx.InsertProject(ctx, other))
	})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteProject(ctx, f.project.ID) })
	f.gone(t, c.ID)
	same(t, "keys of a deleted project", f.keys(t, monitor.KeyFilter{Hash: &key.Hash}), []checks.Key(nil))
	if list, err := f.Channels(t.Context(), f.project.ID); err != nil || len(list) != 0 {
		t.Errorf("integrations of a deleted project: %v, %v", list, err)
	}
	same(t, "projects that are left", f.projects(t, monitor.ProjectFilter{}), []checks.Project{other})
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteProject(ctx, f.project.ID) })
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

func testKeys(t *testing.T, f fixture) {
	first := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Hash: hashOf("one"), Hint: "rcw_one", CreatedAt: noon}
	second := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, ReadOnly: true, Hash: hashOf("two"), Hint: "rcr_two", CreatedAt: noon.Add(1e9)}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		return errors.Join(tx.InsertKey(ctx, second), tx.InsertKey(ctx, first))
	})
	same(t, "by hash", f.keys(t, monitor.KeyFilter{Hash: new(hashOf("two"))}), []checks.Key{second})
	same(t, "by the zero hash", f.keys(t, monitor.KeyFilter{Hash: new([32]byte{})}), []checks.Key(nil))
	same(t, "all, oldest first", f.keys(t, monitor.KeyFilter{ProjectID: &f.project.ID}), []checks.Key{first, second})
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteKey(ctx, uuid.New(), first.ID) })
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("a key of another project: %v", err)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteKey(ctx, f.project.ID, first.ID) })
	same(t, "a deleted key", f.keys(t, monitor.KeyFilter{Hash: new(hashOf("one"))}), []checks.Key(nil))
}

// testKeyOfNoProject adds a key to a project that does not exist, which no lock has shown to be there: the store refuses it
// or keeps it, but does not say that the key exists.
func testKeyOfNoProject(t *testing.T, f fixture) {
	stray := checks.Key{ID: uuid.New(), ProjectID: uuid.New(), Hash: hashOf("stray"), CreatedAt: noon}
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.InsertKey(ctx, stray) })
	if errors.Is(err, checks.ErrExists) || errors.Is(err, monitor.ErrUnavailable) {
		t.Errorf("a key of a project that does not exist: %v", err)
	}
	err = f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
		k := checks.Key{ID: uuid.New(), ProjectID: f.project.ID, Hash: hashOf("one"), CreatedAt: noon}
		twin := k
		twin.ID = uuid.New()
		return cmp.Or(tx.InsertKey(ctx, k), tx.InsertKey(ctx, twin))
	})
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("two keys with one hash: %v, want ErrExists", err)
	}
}

func (f fixture) keys(t *testing.T, filter monitor.KeyFilter) []checks.Key {
	t.Helper()
	list, err := f.Keys(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func testChannels(t *testing.T, f fixture) {
	second := f.addChannel(t, "second", noon.Add(time.Second))
	first := f.addChannel(t, `a "name", with signs`, noon)
	list, err := f.Channels(t.Context(), f.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "all, oldest first", list, []channels.Channel{first, second})

	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, second.ID, first.ID)
	same(t, "assigned, oldest first", f.check(t, c.ID).Channels, []uuid.UUID{first.ID, second.ID})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		same(t, "assigned, under the lock", l.Channels, []uuid.UUID{first.ID, second.ID})
		list, err := tx.Channels(ctx, f.project.ID)
		same(t, "in a transaction", len(list), 2)
		return err
	})
	// Recording an alert needs nothing of the check's channels in memory.
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail}, noon)

	changed, foreign := first, first
	changed.Name, changed.Settings = "renamed", map[string]string{"to": "other@example.org"}
	changed.Sources = map[string]string{"to": "$OPS"}
	foreign.ProjectID = uuid.New()
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.SaveChannel(ctx, changed) })
	err = f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.SaveChannel(ctx, foreign) })
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("updating an integration of another project: %v", err)
	}
	list, err = f.Channels(t.Context(), f.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "one changed", list, []channels.Channel{changed, second})

	err = f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteChannel(ctx, uuid.New(), first.ID) })
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("an integration of another project: %v", err)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteChannel(ctx, f.project.ID, first.ID) })
	same(t, "assigned, after one was deleted", f.check(t, c.ID).Channels, []uuid.UUID{second.ID})
	f.assign(t, c.ID)
	same(t, "assigned, none", f.check(t, c.ID).Channels, []uuid.UUID(nil))
}

// testChannelsOfManyChecks lists more checks than are looked up one by one.
func testChannelsOfManyChecks(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		for i := range 150 {
			c, err := checks.New(f.project.ID, checks.Spec{}, noon)
			if err != nil {
				return err
			}
			if i%2 == 0 {
				c.Channels = []uuid.UUID{channel.ID}
			}
			if err := addCheck(ctx, tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	list := f.list(t)
	if len(list) != 150 {
		t.Fatalf("%d checks, want 150", len(list))
	}
	for i, c := range list {
		if len(c.Channels) != 1-i%2 {
			t.Fatalf("check %d has %d integrations", i, len(c.Channels))
		}
	}
}

func testSettings(t *testing.T, f fixture) {
	var wg sync.WaitGroup
	values := make([]string, 8)
	for i := range values {
		wg.Go(func() {
			var err error
			if values[i], err = f.Setting(t.Context(), "secret", fmt.Sprint("value ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, v := range values {
		if v != values[0] || v == "" {
			t.Fatalf("several values of one setting: %q", values)
		}
	}
}

// testAnyText stores what people write, and what attackers do.
func testAnyText(t *testing.T, f fixture) {
	for _, text := range []string{
		"ünï — 日本語 — العربية — 👩‍👩‍👧", `'; DROP TABLE rollcall_checks; --`, `\' \\ " ? $1 {} % _`, "a\tb\r\nc", "\u202e\u0085\ufeff\uffff",
		strings.Repeat("😀", checks.MaxName),
	} {
		spec := checks.Spec{Name: &text, Tags: &text, Desc: &text, SuccessKW: &text}
		c := f.create(t, spec)
		same(t, text, f.check(t, c.ID), c)
		f.update(t, func(ctx context.Context, tx monitor.Tx) error {
			ids, err := tx.FindChecks(ctx, f.project.ID, monitor.Match{Name: &text, Tags: &text})
			same(t, "found by "+text, ids, []uuid.UUID{c.ID})
			return err
		})
	}
}

func testCancelledContext(t *testing.T, f fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.Update(ctx, func(context.Context, monitor.Tx) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a transaction with a cancelled context: %v", err)
	}
	if err := f.Probe(t.Context(), false); err != nil {
		t.Errorf("the store does not work any more: %v", err)
	}
}

// testFirstProjectOnlyOnce has several servers make the first project at once.
func testFirstProjectOnlyOnce(t *testing.T, f fixture) {
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteProject(ctx, f.project.ID) })
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			inserted := false
			err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
				inserted = false
				n, err := tx.CountProjects(ctx)
				if err != nil || n > 0 {
					return err
				}
				inserted = true
				return tx.InsertProject(ctx, newProject(fmt.Sprint("project ", i)))
			})
			if err != nil {
				t.Error(err)
			}
			if inserted {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d first projects", made.Load())
	}
}
