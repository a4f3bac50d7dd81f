package croncheck_test

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/croncheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// Keep a check for each job of a scheduler. With a *client.Client in place of the registry, the checks are on a server.
func ExampleSync() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}

	m := croncheck.New(project, "billing", &croncheck.Config{Spec: func(j cron.Entry, s *checks.Spec) { s.Grace = new(20 * time.Minute) }})
	c := cron.New(cron.WithLocation(time.UTC))
	_, err = c.AddJob("0 3 * * MON-FRI", m.Job("nightly backup", func(context.Context) error { return nil }))
	if err != nil {
		panic(err)
	}
	if err := m.Sync(ctx, c); err != nil {
		panic(err)
	}
	c.Entries()[0].WrappedJob.Run() // as the scheduler does, after c.Start

	list, err := checks.Stored(project.Checks(ctx, checks.Query{}))
	if err != nil {
		panic(err)
	}
	for _, check := range list {
		fmt.Printf("%s (%s %s, grace %v): %s after %d pings\n", check.Name, check.Schedule, check.TZ, check.Grace, check.Status(mon.Now()), check.NPings)
	}
	// Output: nightly backup (0 3 * * 1-5 UTC, grace 20m0s): up after 2 pings
}
