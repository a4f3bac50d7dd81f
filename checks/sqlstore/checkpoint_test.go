package sqlstore_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestCheckpoint writes pings with large bodies, fewer than SQLite's own checkpoint waits for, also through a pool of one
// connection: they get to their place in the file meanwhile. Pings without bodies begin no checkpoint.
func TestCheckpoint(t *testing.T) {
	for name, test := range map[string]struct {
		size, connections int
		grows             bool
	}{
		"bodies": {100_000, 0, true}, "one connection": {100_000, 1, true}, "no bodies": {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.SQLite(t)
			bundb := db.Bun(t)
			bundb.SetMaxOpenConns(test.connections)
			store := dbtest.OpenOn(t, bundb)
			mon := monitorOn(t, store)
			id := addCheck(t, mon).ID
			before := size(t, db.Path())
			body := bytes.Repeat([]byte("0123456789"), test.size/10)
			const n = 100
			for range n {
				err := record(t.Context(), store, []uuid.UUID{id}, receive(pings.Signal{Kind: pings.Success, Body: body}, mon.Now()))
				if err != nil {
					t.Fatal(err)
				}
			}
			store.WaitForCheckpoint()
			if grown := size(t, db.Path()) - before; test.grows != (grown > 4<<20) || !test.grows && grown > 0 {
				t.Errorf("the file has grown by %d bytes after bodies of %d", grown, n*len(body))
			}
			if log, err := mon.Pings(t.Context(), id); err != nil || len(log) != n {
				t.Errorf("%d pings in the log: %v", len(log), err)
			}
		})
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
