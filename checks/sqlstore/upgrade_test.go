package sqlstore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// further is a migration as a later version may have: it changes a table that has data, fills the new column from the
// old ones, and adds a table.
const further = `
ALTER TABLE rollcall_checks ADD COLUMN further TEXT NOT NULL DEFAULT 'unset';
UPDATE rollcall_checks SET further = name || '/' || slug;
CREATE TABLE rollcall_further (id {ID}, owner {UUID} NOT NULL, content {BYTES});
INSERT INTO rollcall_further (owner) SELECT uuid FROM rollcall_checks;
CREATE INDEX rollcall_further_owner ON rollcall_further (owner);
`

// filled is a database of this version with something in it.
type filled struct {
	db      *bun.DB
	store   *sqlstore.Store
	mon     *monitor.Monitor
	checks  []checks.Check
	now     time.Time
	version int
}

func newFilled(t *testing.T, db dbtest.DB) *filled {
	t.Helper()
	f := &filled{db: db.Bun(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	if f.store, err = sqlstore.New(f.db); err != nil {
		t.Fatal(err)
	}
	if _, f.version, err = f.store.MigrateFrom(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.mon, err = monitor.New(f.store, &monitor.Config{Now: func() time.Time { return f.now }}); err != nil {
		t.Fatal(err)
	}
	project, _, err := f.mon.CreateProject(t.Context(), monitor.ProjectSpec{Name: "jobs"})
	if err == nil {
		_, err = f.mon.CreateChannel(t.Context(), project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		c, err := f.mon.Create(t.Context(), project.ID, checks.Spec{Name: new(fmt.Sprintf("job %d ☃", i)), Slug: new(fmt.Sprint("job-", i)), Channels: new("*")})
		if err != nil {
			t.Fatal(err)
		}
		for n, kind := range []pings.Kind{pings.Start, pings.Success, pings.Fail, pings.Success} {
			signal := pings.Signal{Kind: kind, Body: []byte(strings.Repeat("output\x00\xff ", n)), RunID: uuid.NullUUID{UUID: c.ID, Valid: true}}
			if _, err := f.mon.Ping(t.Context(), c.ID, signal); err != nil {
				t.Fatal(err)
			}
		}
		f.checks = append(f.checks, c)
	}
	return f
}

// state is what the monitor tells of all that is in the database.
func (f *filled) state(t *testing.T, mon *monitor.Monitor) []any {
	t.Helper()
	var all []any
	projects, err := mon.Projects(t.Context())
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	keys, keysErr := mon.Keys(t.Context(), projects[0].ID)
	list, channelsErr := mon.Channels(t.Context(), projects[0].ID)
	all = append(all, projects, keys, list)
	for _, c := range f.checks {
		now, err := mon.Check(t.Context(), c.ID)
		log, logErr := mon.Pings(t.Context(), c.ID)
		body, bodyErr := mon.PingBody(t.Context(), c.ID, 4)
		if err := errors.Join(keysErr, channelsErr, err, logErr, bodyErr); err != nil {
			t.Fatal(err)
		}
		all = append(all, now, log, body)
	}
	return all
}

// equal compares what a monitor tells with what was told before.
func (f *filled) equal(t *testing.T, before []any) {
	t.Helper()
	opts := cmp.Options{cmp.Comparer(func(a, b checks.Check) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Slug == b.Slug && cmp.Equal(a.State, b.State) && cmp.Equal(a.Channels, b.Channels)
	})}
	if diff := cmp.Diff(before, f.state(t, f.mon), opts); diff != "" {
		t.Errorf("the data have changed (-before +after):\n%s", diff)
	}
}

// schema returns the version that is written down, and whether there is anything of the further migration.
func (f *filled) schema(t *testing.T) (version int, further bool) {
	t.Helper()
	if err := f.db.NewRaw("SELECT max(version) FROM rollcall_schema").Scan(t.Context(), &version); err != nil {
		t.Fatal(err)
	}
	var n int
	_, columnErr := f.db.ExecContext(t.Context(), "SELECT further FROM rollcall_checks")
	tableErr := f.db.NewRaw("SELECT count(*) FROM rollcall_further").Scan(t.Context(), &n)
	if (columnErr == nil) != (tableErr == nil) {
		t.Fatalf("half of the migration is there: %v, %v", columnErr, tableErr)
	}
	return version, columnErr == nil
}

// TestUpgrade: a later version with a further migration takes a database over with all its data, once.
func TestUpgrade(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		f := newFilled(t, db)
		before := f.state(t, f.mon)
		const servers = 4
		var migrated [servers]int
		var wg sync.WaitGroup
		for i := range servers {
			store, err := sqlstore.New(db.Bun(t))
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				from, to, err := store.MigrateFurther(t.Context(), further)
				if err != nil || to != f.version+1 {
					t.Errorf("from %d to %d, %v", from, to, err)
				}
				migrated[i] = to - from
			})
		}
		wg.Wait()
		if sum := migrated[0] + migrated[1] + migrated[2] + migrated[3]; sum != 1 {
			t.Errorf("the step was made %d times", sum)
		}
		if version, there := f.schema(t); version != f.version+1 || !there {
			t.Errorf("version %d, further %v", version, there)
		}
		var names []string
		err := f.db.NewRaw("SELECT c.further FROM rollcall_checks c JOIN rollcall_further o ON o.owner = c.uuid ORDER BY c.id").Scan(t.Context(), &names)
		if diff := cmp.Diff([]string{"job 0 ☃/job-0", "job 1 ☃/job-1", "job 2 ☃/job-2", "job 3 ☃/job-3", "job 4 ☃/job-4"}, names); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		f.equal(t, before)
		if _, err := f.mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{}); err != nil {
			t.Error(err)
		}
		// The version before it says so, and changes nothing.
		if err := f.store.Migrate(t.Context()); !errors.Is(err, sqlstore.ErrNewerSchema) {
			t.Errorf("an older version: %v", err)
		}
	})
}

// TestUpgradeThatFails: a migration that ends in an error, that is given up or whose connection dies leaves everything
// as it was, and can be made again.
func TestUpgradeThatFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		f := newFilled(t, db)
		before := f.state(t, f.mon)
		broken := []string{further + "SELECT nonsense FROM nowhere;", further + "syntax error", further + "INSERT INTO rollcall_settings (name, value) VALUES ('a', NULL);"}
		if db.Name == "postgres" {
			broken = append(broken, further+"SELECT pg_terminate_backend(pg_backend_pid());")
		}
		for _, sql := range broken {
			if _, _, err := f.store.MigrateFurther(t.Context(), sql); err == nil {
				t.Errorf("no error from %s", sql[len(further):])
			}
			if version, there := f.schema(t); version != f.version || there {
				t.Errorf("%s: version %d, further %v", sql[len(further):], version, there)
			}
		}
		f.equal(t, before)
		if _, to, err := f.store.MigrateFurther(t.Context(), further); err != nil || to != f.version+1 {
			t.Errorf("to %d, %v", to, err)
		}
		f.equal(t, before)
	})
}

// TestUpgradeKilled: a process that is killed in the middle of a migration leaves everything as it was. This process
// runs itself as the one that is killed; on PostgreSQL it is the server that notices.
func TestUpgradeKilled(t *testing.T) {
	const variable = "ROLLCALL_TEST_UPGRADE_KILLED"
	if url := os.Getenv(variable); url != "" {
		err := sqlite.RegisterScalarFunction("die", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return nil, err
		})
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlstore.New(dbtest.DB{URL: url}.Bun(t))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = store.MigrateFurther(t.Context(), further+"SELECT die();")
		t.Fatalf("still alive: %v", err)
	}
	db := dbtest.SQLite(t)
	f := newFilled(t, db)
	before := f.state(t, f.mon)
	child := exec.Command(os.Args[0], "-test.run=^TestUpgradeKilled$")
	child.Env = append(os.Environ(), variable+"="+db.URL)
	output, err := child.CombinedOutput()
	if err == nil || strings.Contains(string(output), "still alive") || child.ProcessState.Exited() {
		t.Fatalf("the process was not killed: %v: %s", err, output)
	}
	if version, there := f.schema(t); version != f.version || there {
		t.Errorf("version %d, further %v", version, there)
	}
	f.equal(t, before)
	if _, to, err := f.store.MigrateFurther(t.Context(), further); err != nil || to != f.version+1 {
		t.Errorf("to %d, %v", to, err)
	}
	f.equal(t, before)
}

// TestMigrateWithoutRights: a user of PostgreSQL who may not create tables can use a database that is up to date, and
// is told so of one that is not.
func TestMigrateWithoutRights(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	f := newFilled(t, db)
	role := "limited_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err := f.db.ExecContext(t.Context(), strings.ReplaceAll(`
CREATE ROLE limited LOGIN;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO limited;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO limited;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO limited;`, "limited", role))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // roles belong to the whole server
		_, _ = f.db.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
	})
	limited := dbtest.DB{Name: db.Name, URL: strings.Replace(db.URL, "postgres://postgres@", "postgres://"+role+"@", 1)}
	store, err := sqlstore.New(limited.Bun(t))
	if err != nil {
		t.Fatal(err)
	}
	if before, after, err := store.MigrateFrom(t.Context()); err != nil || before != f.version || after != f.version {
		t.Errorf("from %d to %d: %v", before, after, err)
	}
	mon := monitorOn(t, store)
	if _, err := mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{}); err != nil {
		t.Error(err)
	}
	if _, _, err := store.MigrateFurther(t.Context(), further); err == nil || !strings.Contains(err.Error(), "9999_further.sql") {
		t.Errorf("a further migration: %v", err)
	}
	if version, there := f.schema(t); version != f.version || there {
		t.Errorf("version %d, further %v", version, there)
	}
}
