package monitor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestDownAtTheDeadline reads a check around its deadline. Its flip is the same before and after a late sweep.
func TestDownAtTheDeadline(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, everyMinute())
		s.ping(t, c.ID, pings.Success)
		up, down := flips.Flip{At: noon, Up: true, Reason: flips.Success}, flips.Flip{At: noon.Add(2 * time.Minute), Reason: flips.Overdue}
		s.clock.Advance(2*time.Minute - time.Microsecond)
		s.flipsAre(t, c.ID, up)
		s.clock.Advance(time.Microsecond)
		s.flipsAre(t, c.ID, down, up)
		if list, err := s.Flips(t.Context(), c.ID, flips.Range{From: down.At.Add(time.Microsecond)}); err != nil || len(list) != 0 {
			t.Errorf("flips newer than the deadline: %v, want none; error %v", list, err)
		}
		s.clock.Advance(time.Hour)
		s.sweep(t, 1)
		s.sweep(t, 0)
		s.flipsAre(t, c.ID, down, up)
	})
}

// TestManyDownAtOnce takes down more checks than one transaction does.
func TestManyDownAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		const n = 1100 // a transaction takes down 1,000
		list := s.jobs(t, n, func(int) checks.Spec { return everyMinute() })
		together(n, func(i int) {
			if _, err := s.Ping(t.Context(), list[i].ID, pings.Signal{}); err != nil {
				t.Error(err)
			}
		})
		s.clock.Advance(time.Hour)
		s.sweep(t, n)
	})
}

// TestRun has Run take checks down at their deadlines, in a bubble where time passes by itself.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
		must(t, err)
		s := setup{verbs: on(mon)}
		s.project, _, err = on(mon).CreateProject(t.Context(), checks.ProjectSpec{Name: "p"})
		must(t, err)
		c := s.create(t, everyMinute())
		start := s.Now()
		s.ping(t, c.ID, pings.Success)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mon.Run(ctx) }()
		time.Sleep(700 * time.Millisecond) // the deadline is between two looks
		late := s.create(t, everyMinute())
		s.ping(t, late.ID, pings.Success)
		for _, test := range []struct {
			after time.Duration
			check checks.Check
		}{{2 * time.Minute, c}, {2*time.Minute + 700*time.Millisecond, late}} {
			time.Sleep(test.after - time.Microsecond - s.Now().Sub(start))
			synctest.Wait()
			if got, err := mon.Check(t.Context(), test.check.ID); err != nil || got.Stored != checks.StatusUp {
				t.Errorf("before the deadline the database says %v, want up; error %v", got.Stored, err)
			}
			time.Sleep(time.Microsecond)
			synctest.Wait()
			if got, err := mon.Check(t.Context(), test.check.ID); err != nil || got.Stored != checks.StatusDown {
				t.Errorf("at the deadline the database says %v, want down; error %v", got.Stored, err)
			}
		}
		s.flipsAre(t, c.ID, flips.Flip{At: start.Add(2 * time.Minute), Reason: flips.Overdue}, flips.Flip{At: start, Up: true, Reason: flips.Success})
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}
