package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// A program opens the database with a driver of its choice. A database in memory, as here, belongs to one connection.
func Example() {
	ctx := context.Background()
	sqldb, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer sqldb.Close()
	sqldb.SetMaxOpenConns(1)
	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(ctx); err != nil { // at every start; does nothing if the schema is up to date
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
	c, err := mon.Create(ctx, project.ID, checks.Spec{Name: new("backup")})
	fmt.Println(c.Name, c.Status(mon.Now()), err)
	// Output: backup new <nil>
}
