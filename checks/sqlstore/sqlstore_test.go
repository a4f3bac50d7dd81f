package sqlstore_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestContract(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) monitor.Store { return dbtest.SQLite(t).Open(t) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) monitor.Store { return dbtest.PostgreSQL(t).Open(t) })
	})
}

// TestContractOneConnection finds what would wait for a second connection inside a transaction.
func TestContractOneConnection(t *testing.T) {
	for name, open := range map[string]func(testing.TB) dbtest.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.PostgreSQL} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) monitor.Store {
				db := open(t).Bun(t)
				db.SetMaxOpenConns(1)
				return dbtest.OpenOn(t, db)
			})
		})
	}
}

func TestMigrateTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var wg sync.WaitGroup
		for range 6 {
			store, err := sqlstore.New(db.Bun(t))
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if err := store.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		store, err := sqlstore.New(db.Bun(t))
		if err != nil {
			t.Fatal(err)
		}
		before, after, err := store.MigrateFrom(t.Context())
		if err != nil || before != after || after == 0 {
			t.Errorf("migrated again from %d to %d: %v", before, after, err)
		}
	})
}

func TestNewerSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		bundb := db.Bun(t)
		store := dbtest.OpenOn(t, bundb)
		if _, err := bundb.ExecContext(t.Context(), "UPDATE rollcall_schema SET version = 1000"); err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); !errors.Is(err, sqlstore.ErrNewerSchema) {
			t.Errorf("error %v, want ErrNewerSchema", err)
		}
	})
}

// TestCheckThatCannotBeEvaluated has one check among others whose zone is not known any more: the others are watched
// as before, and it goes down.
func TestCheckThatCannotBeEvaluated(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		project, err := mon.OpenProject(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		for _, schedule := range []string{"0 3 * * *", "0 4 * * *"} {
			c, err := mon.Create(t.Context(), project.ID, checks.Spec{Schedule: &schedule})
			if err == nil {
				_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Bun(t).ExecContext(t.Context(), "UPDATE rollcall_checks SET tz = 'Mars/Phobos' WHERE schedule = '0 3 * * *'"); err != nil {
			t.Fatal(err)
		}
		now = now.AddDate(0, 0, 2)
		if n, err := mon.Sweep(t.Context()); n != 2 || err != nil {
			t.Errorf("%d checks went down, want 2; %v", n, err)
		}
		if list, err := mon.Checks(t.Context(), project.ID, monitor.CheckQuery{}); len(list) != 2 || err != nil {
			t.Errorf("%d checks are listed, %v", len(list), err)
		}
	})
}
