package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// temporary returns the path of a file that does not exist.
func temporary() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "jobs")
	check(err)
	return filepath.Join(dir, "jobs.db"), func() { os.RemoveAll(dir) }
}

func ExampleOpen() {
	path, remove := temporary() // "jobs.db" in a program
	defer remove()
	store, err := sqlite.Open(context.Background(), path)
	check(err)
	defer store.Close()
	before, after := store.Migrated()
	fmt.Println(before, after > before)
	// Output: 0 true
}

// A program that needs no durability watches its job without a file.
func ExampleOpen_memory() {
	ctx, stop := context.WithCancel(context.Background())
	store, err := sqlite.Open(ctx, sqlite.Memory)
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	check(err)
	var running sync.WaitGroup
	running.Go(func() { check(mon.Run(ctx)) })
	defer running.Wait()
	defer stop()
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	backup, err := project.Register(ctx, checks.Spec{Slug: new("backup"), Timeout: new(time.Hour)})
	check(err)

	fmt.Println(backup.Run(ctx, func(context.Context) error { return nil }))
	list, err := checks.Stored(project.Checks(ctx, checks.Query{}))
	check(err)
	fmt.Println(list[0].Slug, list[0].Status(mon.Now()))
	// Output:
	// <nil>
	// backup up
}

// A program keeps its own tables in the same file.
func ExampleOpenDB() {
	ctx := context.Background()
	path, remove := temporary()
	defer remove()
	db, err := sqlite.OpenDB(ctx, path)
	check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE invoices (id INTEGER PRIMARY KEY)")
	check(err)
	store, err := sqlstore.Open(ctx, bun.NewDB(db, sqlitedialect.New()))
	check(err)
	mon, err := monitor.New(store, nil)
	check(err)
	fmt.Println(mon.Probe(ctx))
	// Output: <nil>
}

func ExampleExplain() {
	_, err := sqlite.Open(context.Background(), os.TempDir())
	fmt.Println(sqlite.Explain(err))
	// Output: is a directory
}
