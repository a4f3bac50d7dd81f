package monitor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/pings"
)

// A nightly backup does not run.
func ExampleProject_Explain() {
	ctx := context.Background()
	mon := monitortest.New(time.Date(2026, 3, 2, 3, 4, 0, 0, time.UTC), nil)
	defer mon.Close()
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	c, err := project.Create(ctx, checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), Grace: new(20 * time.Minute)})
	if err != nil {
		panic(err)
	}
	if _, err := mon.Ping(ctx, c.ID, pings.Signal{}); err != nil {
		panic(err)
	}
	mon.Advance(25 * time.Hour)
	if c, err = project.Check(ctx, c.ID); err != nil {
		panic(err)
	}
	log, err := checks.Collect(project.Pings(ctx, c.ID, checks.PingQuery{}))
	if err != nil {
		panic(err)
	}
	v, err := mon.Monitor.Project(c.Check.ProjectID).Explain(ctx, *c.Check, log)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Text(nil))
	// Output:
	// Down since 03:20. The run expected at 03:00 UTC did not report within its grace of 20 min; last success yesterday 03:04. *OnAlert* was notified at 03:20:00. Next run due tomorrow 03:00.
}
