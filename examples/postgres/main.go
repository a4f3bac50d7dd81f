// Command postgres monitors jobs inside a program, with a PostgreSQL database that several programs can share. Its
// argument is the URL of the database.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

func main() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, os.Args[1]) // migrates under a lock, so that programs can start together
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	check(mon.Start(ctx)) // shares the deadlines and the alerts with the other programs

	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	spec := checks.Spec{Slug: new("backup"), Timeout: new(checks.Defaults().Timeout)}
	c, _, err := project.Upsert(ctx, spec, checks.UniqueSlug)
	check(err)
	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Success, Body: []byte("12 files")})
	check(err)
	c, err = project.Check(ctx, c.ID)
	check(err)
	fmt.Printf("%s is %s after %d pings\n", c.Slug, c.Status, c.NPings)
	check(mon.Stop(ctx)) // sends the alerts that are due
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
