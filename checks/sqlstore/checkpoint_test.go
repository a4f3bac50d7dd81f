package sqlstore_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestCheckpoint writes pings with large bodies, fewer than SQLite's own checkpoint waits for. A checkpoint moves them from
// the write-ahead log to the database file. Pings without bodies start none.
func TestCheckpoint(t *testing.T) {
	for name, test := range map[string]struct {
		size, connections int
		checkpoint        bool
	}{
		"bodies":         {size: 100_000, checkpoint: true},
		"one connection": {size: 100_000, connections: 1, checkpoint: true},
		"no bodies":      {},
	} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.SQLite(t)
			bundb := db.Bun(t)
			bundb.SetMaxOpenConns(test.connections)
			store := dbtest.OpenOn(t, bundb).Database()
			mon := monitorOn(t, store)
			c := addCheck(t, mon)
			id := c.ID
			before := fileSize(t, db.Path())
			body := bytes.Repeat([]byte("0123456789"), test.size/10)
			const n = 100
			for range n {
				record(t, store, []uuid.UUID{id}, pings.Signal{Kind: pings.Success, Body: body}, mon.Now())
			}
			store.WaitForCheckpoint()
			grown := fileSize(t, db.Path()) - before
			if test.checkpoint && grown <= 4<<20 || !test.checkpoint && grown > 0 {
				t.Errorf("the file has grown by %d bytes after %d bytes of bodies", grown, n*len(body))
			}
			if log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), id, checks.PingQuery{})); err != nil || len(log) != n {
				t.Errorf("the log has %d pings, want %d; error %v", len(log), n, err)
			}
		})
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

// TestPageCaches: the connection that writes has a large page cache, and those that read share little memory.
func TestPageCaches(t *testing.T) {
	pool := dbtest.SQLite(t).Bun(t)
	db := dbtest.OpenOn(t, pool).Database()
	for range 2 {
		must(t, db.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			size, err := sqlstore.PageCache(ctx, tx)
			if size != -32000 {
				t.Errorf("cache_size of the writer is %d", size)
			}
			return err
		}))
	}
	for range pool.Stats().MaxOpenConnections - 1 {
		conn, err := pool.Conn(t.Context())
		must(t, err)
		defer conn.Close()
		var size int
		must(t, conn.NewRaw("PRAGMA cache_size").Scan(t.Context(), &size))
		if size != -2000 {
			t.Errorf("cache_size of a reader is %d", size)
		}
	}
}
