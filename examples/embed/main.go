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
	ctx, stop := context.WithCancel(context.Background())
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	ended := make(chan error)
	go func() { ended <- mon.Run(ctx) }() // watches deadlines and delivers alerts
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
	backup, _, err := mon.Upsert(ctx, project.ID, spec, checks.UniqueSlug)
	check(err)
	err = mon.Job(backup.ID).Run(ctx, copyFiles) // start, then success, or failure with the error as text
	check(err)

	backup, err = mon.Check(ctx, backup.ID)
	check(err)
	fmt.Printf("%s is %s after %d pings\n", backup.Slug, backup.Status(mon.Now()), backup.NPings)

	stop()
	check(<-ended) // Run has left nothing behind
	check(store.Close())
}

// copyFiles is the job.
func copyFiles(context.Context) error { return nil }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
