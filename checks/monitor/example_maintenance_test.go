package monitor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/pings"
)

// A program plans maintenance. What is down within it alerts nobody, and is no downtime.
func ExampleProject_AddWindow() {
	ctx := context.Background()
	mon := monitortest.New(noon, nil) // Sunday
	defer mon.Close()
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	c, err := jobs.Create(ctx, checks.Spec{Slug: new("backup"), Tags: []string{"db"}})
	check(err)
	w, err := jobs.AddWindow(ctx, gate.Window{
		Kind: gate.Maintenance, Tags: []string{"db"}, Schedule: "0 2 * * SUN", Duration: 2 * time.Hour, Note: "patches",
	})
	check(err)
	start, end, _ := w.Next(noon)
	fmt.Println(start.Format(time.DateTime), "to", end.Format(time.TimeOnly))

	mon.Advance(start.Add(time.Hour).Sub(noon))
	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Failure})
	check(err)
	mon.Advance(2 * time.Hour)
	times, err := jobs.Downtime(ctx, c.ID, start, end.Add(time.Hour))
	check(err)
	fmt.Println("down", times.Down, "and", times.Maintenance, "for maintenance")
	// Output:
	// 2026-03-08 02:00:00 to 04:00:00
	// down 1h0m0s and 1h0m0s for maintenance
}
