package spool_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// outage is a store whose database is away.
type outage struct{ monitor.Store }

func (o outage) Contract() any { return unreachable{o.Store.Contract().(store.Store)} }

type unreachable struct{ store.Store }

func (unreachable) Update(context.Context, func(context.Context, store.Tx) error) error {
	return store.ErrUnavailable
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "spool")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	queue, err := spool.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Close()

	database, err := sqlite.Open(ctx, sqlite.Memory)
	if err != nil {
		log.Fatal(err)
	}
	defer database.Close()
	mon, err := monitor.New(database, nil)
	if err != nil {
		log.Fatal(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		log.Fatal(err)
	}
	backup, err := project.Create(ctx, checks.Spec{Slug: new("backup")})
	if err != nil {
		log.Fatal(err)
	}

	cutOff, err := monitor.New(outage{database}, &monitor.Config{Spool: queue})
	if err != nil {
		log.Fatal(err)
	}
	_, err = cutOff.Ping(ctx, backup.ID, pings.Signal{})
	stats, _ := cutOff.Spooled()
	fmt.Println("error:", err, "waiting:", stats.Pings)

	back, err := monitor.New(database, &monitor.Config{Spool: queue})
	if err != nil {
		log.Fatal(err)
	}
	err = back.Tick(ctx) // Start does this all the time
	backup, _ = project.Check(ctx, backup.ID)
	fmt.Println("error:", err, "recorded:", backup.NPings)
	// Output:
	// error: <nil> waiting: 1
	// error: <nil> recorded: 1
}
