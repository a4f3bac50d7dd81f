package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/memstore"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// A program that needs no durability watches its jobs without a database.
func Example() {
	ctx := context.Background()
	mon, err1 := monitor.New(memstore.New(), nil)
	project, err2 := mon.OpenProject(ctx, "jobs")
	backup, err3 := mon.Create(ctx, project.ID, checks.Spec{Name: new("backup"), Timeout: new(time.Hour)})
	_, err4 := mon.Ping(ctx, backup.ID, pings.Signal{})
	backup, err5 := mon.Check(ctx, backup.ID)
	fmt.Println(backup.Name, "is", backup.Status(mon.Now()), errors.Join(err1, err2, err3, err4, err5))
	// Output: backup is up <nil>
}

// A test passes a clock, and looks for overdue checks when it has moved the clock.
func ExampleNew() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mon, err := monitor.New(memstore.New(), &monitor.Config{Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "test")
	if err != nil {
		panic(err)
	}
	backup, err := mon.Create(ctx, project.ID, checks.Spec{Timeout: new(time.Hour), Grace: new(time.Minute)})
	if err != nil {
		panic(err)
	}
	if _, err := mon.Ping(ctx, backup.ID, pings.Signal{}); err != nil {
		panic(err)
	}
	now = now.Add(61 * time.Minute)
	down, err := mon.Sweep(ctx)
	fmt.Println(down, "went down", err)
	// Output: 1 went down <nil>
}
