package rivercheck_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/rivercheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// A client of River reports its periodic jobs to a monitor in the same process. With a *client.Client in place of the
// project, the checks are on a server.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory) // or the pool that River uses, by sqlstore.Open
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)

	reports := rivercheck.New(project, "billing", &rivercheck.Config{
		Spec: func(_ river.JobArgs, s *checks.Spec) { s.Grace = new(20 * time.Minute) },
	})
	newReport := func() (river.JobArgs, *river.InsertOpts) { return report{}, nil }
	config := &river.Config{ // for river.NewClient
		Middleware:   []rivertype.Middleware{reports},
		PeriodicJobs: []*river.PeriodicJob{reports.PeriodicJob(river.PeriodicInterval(time.Hour), newReport, nil)},
	}
	check(reports.Sync(ctx))

	work := config.Middleware[0].(rivertype.WorkerMiddleware).Work // as the client does
	check(work(ctx, &rivertype.JobRow{Kind: "report"}, func(context.Context) error { return nil }))
	c, err := project.CheckBySlug(ctx, "report")
	check(err)
	fmt.Printf("%s (every %v, grace %v) is %s after %d pings\n", c.Name, c.Timeout, c.Grace, c.Status, c.NPings)
	// Output:
	// report (every 1h0m0s, grace 20m0s) is up after 2 pings
}
