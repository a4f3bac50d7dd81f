// Command declare keeps the checks of a program the way a file says. Its arguments are the database file and the file
// with the checks.
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

	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

func main() {
	sqldb, err := sql.Open("sqlite", sqlstore.SQLiteDSN(os.Args[1], 10*time.Second))
	check(err)
	defer sqldb.Close()
	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
	check(err)
	ctx := context.Background()
	check(store.Migrate(ctx))
	mon, err := monitor.New(store, nil)
	check(err)

	data, err := os.ReadFile(os.Args[2])
	check(err)
	doc, err := declare.Parse(data, &declare.Config{Name: os.Args[2], Env: os.LookupEnv})
	check(err) // tells every error with its line
	target := declare.OnMonitor(mon)
	plan, err := declare.NewPlan(ctx, target, doc, nil)
	check(err)
	fmt.Print(plan)
	_, err = plan.Apply(ctx, target, nil)
	check(err)
	fmt.Println(len(plan.Changes), "changes")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
