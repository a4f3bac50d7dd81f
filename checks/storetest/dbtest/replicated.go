package dbtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/storetest/pgserver"
)

// Replicated starts a PostgreSQL server with a standby, which is not synchronous, until the test ends. The URL is of an
// empty database on whichever takes writes. It skips the test if PostgreSQL is missing.
func Replicated(t testing.TB) (primary, standby *pgserver.Server, db DB) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rollcall-pg-") // PostgreSQL may run as another user, who cannot enter t.TempDir
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		primary, err = pgserver.New(t.Context(), filepath.Join(dir, "first"), "fsync=off", "wal_log_hints=on", "wal_keep_size=64MB")
	}
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	if _, err := primary.Create(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if standby, err = primary.Standby(t.Context(), filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	return primary, standby, DB{Name: "postgres", URL: pgserver.URLs("test", primary, standby)}
}
