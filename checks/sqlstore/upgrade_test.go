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
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// further is a migration that a later version may have: it adds a column to a table with data, fills it from the others,
// and adds a table.
const further = `
ALTER TABLE rollcall_checks ADD COLUMN further TEXT NOT NULL DEFAULT 'unset';
UPDATE rollcall_checks SET further = name || '/' || slug;
CREATE TABLE rollcall_further (id {ID}, owner {UUID} NOT NULL, content {BYTES});
INSERT INTO rollcall_further (owner) SELECT uuid FROM rollcall_checks;
CREATE INDEX rollcall_further_owner ON rollcall_further (owner);
`

// filled is a database of this version with data in every table.
type filled struct {
	db      *bun.DB
	store   *sqlstore.Database
	mon     *monitor.Monitor
	checks  []checks.Check
	version int
	before  []any // the data, as a monitor reads them
}

func newFilled(t *testing.T, db dbtest.DB) *filled {
	t.Helper()
	f := &filled{db: db.Bun(t)}
	f.store = unmigrated(t, f.db)
	var err error
	_, f.version, err = f.store.MigrateFrom(t.Context())
	must(t, err)
	clock := dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	f.mon, err = monitor.New(f.store, &monitor.Config{Now: clock.Now, Channels: standard.Kinds(), DeliveredElsewhere: true})
	must(t, err)
	project, _, err := f.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
	must(t, err)
	_, err = f.mon.Project(project.ID).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
	must(t, err)
	for i := range 5 {
		spec := checks.Spec{Name: new(fmt.Sprintf("job %d ☃", i)), Slug: new(fmt.Sprint("job-", i)), Channels: new("*")}
		c, err := f.mon.Project(project.ID).Create(t.Context(), spec)
		must(t, err)
		for n, kind := range []pings.Kind{pings.Start, pings.Success, pings.Failure, pings.Success} {
			signal := pings.Signal{Kind: kind, Body: []byte(strings.Repeat("output\x00\xff ", n)), RunID: uuid.NullUUID{UUID: c.ID, Valid: true}}
			_, err := f.mon.Ping(t.Context(), c.ID, signal)
			must(t, err)
		}
		f.checks = append(f.checks, *c.Check)
	}
	f.before = f.data(t)
	return f
}

// unmigrated returns a store on a database whose schema may be missing.
func unmigrated(t *testing.T, db *bun.DB) *sqlstore.Database {
	t.Helper()
	store, err := sqlstore.New(db)
	must(t, err)
	return store.Database()
}

// data returns all that the monitor reads of the database.
func (f *filled) data(t *testing.T) []any {
	t.Helper()
	projects, err := f.mon.Projects().List(t.Context())
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	keys, keysErr := f.mon.Project(projects[0].ID).Keys(t.Context())
	list, channelsErr := f.mon.Project(projects[0].ID).Channels(t.Context())
	all := []any{projects, keys, list}
	for _, c := range f.checks {
		now, err := f.mon.Check(t.Context(), c.ID)
		log, logErr := checks.Collect(f.mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
		body, bodyErr := f.mon.Project(c.ProjectID).PingBody(t.Context(), c.ID, 4)
		must(t, errors.Join(keysErr, channelsErr, err, logErr, bodyErr))
		all = append(all, now, log, body)
	}
	return all
}

// unchanged fails the test if the data have changed.
func (f *filled) unchanged(t *testing.T) {
	t.Helper()
	sameCheck := cmp.Comparer(func(a, b checks.Check) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Slug == b.Slug && cmp.Equal(a.State, b.State) && cmp.Equal(a.Channels, b.Channels)
	})
	if diff := cmp.Diff(f.before, f.data(t), sameCheck); diff != "" {
		t.Errorf("the data have changed (-before +after):\n%s", diff)
	}
}

// schemaIs compares the version of the schema and whether the further migration was applied. It must not be there in part.
func (f *filled) schemaIs(t *testing.T, version int, migrated bool) {
	t.Helper()
	var got, n int
	must(t, f.db.NewRaw("SELECT max(version) FROM rollcall_schema").Scan(t.Context(), &got))
	_, columnErr := f.db.ExecContext(t.Context(), "SELECT further FROM rollcall_checks")
	tableErr := f.db.NewRaw("SELECT count(*) FROM rollcall_further").Scan(t.Context(), &n)
	if got != version || (columnErr == nil) != migrated || (tableErr == nil) != migrated {
		t.Errorf("the schema has version %d, want %d; further migration wanted: %v, errors of its column and its table: %v, %v",
			got, version, migrated, columnErr, tableErr)
	}
}

// migratesAfterAll applies the further migration, after attempts that have failed.
func (f *filled) migratesAfterAll(t *testing.T) {
	t.Helper()
	if _, to, err := f.store.MigrateFurther(t.Context(), further); err != nil || to != f.version+1 {
		t.Errorf("migrated to version %d, want %d; error %v", to, f.version+1, err)
	}
	f.unchanged(t)
}

// TestMigrateTogether has several servers migrate an empty database at once.
func TestMigrateTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Empty(t)
		var wg sync.WaitGroup
		for range 6 {
			store := unmigrated(t, db.Bun(t))
			wg.Go(func() {
				if err := store.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		before, after, err := unmigrated(t, db.Bun(t)).MigrateFrom(t.Context())
		if err != nil || before != after || after == 0 {
			t.Errorf("migrated again from version %d to %d, error %v", before, after, err)
		}
	})
}

// TestUpgrade has several servers of a later version start on a database with data. The further migration is applied once.
func TestUpgrade(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		f := newFilled(t, db)
		var steps [4]int
		var wg sync.WaitGroup
		for i := range steps {
			store := unmigrated(t, db.Bun(t))
			wg.Go(func() {
				from, to, err := store.MigrateFurther(t.Context(), further)
				if err != nil || to != f.version+1 {
					t.Errorf("migrated from version %d to %d, error %v", from, to, err)
				}
				steps[i] = to - from
			})
		}
		wg.Wait()
		if sum := steps[0] + steps[1] + steps[2] + steps[3]; sum != 1 {
			t.Errorf("the migration was applied %d times, want once: %v", sum, steps)
		}
		f.schemaIs(t, f.version+1, true)
		var names []string
		must(t, f.db.NewRaw("SELECT c.further FROM rollcall_checks c JOIN rollcall_further o ON o.owner = c.uuid ORDER BY c.id").Scan(t.Context(), &names))
		want := []string{"job 0 ☃/job-0", "job 1 ☃/job-1", "job 2 ☃/job-2", "job 3 ☃/job-3", "job 4 ☃/job-4"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("new column (-want +got):\n%s", diff)
		}
		f.unchanged(t)
		if _, err := f.mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{}); err != nil {
			t.Errorf("a server of the version before it no longer works: %v", err)
		}
		if err := f.store.Migrate(t.Context()); !errors.Is(err, sqlstore.ErrNewerSchema) {
			t.Errorf("a server of the version before it starts: error %v, want ErrNewerSchema", err)
		}
	})
}

// listColumns has the columns by which lists select and sort checks.
type listColumns struct {
	Status, StatusAt, SlowAt int64
	SortName, Search         string
	LastAt, NextAt, DownAt   int64 // 0 for NULL
}

// listed returns the columns of all checks.
func listed(t *testing.T, db *bun.DB) (rows []listColumns) {
	t.Helper()
	must(t, db.NewRaw(`SELECT c.status, c.status_at, c.slow_at, c.sort_name, c.search, coalesce(s.last_at, 0) AS last_at,
		coalesce(s.next_at, 0) AS next_at, coalesce(s.down_at, 0) AS down_at
		FROM rollcall_checks AS c JOIN rollcall_states AS s ON s.check_id = c.id ORDER BY c.id`).Scan(t.Context(), &rows))
	return rows
}

// TestListColumns has something write checks that knows nothing of the columns of lists. The next save writes them as if they had been
// there all along.
func TestListColumns(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		bundb := db.Plain(t).Bun(t)
		f := newFixture(t, dbtest.OpenOn(t, bundb).Database())
		var ids []uuid.UUID
		for i, kinds := range [][]pings.Kind{{}, {pings.Success}, {pings.Failure}, {pings.Success, pings.Start}, {pings.Success}} {
			c := f.create(t, checks.Spec{Name: new(fmt.Sprintf("Übung %d\u202e", i)), Slug: new(fmt.Sprint("s-", i)), Tags: []string{"Prod", "T1"}})
			for n, kind := range kinds {
				f.ping(t, c.ID, pings.Signal{Kind: kind}, noon.Add(time.Duration(n)*time.Minute))
			}
			ids = append(ids, c.ID)
		}
		const paused, slow = 1, 4
		must(t, f.edit(t.Context(), ids[paused], func(l *store.Locked) error {
			l.Pause(noon.Add(time.Minute))
			return nil
		}))
		at := noon
		for _, took := range []time.Duration{1, 1, 1, 1, 1, 1, 1, 60} {
			f.ping(t, ids[slow], pings.Signal{Kind: pings.Start}, at.Add(time.Minute))
			at = at.Add(time.Minute + took*time.Minute)
			f.ping(t, ids[slow], pings.Signal{Kind: pings.Success}, at)
		}
		save := func(settings bool) {
			must(t, recordWith(t.Context(), f, ids, func(locked []*store.Locked) error {
				for _, l := range locked {
					l.SettingsChanged = settings
				}
				return nil
			}))
		}
		want := listed(t, bundb)
		if want[slow].SlowAt != at.UnixMicro() || want[paused].Status != 3 || want[0].LastAt != 0 || want[3].DownAt == 0 {
			t.Fatalf("%+v", want)
		}
		heals := func(what string, heal func(), ignore ...string) {
			t.Helper()
			for _, query := range []string{
				"UPDATE rollcall_checks SET status = 0, status_at = 0, slow_at = 0, sort_name = '', search = ''",
				"UPDATE rollcall_states SET last_at = NULL, next_at = NULL, down_at = NULL, revision = revision + 1",
			} {
				_, err := bundb.ExecContext(t.Context(), query)
				must(t, err)
			}
			heal()
			if diff := cmp.Diff(want, listed(t, bundb), cmpopts.IgnoreFields(listColumns{}, ignore...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		heals("save of states", func() { save(false) }, "SortName", "Search") // which follow from the settings
		heals("save of settings", func() { save(true) })
	})
}

// TestUnreleased opens databases that builds from before the first release have created. All that opens them is refused, names the commit
// that can open them, and leaves them as they are.
func TestUnreleased(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		f := newFilled(t, db.Plain(t))
		for _, version := range []int{1, 2, 16, 28, 29, 99, f.version - 1} {
			commit := "65c3c07bd9553ed0bda24380fa726db73f25c545"
			if version == 100 {
				commit = "b1b168f218eb583bb88f58834bec0fd8bab8a061"
			}
			_, err := f.db.NewRaw("UPDATE rollcall_schema SET version = ?", version).Exec(t.Context())
			must(t, err)
			_, open := sqlstore.Open(t.Context(), f.db)
			store := unmigrated(t, f.db)
			for what, err := range map[string]error{"open": open, "migrate": store.Migrate(t.Context()), "probe": store.Probe(t.Context(), true)} {
				if !errors.Is(err, sqlstore.ErrUnreleased) || errors.Is(err, checks.ErrUnavailable) || errors.Is(err, sqlstore.ErrNotMigrated) ||
					!strings.Contains(err.Error(), fmt.Sprintf("version %d, and commit %s is the last one", version, commit)) {
					t.Errorf("version %d, %s: error %v", version, what, err)
				}
			}
			f.schemaIs(t, version, false)
		}
		f.unchanged(t)
	})
}

// TestMonthsOfNewerVersion adds a day to a month of a later version, which stays as it is. A ping is recorded all the same.
func TestMonthsOfNewerVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		bundb := db.Bun(t)
		s := dbtest.OpenOn(t, bundb).Database()
		c := addCheck(t, monitorOn(t, s))
		save := func() {
			must(t, recordWith(t.Context(), s, []uuid.UUID{c.ID}, func(locked []*store.Locked) error {
				locked[0].Days = []checks.Day{{Date: date(3, 1), Totals: checks.Totals{Runs: 1}}}
				return nil
			}))
		}
		save()
		const newer = `{"version":2,"days":{"1":1}}`
		_, err := bundb.NewRaw("UPDATE rollcall_months SET stats = ?", newer).Exec(t.Context())
		must(t, err)
		save()
		var stats string
		must(t, bundb.NewRaw("SELECT stats FROM rollcall_months").Scan(t.Context(), &stats))
		if stats != newer {
			t.Errorf("the month is %s", stats)
		}
		if _, err := s.Months(t.Context(), c.ID, date(3, 1), date(3, 1)); err == nil || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("error %v, want one that names the version", err)
		}
	})
}

// TestUpgradeThatFails applies migrations that end in an error or lose their connection. They leave everything as it was.
func TestUpgradeThatFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		f := newFilled(t, db)
		endings := []string{"SELECT nonsense FROM nowhere;", "syntax error", "INSERT INTO rollcall_settings (name, value) VALUES ('a', NULL);"}
		if db.Name == "postgres" {
			endings = append(endings, "SELECT pg_terminate_backend(pg_backend_pid());")
		}
		for _, ending := range endings {
			if _, _, err := f.store.MigrateFurther(t.Context(), further+ending); err == nil {
				t.Errorf("no error from %s", ending)
			}
			f.schemaIs(t, f.version, false)
		}
		f.unchanged(t)
		f.migratesAfterAll(t)
	})
}

// TestUpgradeKilled kills a process in the middle of a migration: this program, which runs itself. On SQLite alone, as on
// PostgreSQL it is the server that notices, like in TestUpgradeThatFails.
func TestUpgradeKilled(t *testing.T) {
	const variable = "ROLLCALL_TEST_UPGRADE_KILLED"
	if url := os.Getenv(variable); url != "" {
		must(t, sqlite.RegisterScalarFunction("die", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return nil, err
		}))
		_, _, err := unmigrated(t, dbtest.DB{URL: url}.Bun(t)).MigrateFurther(t.Context(), further+"SELECT die();")
		t.Fatalf("still alive: %v", err)
	}
	db := dbtest.SQLite(t)
	f := newFilled(t, db)
	child := exec.Command(os.Args[0], "-test.run=^TestUpgradeKilled$")
	child.Env = append(os.Environ(), variable+"="+db.URL)
	output, err := child.CombinedOutput()
	if err == nil || strings.Contains(string(output), "still alive") || child.ProcessState.Exited() {
		t.Fatalf("the process was not killed: %v: %s", err, output)
	}
	f.schemaIs(t, f.version, false)
	f.unchanged(t)
	f.migratesAfterAll(t)
}

// TestMigrateWithoutRights starts as a PostgreSQL user who may not create tables. That works as long as no migration is
// missing.
func TestMigrateWithoutRights(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	f := newFilled(t, db)
	role := "limited_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err := f.db.ExecContext(t.Context(), strings.ReplaceAll(`
CREATE ROLE limited LOGIN;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO limited;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO limited;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO limited;`, "limited", role))
	must(t, err)
	t.Cleanup(func() { // a role belongs to the whole server
		_, _ = f.db.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
	})
	limited := dbtest.DB{Name: db.Name, URL: strings.Replace(db.URL, "postgres://postgres@", "postgres://"+role+"@", 1)}
	store := unmigrated(t, limited.Bun(t))
	if before, after, err := store.MigrateFrom(t.Context()); err != nil || before != f.version || after != f.version {
		t.Errorf("migrated from version %d to %d, want %d all along; error %v", before, after, f.version, err)
	}
	if _, err := monitorOn(t, store).Ping(t.Context(), f.checks[0].ID, pings.Signal{}); err != nil {
		t.Error(err)
	}
	if _, _, err := store.MigrateFurther(t.Context(), further); err == nil || !strings.Contains(err.Error(), "_further.sql") {
		t.Errorf("further migration: error %v, want one that names the file", err)
	}
	f.schemaIs(t, f.version, false)
}
