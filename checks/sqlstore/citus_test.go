package sqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

// onSpreadTables are the requirements that read or write the tables that Citus spreads.
var onSpreadTables = []string{
	"UpdateRollsBack", "LostUpdates", "LockOrder", "LockMissing", "StateRoundTrip", "SettingsAndState", "FindChecks",
	"MoveCheck", "DeleteCheck", "Batches", "MixedBatch", "BatchesWithBodies", "ConcurrentBatches",
	"PingLog", "PingBodies", "Transitions", "RecentPings", "LastFailures", "LastDurations", "Unfolded",
	"DueChecks", "DueChecksAreShared", "DeadlinesAreLazy", "DueRuns",
	"PrunePings", "PruneInSteps", "PruneWhilePinged", "PruneLogOfDeleted", "DeleteProject", "AlertRules", "Alerts",
	"Uploads", "UploadsAreShared", "UploadOfPrunedPing", "ObjectsOfPrunedPings", "KeysAreNotReused", "Probes", "Backlog",
}

// TestContractOnPartitions finds whatever relies on the place of a row, or on a key without the check.
func TestContractOnPartitions(t *testing.T) {
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("the tables are distributed already")
	}
	all := dbtest.PostgreSQL(t)
	runContract(t, func(t *testing.T) *sqlstore.Database {
		db := all.Another(t)
		store := db.Open(t).Database()
		query := "CREATE TABLE rollcall_commits (n BIGINT);"
		for table, key := range map[string]string{"rollcall_states": "check_id", "rollcall_pings": "id, check_id"} {
			query += fmt.Sprintf(`ALTER TABLE %[1]s DROP CONSTRAINT %[1]s_pkey, ADD PRIMARY KEY (%[2]s);
				ALTER TABLE %[1]s RENAME TO plain; CREATE TABLE %[1]s (LIKE plain INCLUDING ALL) PARTITION BY HASH (check_id);
				DROP TABLE plain;`, table, key)
			for i := range 4 {
				query += fmt.Sprintf("CREATE TABLE %[1]s_%[2]d PARTITION OF %[1]s FOR VALUES WITH (MODULUS 4, REMAINDER %[2]d);", table, i)
			}
		}
		_, err := db.Bun(t).DB.ExecContext(t.Context(), query)
		must(t, err)
		store.Spread(4)
		return store
	}, onSpreadTables...)
}

// TestShards compares the hash of keys with PostgreSQL's.
func TestShards(t *testing.T) {
	db := dbtest.PostgreSQL(t).Bun(t).DB
	for _, key := range []int64{0, 1, -1, 2, 4711, -4711, 1 << 32, 1<<40 + 5, math.MaxInt64, math.MinInt64} {
		var want int32
		must(t, db.QueryRowContext(t.Context(), "SELECT hashint8($1)", key).Scan(&want))
		if got := sqlstore.HashInt64(key); got != want {
			t.Errorf("the hash of %d is %d, want %d", key, got, want)
		}
	}
}

func TestDistributeNeedsCitus(t *testing.T) {
	if _, err := dbtest.SQLite(t).Open(t).Distribute(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SQLite: %v", err)
	}
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("this PostgreSQL has Citus")
	}
	if _, err := dbtest.PostgreSQL(t).Open(t).Distribute(t.Context()); !errors.Is(err, sqlstore.ErrNotCitus) {
		t.Errorf("PostgreSQL: %v", err)
	}
}

// lastWords is the error that Citus makes of the end of a worker's server.
type lastWords struct{}

func (lastWords) Error() string {
	return "ERROR: terminating connection due to unexpected postmaster exit (SQLSTATE XX000)"
}

func (lastWords) SQLState() string { return "XX000" }

// TestWorkerDied takes the death of a worker for an outage, so that a ping is answered 503 or goes to the spool.
func TestWorkerDied(t *testing.T) {
	if err := sqlstore.Translate(lastWords{}); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}

// TestWorker opens a worker of the cluster: nothing may be made there.
func TestWorker(t *testing.T) {
	coordinator, err := url.Parse(os.Getenv("ROLLCALL_TEST_CITUS"))
	must(t, err)
	if coordinator.Host == "" {
		t.Skip("ROLLCALL_TEST_CITUS is not set")
	}
	var worker string
	query := "SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE groupid > 0 LIMIT 1"
	must(t, dbtest.PostgreSQL(t).Bun(t).DB.QueryRowContext(t.Context(), query).Scan(&worker))
	coordinator.Host = worker
	if _, err := postgres.Open(t.Context(), coordinator.String()); !errors.Is(err, sqlstore.ErrWorker) {
		t.Errorf("Open: %v", err)
	}
	db, err := sql.Open("pgx", coordinator.String())
	must(t, err)
	defer db.Close()
	var made bool
	must(t, db.QueryRowContext(t.Context(), "SELECT to_regclass('rollcall_schema') IS NOT NULL").Scan(&made))
	if made {
		t.Error("there are tables on the worker")
	}
}
