package dbtest

import (
	"context"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/internal/pgserver"
)

// PostgresServer is a PostgreSQL server that a test or a tool starts, stops and kills, with its files in one directory.
type PostgresServer = pgserver.Server

// ErrNoPostgres means that PostgreSQL's server programs are not installed.
var ErrNoPostgres = pgserver.ErrNotInstalled

// NewServer starts a PostgreSQL server in a directory, for a program that is no test; see [Server].
func NewServer(ctx context.Context, dir string, settings ...string) (*PostgresServer, error) {
	return pgserver.New(ctx, dir, settings...)
}

// URLs returns the URL of a database on whichever of the servers takes writes.
func URLs(database string, servers ...*PostgresServer) string {
	return pgserver.URLs(database, servers...)
}
