// Command embed monitors jobs inside a program, with SQLite and without HTTP. Its argument is the database file.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func main() {
	sqldb, err := sql.Open("sqlite", sqlstore.SQLiteDSN(os.Args[1], 10*time.Second))
	check(err)
	defer sqldb.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
	check(err)
	check(store.Migrate(ctx))
	mon, err := monitor.New(store, nil)
	check(err)
	go mon.Run(ctx) // watches deadlines and delivers alerts

	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	spec := checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")}
	c, _, err := mon.Upsert(ctx, project.ID, spec, checks.UniqueName)
	check(err)
	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Success})
	check(err)
	list, err := mon.Flips(ctx, c.ID, flips.Window{})
	check(err)
	for _, flip := range list {
		fmt.Printf("%s went up: %t\n", c.Name, flip.Up)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
