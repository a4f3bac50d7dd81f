package dbtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
)

// cluster is the PostgreSQL server of the test process.
type cluster struct {
	once      sync.Once
	err       error
	dir       string
	server    *pgserver.Server
	databases atomic.Int64
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

// database creates a database and returns its URL.
func (c *cluster) database(t testing.TB) string {
	t.Helper()
	url, err := c.server.Create(t.Context(), fmt.Sprintf("test%d", c.databases.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return url
}
