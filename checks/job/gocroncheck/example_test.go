package gocroncheck_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/gocroncheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// A scheduler reports its jobs to a monitor in the same process. With a *client.Client in place of the project, the checks
// are on a server.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)

	reports := gocroncheck.New(project, "billing", &gocroncheck.Config{
		Spec: func(_ gocron.Job, s *checks.Spec) { s.Grace = new(20 * time.Minute) },
	})
	scheduler, err := gocron.NewScheduler(reports.Option())
	check(err)
	ran := make(chan bool)
	_, err = scheduler.NewJob(gocron.DurationJob(24*time.Hour), gocron.NewTask(func() { ran <- true }),
		gocron.WithName("nightly backup"), gocron.WithStartAt(gocron.WithStartImmediately()))
	check(err)
	check(reports.Sync(ctx, scheduler))
	scheduler.Start()
	<-ran
	check(scheduler.Shutdown()) // the run ends

	c, err := project.CheckBySlug(ctx, "nightly-backup")
	check(err)
	fmt.Printf("%s (every %v, grace %v) is %s after %d pings\n", c.Name, c.Timeout, c.Grace, c.Status, c.NPings)
	// Output:
	// nightly backup (every 24h0m0s, grace 20m0s) is up after 2 pings
}
