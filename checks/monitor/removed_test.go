package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// shared are the tables whose rows belong to the installation or to its servers, and who removes what is in them.
var shared = map[string]string{
	"rollcall_schema":   "the version of the schema: it stays",
	"rollcall_settings": "the secrets of the installation stay; what ends is removed by the next setting",
	"rollcall_spools":   "a server that saves its state removes those of runs that have ended: testSpools",
	"rollcall_spooled":  "recording the pings removes them: testSpooled",
}

// tables returns the number of rows of each table.
func tables(t *testing.T, db dbtest.DB) map[string]int {
	t.Helper()
	d := db.Bun(t)
	query := "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'rollcall%'"
	if db.Path() == "" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'rollcall%'"
	}
	var names []string
	if err := d.NewRaw(query).Scan(t.Context(), &names); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, name := range names {
		n := 0
		if err := d.NewRaw("SELECT count(*) FROM "+name).Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		counts[name] = n
	}
	return counts
}

// TestEverythingIsRemoved creates something in each table and deletes it, once thing by thing and once with its project. Afterwards no
// table has more rows than before. A new table must have rows here, or a remover in shared.
func TestEverythingIsRemoved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		clock := dbtest.NewClock(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
		bodies, incidents := &shelf{}, &desk{open: make(map[uuid.UUID][]string)}
		mon, err := monitor.New(db.Open(t), &monitor.Config{
			Now: clock.Now, Logger: slog.New(slog.DiscardHandler), AuditRetention: 48 * time.Hour, Bodies: bodies, BodyThreshold: 4,
			Channels: []channels.Type{
				{Kind: "desk", Notifier: incidents},
				{Kind: "broken", Notifier: channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return errors.New("gone") })},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tick := func(d time.Duration) {
			t.Helper()
			clock.Advance(d)
			if err := mon.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		tick(0)
		before := tables(t, db)
		for _, way := range []string{"thing by thing", "project"} {
			f := furnish(t, mon, clock, tick, bodies)
			for name, n := range tables(t, db) {
				if n <= before[name] && shared[name] == "" {
					t.Errorf("%s: nothing is in %s: create something there, or say in shared who removes it", way, name)
				}
			}
			if way != "project" {
				f.strip(t)
			}
			if err := mon.Projects().Delete(t.Context(), f.project); err != nil {
				t.Fatal(err)
			}
			if err := mon.Installation().DeleteKey(t.Context(), f.key); err != nil {
				t.Fatal(err)
			}
			tick(72 * time.Hour)
			tick(time.Minute) // what the first round has made due
			for name, n := range tables(t, db) {
				if n != before[name] && shared[name] == "" {
					t.Errorf("%s: %s has %d rows, and had %d before", way, name, n, before[name])
				}
			}
			if n := len(bodies.objects); n > 0 {
				t.Errorf("%s: %d objects are left", way, n)
			}
		}
	})
}

// furniture is what a project has of everything.
type furniture struct {
	*monitor.Project
	project, key                           uuid.UUID
	channels, checks, keys, pages, windows []uuid.UUID
}

// furnish creates a project with something in each table.
func furnish(t *testing.T, mon *monitor.Monitor, clock *dbtest.Clock, tick func(time.Duration), bodies *shelf) *furniture {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, _, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: "furnished", Account: "somebody", MaxChecks: 10})
	must(err)
	f := &furniture{Project: mon.Project(p.ID), project: p.ID}
	for _, kind := range []channels.Kind{"desk", "broken"} {
		c, err := f.CreateChannel(ctx, channels.Channel{Kind: kind, Name: string(kind)})
		must(err)
		f.channels = append(f.channels, c.ID)
	}
	must(f.SetEscalation(ctx, []gate.Step{{Channels: f.channels[1:], After: time.Hour}}))
	_, k, err := f.CreateKey(ctx, checks.ReadOnly)
	must(err)
	_, installation, err := mon.Installation().CreateKey(ctx)
	must(err)
	f.keys, f.key = append(f.keys, k.ID), installation.ID
	page, err := f.CreateStatusPage(ctx, checks.StatusPage{Slug: "page", Title: "Page"})
	must(err)
	f.pages = append(f.pages, page.ID)
	_, err = mon.Projects().RotatePingKey(ctx, p.ID)
	must(err)
	for i := range 2 {
		c, err := f.Create(ctx, checks.Spec{Name: new(fmt.Sprint("job ", i)), Tags: []string{"nightly"}, Channels: new("*"), Timeout: new(time.Hour), Grace: new(time.Hour)})
		must(err)
		f.checks = append(f.checks, c.ID)
	}
	for _, w := range []gate.Window{
		{Kind: gate.Maintenance, Checks: f.checks[:1], Start: clock.Now(), Schedule: "0 3 * * *", Duration: time.Hour, TZ: "UTC"},
		{Kind: gate.Maintenance, Checks: f.checks, Start: clock.Now().Add(time.Hour), End: clock.Now().Add(2 * time.Hour)},
		{Kind: gate.Maintenance, Tags: []string{"weekly"}, Checks: f.checks, Start: clock.Now(), Schedule: "0 4 * * *", Duration: time.Hour, TZ: "UTC"},
	} {
		w, err = f.AddWindow(ctx, w)
		must(err)
		f.windows = append(f.windows, w.ID)
	}
	send := func(check uuid.UUID, s pings.Signal) {
		t.Helper()
		_, err := mon.Ping(ctx, check, s)
		must(err)
	}
	send(f.checks[0], pings.Signal{Kind: pings.Success, Body: []byte("a body for the storage")})
	send(f.checks[1], pings.Signal{Kind: pings.Success})
	tick(0)
	_, err = f.Pause(ctx, f.checks[1])
	must(err)
	gone, err := f.Create(ctx, checks.Spec{Channels: new("")})
	must(err)
	send(gone.ID, pings.Signal{Kind: pings.Success, Body: []byte("a body that nobody needs")})
	tick(0)
	bodies.down = errors.New("the storage is away")
	_, err = f.Delete(ctx, gone.ID)
	must(err)
	tick(24 * time.Hour) // the first check is down
	send(f.checks[1], pings.Signal{Kind: pings.Success})
	send(f.checks[1], pings.Signal{Kind: pings.Failure, Body: []byte("another body for the storage")})
	tick(time.Minute)
	bodies.down = nil
	return f
}

// strip deletes all that a project has. Windows go with their checks: one that was about several knows those that are left, and no
// other check.
func (f *furniture) strip(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range f.checks {
		_, err := f.Delete(ctx, id)
		must(err)
		windows, err := f.Windows(ctx, checks.WindowQuery{EndsAfter: time.Unix(0, 0)})
		must(err)
		for _, w := range windows {
			if len(w.Checks)+len(w.Tags) == 0 || slices.ContainsFunc(w.Checks, func(c uuid.UUID) bool { return slices.Contains(f.checks[:i+1], c) }) {
				t.Errorf("after the check %d was deleted, a window is about %v and %v", i, w.Checks, w.Tags)
			}
		}
		if want := 2 - i; len(windows) != want {
			t.Errorf("after the check %d was deleted, there are %d windows, want %d", i, len(windows), want)
		}
	}
	_, err := f.EndWindow(ctx, f.windows[2])
	must(err)
	for _, id := range f.keys {
		must(f.DeleteKey(ctx, id))
	}
	for _, id := range f.pages {
		must(f.DeleteStatusPage(ctx, id))
	}
	for _, id := range f.channels {
		must(f.DeleteChannel(ctx, id))
	}
}

// TestWindowsOfTheGone: a window loses a check that moves to another project. What a window that was added while its check was
// deleted has left behind goes with the next pruning.
func TestWindowsOfTheGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		ctx := t.Context()
		mon, err := monitor.New(db.Open(t), &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var projects []*monitor.Project
		var ids []uuid.UUID
		for _, name := range []string{"a", "b"} {
			p, _, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			projects, ids = append(projects, mon.Project(p.ID)), append(ids, p.ID)
		}
		window := func() {
			t.Helper()
			c, err := projects[0].Create(ctx, checks.Spec{Channels: new("")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = projects[0].AddWindow(ctx, gate.Window{Kind: gate.Maintenance, Checks: []uuid.UUID{c.ID}, Start: mon.Now(), Schedule: "0 3 * * *", Duration: time.Hour, TZ: "UTC"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		left := func(want int, when string) {
			t.Helper()
			list, err := projects[0].Windows(ctx, checks.WindowQuery{})
			if err != nil || len(list) != want {
				t.Errorf("%s: %d windows, want %d, %v", when, len(list), want, err)
			}
		}
		window()
		if _, err := projects[0].Transfer(ctx, ids[2], ids[1]); err != nil {
			t.Fatal(err)
		}
		left(0, "moved")
		window()
		var definition string
		d := db.Bun(t)
		if err := d.NewRaw("SELECT definition FROM rollcall_windows").Scan(ctx, &definition); err != nil {
			t.Fatal(err)
		}
		definition = strings.ReplaceAll(definition, ids[3].String(), uuid.NewString())
		if _, err := d.NewRaw("UPDATE rollcall_windows SET definition = ?", definition).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		left(1, "left behind")
		if err := mon.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		left(0, "pruned")
	})
}
