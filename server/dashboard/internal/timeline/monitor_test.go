package timeline_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// TestLogs makes the runs of checks from what a monitor returns.
func TestLogs(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "jobs.db"))
	must(err)
	t.Cleanup(func() { s.Close() })
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mon, err := monitor.New(s, &monitor.Config{Now: func() time.Time { return now }})
	must(err)
	project, err := mon.OpenProject(ctx, "p")
	must(err)
	create := func(spec checks.Spec) checks.Check {
		c, err := project.Create(ctx, spec)
		must(err)
		return *c.Check
	}
	ping := func(id uuid.UUID, kind pings.Kind) {
		_, err := mon.Ping(ctx, id, pings.Signal{Kind: kind})
		must(err)
	}
	a := create(checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	b, silent := create(checks.Spec{}), create(checks.Spec{})
	ids := []uuid.UUID{a.ID, b.ID, silent.ID, uuid.New()}
	start := now
	ping(a.ID, pings.Start)
	ping(b.ID, pings.Start)
	now = now.Add(30 * time.Second)
	ping(a.ID, pings.Success)
	ping(b.ID, pings.Failure)
	now = now.Add(90 * time.Second)
	// The second time the transition is in the database.
	for _, after := range [][]timeline.Result{{timeline.Late}, {timeline.Missed, timeline.Late}} {
		recent, err := project.RecentPings(ctx, ids, start, 100)
		must(err)
		transitions, err := mon.Projects().Transitions(ctx, ids, start)
		must(err)
		logs := timeline.Logs(recent, transitions)
		if len(logs) != 2 {
			t.Errorf("%d logs, want 2", len(logs))
		}
		for id, want := range map[uuid.UUID][]timeline.Result{a.ID: append([]timeline.Result{timeline.Success}, after...), b.ID: {timeline.Failure}, silent.ID: nil} {
			c, err := mon.Check(ctx, id)
			must(err)
			line := timeline.Of(c, logs[id], start, now)
			if !line.Since.Equal(start) || len(line.Runs) != len(want) {
				t.Fatalf("timeline %+v, want %v", line, want)
			}
			for i, r := range line.Runs {
				if r.Result != want[i] || i == 0 && (!r.Start.Equal(start) || r.End.Sub(r.Start) != 30*time.Second) {
					t.Errorf("run %d: %+v, want %s", i, r, want[i])
				}
			}
		}
		now = now.Add(30 * time.Second)
		err = mon.Tick(ctx)
		must(err)
	}
	if recent, err := project.RecentPings(ctx, ids[:1], start, 1); err != nil || len(recent[a.ID]) != 1 {
		t.Errorf("of one ping: %+v, %v", recent, err)
	}
	if _, err := mon.Project(uuid.New()).RecentPings(ctx, nil, start, 100); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("of an unknown project: error %v", err)
	}
}
