package dbtest

import (
	"context"
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
}

// start starts the server in a temporary directory, once.
func (c *cluster) start() error {
	c.once.Do(func() {
		if c.dir, c.err = os.MkdirTemp("", "rollcall-pg-"); c.err != nil {
			return
		}
		// The server outlives the test that started it. It runs without fsync, as only processes crash in tests.
		c.server, c.err = pgserver.New(context.Background(), c.dir, "fsync=off", "rollcall.accepts=fsync", "max_connections=200")
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

// database creates a database and returns its URL. Unless it is empty, it is a copy of one that is migrated, in half the time of a
// migration.
func (c *cluster) database(t testing.TB, empty bool) string {
	t.Helper()
	copied := func(of, name string) string {
		url, err := c.server.Copy(t.Context(), of, name)
		if err != nil {
			t.Fatal(err)
		}
		return url
	}
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	if empty {
		return copied("template1", name)
	}
	c.template.Do(func() {
		store, err := postgres.Open(t.Context(), copied("template1", "migrated"))
		if err == nil {
			err = store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return copied("migrated", name)
}
