// Command embed monitors a job inside a program, with SQLite and without HTTP. Its argument is the database file.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func main() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	check(mon.Start(ctx)) // watches deadlines and delivers alerts
	jobs, err := mon.OpenProject(ctx, "jobs")
	check(err)
	spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
	backup, _, err := jobs.Upsert(ctx, spec, checks.UniqueSlug)
	check(err)
	err = mon.Job(backup.ID).Run(ctx, copyFiles) // start, then success, or failure with the error as text
	check(err)

	backup, err = jobs.Check(ctx, backup.ID)
	check(err)
	fmt.Printf("%s is %s after %d pings\n", backup.Slug, backup.Status, backup.NPings)

	check(mon.Stop(ctx)) // nothing of it is left
	check(store.Close())
}

// copyFiles is the job.
func copyFiles(context.Context) error { return nil }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
