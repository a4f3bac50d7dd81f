package sqlstore_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/checks/storetest"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
)

// TestContractOnPartitions finds whatever relies on the place of a row, or on a key without the check.
func TestContractOnPartitions(t *testing.T) {
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("the tables are distributed already")
	}
	storetest.Run(t, func(t *testing.T) store.Store {
		db := dbtest.PostgreSQL(t)
		store := db.Open(t)
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
	})
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
