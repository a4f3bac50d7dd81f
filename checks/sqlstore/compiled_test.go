package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"sync"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
)

// compiler opens connections to SQLite and notes the statements that they compile.
type compiler struct {
	driver.Connector

	mu       sync.Mutex
	compiled []string
	open     int // statements that are not closed
}

func (c *compiler) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return compilingConn{conn.(sqliteConn), c}, nil
}

func (c *compiler) note(text string, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != "" {
		c.compiled = append(c.compiled, text)
	}
	c.open += open
}

// take returns the statements since the last call.
func (c *compiler) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.compiled = nil }()
	return c.compiled
}

// sqliteConn is what database/sql uses of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type compilingConn struct {
	sqliteConn
	compiler *compiler
}

func (c compilingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.compiler.note(query, 1)
	return compiledStmt{stmt.(sqliteStmt), c.compiler}, nil
}

func (c compilingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.compiler.note(query, 0)
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c compilingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.compiler.note(query, 0)
	return c.sqliteConn.QueryContext(ctx, query, args)
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type compiledStmt struct {
	sqliteStmt
	compiler *compiler
}

func (s compiledStmt) Close() error {
	s.compiler.note("", -1)
	return s.sqliteStmt.Close()
}

// TestPingCompilesNothing: pings compile no statement after the first, not even after a migration, unless each has
// its own connection. A closed store leaves no statement open in the program's pool.
func TestPingCompilesNothing(t *testing.T) {
	for _, test := range []struct {
		name, dsn   string
		open, idle  int
		compileMore bool
	}{
		{"memory", "file::memory:", 1, 1, false},
		{"file", "file:" + filepath.Join(t.TempDir(), "a.db"), 8, 8, false},
		{"a connection for each ping", "file:" + filepath.Join(t.TempDir(), "b.db"), 1, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			connector, err := sqlite.NewConnector(test.dsn + "?_foreign_keys=1&_txlock=immediate&_busy_timeout=10000&_journal_mode=WAL")
			must(t, err)
			c := &compiler{Connector: connector}
			pool := sql.OpenDB(c)
			defer pool.Close()
			pool.SetMaxOpenConns(test.open)
			pool.SetMaxIdleConns(test.idle)
			store, err := sqlstore.Open(t.Context(), bun.NewDB(pool, sqlitedialect.New()))
			must(t, err)
			mon := monitorOn(t, store)
			check := addCheck(t, mon)
			ping := func() {
				t.Helper()
				if _, err := mon.Ping(t.Context(), check.ID, pings.Signal{Kind: pings.Success}); err != nil {
					t.Fatal(err)
				}
			}
			ping() // sets the bound for the watcher, too
			c.take()
			ping()
			ping()
			if got := c.take(); len(got) > 0 != test.compileMore {
				t.Errorf("two pings compiled %q", got)
			}
			_, err = pool.Exec("ALTER TABLE rollcall_pings ADD COLUMN later TEXT; ALTER TABLE rollcall_states ADD COLUMN later TEXT")
			must(t, err)
			c.take()
			ping()
			if got := c.take(); len(got) > 0 != test.compileMore {
				t.Errorf("a ping after a migration compiled %q", got)
			}
			must(t, store.Close())
			if c.open != 0 {
				t.Errorf("the closed store has left %d statements open", c.open)
			}
		})
	}
}
