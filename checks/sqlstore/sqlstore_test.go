package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestContract(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Bun(t)
		if db.Path() == "" { // connect as servers do
			pool = bun.NewDB(db.Open(t).Database().Pool(), pgdialect.New())
		}
		runContract(t, onPool(pool))
	})
}

// TestContractOneConnection finds whatever waits for a second connection inside a transaction.
func TestContractOneConnection(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Bun(t)
		pool.SetMaxOpenConns(1)
		runContract(t, onPool(pool))
	})
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// monitorOn returns a monitor with default settings.
func monitorOn(t testing.TB, store monitor.Store) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(store, nil)
	must(t, err)
	return mon
}

// addCheck adds a check with default settings.
func addCheck(t testing.TB, mon *monitor.Monitor) checks.Check {
	t.Helper()
	project, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	c, err := project.Create(t.Context(), checks.Spec{})
	must(t, err)
	return *c.Check
}

// withCheck opens a store and adds a check to it.
func withCheck(t *testing.T, db dbtest.DB) (*sqlstore.Database, *monitor.Monitor, checks.Check) {
	t.Helper()
	store := db.Open(t).Database()
	mon := monitorOn(t, store)
	return store, mon, addCheck(t, mon)
}

// record gives each of some checks the same signal, in one transaction.
func record(t testing.TB, s *sqlstore.Database, ids []uuid.UUID, signal pings.Signal, at time.Time) {
	t.Helper()
	must(t, recordWith(t.Context(), s, ids, func(locked []*store.Locked) error {
		for _, l := range locked {
			receive(l, signal, at)
		}
		return nil
	}))
}

// count returns how many rows a table has.
func count(t *testing.T, db *bun.DB, table string) (rows int) {
	t.Helper()
	must(t, db.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows))
	return rows
}
