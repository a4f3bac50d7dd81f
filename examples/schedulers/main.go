// Command schedulers runs the jobs of two schedulers, robfig/cron and gocron, and watches them itself. A kill -9 loses no
// ping that a job has sent. Its argument is the database file.
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

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job/croncheck"
	"github.com/rollcall-dev/rollcall/checks/job/gocroncheck"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// stopTimeout is how long runs and their pings may take at the end. It is below the 90 seconds after which systemd kills a program.
const stopTimeout = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	mon, err := monitor.New(store, &monitor.Config{StopTimeout: stopTimeout})
	check(err)
	check(mon.Start(context.WithoutCancel(ctx)))
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	list, err := project.Checks(ctx, checks.Query{})
	check(err)
	for _, c := range list { // as the last process left them
		fmt.Printf("%s has %d pings and is %s\n", c.Slug, c.NPings, c.Status)
	}

	// Each job has a check with its schedule. Its start is committed before it runs.
	copies := croncheck.New(project, "copies", nil)
	first := cron.New()
	_, err = first.AddJob("@every 1s", copies.Job("copy", func(context.Context) error { return run("copy") }))
	check(err)
	check(copies.Sync(ctx, first))
	first.Start()

	reports := gocroncheck.New(project, "mails", nil)
	second, err := gocron.NewScheduler(reports.Option(), gocron.WithStopTimeout(stopTimeout))
	check(err)
	_, err = second.NewJob(gocron.DurationJob(700*time.Millisecond), gocron.NewTask(func() error { return run("mail") }), gocron.WithName("mail"))
	check(err)
	check(reports.Sync(ctx, second))
	second.Start()

	<-ctx.Done()
	<-first.Stop().Done() // the current runs end
	// Stop sends the alerts of the last runs, whatever becomes of the scheduler.
	check(errors.Join(second.Shutdown(), mon.Stop(ctx), store.Close()))
}

func run(name string) error {
	_, err := fmt.Println(name, "runs")
	return err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
