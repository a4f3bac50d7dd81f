package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// By default, pgx prepares each statement once on a connection. A pooler that shares the sessions of the server among its
// clients may lose prepared statements. Then pgx only caches their descriptions, and has them parsed at each use.

// open connects to a host for the pool.
func (c *connector) open(ctx context.Context, h host) (driver.Conn, error) {
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
