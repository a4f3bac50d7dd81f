package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A statement with parameters has a fixed text, such as those of a ping, and pgx prepares it once on a connection. A statement
// without has its values in the text, which seldom comes again: prepared, it would take memory of the server and of the session
// for nothing. A pooler that shares the sessions of the server among its clients may lose prepared statements. Then pgx only
// caches the descriptions of those with parameters, and has them parsed at each use.

// keptStatements is how many statements a connection keeps prepared, unless the URL sets statement_cache_capacity.
const keptStatements = 64

// leanConn is a connection of a store's own pool. It prepares no statement without parameters, unless it is asked to.
type leanConn struct{ *stdlib.Conn }

// QueryContext runs a query. One without parameters takes one round trip; pgx's ExecContext needs no help with those.
func (c leanConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		args = []driver.NamedValue{{Ordinal: 1, Value: pgx.QueryExecModeExec}}
	}
	return c.Conn.QueryContext(ctx, query, args)
}

// open connects to a host for the pool.
func (c *connector) open(ctx context.Context, h host) (driver.Conn, error) {
	conn, err := c.openPooled(ctx, h)
	if err != nil || !c.lean {
		return conn, err
	}
	return leanConn{conn.(*stdlib.Conn)}, nil
}

// openPooled is open as pgx does it. It finds out what a pooler in between does with prepared statements.
func (c *connector) openPooled(ctx context.Context, h host) (driver.Conn, error) {
	conn, err := h.pool.Connect(ctx)
	if err != nil || c.reparse.Load() || h.config.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return conn, err
	}
	limited, cancel := context.WithTimeout(ctx, h.config.ConnectTimeout)
	defer cancel()
	kept, err := keepsStatements(limited, conn.(*stdlib.Conn).Conn())
	if err == nil && kept {
		return conn, nil
	}
	_ = conn.Close()
	if err != nil {
		return nil, err
	}
	c.reparse.Store(true)
	return h.pool.Connect(ctx)
}

// configure prepares the configuration of a connection of the pool. A session that a pooler shares may receive the
// notifications of another client; the connection drops them, where pgx would keep them forever.
func (c *connector) configure(_ context.Context, config *pgx.ConnConfig) error {
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	if c.reparse.Load() {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return nil
}

// keepsStatements reports whether statements that are prepared on a connection stay. A pooler invents the process ID that
// it sends at the start. One that keeps prepared statements renames them.
func keepsStatements(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var pid int64
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	if err != nil || pid == int64(conn.PgConn().PID()) {
		return true, err
	}
	tx, err := conn.Begin(ctx) // in one session
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	name := uuid.NewString()
	if _, err := tx.Prepare(ctx, name, "SELECT 1"); err != nil {
		return false, err
	}
	var unchanged bool
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = $1)",
		pgx.QueryExecModeSimpleProtocol, name).Scan(&unchanged)
	if err != nil {
		return false, err
	}
	return !unchanged, conn.Deallocate(ctx, name)
}
