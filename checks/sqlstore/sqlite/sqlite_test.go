package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/checks"
	internal "github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpen opens a new file and then the same file again, and finds the ping. A closed store closes its file.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	for start := range 2 {
		store, err := sqlite.Open(t.Context(), path)
		must(t, err)
		if before, after := store.Migrated(); after == 0 || (before == 0) != (start == 0) || start == 1 && before != after {
			t.Errorf("start %d: migrated from %d to %d", start+1, before, after)
		}
		mon, err := monitor.New(store, nil)
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "jobs")
		must(t, err)
		if start == 0 {
			_, err := project.Create(t.Context(), checks.Spec{Slug: new("backup")})
			must(t, err)
		}
		known, err := mon.Projects().ByID(t.Context(), project.ID())
		must(t, err)
		ping, _, err := mon.PingSlug(t.Context(), known.PingKey, "backup", false, pings.Signal{Kind: pings.Success})
		if err != nil || ping.N != int64(start+1) {
			t.Errorf("start %d: ping %d, error %v", start+1, ping.N, err)
		}
		must(t, store.Close())
		must(t, store.Close())
		if _, err := mon.OpenProject(t.Context(), "jobs"); err == nil {
			t.Error("the store works after Close")
		}
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("SQLite has not closed the file: %v", err)
		}
	}
}

// TestReplaced opens connections while the file is removed, and while a copy is in its place. None of them leads to another file,
// also later, when the file is back, and a connection that was open before keeps what its log has.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	db, err := sqlite.OpenDB(t.Context(), path)
	must(t, err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE kept (n INTEGER)")
	must(t, err)
	open, err := db.Conn(t.Context())
	must(t, err)
	defer open.Close()
	_, err = open.ExecContext(t.Context(), "INSERT INTO kept VALUES (0)") // in the log alone
	must(t, err)
	db.SetMaxIdleConns(0) // each statement opens a connection
	must(t, os.Rename(path, path+".kept"))
	fails := func(when string) {
		t.Helper()
		_, err := db.Exec("INSERT INTO kept VALUES (1)")
		if !errors.Is(err, internal.ErrReplaced) || !errors.Is(err, internal.ErrUnavailable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", when, err)
		}
		var n int
		if err := open.QueryRowContext(t.Context(), "SELECT count(*) FROM kept").Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: a connection that was open before finds %d rows, error %v", when, n, err)
		}
	}
	fails("removed")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was created again: %v", err)
	}
	content, err := os.ReadFile(path + ".kept")
	must(t, err)
	must(t, os.WriteFile(path, content, 0o600))
	fails("replaced")
	must(t, os.Rename(path+".kept", path))
	if _, err := db.Exec("INSERT INTO kept VALUES (2)"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM kept").Scan(&n); err != nil || n != 2 {
		t.Errorf("afterwards there are %d rows, error %v", n, err)
	}
}

// TestOpenFails opens what is no database. The error names the path and says what is wrong.
func TestOpenFails(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("dir", 0o700))
	must(t, os.WriteFile("junk", []byte(strings.Repeat("This is not a database. ", 10)), 0o600))
	newer, err := sqlite.OpenDB(t.Context(), "newer.db")
	must(t, err)
	_, err = newer.Exec("CREATE TABLE rollcall_schema (version BIGINT NOT NULL); INSERT INTO rollcall_schema VALUES (1000000)")
	must(t, errors.Join(err, newer.Close()))
	for path, want := range map[string]string{
		"":             "sqlite: the path is empty",
		"dir":          "sqlite: dir is a directory",
		"dir/":         "sqlite: dir/ is a directory",
		"junk":         "sqlite: junk is not an SQLite database",
		"junk/jobs.db": "sqlite: junk/jobs.db cannot be opened: not a directory",
		"/dev/null":    "sqlite: /dev/null is not a regular file",
		"no/jobs.db":   "sqlite: no/jobs.db cannot be created: no such file or directory",
		"nul\x00.db":   "sqlite: nul\x00.db cannot be opened: invalid argument",
	} {
		store, err := sqlite.Open(t.Context(), path)
		if err == nil || err.Error() != want || store != nil {
			t.Errorf("%q: store %v, error %v, want %s", path, store, err, want)
		}
	}
	if _, err := sqlite.Open(t.Context(), "newer.db"); !errors.Is(err, sqlstore.ErrNewerSchema) {
		t.Errorf("a newer schema: error %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := sqlite.Open(ended, "jobs.db"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of ctx: error %v", err)
	}
}

// TestExplain has a file that is locked, and one that cannot be written.
func TestExplain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(t.Context(), path)
	must(t, err)
	must(t, store.Close())
	db, err := sqlite.OpenWithin(t.Context(), path, 50*time.Millisecond)
	must(t, err)
	defer db.Close()
	other := conn(t, path)
	_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	_, err = sqlstore.Open(t.Context(), bun.NewDB(db, sqlitedialect.New()))
	if got := sqlite.Explain(err); got != "is locked by another process" || !errors.Is(err, checks.ErrUnavailable) {
		t.Errorf("%v is explained as %q", err, got)
	}
	_, err = other.ExecContext(t.Context(), "ROLLBACK; PRAGMA query_only = 1")
	must(t, err)
	_, err = other.ExecContext(t.Context(), "DELETE FROM rollcall_schema")
	if got := sqlite.Explain(err); got != "is read-only" {
		t.Errorf("%v is explained as %q", err, got)
	}
	for _, err := range []error{nil, checks.ErrNotFound} {
		if got := sqlite.Explain(err); got != "" {
			t.Errorf("%v is explained as %q", err, got)
		}
	}
}

// conn returns a connection to a file, of a pool of its own.
func conn(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sqlite.OpenDB(t.Context(), path)
	must(t, err)
	c, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { c.Close(); db.Close() })
	return c
}

// TestOpenTogether opens a new file from several goroutines at once, as processes that start together do. SQLite does not
// wait when two connections turn on write-ahead logging.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	failed := make(chan error)
	const n = 8
	for range n {
		go func() {
			store, err := sqlite.Open(t.Context(), path)
			if err == nil {
				err = store.Close()
			}
			failed <- err
		}()
	}
	for range n {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestChdir changes the working directory. Later connections open the same file.
func TestChdir(t *testing.T) {
	t.Chdir(t.TempDir())
	store, err := sqlite.Open(t.Context(), "jobs.db")
	must(t, err)
	must(t, store.Close())
	db, err := sqlite.OpenDB(t.Context(), "jobs.db")
	must(t, err)
	defer db.Close()
	first, err := db.Conn(t.Context())
	must(t, err)
	defer first.Close()
	t.Chdir(t.TempDir())
	var n int
	must(t, db.QueryRow("SELECT count(*) FROM rollcall_projects").Scan(&n))
}

// TestReadersDoNotWait reads while a transaction writes.
func TestReadersDoNotWait(t *testing.T) {
	db, err := sqlite.OpenDB(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	must(t, err)
	defer db.Close()
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	var n int
	must(t, db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n))
}

// TestMemory opens two databases in memory, which share nothing. A context that ends does not empty one.
func TestMemory(t *testing.T) {
	one, err := sqlite.Open(t.Context(), sqlite.Memory)
	must(t, err)
	defer one.Close()
	other, err := sqlite.Open(t.Context(), sqlite.Memory)
	must(t, err)
	defer other.Close()
	for i, store := range []*sqlstore.Store{one, other, one} {
		ctx, cancel := context.WithCancel(t.Context())
		got, err := store.Contract().(internal.Store).Setting(ctx, time.Now(), internal.Setting{Name: "name", Value: fmt.Sprint(i)})
		must(t, err)
		if want := fmt.Sprint(i % 2); got.Value != want {
			t.Errorf("call %d returned %q, want %q", i, got.Value, want)
		}
		cancel()
		if _, err := store.Contract().(internal.Store).Setting(ctx, time.Now(), internal.Setting{Name: "name"}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}
