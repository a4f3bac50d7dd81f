package monitor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestDowntime(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		start := s.Now()
		c := s.create(t, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
		wait := func(minutes int) { s.clock.Advance(time.Duration(minutes) * time.Minute) }
		since := func(what string, from time.Time, want string) {
			t.Helper()
			times, err := s.Downtime(t.Context(), c.ID, from, s.Now().Add(time.Hour))
			if got := fmt.Sprintf("%v up, %v down, %v unwatched", times.Up, times.Down, times.Unwatched); err != nil || got != want {
				t.Errorf("%s: %s, want %s; error %v", what, got, want, err)
			}
		}
		wait(5)
		since("of all time", time.Time{}, "0s up, 0s down, 5m0s unwatched")
		since("new", start, "0s up, 0s down, 5m0s unwatched")
		s.ping(t, c.ID, pings.Success)
		wait(75) // overdue since 5 minutes, and no watcher has looked
		since("overdue", start, "1h10m0s up, 5m0s down, 5m0s unwatched")
		for range 2 {
			_, err := s.Pause(t.Context(), c.ID)
			must(t, err)
			wait(10)
		}
		since("paused", start, "1h10m0s up, 5m0s down, 25m0s unwatched")
		_, err := s.Resume(t.Context(), c.ID)
		must(t, err)
		wait(10)
		s.ping(t, c.ID, pings.Failure)
		wait(1)
		s.ping(t, c.ID, pings.Success)
		wait(2)
		since("up again", start, "1h12m0s up, 6m0s down, 35m0s unwatched")
		since("lately", s.Now().Add(-150*time.Second), "2m0s up, 30s down, 0s unwatched")
		_, err = s.Pause(t.Context(), c.ID)
		must(t, err)
		s.ping(t, c.ID, pings.Failure) // ends the pause at the same instant
		wait(1)
		since("a pause of no length", start, "1h12m0s up, 7m0s down, 35m0s unwatched")
	})
}

// TestDowntimeOfPrunedHistory prunes all flips of a check that has been up for months.
func TestDowntimeOfPrunedHistory(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		day := 24 * time.Hour
		c := s.create(t, checks.Spec{Timeout: new(365 * day), Grace: new(day)})
		s.ping(t, c.ID, pings.Success)
		s.clock.Advance(200 * day)
		if _, err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if times, err := s.Downtime(t.Context(), c.ID, s.Now().Add(-199*day), s.Now()); err != nil || times != (flips.Times{Up: 199 * day}) {
			t.Errorf("without any flip: %+v, error %v", times, err)
		}
		s.ping(t, c.ID, pings.Failure)
		s.clock.Advance(time.Hour)
		month := s.Now().Add(-30 * day)
		if times, err := s.Downtime(t.Context(), c.ID, month, s.Now()); err != nil || times != (flips.Times{Up: 30*day - time.Hour, Down: time.Hour}) {
			t.Errorf("a month with one flip: %+v, error %v", times, err)
		}
	})
}

// A job fails for ten minutes of the last day, and nobody watches it while it is paused.
func ExampleProject_Downtime() {
	ctx := context.Background()
	now := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{Now: func() time.Time { return now }})
	check(err)
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	job, err := jobs.Create(ctx, checks.Spec{Timeout: new(48 * time.Hour)})
	check(err)
	ping := func(kind pings.Kind, after time.Duration) {
		now = now.Add(after)
		_, err := mon.Ping(ctx, job.ID, pings.Signal{Kind: kind})
		check(err)
	}
	ping(pings.Success, 0)
	ping(pings.Failure, 20*time.Hour)
	ping(pings.Success, 10*time.Minute)
	now = now.Add(2 * time.Hour)
	_, err = jobs.Pause(ctx, job.ID)
	check(err)
	now = now.Add(110 * time.Minute)

	times, err := jobs.Downtime(ctx, job.ID, now.Add(-24*time.Hour), now)
	check(err)
	fmt.Println("up", times.Up, "down", times.Down, "unwatched", times.Unwatched)
	// Output: up 22h0m0s down 10m0s unwatched 1h50m0s
}

// TestTransitions reads the past of several checks, since an instant.
func TestTransitions(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		a, b, quiet := s.create(t, checks.Spec{}), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
		s.ping(t, a.ID, pings.Success)
		s.clock.Advance(time.Hour)
		s.ping(t, a.ID, pings.Failure)
		s.ping(t, b.ID, pings.Failure)
		s.clock.Advance(time.Hour)
		_, err := s.Pause(t.Context(), b.ID)
		must(t, err)
		got, err := s.Projects().Transitions(t.Context(), []uuid.UUID{a.ID, b.ID, quiet.ID, uuid.New()}, noon.Add(time.Hour))
		must(t, err)
		want := map[uuid.UUID][]checks.Transition{
			a.ID: {{From: checks.StatusUp, To: checks.StatusDown, At: noon.Add(time.Hour), Reason: flips.Failure}},
			b.ID: {{From: checks.StatusNew, To: checks.StatusDown, At: noon.Add(time.Hour), Reason: flips.Failure},
				{From: checks.StatusDown, To: checks.StatusPaused, At: noon.Add(2 * time.Hour)}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
