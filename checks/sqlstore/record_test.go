package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// monitorOn makes a monitor on a store, with default settings.
func monitorOn(t testing.TB, store *sqlstore.Store) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

// receive gives each of some checks the same signal.
func receive(signal pings.Signal, at time.Time) func(locked []*monitor.Locked) error {
	return func(locked []*monitor.Locked) error {
		for _, l := range locked {
			c, ping, effects := l.Check.Ping(signal, at)
			l.Pings = append(l.Pings, ping)
			l.Apply(c, effects)
		}
		return nil
	}
}

// record saves what fn does to checks, as the writer of pings does.
func record(ctx context.Context, store *sqlstore.Store, ids []uuid.UUID, fn func(locked []*monitor.Locked) error) error {
	return store.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		if err := fn(locked); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, locked)
	})
}

// addCheck makes a check with default settings.
func addCheck(t testing.TB, mon *monitor.Monitor) checks.Check {
	t.Helper()
	project, err := mon.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	c, err := mon.Create(t.Context(), project.ID, checks.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestServersShareChecks has three servers take the pings of the same checks in turn, so that what each has cached is
// stale at nearly every ping.
func TestServersShareChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var servers []*monitor.Monitor
		for range 3 {
			servers = append(servers, monitorOn(t, db.Open(t)))
		}
		c := addCheck(t, servers[0])
		const n = 300
		for i := range int64(n) {
			p, err := servers[(i/(1+i%7))%3].Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
			if err != nil || p.N != i+1 {
				t.Fatalf("ping %d has the number %d: %v", i+1, p.N, err)
			}
		}
		if _, err := servers[1].Update(t.Context(), c.ID, checks.Spec{Methods: new("POST")}); err != nil {
			t.Fatal(err)
		}
		for _, mon := range servers {
			p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success, Scheme: "http", Method: "GET"})
			if err != nil || p.Kind != pings.Ignored {
				t.Errorf("a server has not seen the new settings: %s, %v", p.Kind, err)
			}
		}
		list, err := servers[2].Pings(t.Context(), c.ID)
		if err != nil || len(list) != n+3 || list[0].N != n+3 {
			t.Errorf("%d entries in the log: %v", len(list), err)
		}
	})
}

// breaking is a connection that loses the answer to a commit once it is armed, after or before the commit was done.
type breaking struct {
	*stdlib.Conn
	after, before *atomic.Bool
	broken        *atomic.Int64
	between       func() // what happens after the commit and before its answer is lost
}

func (b breaking) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := b.Conn.BeginTx(ctx, opts)
	return breakingTx{tx, b}, err
}

type breakingTx struct {
	driver.Tx
	conn breaking
}

func (tx breakingTx) Commit() error {
	if tx.conn.before.CompareAndSwap(true, false) {
		tx.conn.broken.Add(1)
		return errors.Join(tx.Tx.Rollback(), io.ErrUnexpectedEOF)
	}
	err := tx.Tx.Commit()
	if err == nil && tx.conn.after.CompareAndSwap(true, false) {
		tx.conn.broken.Add(1)
		tx.conn.between()
		return io.ErrUnexpectedEOF
	}
	return err
}

type breakingConnector struct {
	driver.Connector
	breaks breaking
}

func (c breakingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	broken := c.breaks
	broken.Conn = conn.(*stdlib.Conn)
	return broken, nil
}

// TestLostCommit breaks connections to PostgreSQL while a ping is committed: whether or not the commit was done, the ping
// is there once.
func TestLostCommit(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	db.Open(t)
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	between := func() {}
	b := breaking{
		after: new(atomic.Bool), before: new(atomic.Bool), broken: new(atomic.Int64), between: func() { between() },
	}
	sqldb := sql.OpenDB(breakingConnector{stdlib.GetConnector(*config), b})
	defer sqldb.Close()
	store, err := sqlstore.New(bun.NewDB(sqldb, pgdialect.New()))
	if err != nil {
		t.Fatal(err)
	}
	mon := monitorOn(t, store)
	c := addCheck(t, mon)
	for i, arm := range []*atomic.Bool{nil, b.after, b.before, nil, b.after, b.after} {
		if arm != nil {
			arm.Store(true)
		}
		p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		if err != nil || p.N != int64(i+1) {
			t.Errorf("ping %d has the number %d: %v", i+1, p.N, err)
		}
	}
	list, err := mon.Pings(t.Context(), c.ID)
	if err != nil || len(list) != 6 || b.broken.Load() != 4 {
		t.Errorf("%d pings, want 6, with %d broken connections, want 4: %v", len(list), b.broken.Load(), err)
	}
	// When another server has pinged the check meanwhile, nobody can tell: the ping is not acknowledged, and there once.
	other := monitorOn(t, db.Open(t))
	between = func() {
		if _, err := other.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log}); err != nil {
			t.Error(err)
		}
	}
	b.after.Store(true)
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); !errors.Is(err, monitor.ErrUnavailable) {
		t.Errorf("a ping of which nobody knows: %v, want %v", err, monitor.ErrUnavailable)
	}
	if list, err = mon.Pings(t.Context(), c.ID); err != nil || len(list) != 8 || list[0].Kind != pings.Log {
		t.Errorf("%d pings, want 8: %v", len(list), err)
	}
}

// TestRowChangedByHand has somebody change the row of a state, but not its revision, while a ping waits for its lock: the
// ping is written all the same, once and as a whole.
func TestRowChangedByHand(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	mon := monitorOn(t, db.Open(t))
	c := addCheck(t, mon)
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil { // from now on it is cached
		t.Fatal(err)
	}
	sqldb, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer sqldb.Close()
	tx, err := sqldb.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`UPDATE rollcall_states SET last_start = last_start`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		done <- err
	}()
	for waiting := 0; waiting == 0; {
		err := sqldb.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	list, err := mon.Pings(t.Context(), c.ID)
	if err != nil || len(list) != 2 || list[0].N != 2 {
		t.Errorf("%d pings, want 2: %v", len(list), err)
	}
	if got, err := mon.Check(t.Context(), c.ID); err != nil || got.NPings != 2 {
		t.Errorf("the check counts %d pings, want 2: %v", got.NPings, err)
	}
}

// scanned returns how many rows PostgreSQL has read so far by going through a table, on the one connection of a pool.
func scanned(t *testing.T, db *bun.DB, table string) (rows int64) {
	t.Helper()
	// Before PostgreSQL 15 statistics were sent with a delay.
	const flush = "DO $$ BEGIN IF current_setting('server_version_num')::int >= 150000 THEN PERFORM pg_stat_force_next_flush(); END IF; END $$"
	for _, query := range []string{flush, "SELECT pg_stat_clear_snapshot()"} {
		if _, err := db.DB.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	err := db.DB.QueryRowContext(t.Context(), "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = $1", table).Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRecordByPlace writes batches where a planner that goes by the number of pages would rather read all states, as
// they have few: PostgreSQL does not go through the table for a batch.
func TestRecordByPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		if db.Name == "sqlite" {
			return // it has no such planner
		}
		bundb := db.Bun(t)
		bundb.SetMaxOpenConns(1)
		store := dbtest.OpenOn(t, bundb)
		mon := monitorOn(t, store)
		var ids []uuid.UUID
		for range 300 {
			ids = append(ids, addCheck(t, mon).ID)
		}
		if _, err := bundb.DB.ExecContext(t.Context(), "VACUUM ANALYZE rollcall_states"); err != nil {
			t.Fatal(err)
		}
		write := func() {
			t.Helper()
			for first := 0; first < len(ids); first += 50 {
				err := record(t.Context(), store, ids[first:first+50], receive(pings.Signal{Kind: pings.Success}, mon.Now()))
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		write() // they are read
		before := scanned(t, bundb, "rollcall_states")
		write()
		write()
		if rows := scanned(t, bundb, "rollcall_states") - before; rows > 0 {
			t.Errorf("%d states were read by going through the table", rows)
		}
	})
}
