// Command pool keeps Rollcall's tables beside the program's own in one PostgreSQL database, and both use one pool. Its
// job bills the orders that are not billed yet. Its argument is the URL of the database.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // any driver of PostgreSQL will do
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

func main() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Args[1])
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(5) // for the program and for Rollcall
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id BIGSERIAL, billed BOOL NOT NULL DEFAULT false)")
	check(err)

	store, err := sqlstore.Open(ctx, bun.NewDB(db, pgdialect.New())) // adds tables that begin with rollcall_
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	check(mon.Start(ctx))
	project, err := mon.OpenProject(ctx, "shop")
	check(err)
	billing, err := project.Register(ctx, checks.Spec{Slug: new("billing"), Schedule: new("0 4 * * *")})
	check(err)

	_, err = db.ExecContext(ctx, "INSERT INTO orders DEFAULT VALUES")
	check(err)
	failed := billing.Run(ctx, func(ctx context.Context) error { return bill(ctx, db) })

	var billed int
	check(db.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE billed").Scan(&billed))
	list, err := project.Checks(ctx, checks.Query{})
	check(err)
	for _, c := range list {
		fmt.Printf("%d orders billed; %s is %s after %d pings\n", billed, c.Slug, c.Status, c.NPings)
	}

	check(errors.Join(failed, mon.Stop(ctx))) // Stop sends alerts about the job, before the pool is closed
}

func bill(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "UPDATE orders SET billed = true WHERE NOT billed")
	return err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
