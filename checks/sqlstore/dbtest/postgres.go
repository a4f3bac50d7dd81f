package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

// cluster is the PostgreSQL server of the test process.
type cluster struct {
	once      sync.Once
	err       error
	dir       string
	server    *pgserver.Server
	databases atomic.Int64
	template  sync.Once // creates the migrated database of which others are copies
	shape     string    // of the migrated database, by readShape

	mu    sync.Mutex
	spare []string // migrated databases without rows, which tests have given back
}

// start starts the server in a temporary directory, once.
func (c *cluster) start() error {
	c.once.Do(func() {
		if c.dir, c.err = clusterDir(); c.err != nil {
			return
		}
		// The server outlives the test that started it. It runs without fsync, as only processes crash in tests.
		c.server, c.err = pgserver.New(context.Background(), c.dir,
			"fsync=off", "rollcall.accepts=fsync", "full_page_writes=off", "max_connections=200")
		if c.err != nil {
			c.stop()
		}
	})
	return c.err
}

// stop ends the server and removes its files.
func (c *cluster) stop() {
	if c.server != nil {
		c.server.Stop()
	}
	if c.dir != "" {
		os.RemoveAll(c.dir)
	}
}

// database returns the URL of a database: an empty one, or one that is migrated, which the end of the test gives back if the test has
// passed. The first are copies of one that is migrated, in half the time of a migration.
func (c *cluster) database(t testing.TB, empty bool) string {
	t.Helper()
	copied := func(of string) string {
		name := fmt.Sprintf("test%d", c.databases.Add(1))
		if _, err := c.server.Copy(t.Context(), of, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if empty {
		return c.server.URL(copied("template1"))
	}
	c.template.Do(func() {
		if err := c.migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	name := c.take()
	if name == "" {
		name = copied("migrated")
	}
	t.Cleanup(func() {
		if !t.Failed() {
			c.giveBack(name)
		}
	})
	return c.server.URL(name)
}

// migrate creates the database of which others are copies.
func (c *cluster) migrate(ctx context.Context) error {
	url, err := c.server.Create(ctx, "migrated")
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	c.shape, err = readShape(ctx, db)
	return errors.Join(err, db.Close())
}
