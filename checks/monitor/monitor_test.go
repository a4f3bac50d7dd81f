package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) {
	if arguments := os.Getenv(courierVar); arguments != "" {
		fmt.Fprintln(os.Stderr, courierMain(arguments))
		os.Exit(1)
	}
	dbtest.Main(m)
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// setup is a monitor with a clock that stands at noon, and a project.
type setup struct {
	*monitor.Monitor
	clock   *dbtest.Clock
	project checks.Project
}

func newSetup(t *testing.T, store monitor.Store, spec monitor.ProjectSpec) setup {
	t.Helper()
	c := dbtest.NewClock(noon)
	mon, err := monitor.New(store, &monitor.Config{Now: c.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := mon.CreateProject(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return setup{mon, c, p}
}

func each(t *testing.T, spec monitor.ProjectSpec, test func(t *testing.T, s setup)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) { test(t, newSetup(t, db.Open(t), spec)) })
}

func (s setup) create(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := s.Create(t.Context(), s.project.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s setup) ping(t *testing.T, id uuid.UUID, kind pings.Kind) pings.Ping {
	t.Helper()
	p, err := s.Ping(t.Context(), id, pings.Signal{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s setup) flips(t *testing.T, id uuid.UUID) []flips.Flip {
	t.Helper()
	list, err := s.Flips(t.Context(), id, flips.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestNew(t *testing.T) {
	if _, err := monitor.New(nil, nil); err == nil {
		t.Error("a monitor without a store")
	}
	store := dbtest.SQLite(t).Open(t)
	if _, err := monitor.New(store, &monitor.Config{MaxBatch: -1}); err == nil {
		t.Error("a negative limit")
	}
	for margin, ok := range map[time.Duration]bool{-1: false, 0: true, monitor.MaxCommitMargin: true, monitor.MaxCommitMargin + 1: false} {
		if _, err := monitor.New(store, &monitor.Config{CommitMargin: margin}); (err == nil) != ok {
			t.Errorf("a commit margin of %v: %v", margin, err)
		}
	}
	if _, err := monitor.New(store, nil); err != nil {
		t.Error(err)
	}
	// A store need not be able to move bodies, unless there is object storage.
	plain := struct{ monitor.Store }{store}
	if _, err := monitor.New(plain, nil); err != nil {
		t.Error(err)
	}
	if _, err := monitor.New(plain, &monitor.Config{Bodies: &shelf{}}); err == nil {
		t.Error("object storage with a store that is no BodyQueue")
	}
}

// TestDown has a check go down by the clock: it is down at its deadline for everyone who reads it, and the flip is
// the same one before and after the watcher has come by.
func TestDown(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
		s.ping(t, c.ID, pings.Success)
		want := []flips.Flip{{At: noon, Up: true}}
		s.clock.Advance(2*time.Minute - time.Microsecond)
		if diff := cmp.Diff(want, s.flips(t, c.ID)); diff != "" {
			t.Error(diff)
		}
		s.clock.Advance(time.Microsecond)
		want = append([]flips.Flip{{At: noon.Add(2 * time.Minute)}}, want...)
		if diff := cmp.Diff(want, s.flips(t, c.ID)); diff != "" {
			t.Errorf("before the watcher: %s", diff)
		}
		if list, err := s.Flips(t.Context(), c.ID, flips.Window{Start: noon.Add(2 * time.Minute)}); err != nil || len(list) != 0 {
			t.Errorf("flips newer than the deadline: %v, %v", list, err)
		}
		s.clock.Advance(time.Hour) // the watcher was away
		if n, err := s.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("sweep: %d, %v", n, err)
		}
		if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("second sweep: %d, %v", n, err)
		}
		if diff := cmp.Diff(want, s.flips(t, c.ID)); diff != "" {
			t.Errorf("after the watcher: %s", diff)
		}
	})
}

func TestManyDownAtOnce(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		const n = 1200 // more than one batch
		var wg sync.WaitGroup
		for w := range 10 {
			wg.Go(func() {
				for range n / 10 {
					c, err := s.Create(t.Context(), s.project.ID, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
					if err == nil {
						_, err = s.Ping(t.Context(), c.ID, pings.Signal{})
					}
					if err != nil {
						t.Error(w, err)
						return
					}
				}
			})
		}
		wg.Wait()
		s.clock.Advance(time.Hour)
		if down, err := s.Sweep(t.Context()); down != n || err != nil {
			t.Errorf("%d down, want %d; %v", down, n, err)
		}
	})
}

// TestRun watches with Run, in a bubble where time passes by itself.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.SQLite(t).Open(t)
		mon, err := monitor.New(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := mon.CreateProject(t.Context(), monitor.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		s := setup{Monitor: mon, project: p}
		c := s.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
		start := s.Now()
		s.ping(t, c.ID, pings.Success)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mon.Run(ctx) }()
		time.Sleep(2*time.Minute + 1500*time.Millisecond)
		got, err := mon.Check(t.Context(), c.ID)
		if err != nil || got.Stored != checks.StatusDown {
			t.Errorf("recorded a second after the deadline: %v, %v", got.Stored, err)
		}
		if diff := cmp.Diff([]flips.Flip{{At: start.Add(2 * time.Minute)}, {At: start, Up: true}}, s.flips(t, c.ID)); diff != "" {
			t.Error(diff)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestPingIsDurableAndCounted(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		list := []checks.Check{s.create(t, checks.Spec{}), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})}
		const clients, each = 20, 15
		var wg sync.WaitGroup
		for w := range clients {
			wg.Go(func() {
				for i := range each {
					if _, err := s.Ping(t.Context(), list[(w+i)%3].ID, pings.Signal{Body: fmt.Append(nil, w, i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, c := range list {
			log, err := s.Pings(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(log) != clients*each/3 {
				t.Errorf("%d pings, want %d", len(log), clients*each/3)
			}
			for i, p := range log {
				if p.N != int64(len(log)-i) {
					t.Errorf("entry %d has the number %d", i, p.N)
				}
			}
		}
	})
}

func TestUpsert(t *testing.T) { // API-V3.md 4.3 rule 4
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		spec := checks.Spec{Name: new("backup"), Timeout: new(time.Hour)}
		first, created, err := s.Upsert(t.Context(), s.project.ID, spec, []monitor.UniqueField{monitor.UniqueName})
		if err != nil || !created {
			t.Fatal(created, err)
		}
		spec.Timeout = new(2 * time.Hour)
		again, created, err := s.Upsert(t.Context(), s.project.ID, spec, []monitor.UniqueField{monitor.UniqueName})
		if err != nil || created || again.ID != first.ID || again.Timeout != 2*time.Hour {
			t.Errorf("a match: %v, %v, %v", again.ID == first.ID, created, err)
		}
		if _, created, err = s.Upsert(t.Context(), s.project.ID, spec, []monitor.UniqueField{monitor.UniqueName, monitor.UniqueSlug}); err != nil || !created {
			t.Errorf("a field that is not in the spec matches none: %v, %v", created, err)
		}
		if _, _, err = s.Upsert(t.Context(), s.project.ID, spec, []monitor.UniqueField{"uuid"}); err == nil {
			t.Error("an unknown field")
		}
		if _, err := s.Create(t.Context(), uuid.New(), spec); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown project: %v", err)
		}
	})
}

func TestConcurrentUpserts(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		var wg sync.WaitGroup
		made := make(chan bool, 16)
		for i := range 16 {
			wg.Go(func() {
				spec := checks.Spec{Name: new("one"), Desc: new(fmt.Sprint(i))}
				_, created, err := s.Upsert(t.Context(), s.project.ID, spec, []monitor.UniqueField{monitor.UniqueName})
				if err != nil {
					t.Error(err)
				}
				made <- created
			})
		}
		wg.Wait()
		close(made)
		n := 0
		for created := range made {
			if created {
				n++
			}
		}
		list, err := s.Checks(t.Context(), s.project.ID, monitor.CheckQuery{})
		if n != 1 || len(list) != 1 || err != nil {
			t.Errorf("%d were created, there are %d; %v", n, len(list), err)
		}
	})
}

func TestCheckLimit(t *testing.T) { // API-V3.md 8
	each(t, monitor.ProjectSpec{Name: "p", Plan: checks.Free}, func(t *testing.T, s setup) {
		sibling, _, err := s.CreateProject(t.Context(), monitor.ProjectSpec{Name: "q", Plan: checks.Free})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for i := range 30 {
			wg.Go(func() {
				project := []uuid.UUID{s.project.ID, sibling.ID}[i%2]
				_, err := s.Create(t.Context(), project, checks.Spec{})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case !errors.Is(err, checks.ErrCheckLimit):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made != 20 {
			t.Errorf("%d checks were made", made)
		}
		for i := range 25 { // by pings, up to twice the limit
			_, created, err := s.PingSlug(t.Context(), s.project.PingKey, fmt.Sprint("slug-", i), true, pings.Signal{})
			if want := i < 20; created != want || want == errors.Is(err, checks.ErrCheckLimit) {
				t.Errorf("ping %d: %v, %v", i, created, err)
			}
		}
	})
}

func TestPingSlug(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		channel, err := s.CreateChannel(t.Context(), s.project.ID, "email", "ops", map[string]string{"to": "ops@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		ping := func(key, slug string, create bool) (bool, error) {
			_, created, err := s.PingSlug(t.Context(), key, slug, create, pings.Signal{})
			return created, err
		}
		if _, err := ping(s.project.PingKey, "backup", false); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown slug: %v", err)
		}
		var wg sync.WaitGroup
		made := make(chan bool, 8)
		for range 8 {
			wg.Go(func() {
				created, err := ping(s.project.PingKey, "backup", true)
				if err != nil {
					t.Error(err)
				}
				made <- created
			})
		}
		wg.Wait()
		close(made)
		n := 0
		for created := range made {
			if created {
				n++
			}
		}
		list, err := s.Checks(t.Context(), s.project.ID, monitor.CheckQuery{Slug: new("backup")})
		if err != nil || n != 1 || len(list) != 1 || list[0].NPings != 8 || list[0].Name != "backup" ||
			!cmp.Equal(list[0].Channels, []uuid.UUID{channel.ID}) {
			t.Errorf("provisioned %d times: %+v, %v", n, list, err)
		}
		s.create(t, checks.Spec{Slug: new("twin")})
		s.create(t, checks.Spec{Slug: new("twin")})
		for _, create := range []bool{false, true} {
			if _, err := ping(s.project.PingKey, "twin", create); !errors.Is(err, checks.ErrAmbiguousSlug) {
				t.Errorf("a slug of two checks: %v", err)
			}
		}
		for _, slug := range []string{"", "Upper", "a b", "ä", "a\x00", strings.Repeat("a", 101)} {
			if _, err := ping(s.project.PingKey, slug, true); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("the slug %q: %v", slug, err)
			}
		}
		if _, err := ping("no-such-key", "backup", true); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown ping key: %v", err)
		}
	})
}

func TestRefusedUpdateChangesNothing(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Name: new("before")})
		for what, spec := range map[string]checks.Spec{
			"a bad field":            {Name: new("after"), Timeout: new(time.Second)},
			"an unknown integration": {Name: new("after"), Channels: new("nobody")},
		} {
			if _, err := s.Update(t.Context(), c.ID, spec); err == nil {
				t.Errorf("%s was accepted", what)
			}
			if got, _ := s.Check(t.Context(), c.ID); got.Name != "before" {
				t.Errorf("%s changed the check", what)
			}
		}
		_, err := s.Update(t.Context(), c.ID, checks.Spec{Channels: new("nobody")})
		if _, ok := errors.AsType[*channels.SelectError](err); !ok {
			t.Errorf("an unknown integration: %v", err)
		}
		for _, spec := range []checks.Spec{{}, {Channels: new("*")}} {
			if _, err := s.Update(t.Context(), uuid.New(), spec); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("an unknown check: %v", err)
			}
		}
	})
}

func TestPauseResumeDelete(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{})
		s.ping(t, c.ID, pings.Success)
		if got, err := s.Pause(t.Context(), c.ID); err != nil || got.Status(s.Now()) != checks.StatusPaused || got.NPings != 1 {
			t.Errorf("pause: %+v, %v", got.State, err)
		}
		if got, err := s.Resume(t.Context(), c.ID); err != nil || got.Status(s.Now()) != checks.StatusNew {
			t.Errorf("resume: %+v, %v", got.State, err)
		}
		if _, err := s.Resume(t.Context(), c.ID); !errors.Is(err, checks.ErrNotPaused) {
			t.Errorf("resumed twice: %v", err)
		}
		if got, err := s.Delete(t.Context(), c.ID); err != nil || got.ID != c.ID || got.NPings != 1 {
			t.Errorf("delete: %+v, %v", got.State, err)
		}
		for what, do := range map[string]func() error{
			"check":  func() error { _, err := s.Check(t.Context(), c.ID); return err },
			"pause":  func() error { _, err := s.Pause(t.Context(), c.ID); return err },
			"resume": func() error { _, err := s.Resume(t.Context(), c.ID); return err },
			"delete": func() error { _, err := s.Delete(t.Context(), c.ID); return err },
			"ping":   func() error { _, err := s.Ping(t.Context(), c.ID, pings.Signal{}); return err },
			"pings":  func() error { _, err := s.Pings(t.Context(), c.ID); return err },
			"body":   func() error { _, err := s.PingBody(t.Context(), c.ID, 1); return err },
			"flips":  func() error { _, err := s.Flips(t.Context(), c.ID, flips.Window{}); return err },
		} {
			if err := do(); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("%s of a deleted check: %v", what, err)
			}
		}
	})
}

func TestPingLimits(t *testing.T) { // API-V3.md 4.8: 100 and 1000
	for plan, limit := range map[checks.Plan]int{checks.Free: 100, checks.Paid: 1000} {
		t.Run(string(plan), func(t *testing.T) {
			s := newSetup(t, dbtest.SQLite(t).Open(t), monitor.ProjectSpec{Name: "p", Plan: plan})
			c := s.create(t, checks.Spec{})
			var wg sync.WaitGroup
			for range limit + 5 {
				wg.Go(func() {
					if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: []byte("x")}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for _, pruned := range []bool{false, true} {
				log, err := s.Pings(t.Context(), c.ID)
				if err != nil || len(log) != limit || log[0].N != int64(limit+5) {
					t.Errorf("pruned %v: %d pings, %v", pruned, len(log), err)
				}
				if _, err := s.PingBody(t.Context(), c.ID, 5); !errors.Is(err, checks.ErrNotFound) {
					t.Errorf("pruned %v: the body of a ping that is not listed: %v", pruned, err)
				}
				if body, err := s.PingBody(t.Context(), c.ID, 6); err != nil || string(body) != "x" {
					t.Errorf("pruned %v: the body of the oldest ping that is listed: %v", pruned, err)
				}
				if _, err := s.Prune(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestFlipRetention(t *testing.T) { // API-V3.md 8: the current month and the two before it
	s := newSetup(t, dbtest.SQLite(t).Open(t), monitor.ProjectSpec{Name: "p"})
	c := s.create(t, checks.Spec{})
	s.ping(t, c.ID, pings.Success) // in March
	s.clock.Set(time.Date(2026, 4, 15, 0, 0, 0, 0, time.UTC))
	s.ping(t, c.ID, pings.Fail) // after a flip on March 2
	s.clock.Set(time.Date(2026, 5, 31, 23, 59, 59, 0, time.UTC))
	prune(t, s)
	if got := s.flips(t, c.ID); len(got) != 2 {
		t.Errorf("in May: %v", got)
	}
	s.clock.Set(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	prune(t, s)
	if got := s.flips(t, c.ID); len(got) != 0 {
		t.Errorf("in June: %v", got)
	}
}

func prune(t *testing.T, s setup) {
	t.Helper()
	if _, err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKeys(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		p, keys, err := s.CreateProject(t.Context(), monitor.ProjectSpec{Name: "q"})
		if err != nil {
			t.Fatal(err)
		}
		if len(keys.ReadWrite) != 32 || !strings.HasPrefix(keys.ReadWrite, "rcw_") || len(keys.ReadOnly) != 32 ||
			!strings.HasPrefix(keys.ReadOnly, "rcr_") || len(p.PingKey) != 22 || strings.ToLower(p.PingKey) != p.PingKey {
			t.Errorf("keys %+v, ping key %s", keys, p.PingKey)
		}
		for text, readOnly := range map[string]bool{keys.ReadWrite: false, keys.ReadOnly: true} {
			key, err := s.Authenticate(t.Context(), text)
			if err != nil || key.ProjectID != p.ID || key.ReadOnly != readOnly {
				t.Errorf("authenticated: %+v, %v", key, err)
			}
		}
		for _, text := range []string{"", "rcw_", keys.ReadWrite + "x", strings.ToUpper(keys.ReadWrite), keys.ReadOnly[:31] + "0"} {
			if _, err := s.Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("%q: %v", text, err)
			}
		}
		text, key, err := s.CreateKey(t.Context(), p.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := s.Keys(t.Context(), p.ID); err != nil || len(list) != 3 {
			t.Errorf("%d keys, %v", len(list), err)
		}
		if err := s.RevokeKey(t.Context(), s.project.ID, key.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a key of another project was revoked: %v", err)
		}
		if err := s.RevokeKey(t.Context(), p.ID, key.ID); err != nil {
			t.Error(err)
		}
		if _, err := s.Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a revoked key: %v", err)
		}
		if _, _, err := s.CreateKey(t.Context(), uuid.New(), false); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a key of no project: %v", err)
		}
	})
}

func TestProjectNames(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		for name, spec := range map[string]monitor.ProjectSpec{
			"empty":             {Name: ""},
			"too long":          {Name: strings.Repeat("ü", 101)},
			"control character": {Name: "a\nb"},
			"not UTF-8":         {Name: "\xff"},
			"plan":              {Name: "x", Plan: "gold"},
			"limit":             {Name: "x", MaxChecks: -1},
		} {
			_, _, err := s.CreateProject(t.Context(), spec)
			if _, ok := errors.AsType[*checks.FieldError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := s.CreateProject(t.Context(), monitor.ProjectSpec{Name: "p"}); !errors.Is(err, checks.ErrExists) {
			t.Errorf("a name that is taken: %v", err)
		}
		if _, _, created, err := s.CreateFirstProject(t.Context(), monitor.ProjectSpec{Name: "first"}); created || err != nil {
			t.Errorf("a first project beside another: %v, %v", created, err)
		}
	})
}

func TestBadges(t *testing.T) { // API-V3.md 2.5
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		up := s.create(t, checks.Spec{Name: new("a"), Tags: new("db ünï")})
		late := s.create(t, checks.Spec{Slug: new("b"), Tags: new("db"), Timeout: new(time.Minute)})
		s.ping(t, late.ID, pings.Success)
		s.clock.Advance(2 * time.Minute)
		s.ping(t, up.ID, pings.Success)
		if tags, err := s.Tags(t.Context(), s.project.ID); err != nil || !cmp.Equal(tags, []string{"db", "ünï"}) {
			t.Errorf("tags %q, %v", tags, err)
		}
		for tag, want := range map[string]string{"*": "p 2 1 0", "db": "db 2 1 0", "ünï": "ünï 1 0 0", "none": "none 0 0 0"} {
			label, sum, err := s.TagBadge(t.Context(), s.project.BadgeKey, tag)
			if got := fmt.Sprint(label, " ", sum.Total, " ", sum.Grace, " ", sum.Down); got != want || err != nil {
				t.Errorf("tag %s: %s, want %s; %v", tag, got, want, err)
			}
		}
		for key, want := range map[uuid.UUID]string{up.BadgeKey: "a 1 0 0", late.BadgeKey: "b 1 1 0"} {
			label, sum, err := s.CheckBadge(t.Context(), key)
			if got := fmt.Sprint(label, " ", sum.Total, " ", sum.Grace, " ", sum.Down); got != want || err != nil {
				t.Errorf("badge %s, want %s; %v", got, want, err)
			}
		}
		if _, _, err := s.CheckBadge(t.Context(), up.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a badge by the check's own identifier: %v", err)
		}
	})
}

// TestTwoMonitors has two monitors work on one database as two servers do.
func TestTwoMonitors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		one := newSetup(t, db.Open(t), monitor.ProjectSpec{Name: "p"})
		other, err := monitor.New(db.Open(t), &monitor.Config{Now: one.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		c := one.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
		var wg sync.WaitGroup
		for i := range 100 {
			mon := []*monitor.Monitor{one.Monitor, other}[i%2]
			wg.Go(func() {
				if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		one.clock.Advance(time.Hour)
		total := make(chan int, 8)
		for i := range 8 {
			mon := []*monitor.Monitor{one.Monitor, other}[i%2]
			wg.Go(func() {
				n, err := mon.Sweep(t.Context())
				if err != nil {
					t.Error(err)
				}
				total <- n
			})
		}
		wg.Wait()
		close(total)
		sum := 0
		for n := range total {
			sum += n
		}
		got, err := other.Check(t.Context(), c.ID)
		if err != nil || got.NPings != 100 || sum != 1 || len(one.flips(t, c.ID)) != 2 {
			t.Errorf("%d pings, %d flips by watchers, %v; %v", got.NPings, sum, one.flips(t, c.ID), err)
		}
	})
}
