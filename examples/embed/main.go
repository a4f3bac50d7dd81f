// Command embed monitors a job inside a program, with SQLite and without HTTP. Its arguments are the database file and the
// file that the job reads. If the job fails, the program prints the alert before it exits.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err) // after all that run has deferred
	}
}

func run(ctx context.Context, database, file string) (err error) {
	store, err := sqlite.Open(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	mon, err := monitor.New(store, &monitor.Config{OnAlert: alert})
	if err != nil {
		return err
	}
	if err := mon.Start(ctx); err != nil { // watches deadlines and delivers alerts
		return err
	}
	defer func() { err = errors.Join(err, mon.Stop(ctx)) }() // sends the alert about this run, too
	jobs, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		return err
	}
	spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
	backup, err := jobs.Register(ctx, spec)
	if err != nil {
		log.Print(err) // the job runs all the same
	}
	failed := backup.Run(ctx, func(context.Context) error { // start, then success, or failure with the error as text
		_, err := os.ReadFile(file)
		return err
	})
	c, err := jobs.CheckBySlug(ctx, "backup")
	if err != nil {
		return errors.Join(failed, err)
	}
	fmt.Printf("%s is %s after %d pings\n", c.Slug, c.Status, c.NPings)
	return failed
}

// alert gets each alert at least once.
func alert(_ context.Context, n channels.Notification) error {
	_, err := fmt.Printf("alert: %s is %s\n", n.Check.Name, n.Status)
	return err
}
