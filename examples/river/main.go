// Command river runs a periodic job of River and watches it, in one PostgreSQL database and on one pool. Its argument is the
// URL of the database.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/job/rivercheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

type backup struct{}

func (backup) Kind() string { return "backup" }

func work(context.Context, *river.Job[backup]) error {
	_, err := fmt.Println("the backup runs")
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Args[1])
	check(err)
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)

	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	store, err := sqlstore.Open(ctx, bun.NewDB(db, pgdialect.New())) // its tables begin with rollcall_
	check(err)
	mon, err := monitor.New(store, &monitor.Config{OnAlert: alert})
	check(err)
	check(mon.Start(ctx))
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)

	reports := rivercheck.New(project, "river", nil)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(work))
	newBackup := func() (river.JobArgs, *river.InsertOpts) { return backup{}, nil }
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers:    workers,
		Queues:     map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Middleware: []rivertype.Middleware{reports},
		PeriodicJobs: []*river.PeriodicJob{
			reports.PeriodicJob(river.PeriodicInterval(time.Hour), newBackup, &river.PeriodicJobOpts{RunOnStart: true}),
		},
	})
	check(err)
	check(reports.Sync(ctx)) // a check for each periodic job, with its interval
	check(client.Start(ctx))

	<-ctx.Done()
	ending := context.WithoutCancel(ctx)
	err = client.Stop(ending)                 // the current runs end
	check(errors.Join(err, mon.Stop(ending))) // and the alerts that are due are sent
}

func alert(_ context.Context, n channels.Notification) error {
	_, err := fmt.Printf("%s is %s: %s\n", n.Check.Name, n.Status, n.Reason)
	return err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
