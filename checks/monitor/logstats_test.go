package monitor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// ledger keeps all that happens to a check, without ever forgetting, and counts minute by minute.
type ledger struct {
	check       checks.Check
	created     time.Time
	transitions []checks.Transition
	runs        []checks.Run
	timed       []bool
	maintenance []gate.Window // daily at two o'clock, or once
}

// maintained reports whether a minute is within maintenance.
func (l *ledger) maintained(at time.Time) bool {
	return slices.ContainsFunc(l.maintenance, func(w gate.Window) bool {
		begin := w.Start
		if w.Schedule != "" {
			begin = at.Truncate(24 * time.Hour).Add(2 * time.Hour)
			if at.Sub(begin) >= w.Duration {
				return false
			}
		}
		return !begin.Before(w.Start) && !at.Before(begin) && (w.End.IsZero() || at.Before(w.End))
	})
}

func (l *ledger) settle(c checks.Check, effects checks.Effects) {
	l.check = c
	for _, tr := range effects.Transitions {
		l.transitions = append(l.transitions, tr)
		if tr.Reason == flips.Overdue || tr.Reason == flips.Overrun {
			l.runs, l.timed = append(l.runs, checks.Run{At: tr.At, Result: checks.RunMissed}), append(l.timed, false)
		}
	}
}

func (l *ledger) ping(signal pings.Signal, now time.Time) {
	c, ping, effects, _ := l.check.Ping(signal, now)
	l.settle(c, effects)
	run := checks.Run{At: ping.At, Result: checks.RunSuccess}
	switch ping.Kind {
	case pings.Failure:
		run.Result = checks.RunFailure
	case pings.Success:
	default:
		return
	}
	if ping.Duration != nil {
		run.Duration = *ping.Duration
	}
	l.runs, l.timed = append(l.runs, run), append(l.timed, ping.Duration != nil)
}

func (l *ledger) pause(now time.Time) {
	if l.check.Stored != checks.StatusPaused {
		defer func() { l.transitions = append(l.transitions, checks.Transition{To: checks.StatusPaused, At: now}) }()
	}
	l.settle(l.check.Pause(now))
}

// stats counts the days from that of the creation until now. All events happen at whole minutes.
func (l *ledger) stats(now time.Time) []checks.DayStats {
	_, effects := l.check.Settle(now)
	overdue := *l
	overdue.settle(l.check, effects)
	slices.SortStableFunc(overdue.transitions, func(a, b checks.Transition) int { return a.At.Compare(b.At) })
	var list []checks.DayStats
	year, month, day := l.created.Date()
	status, next := checks.StatusNew, 0
	for date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC); !date.After(now); date = date.AddDate(0, 0, 1) {
		d := checks.DayStats{Day: checks.Day{Date: date}}
		for at := date; at.Before(date.AddDate(0, 0, 1)) && at.Before(now); at = at.Add(time.Minute) {
			for ; next < len(overdue.transitions) && !overdue.transitions[next].At.After(at); next++ {
				status = overdue.transitions[next].To
			}
			switch {
			case status == checks.StatusUp:
				d.Times.Up += time.Minute
			case status == checks.StatusDown && l.maintained(at):
				d.Times.Maintenance += time.Minute
			case status == checks.StatusDown:
				d.Times.Down += time.Minute
			default:
				d.Times.Unwatched += time.Minute
			}
		}
		for i, run := range overdue.runs {
			if run.At.Before(date) || !run.At.Before(date.AddDate(0, 0, 1)) {
				continue
			}
			d.Runs++
			if run.Result != checks.RunSuccess {
				d.Failures++
			}
			if overdue.timed[i] {
				if d.Timed++; d.Timed == 1 || run.Duration < d.Min {
					d.Min = run.Duration
				}
				d.Sum, d.Max = d.Sum+run.Duration, max(d.Max, run.Duration)
			}
		}
		list = append(list, d)
	}
	return list
}

// TestStatsCountEverything does random things for half a year and compares the statistics with a ledger. Monitors prune,
// are replaced by others, or stand still for months.
func TestStatsCountEverything(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(rt *rapid.T) {
		db := dbtest.Memory(t)
		s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
		spec := checks.Spec{Timeout: new(rapid.SampledFrom([]time.Duration{time.Hour, 24 * time.Hour, 40 * 24 * time.Hour}).Draw(rt, "timeout")),
			Grace: new(10 * time.Minute)}
		c := s.create(t, spec)
		l := &ledger{check: c, created: s.Now()}
		mon := s.Monitor
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			days := rapid.SampledFrom([]int{0, 0, 1, 8, 90}).Draw(rt, "days")
			s.clock.Advance(time.Duration(days)*24*time.Hour + time.Duration(rapid.IntRange(1, 24*60-1).Draw(rt, "minutes"))*time.Minute)
			now := s.Now()
			if rapid.IntRange(0, 3).Draw(rt, "prune") == 0 {
				s.prune(t)
			}
			switch do := rapid.IntRange(0, 11).Draw(rt, "event"); do {
			case 10:
				length := time.Duration(rapid.IntRange(1, 20*60).Draw(rt, "window")) * time.Minute
				w := gate.Window{Kind: gate.Maintenance, Start: now.Add(time.Duration(rapid.IntRange(-24*60, 24*60).Draw(rt, "start")) * time.Minute)}
				if rapid.Bool().Draw(rt, "recurs") {
					w.Schedule, w.Duration = "0 2 * * *", length
				} else {
					w.End = slices.MaxFunc([]time.Time{w.Start, now}, time.Time.Compare).Add(length)
				}
				w, err := on(mon).of(t.Context(), c.ID).AddWindow(t.Context(), w)
				must(t, err)
				l.maintenance = append(l.maintenance, w)
			case 11:
				if n := len(l.maintenance); n > 0 && (l.maintenance[n-1].End.IsZero() || l.maintenance[n-1].End.After(now)) {
					w, err := on(mon).of(t.Context(), c.ID).EndWindow(t.Context(), l.maintenance[n-1].ID)
					must(t, err)
					if l.maintenance[n-1] = w; !w.Start.Before(w.End) {
						l.maintenance = l.maintenance[:n-1]
					}
				}
			case 0:
				_, err := mon.Sweep(t.Context())
				must(t, err)
				l.settle(l.check.Settle(now))
			case 1:
				_, err := on(mon).Pause(t.Context(), c.ID)
				must(t, err)
				l.pause(now)
			case 2:
				if _, err := on(mon).Resume(t.Context(), c.ID); err == nil {
					l.check, err = l.check.Resume(now)
					must(t, err)
				}
			case 3:
				mon = s.with(t, db, monitor.Config{})
			default:
				signal := pings.Signal{Kind: []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log, pings.Success, pings.Success}[do-4]}
				if rapid.IntRange(0, 3).Draw(rt, "queued") == 0 {
					signal.At = now.Add(-time.Duration(rapid.IntRange(0, 3*24*60).Draw(rt, "age")) * time.Minute)
					if signal.At.Before(l.created) {
						signal.At = l.created
					}
				}
				_, err := mon.Ping(t.Context(), c.ID, signal)
				must(t, err)
				l.ping(signal, now)
			}
		}
		now := s.Now()
		got, err := on(mon).Stats(t.Context(), c.ID, l.created, now)
		must(t, err)
		if diff := cmp.Diff(l.stats(now), got); diff != "" {
			rt.Fatalf("at %v (-want +got):\n%s", now, diff)
		}
	})
}

// TestStats reads the days of a check while they pass, from every kind of store.
func TestStats(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		s.clock.Set(time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC))
		c := s.create(t, checks.Spec{Timeout: new(24 * time.Hour), Grace: new(time.Hour)})
		stats := func(from, to time.Time) (text string) {
			t.Helper()
			days, err := s.Stats(t.Context(), c.ID, from, to)
			must(t, err)
			for _, d := range days {
				text += fmt.Sprintf("%s %d/%d, %v up %v down %v; ", d.Date.Format("01-02"), d.Runs, d.Failures, d.Times.Up, d.Times.Down, d.Times.Unwatched)
			}
			return text
		}
		want := func(what string, from, to time.Time, want string) {
			t.Helper()
			if got := stats(from, to); got != want {
				t.Errorf("%s: got  %s\nwant %s", what, got, want)
			}
		}
		day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
		s.ping(t, c.ID, pings.Success)
		s.clock.Set(day(1, 31).Add(6 * time.Hour))
		s.ping(t, c.ID, pings.Failure)
		s.clock.Set(day(1, 31).Add(9 * time.Hour))
		now := "01-31 1/1, 6h0m0s up 3h0m0s down 0s; "
		want("today", s.Now(), s.Now(), now)
		want("from before the check to the future", day(1, 1), day(3, 1), "01-30 1/0, 12h0m0s up 0s down 12h0m0s; "+now)
		s.ping(t, c.ID, pings.Success)
		s.clock.Set(day(2, 1).Add(11 * time.Hour)) // overdue since an hour; nobody has looked
		january := "01-30 1/0, 12h0m0s up 0s down 12h0m0s; 01-31 2/1, 21h0m0s up 3h0m0s down 0s; "
		want("a missed ping", day(1, 1), s.Now(), january+"02-01 1/1, 10h0m0s up 1h0m0s down 0s; ")
		for _, now := range []time.Time{day(3, 31), day(4, 1), day(4, 2), day(5, 1)} {
			s.clock.Set(now)
			s.prune(t)
			want(fmt.Sprint("in ", now), day(1, 1), day(1, 31), january)
			want(fmt.Sprint("in ", now), day(2, 1), day(2, 2), "02-01 1/1, 10h0m0s up 14h0m0s down 0s; 02-02 0/0, 0s up 24h0m0s down 0s; ")
		}
		s.clock.Set(day(9, 1))
		_, err := s.Sweep(t.Context())
		must(t, err)
		s.prune(t)
		want("much later", day(1, 30), day(1, 31), january)
		if list := s.flips(t, c.ID); len(list) != 0 {
			t.Errorf("flips were not pruned: %v", list)
		}
		_, err = s.Delete(t.Context(), c.ID)
		must(t, err)
		if _, err := s.Stats(t.Context(), c.ID, day(1, 1), day(2, 1)); err == nil {
			t.Error("a deleted check has statistics")
		}
	})
}

// TestStatsBeforeEndedPause has a check that is down for months, and a pause that a ping ends at the instant at which it
// began. Only flips before that are pruned.
func TestStatsBeforeEndedPause(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Timeout: new(time.Hour), Grace: new(time.Hour)})
		s.ping(t, c.ID, pings.Failure)
		s.clock.Advance(200 * 24 * time.Hour)
		_, err := s.Pause(t.Context(), c.ID)
		must(t, err)
		s.ping(t, c.ID, pings.Success)
		s.prune(t)
		days, err := s.Stats(t.Context(), c.ID, noon, s.Now())
		must(t, err)
		if _, times := checks.SumDays(days); times != (flips.Times{Down: 200 * 24 * time.Hour, Unwatched: 12 * time.Hour}) {
			t.Errorf("days: %+v", times)
		}
		since := s.Now().AddDate(0, 0, -60)
		times, err := s.Downtime(t.Context(), c.ID, since, s.Now())
		must(t, err)
		if times != (flips.Times{Down: 60 * 24 * time.Hour}) {
			t.Errorf("since %v: %+v", since, times)
		}
	})
}

// TestFoldTogether has several servers prune at once, twice.
func TestFoldTogether(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s := newSetup(t, open(), checks.ProjectSpec{Name: "p"})
		var list []checks.Check
		for i := range 30 { // more than one transaction folds
			c := s.create(t, checks.Spec{Timeout: new(time.Hour), Grace: new(time.Hour)})
			list = append(list, c)
			if i%2 == 0 {
				s.ping(t, c.ID, pings.Success)
			}
		}
		s.clock.Advance(30 * 24 * time.Hour)
		_, err := s.Sweep(t.Context())
		must(t, err)
		read := func() (all [][]checks.DayStats) {
			for _, c := range list {
				days, err := s.Stats(t.Context(), c.ID, noon, noon.AddDate(0, 0, 20))
				must(t, err)
				all = append(all, days)
			}
			return all
		}
		before := read()
		s.clock.Set(noon.AddDate(0, 4, 0))
		servers := []*monitor.Monitor{s.Monitor, s.with(t, open(), monitor.Config{}), s.with(t, open(), monitor.Config{})}
		for range 2 {
			together(len(servers), func(i int) {
				if _, err := servers[i].Prune(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if diff := cmp.Diff(before, read()); diff != "" {
				t.Errorf("after pruning (-want +got):\n%s", diff)
			}
			for i := range servers {
				servers[i] = s.with(t, open(), monitor.Config{}) // which does not know what is done
			}
		}
		if first := before[0]; first[0].Times.Up != 2*time.Hour || first[1].Times.Down != 24*time.Hour {
			t.Errorf("the first days: %+v", first[:2])
		}
	})
}

// failing is a store whose transactions or fold lists fail at random.
type failing struct {
	store.Store
	random *rand.Rand
	off    bool
}

var errKilled = fmt.Errorf("killed: %w", store.ErrUnavailable)

func (f *failing) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return f.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		err := fn(ctx, tx)
		if err == nil && !f.off && f.random.IntN(3) == 0 {
			return errKilled
		}
		return err
	})
}

// TestStatsAfterKills ends transactions of pings and folds before their commit. Nothing is counted twice or lost.
func TestStatsAfterKills(t *testing.T) {
	db := &failing{Store: dbtest.Memory(t).Contract().(store.Store), random: rand.New(rand.NewPCG(1, 2)), off: true}
	s := newSetup(t, database{db}, checks.ProjectSpec{Name: "p"})
	c := s.create(t, checks.Spec{Timeout: new(24 * time.Hour), Grace: new(time.Hour)})
	db.off = false
	days, failed := 130, 0
	for range days {
		for { // a job that repeats its ping until it is recorded
			if _, err := s.Ping(t.Context(), c.ID, pings.Signal{}); err == nil {
				break
			}
			failed++
		}
		if _, err := s.Prune(t.Context()); err != nil {
			failed++
		}
		s.clock.Advance(24 * time.Hour)
	}
	got, err := s.Stats(t.Context(), c.ID, noon, s.Now())
	must(t, err)
	totals, times := checks.SumDays(got)
	if want := (checks.Totals{Runs: int64(days)}); totals != want || times.Down != 0 || times.Up != time.Duration(days)*24*time.Hour || failed < 20 {
		t.Errorf("%+v, %+v after %d failures, want %d runs and no downtime", totals, times, failed, days)
	}
	if share, ok := times.Availability(); share != 1 || !ok {
		t.Errorf("availability %v, %v", share, ok)
	}
	if times, ok := (flips.Times{Unwatched: 1}).Availability(); ok {
		t.Errorf("availability of no time: %v", times)
	}
}
