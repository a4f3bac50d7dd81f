package memstore_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/memstore"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// A program that needs no durability watches its job without a database.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	backup := func(context.Context) error { return nil }
	ctx, stop := context.WithCancel(context.Background())

	mon, err := monitor.New(memstore.New(), nil)
	check(err)
	var running sync.WaitGroup
	running.Go(func() { check(mon.Run(ctx)) })
	defer running.Wait()
	defer stop()
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	job, err := mon.Registry(project.ID).Register(ctx, checks.Spec{Slug: new("backup"), Timeout: new(time.Hour)})
	check(err)

	jobErr, pingErr := job.Run(ctx, backup)
	fmt.Println(jobErr, pingErr)
	list, err := mon.Checks(ctx, project.ID, monitor.CheckQuery{})
	check(err)
	fmt.Println(list[0].Slug, list[0].Status(mon.Now()))
	// Output:
	// <nil> <nil>
	// backup up
}

// A test passes a clock. When it has moved the clock, it looks for overdue checks.
func ExampleNew() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mon, err := monitor.New(memstore.New(), &monitor.Config{Now: func() time.Time { return now }})
	check(err)
	project, err := mon.OpenProject(ctx, "test")
	check(err)
	backup, err := mon.Create(ctx, project.ID, checks.Spec{Timeout: new(time.Hour), Grace: new(time.Minute)})
	check(err)
	_, err = mon.Ping(ctx, backup.ID, pings.Signal{})
	check(err)

	now = now.Add(61 * time.Minute)
	fmt.Println(mon.Sweep(ctx))
	// Output: 1 <nil>
}
