package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestClockChanges sets a server's clock back and forth. Pings get the time of the clock and numbers in order of arrival.
// Flips are in the order in which they happened. The last ping decides the state, and its time decides the deadline.
func TestClockJumps(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type event struct {
		at   time.Duration // after noon
		kind pings.Kind    // "" for a pass of the watcher
	}
	type outcome struct {
		Status             checks.Status
		LastPing, NextPing time.Duration // after noon
		NPings             int64
		Pings              []time.Duration // newest first
		Flips              []flips.Flip    // newest first
	}
	const hour, day, minute = time.Hour, 24 * time.Hour, time.Minute
	flip := func(at time.Duration, reason flips.Reason) flips.Flip {
		return flips.Flip{At: noon.Add(at), Up: reason == flips.Success, Reason: reason}
	}
	for name, test := range map[string]struct {
		events []event
		want   outcome // at the last event
	}{
		"back an hour": {
			[]event{{0, pings.Success}, {-hour, ""}, {-hour, pings.Success}},
			outcome{"up", -hour, -hour + 10*minute, 2, []time.Duration{-hour, 0}, []flips.Flip{flip(0, flips.Success)}},
		},
		"back an hour, and no ping comes": { // the deadline counts by the new clock
			[]event{{0, pings.Success}, {-hour, pings.Success}, {-hour + 15*minute, ""}},
			outcome{"down", -hour, 0, 2, []time.Duration{-hour, 0}, []flips.Flip{flip(-hour+15*minute, flips.Overdue), flip(0, flips.Success)}},
		},
		"back an hour after the last ping": { // the deadline comes an hour late
			[]event{{0, pings.Success}, {-hour, ""}, {14 * minute, ""}, {15 * minute, ""}},
			outcome{"down", 0, 0, 1, []time.Duration{0}, []flips.Flip{flip(15*minute, flips.Overdue), flip(0, flips.Success)}},
		},
		"back an hour while it is down": {
			[]event{{0, pings.Failure}, {-hour, ""}, {-hour, pings.Success}},
			outcome{"up", -hour, -hour + 10*minute, 2, []time.Duration{-hour, 0}, []flips.Flip{flip(-hour, flips.Success), flip(0, flips.Failure)}},
		},
		"forward a day": { // as if no ping had come for a day
			[]event{{0, pings.Success}, {day, ""}, {day, pings.Success}},
			outcome{"up", day, day + 10*minute, 2, []time.Duration{day, 0},
				[]flips.Flip{flip(day, flips.Success), flip(15*minute, flips.Overdue), flip(0, flips.Success)}},
		},
		"forward a day and back": { // the next ping replaces the one with the late date
			[]event{{0, pings.Success}, {day, pings.Success}, {minute, ""}, {minute, pings.Success}, {17 * minute, ""}},
			outcome{"down", minute, 0, 3, []time.Duration{minute, day, 0},
				[]flips.Flip{flip(16*minute, flips.Overdue), flip(day, flips.Success), flip(15*minute, flips.Overdue), flip(0, flips.Success)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				clock := dbtest.NewClock(noon.Add(-2 * day))
				mon, err := monitor.New(db.Open(t), &monitor.Config{Now: clock.Now})
				if err != nil {
					t.Fatal(err)
				}
				project, err := mon.OpenProject(t.Context(), "jobs")
				if err != nil {
					t.Fatal(err)
				}
				c, err := project.Create(t.Context(), checks.Spec{Timeout: new(10 * minute), Grace: new(5 * minute)})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range test.events {
					clock.Set(noon.Add(e.at))
					if e.kind == "" {
						err = mon.Tick(t.Context())
					} else {
						_, err = mon.Ping(t.Context(), c.ID, pings.Signal{Kind: e.kind})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				var got outcome
				if c, err = project.Check(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
				got.Status, got.NPings, got.LastPing = c.Check.Status(mon.Now()), c.NPings, c.LastPing.Sub(noon)
				if next := c.Check.NextPing(mon.Now()); !next.IsZero() {
					got.NextPing = next.Sub(noon)
				}
				log, err := checks.Collect(mon.Project(c.Check.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
				if err != nil {
					t.Fatal(err)
				}
				for i, ping := range log {
					got.Pings = append(got.Pings, ping.At.Sub(noon))
					if ping.N != c.NPings-int64(i) {
						t.Errorf("the ping at place %d has the number %d", i, ping.N)
					}
				}
				if got.Flips, err = checks.Collect(mon.Project(c.Check.ProjectID).Flips(t.Context(), c.ID, flips.Range{})); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
