package sqlstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// addPings records pings of the given kinds in turn, a second apart.
func addPings(t *testing.T, store *sqlstore.Store, id uuid.UUID, at time.Time, n int, kinds ...pings.Kind) {
	t.Helper()
	err := record(t.Context(), store, []uuid.UUID{id}, func(locked []*monitor.Locked) error {
		for i := range n {
			signal := pings.Signal{Kind: kinds[i%len(kinds)]}
			if err := receive(signal, at.Add(time.Duration(i)*time.Second))(locked); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPruneInSmallSteps removes many pings and flips: no transaction removes so many of them that pings would wait for
// long, and in the end those that are to be kept are left.
func TestPruneInSmallSteps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := db.Open(t)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		mon, err := monitor.New(store, &monitor.Config{Now: func() time.Time { return at }})
		if err != nil {
			t.Fatal(err)
		}
		c := addCheck(t, mon)
		const n = checks.PaidPings + 1100
		addPings(t, store, c.ID, at, n, pings.Success, pings.Fail) // each a flip
		// What is left of a table is counted at each pause.
		bundb := db.Bun(t)
		counting := func(table string) (pause func(), steps *int) {
			steps = new(int)
			left := count(t, bundb, table)
			return func() {
				now := count(t, bundb, table)
				if now < left {
					*steps++
				}
				if left-now > 200 {
					t.Errorf("%d rows of %s were removed at once", left-now, table)
				}
				left = now
			}, steps
		}
		pause, steps := counting("rollcall_pings")
		removed := 0
		for range 10 {
			more, err := store.PrunePings(t.Context(), pause)
			if err != nil {
				t.Fatal(err)
			}
			removed += more
			pause()
		}
		if removed != n-checks.PaidPings || *steps < 6 {
			t.Errorf("%d pings were removed in %d steps, want %d", removed, *steps, n-checks.PaidPings)
		}
		const newFlips = 50
		pause, steps = counting("rollcall_flips")
		flips, err := store.PruneFlips(t.Context(), at.Add((n-newFlips)*time.Second), pause)
		if err != nil || flips != n-newFlips || *steps < 11 {
			t.Errorf("%d flips were removed in %d steps, want %d: %v", flips, *steps, n-newFlips, err)
		}
		log, err := mon.Pings(t.Context(), c.ID)
		if err != nil || len(log) != checks.PaidPings || log[0].N != n {
			t.Errorf("%d pings are left: %v", len(log), err)
		}
	})
}

// count returns how many rows a table has.
func count(t *testing.T, db *bun.DB, table string) (n int) {
	t.Helper()
	if err := db.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPruneByKey prunes a log that has grown since PostgreSQL has analyzed it: what the planner goes by says that it is
// empty, and that reading all of it for each of its parts is cheapest. They are read by the key all the same.
func TestPruneByKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		if db.Name == "sqlite" {
			return // it has no such planner
		}
		_, mon, c := withCheck(t, db)
		bundb := db.Bun(t)
		bundb.SetMaxOpenConns(1) // statistics are those of a connection at first
		store, err := sqlstore.New(bundb)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(query string) {
			t.Helper()
			if _, err := bundb.DB.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		exec("ALTER TABLE rollcall_pings SET (autovacuum_enabled = off)")
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
			t.Fatal(err)
		}
		exec("ANALYZE rollcall_pings")
		const n, more = checks.PaidPings + 200, 100_000
		exec(fmt.Sprintf(`INSERT INTO rollcall_pings (id, check_id, n, kind, at, scheme, method, remote_addr, ua, body_size)
			SELECT id + i, check_id, n + i, kind, at, scheme, method, remote_addr, ua, body_size
			FROM rollcall_pings, generate_series(1, %d) AS i`, more))
		exec(fmt.Sprintf("UPDATE rollcall_states SET n_pings = %d", n))
		before := scanned(t, bundb, "rollcall_pings")
		removed, err := store.PrunePings(t.Context(), nil)
		if err != nil || removed != n-checks.PaidPings {
			t.Errorf("%d pings were removed, want %d: %v", removed, n-checks.PaidPings, err)
		}
		if rows := scanned(t, bundb, "rollcall_pings") - before; rows > 4*more { // to remove few of few, it may be read as a whole
			t.Errorf("%d entries were read beside the index", rows)
		}
	})
}

// TestPruneTogether has servers prune one log at the same time: each entry is removed once.
func TestPruneTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		first, mon, c := withCheck(t, db)
		ping := func(n int) {
			t.Helper()
			addPings(t, first, c.ID, mon.Now(), n, pings.Success)
		}
		ping(checks.PaidPings + 500)
		servers := []*sqlstore.Store{first, db.Open(t), db.Open(t)}
		var removed atomic.Int64
		var group sync.WaitGroup
		for _, s := range servers {
			group.Go(func() {
				for range 4 {
					n, err := s.PrunePings(t.Context(), nil)
					if err != nil {
						t.Error(err)
					}
					removed.Add(int64(n))
				}
			})
		}
		group.Wait()
		if n := removed.Load(); n != 500 {
			t.Errorf("%d pings were removed, want 500", n)
		}
		ping(50)
		total := 0
		for range 4 {
			n, err := servers[0].PrunePings(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if log, err := mon.Pings(t.Context(), c.ID); err != nil || len(log) != checks.PaidPings {
			t.Errorf("%d pings are left, want %d: %v (%d removed)", len(log), checks.PaidPings, err, total)
		}
		if rows := count(t, db.Bun(t), "rollcall_pings"); rows != checks.PaidPings {
			t.Errorf("the log has %d entries, want %d", rows, checks.PaidPings)
		}
	})
}
