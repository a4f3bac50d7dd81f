package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

// citusShards is the number of shards in tests. Few are enough to have checks in several.
const citusShards = "8"

var schemas atomic.Int64

// onCitus returns a schema in a database of Citus: to make a database there takes seconds.
func onCitus(t testing.TB, coordinator string) DB {
	t.Helper()
	schema := inSchema(t, coordinator, map[string]string{"citus.shard_count": citusShards})
	store, err := postgres.Open(t.Context(), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	on := store.Contract().(interface {
		Distribute(context.Context) (changed bool, err error)
	})
	if _, err := on.Distribute(t.Context()); err != nil {
		t.Fatal(err)
	}
	return DB{Name: "postgres", URL: schema}
}

// inSchema makes a schema in a database, which lasts until the test ends, and returns the URL of the database with the
// schema and other parameters.
func inSchema(t testing.TB, database string, parameters map[string]string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test%d_%d", os.Getpid(), schemas.Add(1))
	run(t, database, "CREATE SCHEMA "+name)
	t.Cleanup(func() { run(t, database, "DROP SCHEMA "+name+" CASCADE") })
	query := u.Query()
	query.Set("search_path", name)
	for parameter, value := range parameters {
		query.Set(parameter, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// run runs a statement, again if it meets a deadlock, as with other tests that make or drop tables in the database.
func run(t testing.TB, url, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for {
		_, err := db.ExecContext(context.Background(), statement) // also after the end of the test
		if failure, ok := errors.AsType[*pgconn.PgError](err); ok && failure.Code == "40P01" {
			continue
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
}
