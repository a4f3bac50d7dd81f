package croncheck_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/job/croncheck"
	"github.com/rollcall-dev/rollcall/checks/job/internal/schedulertest"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project returns a monitor and one of its projects.
func project(t testing.TB) (*monitor.Monitor, *monitor.Project) {
	t.Helper()
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	return mon, p
}

// TestContract runs a real scheduler for three days.
func TestContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, p := project(t)
		riga, err := time.LoadLocation("Europe/Riga")
		must(t, err)
		jobs := map[string]struct {
			name, spec string
			run        func(context.Context) error
		}{
			"nightly-backup": {"Nightly backup", "0 3 * * *", func(context.Context) error { time.Sleep(90 * time.Second); return nil }},
			"report":         {"report", "CRON_TZ=UTC */30 9-17 * * MON-FRI", func(context.Context) error { return errors.New(schedulertest.NoPrinter) }},
			"heartbeat":      {"heartbeat", "@every 1h30m", func(context.Context) error { panic(schedulertest.OutOfOrder) }},
		}
		schedulertest.Test(t, mon, p, schedulertest.Program{
			Tag: "nightly", Name: "Nightly backup", Good: "nightly-backup", Failing: "report", Panicking: "heartbeat", PanicBody: schedulertest.OutOfOrder,
			Start: func(t *testing.T, p *monitor.Project, first, pauseGone bool, slugs ...string) {
				m := croncheck.New(p, "nightly", &croncheck.Config{PauseGone: pauseGone})
				c := cron.New(cron.WithLocation(riga), cron.WithChain(cron.Recover(cron.DiscardLogger)))
				for _, slug := range slugs {
					_, err := c.AddJob(jobs[slug].spec, m.Job(jobs[slug].name, jobs[slug].run))
					must(t, err)
				}
				_, err := c.AddFunc("@daily", func() {}) // is nobody's business
				must(t, err)
				must(t, m.Sync(t.Context(), c))
				c.Start()
				if first {
					time.Sleep(72 * time.Hour) // from a Saturday to Monday
				}
				<-c.Stop().Done()
			},
		})

		check := func(slug string) checks.Check {
			t.Helper()
			found, err := p.CheckBySlug(t.Context(), slug)
			must(t, err)
			return *found.Check
		}
		backup := check("nightly-backup")
		if backup.Schedule != "0 3 * * *" || backup.TZ != "Europe/Riga" || backup.NPings != 6 {
			t.Errorf("the check of the backup: %+v", backup)
		}
		log, err := checks.Collect(p.Pings(t.Context(), backup.ID, checks.PingQuery{}))
		must(t, err)
		if *log[0].Duration != 90*time.Second {
			t.Errorf("a run took %v, want 90s", *log[0].Duration)
		}
		if report := check("report"); report.Schedule != "0,30 9-17 * * 1-5" || report.TZ != "UTC" {
			t.Errorf("the check of the report: %+v", report)
		}
		if heartbeat := check("heartbeat"); heartbeat.IsCron() || heartbeat.Timeout != 90*time.Minute {
			t.Errorf("the check of the heartbeat: %+v", heartbeat)
		}
	})
}

// TestSyncErrors synchronizes jobs of which some cannot have a check. The others have theirs, all run, and none is paused.
func TestSyncErrors(t *testing.T) {
	mon, p := project(t)
	old, _, err := p.Upsert(t.Context(), checks.Spec{Slug: new("old"), Tags: []string{"cron"}}, checks.UniqueSlug)
	must(t, err)
	_, err = mon.Ping(t.Context(), old.ID, pings.Signal{Kind: pings.Success})
	must(t, err)
	m := croncheck.New(p, "cron", &croncheck.Config{PauseGone: true})
	c := cron.New(cron.WithLocation(time.UTC))
	ran := 0
	run := func(context.Context) error { ran++; return nil }
	for _, name := range []string{"good", "twice", "Twice", "…"} {
		_, err := c.AddJob("0 3 * * *", m.Job(name, run))
		must(t, err)
	}
	c.Schedule(leapDays{}, m.Job("leap", run))
	_, err = c.AddJob("0 3 * * *", croncheck.New(p, "other", nil).Job("other", func(context.Context) error { return nil })) // has its own Sync
	must(t, err)
	err = m.Sync(t.Context(), c)
	for _, want := range []string{`with the job "twice"`, `job "…"`, `job "leap"`, "leapDays"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
	for _, entry := range c.Entries() {
		entry.WrappedJob.Run()
	}
	if ran != 5 {
		t.Errorf("%d jobs ran, want 5", ran)
	}
	good, err := p.CheckBySlug(t.Context(), "good")
	must(t, err)
	if good.NPings != 2 {
		t.Errorf("the good job sent %d pings, want 2", good.NPings)
	}
	if old, err = p.Check(t.Context(), old.ID); err != nil || old.Check.Stored == checks.StatusPaused {
		t.Errorf("the old check is %v, %v", old.Check.Stored, err)
	}
}

// leapDays is a schedule that no check can express.
type leapDays struct{}

func (leapDays) Next(t time.Time) time.Time {
	for t = t.AddDate(0, 0, 1); t.Day() != 29 || t.Month() != time.February; t = t.AddDate(0, 0, 1) {
	}
	return t
}

// TestWrapper reports one job to a check that Sync did not make.
func TestWrapper(t *testing.T) {
	mon, p := project(t)
	check, err := p.Create(t.Context(), checks.Spec{})
	must(t, err)
	var r job.Reporter = mon.Job(check.ID)
	wrapped := cron.NewChain(croncheck.Wrapper(r, nil)).Then(cron.FuncJob(func() {}))
	wrapped.Run()
	check, err = p.Check(t.Context(), check.ID)
	must(t, err)
	if check.NPings != 2 || check.Check.Stored != checks.StatusUp {
		t.Errorf("after a run: %+v", check.Check.State)
	}
}
