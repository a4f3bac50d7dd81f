package dbtest

import (
	"errors"
	"os"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
)

// Replicated starts a PostgreSQL server with a standby, which is not synchronous, until the test ends. The URL is of an
// empty database on whichever takes writes. It skips the test if PostgreSQL is missing.
func Replicated(t testing.TB) (primary, standby *pgserver.Server, db DB) {
	t.Helper()
	primary = Server(t, "wal_log_hints=on", "wal_keep_size=64MB")
	dir := serverDir(t)
	if _, err := primary.Create(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	standby, err := primary.Standby(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	return primary, standby, DB{Name: "postgres", URL: pgserver.URLs("test", primary, standby)}
}

// Server starts a PostgreSQL server that the test may stop and start. It ends with the test. Without
// PostgreSQL's programs the test is skipped.
func Server(t testing.TB, settings ...string) *pgserver.Server {
	t.Helper()
	server, err := pgserver.New(t.Context(), serverDir(t), append([]string{"fsync=off", "rollcall.accepts=fsync"}, settings...)...)
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// serverDir returns a new directory that is removed after the test. PostgreSQL may run as another user, who cannot enter
// t.TempDir.
func serverDir(t testing.TB) string {
	t.Helper()
	dir, err := clusterDir()
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
