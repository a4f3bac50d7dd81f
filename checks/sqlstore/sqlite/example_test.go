package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

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
	store, err := sqlstore.Open(ctx, db, sqlstore.SQLite)
	check(err)
	fmt.Println(store.Probe(ctx, true))
	// Output: <nil>
}

func ExampleExplain() {
	_, err := sqlite.Open(context.Background(), os.TempDir())
	fmt.Println(sqlite.Explain(err))
	// Output: is a directory
}
