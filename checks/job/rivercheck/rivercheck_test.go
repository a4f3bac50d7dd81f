package rivercheck_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/robfig/cron/v3"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/internal/schedulertest"
	"github.com/rollcall-dev/rollcall/checks/job/rivercheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds the wait for the jobs. Only a broken test reaches it.
const patience = 5 * time.Minute

// Jobs of five kinds.
type (
	backup  struct{}
	report  struct{}
	broken  struct{}
	waiting struct{}
	other   struct{}
)

func (backup) Kind() string  { return "nightly_backup" }
func (report) Kind() string  { return "report" }
func (broken) Kind() string  { return "broken" }
func (waiting) Kind() string { return "waiting" }
func (other) Kind() string   { return "other" }

// TestContract runs a real client until each job has run, with a monitor on the same pool.
func TestContract(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	pool, err := pgxpool.New(t.Context(), db.URL)
	must(t, err)
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	must(t, err)
	shared := stdlib.OpenDBFromPool(pool)
	defer shared.Close()
	store, err := sqlstore.Open(t.Context(), bun.NewDB(shared, pgdialect.New()))
	must(t, err)
	mon, err := monitor.New(store, nil)
	must(t, err)
	p, err := mon.OpenProject(t.Context(), "p")
	must(t, err)

	atThree, err := cron.ParseStandard("0 3 * * *")
	must(t, err)
	periodic := map[string]struct {
		schedule river.PeriodicSchedule
		args     river.JobArgs
		id       string
	}{
		"backup":  {atThree, backup{}, "backup"},
		"report":  {river.PeriodicInterval(time.Hour), report{}, ""},
		"broken":  {river.PeriodicInterval(time.Hour), broken{}, ""},
		"waiting": {river.PeriodicInterval(time.Hour), waiting{}, ""},
	}
	schedulertest.Test(t, mon, p, schedulertest.Program{
		Tag: "river", Name: "backup", Good: "backup", Failing: "report", Panicking: "broken", PanicBody: "goroutine", Others: []string{"waiting"},
		Start: func(t *testing.T, p *monitor.Project, first, pauseGone bool, slugs ...string) {
			m := rivercheck.New(p, "river", &rivercheck.Config{Location: time.UTC, PauseGone: pauseGone})
			if first {
				slugs = append(slugs, "waiting")
			}
			var jobs []*river.PeriodicJob
			for _, slug := range slugs {
				j := periodic[slug]
				args := func() (river.JobArgs, *river.InsertOpts) { return j.args, &river.InsertOpts{MaxAttempts: 1} }
				jobs = append(jobs, m.PeriodicJob(j.schedule, args, &river.PeriodicJobOpts{RunOnStart: true, ID: j.id}))
			}
			must(t, m.Sync(t.Context()))
			if first {
				run(t, pool, m, jobs)
			}
		},
	})

	check := func(slug string) checks.Check {
		t.Helper()
		found, err := p.CheckBySlug(t.Context(), slug)
		must(t, err)
		return *found.Check
	}
	if c := check("backup"); c.Schedule != "0 3 * * *" || c.TZ != "UTC" || c.NPings != 2 {
		t.Errorf("the check of the backup: %+v", c)
	}
	if c := check("report"); c.Timeout != time.Hour {
		t.Errorf("the check of the report: %+v", c)
	}
	c := check("waiting") // was snoozed, and is paused, since it is gone
	log, err := checks.Collect(p.Pings(t.Context(), c.ID, checks.PingQuery{}))
	must(t, err)
	body, err := p.PingBody(t.Context(), c.ID, log[0].N)
	if err != nil || c.Timeout != time.Hour || c.NPings != 2 || log[0].Kind != pings.Log || !strings.Contains(string(body), "24h") {
		t.Errorf("the check of the snoozed job: %+v; last ping %v with the body %s, %v", c, log[0].Kind, body, err)
	}
	m := rivercheck.New(p, "river", nil)
	m.PeriodicJob(river.PeriodicInterval(2*time.Hour), func() (river.JobArgs, *river.InsertOpts) { return broken{}, nil }, nil)
	must(t, m.Sync(t.Context()))
	if c := check("broken"); c.Timeout != 2*time.Hour || c.Stored == checks.StatusPaused {
		t.Errorf("the check of a changed job: %+v", c)
	}
}

// run runs a client until each job has ended, and a job without a check.
func run(t *testing.T, pool *pgxpool.Pool, m *rivercheck.Reporter, jobs []*river.PeriodicJob) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[backup]) error { return nil }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[report]) error { return errors.New(schedulertest.NoPrinter) }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[broken]) error { panic(schedulertest.OutOfOrder) }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[waiting]) error { return river.JobSnooze(24 * time.Hour) }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[other]) error { return nil }))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:       slog.New(slog.DiscardHandler),
		Workers:      workers,
		Queues:       map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Middleware:   []rivertype.Middleware{m},
		PeriodicJobs: jobs,
	})
	must(t, err)
	events, cancel := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobSnoozed)
	defer cancel()
	must(t, client.Start(t.Context()))
	_, err = client.Insert(t.Context(), other{}, nil)
	must(t, err)
	seen := make(map[string]bool)
	for timeout := time.After(patience); len(seen) < 5; {
		select {
		case e := <-events:
			seen[e.Job.Kind] = true
		case <-timeout:
			t.Fatalf("only %v ran", seen)
		}
	}
	must(t, client.Stop(context.Background()))
}
