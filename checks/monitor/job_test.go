package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// A database that hangs delays a job by the two time limits of its pings, and loses neither ping.
func TestJobOnHangingDatabase(t *testing.T) {
	store := dbtest.SQLite(t).Open(t)
	s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
	c := s.create(t, checks.Spec{})
	synctest.Test(t, func(t *testing.T) {
		var pingErr error
		q := newQueue(t, store, monitor.Config{Job: job.Config{OnPingError: func(_ context.Context, err error) { pingErr = err }}})
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		output := []byte("the disk is full")
		jobErr := q.mon.Job(c.ID).Run(ctx, func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		})
		if took := time.Since(start); jobErr != context.Canceled || !errors.Is(pingErr, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("%v, %v after %v", jobErr, pingErr, took)
		}
		if err := q.mon.Job(c.ID).Failure(t.Context(), output); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		clear(output) // the caller may reuse the body
		close(q.gate)
		synctest.Wait()
	})
	if list, err := s.Pings(t.Context(), c.ID); err != nil || len(list) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if body, err := s.PingBody(t.Context(), c.ID, 3); err != nil || string(body) != "the disk is full" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestRegistryOfUnknownProject(t *testing.T) {
	s := newSetup(t, dbtest.SQLite(t).Open(t), monitor.ProjectSpec{Name: "p"})
	r := s.Registry(uuid.New())
	if _, err := r.Register(t.Context(), checks.Spec{Slug: new("backup")}); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("Register: %v", err)
	}
	if err := r.PauseExcept(t.Context(), "cron", []string{"backup"}); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("PauseExcept: %v", err)
	}
}

func openDemo(ctx context.Context) (mon *monitor.Monitor, jobs *monitor.Project, done func()) {
	dir, err := os.MkdirTemp("", "jobs-")
	check(err)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"))
	check(err)
	mon, err = monitor.New(store, nil)
	check(err)
	jobs, err = mon.OpenProject(ctx, "jobs")
	check(err)
	return mon, jobs, func() {
		check(store.Close())
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleMonitor_Job() {
	ctx := context.Background()
	mon, jobs, done := openDemo(ctx)
	defer done()
	backup, err := jobs.Create(ctx, checks.Spec{Name: new("backup"), Timeout: new(24 * time.Hour)})
	check(err)

	err = mon.Job(backup.ID).Run(ctx, func(ctx context.Context) error {
		return errors.New("the disk is full")
	})
	fmt.Println(err)

	backup, err = jobs.Check(ctx, backup.ID)
	check(err)
	body, err := jobs.PingBody(ctx, backup.ID, 2)
	check(err)
	fmt.Printf("%s after %d pings: %s\n", backup.Status, backup.NPings, body)
	// Output:
	// the disk is full
	// down after 2 pings: the disk is full
}

// A program keeps a check for each of its jobs, and pauses those of jobs that it no longer has.
func ExampleProject_Register() {
	ctx := context.Background()
	_, jobs, done := openDemo(ctx)
	defer done()

	start := func(names ...string) {
		for _, slug := range names {
			r, err := jobs.Register(ctx, checks.Spec{Slug: &slug, Tags: []string{"nightly"}, Schedule: new("0 3 * * *")})
			check(err)
			check(r.Run(ctx, func(context.Context) error { return nil }))
		}
		check(jobs.PauseExcept(ctx, "nightly", names))
	}
	start("backup", "cleanup") // a *client.Client does the same on a server
	start("backup")            // the next version of the program

	list, err := jobs.Checks(ctx, checks.Query{})
	check(err)
	for _, c := range list {
		fmt.Println(c.Slug, c.Status)
	}
	// Output:
	// backup up
	// cleanup paused
}
