package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// A program that has a pool already passes it. A database in memory, as here, belongs to one connection.
func ExampleOpen() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	store, err := sqlstore.Open(ctx, bun.NewDB(db, sqlitedialect.New()))
	if err != nil {
		panic(err)
	}
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	c, err := project.Create(ctx, checks.Spec{Name: new("backup")})
	fmt.Println(c.Name, c.Check.Status(mon.Now()), err)
	// Output: backup new <nil>
}

// A program that uses bun passes its *bun.DB, and must not forget to migrate.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	store, err := sqlstore.New(bun.NewDB(db, sqlitedialect.New()))
	if err != nil {
		panic(err)
	}
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	err = mon.Probe(ctx)
	fmt.Println(errors.Is(err, sqlstore.ErrNotMigrated))
	fmt.Println(store.Migrate(ctx), mon.Probe(ctx)) // at every start; does nothing if the schema is up to date
	// Output:
	// true
	// <nil> <nil>
}
