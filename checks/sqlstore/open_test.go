package sqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/rollcall-dev/rollcall/checks"
	internal "github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestOpenOwnPool opens a store on a pool that the program uses too, twice. Close leaves the pool open.
func TestOpenOwnPool(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Empty(t).Bun(t)
		_, err := pool.Exec("CREATE TABLE invoices (id INTEGER)")
		must(t, err)
		for range 2 {
			store, err := sqlstore.Open(t.Context(), pool)
			must(t, err)
			_, err = monitorOn(t, store).OpenProject(t.Context(), "jobs")
			must(t, err)
			must(t, store.Close())
			var name string
			must(t, pool.QueryRow("SELECT name FROM rollcall_projects").Scan(&name))
			if name != "jobs" {
				t.Errorf("the project is %q", name)
			}
		}
		_, err = pool.Exec("INSERT INTO invoices VALUES (1)")
		must(t, err)
	})
}

// TestOpenRefuses passes the dialect of the other database, and no pool.
func TestOpenRefuses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Empty(t).Bun(t)
		var other schema.Dialect = pgdialect.New()
		if pool.Dialect().Name() == dialect.PG {
			other = sqlitedialect.New()
		}
		if _, err := sqlstore.Open(t.Context(), bun.NewDB(pool.DB, other)); err == nil || !strings.Contains(err.Error(), "pass its own dialect") {
			t.Errorf("the other dialect: error %v", err)
		}
		for _, none := range []*bun.DB{nil, bun.NewDB(nil, pool.Dialect())} {
			if _, err := sqlstore.Open(t.Context(), none); err == nil {
				t.Error("no pool: no error")
			}
		}
		var tables int
		must(t, pool.QueryRow("SELECT count(*) FROM "+map[string]string{
			"sqlite":   "sqlite_schema WHERE name LIKE 'rollcall%'",
			"postgres": "pg_tables WHERE tablename LIKE 'rollcall%'",
		}[db.Name]).Scan(&tables))
		if tables != 0 {
			t.Errorf("Open left %d tables", tables)
		}
	})
}

// TestNotMigrated uses a store on an empty database, on a migrated one, and on one that lacks a column. Each method names what was
// forgotten.
func TestNotMigrated(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Empty(t).Bun(t)
		store, err := sqlstore.New(pool)
		must(t, err)
		mon := monitorOn(t, store)
		calls := func() map[string]error {
			_, open := mon.OpenProject(t.Context(), "jobs")
			_, list := mon.Projects().List(t.Context())
			_, create := mon.Project(uuid.New()).Create(t.Context(), checks.Spec{})
			_, check := mon.Check(t.Context(), uuid.New())
			_, ping := mon.Ping(t.Context(), uuid.New(), pings.Signal{Kind: pings.Success})
			_, _, slug := mon.PingSlug(t.Context(), "key", "slug", true, pings.Signal{})
			steps := mon.Tick(t.Context())
			_, secret := mon.Installation().Secret(t.Context(), "badges")
			_, setting := store.Database().Setting(t.Context(), time.Now(), internal.Setting{Name: "name", Value: "value"})
			return map[string]error{"OpenProject": open, "Projects": list, "Create": create, "Check": check, "Ping": ping, "PingSlug": slug,
				"Tick": steps, "Secret": secret, "Setting": setting, "Probe": store.Database().Probe(t.Context(), true)}
		}
		for name, err := range calls() {
			if !errors.Is(err, sqlstore.ErrNotMigrated) || !strings.Contains(err.Error(), "open the store with sqlstore.Open, or call its Migrate") {
				t.Errorf("%s on an empty database: error %v", name, err)
			}
			if err != nil && strings.Count(err.Error(), "is not migrated") != 1 {
				t.Errorf("%s repeats itself: %v", name, err)
			}
		}
		must(t, store.Migrate(t.Context()))
		for name, err := range calls() {
			if errors.Is(err, sqlstore.ErrNotMigrated) {
				t.Errorf("%s on a migrated database: error %v", name, err)
			}
		}
		_, err = pool.ExecContext(t.Context(), "ALTER TABLE rollcall_checks RENAME COLUMN record_only TO other")
		must(t, err)
		if _, err := mon.Check(t.Context(), uuid.New()); !errors.Is(err, sqlstore.ErrNotMigrated) {
			t.Errorf("Check without a column: error %v", err)
		}
	})
}
