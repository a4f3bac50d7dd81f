package rivercheck_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/rollcall-dev/rollcall/checks/job/rivercheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Jobs of four kinds.
type (
	backup  struct{}
	report  struct{}
	broken  struct{}
	waiting struct{}
)

func (backup) Kind() string  { return "nightly_backup" }
func (report) Kind() string  { return "report" }
func (broken) Kind() string  { return "broken" }
func (waiting) Kind() string { return "waiting" }

// TestSync runs a real client until each job has run, with a monitor on the same pool. Then the program starts with one job fewer.
func TestSync(t *testing.T) {
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

	m := rivercheck.New(p, "river", &rivercheck.Config{Location: time.UTC})
	args := func(a river.JobArgs) river.PeriodicJobConstructor {
		return func() (river.JobArgs, *river.InsertOpts) { return a, &river.InsertOpts{MaxAttempts: 1} }
	}
	atThree, err := cron.ParseStandard("0 3 * * *")
	must(t, err)
	onStart := &river.PeriodicJobOpts{RunOnStart: true}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[backup]) error { return nil }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[report]) error { return errors.New("no printer") }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[broken]) error { panic("out of order") }))
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[waiting]) error { return river.JobSnooze(24 * time.Hour) }))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:     slog.New(slog.DiscardHandler),
		Workers:    workers,
		Queues:     map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Middleware: []rivertype.Middleware{m},
		PeriodicJobs: []*river.PeriodicJob{
			m.PeriodicJob(atThree, args(backup{}), &river.PeriodicJobOpts{RunOnStart: true, ID: "backup"}),
			m.PeriodicJob(river.PeriodicInterval(time.Hour), args(report{}), onStart),
			m.PeriodicJob(river.PeriodicInterval(time.Hour), args(broken{}), onStart),
			m.PeriodicJob(river.PeriodicInterval(time.Hour), args(waiting{}), onStart),
		},
	})
	must(t, err)
	must(t, m.Sync(t.Context()))
	events, cancel := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobSnoozed)
	defer cancel()
	must(t, client.Start(t.Context()))
	seen := make(map[string]bool)
	for timeout := time.After(time.Minute); len(seen) < 4; {
		select {
		case e := <-events:
			seen[e.Job.Kind] = true
		case <-timeout:
			t.Fatalf("only %v ran", seen)
		}
	}
	must(t, client.Stop(context.Background()))

	check := func(slug string) checks.Check {
		t.Helper()
		found, err := p.CheckBySlug(t.Context(), slug)
		must(t, err)
		return *found.Check
	}
	now := mon.Now()
	nightly := check("backup")
	if nightly.Schedule != "0 3 * * *" || nightly.TZ != "UTC" || fmt.Sprint(nightly.Tags) != "[river]" ||
		nightly.Status(now) != checks.StatusUp || nightly.NPings != 2 {
		t.Errorf("the check of the backup: %+v", nightly)
	}
	for _, test := range []struct {
		slug   string
		status checks.Status
		body   string
	}{
		{"report", checks.StatusDown, "no printer"},
		{"broken", checks.StatusDown, "goroutine"},
		{"waiting", checks.StatusNew, "24h"},
	} {
		c := check(test.slug)
		log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
		must(t, err)
		body, err := mon.Project(c.ProjectID).PingBody(t.Context(), c.ID, log[0].N)
		must(t, err)
		if c.Status(now) != test.status || c.Timeout != time.Hour || !strings.Contains(string(body), test.body) {
			t.Errorf("the check of %s is %v; body %s", test.slug, c.Status(now), body)
		}
	}

	// A second start without the report pauses its check if it is asked to.
	for _, pause := range []bool{false, true} {
		m = rivercheck.New(p, "river", &rivercheck.Config{PauseGone: pause})
		m.PeriodicJob(river.PeriodicInterval(2*time.Hour), args(broken{}), nil)
		must(t, m.Sync(t.Context()))
		if c := check("report"); (c.Stored == checks.StatusPaused) != pause {
			t.Errorf("the check of a removed job is %v, to be paused %t", c.Stored, pause)
		}
	}
	if c := check("broken"); c.Timeout != 2*time.Hour || c.Stored == checks.StatusPaused {
		t.Errorf("the check of a changed job: %+v", c)
	}
}
