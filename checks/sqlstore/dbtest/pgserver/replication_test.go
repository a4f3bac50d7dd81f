package pgserver_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// publicDir returns a directory that the user of the server can enter.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rollcall-pg-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// TestFailover lets two servers take over from each other. What was committed is on both, and what the killed server
// wrote alone is gone once it has joined the other.
func TestFailover(t *testing.T) {
	primary, err := pgserver.New(t.Context(), publicDir(t), "fsync=off", "wal_log_hints=on", "wal_keep_size=64MB")
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { primary.Stop() })
	standby, err := primary.Standby(t.Context(), publicDir(t))
	must(t, err)
	t.Cleanup(func() { standby.Stop() })

	exec(t, pgserver.URLs("postgres", standby, primary), "CREATE TABLE t (n int)")
	must(t, primary.Set(t.Context(), "synchronous_commit", "remote_apply"))
	must(t, primary.Synchronize(t.Context()))
	exec(t, primary.URL("postgres"), "INSERT INTO t VALUES (1)")
	wantRows(t, standby, 1) // remote_apply: the standby shows what is committed

	must(t, primary.Set(t.Context(), "synchronous_standby_names", ""))
	standby.Kill()
	standby.Kill()
	exec(t, primary.URL("postgres"), "INSERT INTO t VALUES (2)") // nobody else has it
	primary.Kill()
	must(t, standby.Start(t.Context()))
	must(t, standby.Promote(t.Context()))
	exec(t, pgserver.URLs("postgres", primary, standby), "INSERT INTO t VALUES (3), (4)")

	unwound, err := primary.Rejoin(t.Context(), standby)
	must(t, errors.Join(err, unwound))
	must(t, standby.Set(t.Context(), "synchronous_commit", "remote_apply"))
	must(t, standby.Synchronize(t.Context()))
	wantRows(t, primary, 3)

	// And back, by a base backup, because the former primary has lost its files.
	standby.Kill()
	must(t, primary.Promote(t.Context()))
	must(t, standby.Lose())
	unwound, err = standby.Rejoin(t.Context(), primary)
	must(t, err)
	if unwound == nil {
		t.Error("pg_rewind has mended a server without files")
	}
	must(t, primary.Synchronize(t.Context()))
	wantRows(t, standby, 3)
}

func exec(t *testing.T, url, query string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	must(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), query)
	must(t, err)
}

func wantRows(t *testing.T, s *pgserver.Server, want int) {
	t.Helper()
	db, err := sql.Open("pgx", s.URL("postgres"))
	must(t, err)
	defer db.Close()
	var rows int
	must(t, db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT count(*) FROM t").Scan(&rows))
	if rows != want {
		t.Errorf("the server on port %d has %d rows, want %d", s.Port(), rows, want)
	}
}
