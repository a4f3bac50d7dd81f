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
	"github.com/rollcall-dev/rollcall/pings"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	go mon.Run(ctx) // watches deadlines and delivers alerts

	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
	backup, _, err := mon.Upsert(ctx, project.ID, spec, checks.UniqueSlug)
	check(err)
	ping, err := mon.Ping(ctx, backup.ID, pings.Signal{Kind: pings.Success})
	check(err)
	fmt.Printf("%s: ping %d, %s\n", backup.Slug, ping.N, ping.Kind)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
