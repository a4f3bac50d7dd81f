package monitortest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/pings"
)

// A job runs at 02:30 in Berlin. On the day on which that time does not exist, it is expected at 03:00. On the day on
// which it exists twice, it is expected the first time.
func Example() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for _, noon := range []time.Time{
		time.Date(2026, time.March, 28, 12, 0, 0, 0, berlin),
		time.Date(2026, time.October, 24, 12, 0, 0, 0, berlin),
	} {
		mon := monitortest.New(noon, nil)
		project, err := mon.OpenProject(ctx, "jobs")
		if err != nil {
			panic(err)
		}
		backup, err := project.Create(ctx, checks.Spec{
			Name: new("backup"), Schedule: new("30 2 * * *"), TZ: new("Europe/Berlin"), Grace: new(10 * time.Minute),
		})
		if err != nil {
			panic(err)
		}
		if _, err := mon.Ping(ctx, backup.ID, pings.Signal{}); err != nil {
			panic(err)
		}
		mon.Advance(24 * time.Hour) // of real time; the job does not run
		for _, a := range mon.TakeAlerts() {
			fmt.Printf("%s, %s since %s: %s\n", a.Check.Name, a.Status, a.At.In(berlin).Format("2 January 15:04 MST"), a.Reason)
		}
	}
	// Output:
	// backup, down since 29 March 03:10 CEST: a run was missed
	// backup, down since 25 October 02:40 CEST: a run was missed
}
