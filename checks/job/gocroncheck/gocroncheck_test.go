package gocroncheck_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/gocroncheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func project(t testing.TB) (*monitor.Monitor, *monitor.Project) {
	t.Helper()
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	return mon, p
}

// TestSync runs a real scheduler for two days, then starts the program again with one job fewer.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, p := project(t)
		start := func(pause bool, names ...string) (gocron.Scheduler, *gocroncheck.Reporter) {
			m := gocroncheck.New(p, "gocron", &gocroncheck.Config{Location: time.UTC, PauseGone: pause})
			s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), m.Option())
			must(t, err)
			jobs := map[string]struct {
				when gocron.JobDefinition
				run  any
			}{
				"Nightly backup": {gocron.CronJob("0 3 * * *", false), func() { time.Sleep(90 * time.Second) }},
				"report":         {gocron.DailyJob(1, gocron.NewAtTimes(gocron.NewAtTime(9, 0, 0), gocron.NewAtTime(17, 30, 0))), func() error { return errors.New("no printer") }},
				"heartbeat":      {gocron.DurationJob(90 * time.Minute), func() { panic("out of order") }},
				"once":           {gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), func() {}},
			}
			for _, name := range names {
				var options []gocron.JobOption
				if name == "heartbeat" {
					options = append(options, gocron.WithEventListeners(gocron.AfterJobRunsWithPanic(func(uuid.UUID, string, any) {})))
				}
				_, err := s.NewJob(jobs[name].when, gocron.NewTask(jobs[name].run), append(options, gocron.WithName(name))...)
				must(t, err)
			}
			must(t, m.Sync(t.Context(), s))
			s.Start()
			return s, m
		}
		s, _ := start(false, "Nightly backup", "report", "heartbeat", "once")
		time.Sleep(48 * time.Hour)
		must(t, s.Shutdown())

		check := func(slug string) checks.Check {
			t.Helper()
			found, err := p.CheckBySlug(t.Context(), slug)
			must(t, err)
			return *found.Check
		}
		backup := check("nightly-backup")
		if backup.Name != "Nightly backup" || backup.Schedule != "0 3 * * *" || backup.TZ != "UTC" ||
			fmt.Sprint(backup.Tags) != "[gocron]" || backup.Status(mon.Now()) != checks.StatusUp || backup.NPings != 4 {
			t.Errorf("the check of the backup: %+v", backup)
		}
		log, err := checks.Collect(mon.Project(backup.ProjectID).Pings(t.Context(), backup.ID, checks.PingQuery{}))
		must(t, err)
		if *log[0].Duration != 90*time.Second {
			t.Errorf("a run took %v, want 90s", *log[0].Duration)
		}
		for slug, message := range map[string]string{"report": "no printer", "heartbeat": "out of order"} {
			c := check(slug)
			log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
			must(t, err)
			body, err := mon.Project(c.ProjectID).PingBody(t.Context(), c.ID, log[0].N)
			must(t, err)
			if c.Status(mon.Now()) != checks.StatusDown || !strings.Contains(string(body), message) {
				t.Errorf("the check of %s is %v; body %s", slug, c.Status(mon.Now()), body)
			}
		}
		if _, err := p.CheckBySlug(t.Context(), "once"); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("a one-time job has a check: %v", err)
		}

		// A second start keeps what a person has changed, and pauses the check of the job that is gone if it is asked to. A job that is
		// removed later is paused by the next Sync.
		_, err = mon.Project(backup.ProjectID).Update(t.Context(), backup.ID, checks.Spec{Grace: new(5 * time.Minute)})
		must(t, err)
		s, _ = start(false, "Nightly backup", "heartbeat")
		must(t, s.Shutdown())
		if report := check("report"); report.Stored == checks.StatusPaused {
			t.Error("the check of a removed job is paused, though nobody asked for it")
		}
		s, m := start(true, "Nightly backup", "heartbeat")
		if again := check("nightly-backup"); again.ID != backup.ID || again.Grace != 5*time.Minute {
			t.Errorf("after the second start: %+v", again)
		}
		if report := check("report"); report.Stored != checks.StatusPaused {
			t.Errorf("the check of a removed job is %v", report.Stored)
		}
		for _, j := range s.Jobs() {
			if j.Name() == "heartbeat" {
				must(t, s.RemoveJob(j.ID()))
			}
		}
		must(t, m.Sync(t.Context(), s))
		if heartbeat := check("heartbeat"); heartbeat.Stored != checks.StatusPaused {
			t.Errorf("the check of a job that was removed while the scheduler runs is %v", heartbeat.Stored)
		}
		must(t, s.Shutdown())
	})
}
