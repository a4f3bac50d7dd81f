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
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// addPings records n pings of the given kinds in turn, a second apart.
func addPings(t *testing.T, s *sqlstore.Database, id uuid.UUID, at time.Time, n int, kinds ...pings.Kind) {
	t.Helper()
	must(t, recordWith(t.Context(), s, []uuid.UUID{id}, func(locked []*store.Locked) error {
		for i := range n {
			receive(locked[0], pings.Signal{Kind: kinds[i%len(kinds)]}, at.Add(time.Duration(i)*time.Second))
		}
		return nil
	}))
}

// TestPruneInSmallSteps removes many pings and flips. No transaction removes so many that pings would wait for long.
func TestPruneInSmallSteps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := db.Open(t).Database()
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		mon, err := monitor.New(store, &monitor.Config{Now: func() time.Time { return at }})
		must(t, err)
		c := addCheck(t, mon)
		const n = paidPings + 1100
		addPings(t, store, c.ID, at, n, pings.Success, pings.Failure) // each flips the check
		bundb := db.Bun(t)
		// counting returns a pause that counts what is left of a table, and the number of steps that have removed rows.
		counting := func(table string) (pause func(), steps *int) {
			steps = new(int)
			left := count(t, bundb, table)
			return func() {
				now := count(t, bundb, table)
				if now < left {
					*steps++
				}
				if left-now > 200 {
					t.Errorf("one step removed %d rows of %s, want 200 at most", left-now, table)
				}
				left = now
			}, steps
		}
		pause, steps := counting("rollcall_pings")
		removed := 0
		for range 10 {
			more, err := store.PrunePings(t.Context(), pause)
			must(t, err)
			removed += more
			pause()
		}
		if removed != n-paidPings || *steps < 6 {
			t.Errorf("removed %d pings in %d steps, want %d in 6 at least", removed, *steps, n-paidPings)
		}
		const newFlips = 50
		pause, steps = counting("rollcall_flips")
		flips, err := store.PruneFlips(t.Context(), at.Add((n-newFlips)*time.Second), pause)
		if err != nil || flips != n-newFlips || *steps < 11 {
			t.Errorf("removed %d flips in %d steps, want %d in 11 at least; error %v", flips, *steps, n-newFlips, err)
		}
		log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
		if err != nil || len(log) != paidPings || log[0].N != n {
			t.Errorf("%d pings are left, want %d; error %v", len(log), paidPings, err)
		}
	})
}

// scanned returns how many rows PostgreSQL has read so far by scanning a table. Until they are flushed, statistics belong
// to a connection, so the pool must have only one.
func scanned(t *testing.T, db *bun.DB, table string) (rows int64) {
	t.Helper()
	for _, query := range []string{"SELECT pg_stat_force_next_flush()", "SELECT pg_stat_clear_snapshot()"} {
		_, err := db.DB.ExecContext(t.Context(), query)
		must(t, err)
	}
	must(t, db.DB.QueryRowContext(t.Context(), "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = $1", table).Scan(&rows))
	return rows
}

// TestPruneByKey prunes a log that has grown since PostgreSQL last analyzed it. To the planner the log is empty, and a
// scan of all of it the cheapest way to read each part.
func TestPruneByKey(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	_, mon, c := withCheck(t, db)
	bundb := db.Bun(t)
	bundb.SetMaxOpenConns(1)
	store, err := sqlstore.New(bundb)
	must(t, err)
	exec := func(query string) {
		t.Helper()
		_, err := bundb.DB.ExecContext(t.Context(), query)
		must(t, err)
	}
	exec("ALTER TABLE rollcall_pings SET (autovacuum_enabled = off)")
	_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
	must(t, err)
	exec("ANALYZE rollcall_pings")
	const n, more = paidPings + 200, 100_000
	exec(fmt.Sprintf(`INSERT INTO rollcall_pings (id, check_id, n, kind, at, scheme, method, remote_addr, ua, body_size)
		SELECT id + i, check_id, n + i, kind, at, scheme, method, remote_addr, ua, body_size
		FROM rollcall_pings, generate_series(1, %d) AS i`, more))
	exec(fmt.Sprintf("UPDATE rollcall_states SET n_pings = %d", n))
	before := scanned(t, bundb, "rollcall_pings")
	removed, err := store.Database().PrunePings(t.Context(), nil)
	if err != nil || removed != n-paidPings {
		t.Errorf("removed %d pings, want %d; error %v", removed, n-paidPings, err)
	}
	if rows := scanned(t, bundb, "rollcall_pings") - before; rows > 4*more { // the removal itself may scan the log once
		t.Errorf("read %d entries by scanning the log, want %d at most", rows, 4*more)
	}
}

// TestPruneTogether has several servers prune one log at the same time. Each entry is removed once.
func TestPruneTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		first, mon, c := withCheck(t, db)
		addPings(t, first, c.ID, mon.Now(), paidPings+500, pings.Success)
		var removed atomic.Int64
		var wg sync.WaitGroup
		for _, s := range []*sqlstore.Database{first, db.Open(t).Database(), db.Open(t).Database()} {
			wg.Go(func() {
				for range 4 {
					n, err := s.PrunePings(t.Context(), nil)
					if err != nil {
						t.Error(err)
					}
					removed.Add(int64(n))
				}
			})
		}
		wg.Wait()
		if n := removed.Load(); n != 500 {
			t.Errorf("removed %d pings, want 500", n)
		}
		addPings(t, first, c.ID, mon.Now(), 50, pings.Success)
		for range 4 {
			_, err := first.PrunePings(t.Context(), nil)
			must(t, err)
		}
		if log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{})); err != nil || len(log) != paidPings {
			t.Errorf("the check has %d pings, want %d; error %v", len(log), paidPings, err)
		}
		if rows := count(t, db.Bun(t), "rollcall_pings"); rows != paidPings {
			t.Errorf("the log has %d entries, want %d", rows, paidPings)
		}
	})
}
