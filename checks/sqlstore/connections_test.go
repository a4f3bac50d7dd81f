package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestDeadConnections ends all connections of a pool, as a restart of PostgreSQL does. A ping that meets a dead one is
// written over another, once.
func TestDeadConnections(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	pool := db.Bun(t)
	mon := monitorOn(t, dbtest.OpenOn(t, pool).Database())
	check := addCheck(t, mon)
	admin := db.Bun(t)
	var numbers []int64
	for restart := range 3 {
		fill(t, pool)
		fill(t, pool) // the driver tests a connection before its second use, but not one that was just used again
		_, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		must(t, err)
		ping, err := mon.Ping(t.Context(), check.ID, pings.Signal{UserAgent: fmt.Sprint(restart)})
		if err != nil {
			t.Errorf("first ping after restart %d: %v", restart+1, err)
		}
		numbers = append(numbers, ping.N)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, numbers); diff != "" {
		t.Errorf("ping numbers (-want +got):\n%s", diff)
	}
}

// fill opens all connections of a pool.
func fill(t *testing.T, pool *bun.DB) {
	t.Helper()
	var conns []bun.Conn
	for range pool.DB.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		must(t, err)
		conns = append(conns, conn)
	}
	var wg sync.WaitGroup
	for _, conn := range conns {
		wg.Go(func() { conn.Close() })
	}
	wg.Wait()
}

// breaker breaks connections at a commit.
type breaker struct {
	driver.Connector
	beforeCommit, afterCommit atomic.Bool // break the next commit, once
	broken                    atomic.Int64
	between                   func() // called after a commit whose answer is lost
}

func (b *breaker) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return breakingConn{conn.(*stdlib.Conn), b}, nil
}

type breakingConn struct {
	*stdlib.Conn
	breaker *breaker
}

func (c breakingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	return breakingTx{tx, c.breaker}, err
}

type breakingTx struct {
	driver.Tx
	breaker *breaker
}

func (tx breakingTx) Commit() error {
	b := tx.breaker
	if b.beforeCommit.CompareAndSwap(true, false) {
		b.broken.Add(1)
		return errors.Join(tx.Tx.Rollback(), io.ErrUnexpectedEOF)
	}
	err := tx.Tx.Commit()
	if err == nil && b.afterCommit.CompareAndSwap(true, false) {
		b.broken.Add(1)
		b.between()
		return io.ErrUnexpectedEOF
	}
	return err
}

// TestLostCommit breaks connections to PostgreSQL while they commit a ping. The ping is there once, whether or not the
// server committed it.
func TestLostCommit(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	db.Open(t).Database()
	config, err := pgx.ParseConfig(db.URL)
	must(t, err)
	b := &breaker{Connector: stdlib.GetConnector(*config), between: func() {}}
	sqldb := sql.OpenDB(b)
	defer sqldb.Close()
	store, err := sqlstore.Open(t.Context(), bun.NewDB(sqldb, pgdialect.New()))
	must(t, err)
	mon := monitorOn(t, store)
	c := addCheck(t, mon)
	for i, arm := range []*atomic.Bool{nil, &b.afterCommit, &b.beforeCommit, nil, &b.afterCommit, &b.afterCommit} {
		if arm != nil {
			arm.Store(true)
		}
		p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		if err != nil || p.N != int64(i+1) {
			t.Errorf("ping %d has number %d, error %v", i+1, p.N, err)
		}
	}
	log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
	if err != nil || len(log) != 6 || b.broken.Load() != 4 {
		t.Errorf("the log has %d pings after %d broken commits, want 6 after 4; error %v", len(log), b.broken.Load(), err)
	}

	// If another server pings the check in between, nobody can tell whether the commit was done: the ping is not
	// acknowledged, and it is there once.
	other := monitorOn(t, db.Open(t).Database())
	b.between = func() {
		if _, err := other.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log}); err != nil {
			t.Error(err)
		}
	}
	b.afterCommit.Store(true)
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); !errors.Is(err, checks.ErrUnavailable) {
		t.Errorf("ping with an unknown outcome: error %v, want ErrUnavailable", err)
	}
	if log, err = checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{})); err != nil || len(log) != 8 || log[0].Kind != pings.Log {
		t.Errorf("the log has %d pings, want 8; error %v", len(log), err)
	}
}

// TestLockedSQLite has another process lock the file. A transaction waits until its context ends, and not for the busy timeout, or
// until the lock is gone. Connections that go back to the pool have its busy timeout.
func TestLockedSQLite(t *testing.T) {
	db := dbtest.SQLite(t)
	pool := db.Bun(t)
	_, err := pool.ExecContext(t.Context(), "PRAGMA busy_timeout = 600000") // of the only connection so far
	must(t, err)
	s := dbtest.OpenOn(t, pool)
	other, err := db.Bun(t).Conn(t.Context())
	must(t, err)
	write := func(ctx context.Context) error {
		return s.Database().Update(ctx, func(context.Context, store.Tx) error { return nil })
	}
	for range 2 {
		_, err = other.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
		must(t, err)
		var fault store.Fault
		for try := 0; try < 100 && fault == ""; try++ { // its time may end before it tries
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			err = write(ctx)
			cancel()
			if fault, _ = errors.AsType[store.Fault](err); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while the file is locked: %v", err)
			}
		}
		if !errors.Is(err, checks.ErrUnavailable) || fault != "is locked by another process" {
			t.Errorf("while the file is locked: %v", err)
		}
		written := make(chan error)
		go func() { written <- write(t.Context()) }()
		select {
		case err := <-written:
			t.Errorf("while the file is locked: %v", err)
		case <-time.After(250 * time.Millisecond):
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // behind the one that waits
		err = write(ctx)
		cancel()
		if fault, _ := errors.AsType[store.Fault](err); fault != "is locked by another process" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("behind another transaction: %v", err)
		}
		_, err = other.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
		must(t, <-written)
	}
	must(t, s.Close())
	var timeout int
	must(t, pool.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&timeout))
	if timeout != 600000 {
		t.Errorf("busy timeout of the pool afterwards: %d", timeout)
	}
}

// TestPreparedStatements does what a server does on one connection to PostgreSQL. The statements of pings stay prepared in its
// session, and none that has values in its text, unless the URL asks for that.
func TestPreparedStatements(t *testing.T) {
	for mode, wants := range map[string]func(parameters bool) bool{
		"":                func(parameters bool) bool { return parameters },
		"cache_statement": func(bool) bool { return true },
		"exec":            func(bool) bool { return false },
		"cache_describe":  func(bool) bool { return false },
	} {
		t.Run("mode "+mode, func(t *testing.T) {
			db := dbtest.PostgreSQL(t)
			u, err := url.Parse(db.URL)
			must(t, err)
			if parameters := u.Query(); mode != "" {
				parameters.Set("default_query_exec_mode", mode)
				u.RawQuery = parameters.Encode()
			}
			store, err := postgres.Open(t.Context(), u.String())
			must(t, err)
			defer store.Close()
			pool := store.Database().Pool()
			pool.SetMaxOpenConns(1)
			mon := monitorOn(t, store.Database())
			check := addCheck(t, mon)
			project := mon.Project(check.ProjectID)
			prepared := func() (texts []string) {
				rows, err := pool.Query("SELECT statement FROM pg_prepared_statements")
				must(t, err)
				defer rows.Close()
				for rows.Next() {
					var text string
					must(t, rows.Scan(&text))
					texts = append(texts, text)
				}
				return texts
			}
			var before []string
			for range 3 {
				before = prepared()
				for range 10 {
					_, err := mon.Ping(t.Context(), check.ID, pings.Signal{})
					must(t, err)
					_, err = project.List(t.Context(), checks.ListQuery{Now: time.Now()})
					must(t, err)
					_, err = project.RecentPings(t.Context(), []uuid.UUID{check.ID}, time.Now(), 5)
					must(t, err)
				}
			}
			texts := prepared()
			if mode == "" && len(texts) != len(before) {
				t.Errorf("%d statements are prepared, and before that %d", len(texts), len(before))
			}
			for _, text := range texts {
				if !wants(strings.Contains(text, "$1")) {
					t.Errorf("prepared: %.200s", text)
				}
			}
			for _, part := range []string{"FOR UPDATE", "nextval('rollcall_pings_ids')", "INSERT INTO rollcall_pings"} {
				kept := slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) && strings.Contains(text, "$1") })
				if kept != wants(true) {
					t.Errorf("the statement with %q is prepared: %t", part, kept)
				}
			}
		})
	}
}
