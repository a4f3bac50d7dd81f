package gocroncheck_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/gocroncheck"
	"github.com/rollcall-dev/rollcall/checks/job/internal/schedulertest"
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

// TestContract runs a real scheduler for two days, and then removes a job while it runs.
func TestContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, p := project(t)
		jobs := map[string]struct {
			name    string
			when    gocron.JobDefinition
			run     any
			options []gocron.JobOption
		}{
			"nightly-backup": {"Nightly backup", gocron.CronJob("0 3 * * *", false), func() { time.Sleep(90 * time.Second) }, nil},
			"report": {"report", gocron.DailyJob(1, gocron.NewAtTimes(gocron.NewAtTime(9, 0, 0), gocron.NewAtTime(17, 30, 0))),
				func() error { return errors.New(schedulertest.NoPrinter) }, nil},
			"heartbeat": {"heartbeat", gocron.DurationJob(90 * time.Minute), func() { panic(schedulertest.OutOfOrder) },
				[]gocron.JobOption{gocron.WithEventListeners(gocron.AfterJobRunsWithPanic(func(uuid.UUID, string, any) {}))}},
		}
		start := func(pauseGone bool, slugs ...string) (gocron.Scheduler, *gocroncheck.Reporter) {
			m := gocroncheck.New(p, "gocron", &gocroncheck.Config{Location: time.UTC, PauseGone: pauseGone})
			s, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), m.Option())
			must(t, err)
			for _, slug := range slugs {
				j := jobs[slug]
				_, err := s.NewJob(j.when, gocron.NewTask(j.run), append(j.options, gocron.WithName(j.name))...)
				must(t, err)
			}
			_, err = s.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(func() {}), gocron.WithName("once"))
			must(t, err)
			must(t, m.Sync(t.Context(), s))
			s.Start()
			return s, m
		}
		schedulertest.Test(t, mon, p, schedulertest.Program{
			Tag: "gocron", Name: "Nightly backup", Good: "nightly-backup", Failing: "report", Panicking: "heartbeat", PanicBody: schedulertest.OutOfOrder,
			Start: func(t *testing.T, _ *monitor.Project, first, pauseGone bool, slugs ...string) {
				s, _ := start(pauseGone, slugs...)
				if first {
					time.Sleep(48 * time.Hour)
				}
				must(t, s.Shutdown())
			},
		})

		check := func(slug string) checks.Check {
			t.Helper()
			found, err := p.CheckBySlug(t.Context(), slug)
			must(t, err)
			return *found.Check
		}
		backup := check("nightly-backup")
		if backup.Schedule != "0 3 * * *" || backup.TZ != "UTC" || backup.NPings != 4 {
			t.Errorf("the check of the backup: %+v", backup)
		}
		log, err := checks.Collect(p.Pings(t.Context(), backup.ID, checks.PingQuery{}))
		must(t, err)
		if *log[0].Duration != 90*time.Second {
			t.Errorf("a run took %v, want 90s", *log[0].Duration)
		}

		s, m := start(true, "nightly-backup", "heartbeat")
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
