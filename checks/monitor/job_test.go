package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func TestRegistryOfUnknownProject(t *testing.T) {
	s := newSetup(t, dbtest.SQLite(t).Open(t), checks.ProjectSpec{Name: "p"})
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
