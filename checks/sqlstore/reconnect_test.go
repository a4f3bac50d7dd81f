package sqlstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// A restart of PostgreSQL leaves a pool full of dead connections. Whatever was not committed on one of them is done
// again on another, once.
func TestDeadConnections(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	conns := db.Bun(t)
	mon := monitorOn(t, dbtest.OpenOn(t, conns))
	check := addCheck(t, mon)
	admin := db.Bun(t)
	var numbers []int64
	for round := range 3 {
		fill(t, conns)
		fill(t, conns) // the driver tests a connection before its second use, but not one that was just used again
		_, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err != nil {
			t.Fatal(err)
		}
		ping, err := mon.Ping(t.Context(), check.ID, pings.Signal{UserAgent: fmt.Sprint(round)})
		if err != nil {
			t.Errorf("the first ping after restart %d: %v", round+1, err)
		}
		numbers = append(numbers, ping.N)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, numbers); diff != "" {
		t.Errorf("the numbers of the pings (-want +got):\n%s", diff)
	}
}

// fill opens all connections of a pool.
func fill(t *testing.T, db *bun.DB) {
	t.Helper()
	var all sync.WaitGroup
	var held []bun.Conn
	for range db.DB.Stats().MaxOpenConnections {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		all.Go(func() { conn.Close() })
	}
	all.Wait()
}
