// Package dbtest gives tests real databases: an SQLite file, and a database on a throwaway PostgreSQL server that the
// test process starts and stops itself.
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
//			store := db.Open(t)
//			// …
//		})
//	}
//
// Where PostgreSQL's server programs are missing, its tests are skipped; with the environment variable
// ROLLCALL_TEST_REQUIRE=all they fail instead.
package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// server is the PostgreSQL server of this process. The first test that needs it starts it, and Main stops it.
var server cluster

// Main runs the tests of a package and stops the PostgreSQL server if they started one. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is [Main] for a TestMain that has to clean up something itself: it returns the exit status.
func Run(m *testing.M) int {
	defer server.stop()
	return m.Run()
}

// Draws bounds the cases that rapid draws in a test whose cases take long. With -rapid.checks, which .ci/properties sets, it does nothing.
func Draws(t testing.TB, n int) {
	t.Helper()
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			n = 0
		}
	})
	if n == 0 {
		return
	}
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(before) })
}

// DB is a new database: a file that is missing, or a database on PostgreSQL that is migrated.
type DB struct {
	// Name is "sqlite" or "postgres".
	Name string
	// URL is the value of the flag --database: sqlite:PATH or postgres://….
	URL string
}

// Path returns the file of an SQLite database, or "".
func (d DB) Path() string {
	if path, ok := strings.CutPrefix(d.URL, "sqlite:"); ok {
		return path
	}
	return ""
}

// runner is *testing.T or *testing.B.
type runner[T any] interface {
	testing.TB
	Run(name string, fn func(T)) bool
}

// Each runs a test or a benchmark on SQLite and on PostgreSQL.
func Each[T runner[T]](t T, test func(t T, db DB)) {
	t.Helper()
	t.Run("sqlite", func(t T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t T) { test(t, PostgreSQL(t)) })
}

// EachAtRelease is [Each] if the build tag release is set, and otherwise runs the test on SQLite alone. It is for what stands
// above the store, which the contract of the store, the monitor and a part of the server's tests always run on both.
func EachAtRelease[T runner[T]](t T, test func(t T, db DB)) {
	t.Helper()
	if release {
		Each(t, test)
		return
	}
	t.Run("sqlite", func(t T) { test(t, SQLite(t)) })
}

// Size returns how many things a test creates: n, or large if the build tag release is set.
func Size(n, large int) int {
	if release {
		return large
	}
	return n
}

// SQLite returns a database in a file that is removed when the test ends.
func SQLite(t testing.TB) DB {
	return DB{Name: "sqlite", URL: "sqlite:" + filepath.Join(tempDir(t), "rollcall.db")}
}

// Memory returns a migrated store on SQLite in memory until the test ends. It has a single connection.
func Memory(t testing.TB) *sqlstore.Store {
	t.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// PostgreSQL returns a migrated database on the server of this process, or skips the test if PostgreSQL is missing. If
// ROLLCALL_TEST_CITUS has the URL of a database on a coordinator of Citus, it returns a schema there, migrated and
// distributed.
func PostgreSQL(t testing.TB) DB {
	t.Helper()
	if url := os.Getenv("ROLLCALL_TEST_CITUS"); url != "" {
		return onCitus(t, url)
	}
	return plain(t, false)
}

// plain returns a database on the server of this process, which is empty or migrated.
func plain(t testing.TB, empty bool) DB {
	t.Helper()
	if err := server.start(); err != nil {
		if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return DB{Name: "postgres", URL: server.database(t, empty)}
}

// Plain returns a database of the same kind without Citus: d itself, unless ROLLCALL_TEST_CITUS is set. It is for tests of plans, of
// poolers and of the server itself.
func (d DB) Plain(t testing.TB) DB {
	t.Helper()
	if d.Path() != "" || os.Getenv("ROLLCALL_TEST_CITUS") == "" {
		return d
	}
	return plain(t, false)
}

// Empty returns an empty database of the same kind without Citus. It is for tests of migrations.
func (d DB) Empty(t testing.TB) DB {
	t.Helper()
	if d.Path() != "" {
		return d
	}
	return plain(t, true)
}

// Another returns another database of the same kind without rows.
func (d DB) Another(t testing.TB) DB {
	t.Helper()
	if d.Path() != "" {
		return SQLite(t)
	}
	return PostgreSQL(t)
}

// Bun opens the database until the test ends.
func (d DB) Bun(t testing.TB) *bun.DB {
	t.Helper()
	var db *sql.DB
	var err error
	var dialect schema.Dialect = pgdialect.New()
	if path := d.Path(); path != "" {
		dialect = sqlitedialect.New()
		db, err = sqlite.OpenDB(t.Context(), path)
	} else {
		db, err = postgres.OpenDB(patient(d.URL))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return bun.NewDB(db, dialect)
}

// Open returns a migrated store on the database until the test ends. On PostgreSQL it has the pool of servers.
func (d DB) Open(t testing.TB) *sqlstore.Store {
	t.Helper()
	if path := d.Path(); path != "" {
		if err := migrated(path); err != nil {
			t.Fatal(err)
		}
		return OpenOn(t, d.Bun(t))
	}
	store, err := postgres.Open(t.Context(), patient(d.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// patient returns the URL of a database that has two minutes to accept a connection, unless the URL says otherwise: the default is for
// servers, and passes on a machine that is busy.
func patient(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has("connect_timeout") {
		return address
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&connect_timeout=120", "&") // not encoded again: to PostgreSQL + is no space
	return u.String()
}

// OpenOn returns a migrated store on open connections until the test ends.
func OpenOn(t testing.TB, db *bun.DB) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() }) // before its pool
	return store
}
