package asynqcheck_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hibiken/asynq"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/asynqcheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// A worker reports periodic tasks to a monitor in the same process. With a *client.Client in place of the project, the
// checks are on a server.
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

	tasks := []*asynq.PeriodicTaskConfig{{Cronspec: "0 3 * * *", Task: asynq.NewTask("backup:nightly", nil)}}
	reports := asynqcheck.New(project, "billing", &asynqcheck.Config{
		Spec: func(_ *asynq.PeriodicTaskConfig, s *checks.Spec) { s.Grace = new(20 * time.Minute) },
	})
	check(reports.Sync(ctx, tasks))
	mux := asynq.NewServeMux()
	mux.Use(reports.Middleware)
	mux.HandleFunc("backup:nightly", func(context.Context, *asynq.Task) error { return errors.New("no space left") })

	fmt.Println(mux.ProcessTask(ctx, tasks[0].Task)) // as asynq.Server does
	c, err := project.CheckBySlug(ctx, "backup-nightly")
	check(err)
	fmt.Printf("%s (%s %s, grace %v) is %s after %d pings\n", c.Name, c.Schedule, c.TZ, c.Grace, c.Status, c.NPings)
	// Output:
	// no space left
	// backup:nightly (0 3 * * * UTC, grace 20m0s) is down after 2 pings
}
