package monitor_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestClockSet sets the clock of a started monitor. Jobs that go on reporting stay up; one that has stopped goes down within
// two minutes after its deadline by the new clock.
func TestClockSet(t *testing.T) {
	for name, test := range map[string]struct {
		step time.Duration
		down time.Duration // after the step
		says string
	}{
		"forward": {time.Hour, 2 * time.Minute, "the clock was set forward"},
		"back":    {-5 * time.Minute, 7 * time.Minute, "the clock was set back"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var step atomic.Int64
				var log bytes.Buffer
				mon, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Now:    func() time.Time { return time.Now().Add(time.Duration(step.Load())) },
				})
				must(t, err)
				s := setup{verbs: on(mon)}
				s.project, _, err = s.CreateProject(t.Context(), checks.ProjectSpec{Name: "p"})
				must(t, err)
				often, minutely, dead := s.create(t, everyMinute()), s.create(t, everyMinute()), s.create(t, everyMinute())
				must(t, mon.Start(t.Context()))
				defer func() { must(t, mon.Stop(t.Context())) }()
				s.ping(t, dead.ID, pings.Success)
				report := func(d time.Duration) {
					for after := time.Duration(0); after < d; after += 500 * time.Millisecond {
						s.ping(t, often.ID, pings.Success)
						if after%time.Minute == 0 {
							s.ping(t, minutely.ID, pings.Success)
						}
						time.Sleep(500 * time.Millisecond)
					}
				}
				report(time.Minute)
				step.Store(int64(test.step))
				time.Sleep(time.Second)
				if c := mon.Live(); !c.OK() || !strings.Contains(c.Detail, "clock was set") {
					t.Errorf("the health after the step is %+v", c)
				}
				report(test.down)
				if c := mon.Live(); c != (monitor.Condition{Part: "watcher"}) {
					t.Errorf("the health long after the step is %+v", c)
				}
				for _, c := range []checks.Check{often, minutely} {
					list, err := s.Flips(t.Context(), c.ID, flips.Range{From: noon.AddDate(-100, 0, 0)})
					if got, _ := mon.Check(t.Context(), c.ID); err != nil || len(list) != 1 || got.Stored != checks.StatusUp {
						t.Errorf("a check of a job that reports: %v, flips %v, error %v; want up since its first ping", got.Stored, list, err)
					}
				}
				if got, err := mon.Check(t.Context(), dead.ID); err != nil || got.Stored != checks.StatusDown {
					t.Errorf("the check of the job that has stopped is %v, error %v; want down", got.Stored, err)
				}
				if got := strings.Count(log.String(), test.says); got != 1 {
					t.Errorf("the log says %d times that %s, want once:\n%s", got, test.says, log.String())
				}
			})
		})
	}
}
