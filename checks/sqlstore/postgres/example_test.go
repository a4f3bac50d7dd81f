package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

func ExampleOpen() {
	store, err := postgres.Open(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mon.Now())
}

// A program changes the limits of the pool and uses it for its own tables too.
func ExampleOpenDB() {
	db, err := postgres.OpenDB(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(5)
	store, err := sqlstore.Open(context.Background(), bun.NewDB(db, pgdialect.New()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Migrated())
}

func ExampleName() {
	name, err := postgres.Name("postgresql://jobs:secret@db.example.org/jobs?connect_timeout=3")
	fmt.Println(name, err)
	_, err = postgres.Name("postgres://jobs:se/cret@db.example.org/jobs")
	fmt.Println(err)
	// Output:
	// db.example.org:5432/jobs <nil>
	// postgres: the URL is not valid; in a user name or password, characters such as / ? # @ & % must be percent-encoded
}
