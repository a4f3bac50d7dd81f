package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// backwards changes the tables in the opposite of the order in which servers lock them.
func backwards(round int) string {
	var text strings.Builder
	for _, table := range []string{"deliveries", "flips", "pings", "states", "check_channels", "checks", "projects", "accounts"} {
		fmt.Fprintf(&text, "ALTER TABLE rollcall_%s ADD COLUMN further_%d BIGINT;\n", table, round)
	}
	return text.String()
}

// load pings, edits and lists checks on two monitors, and returns a function that ends it. Each ping must be recorded.
func load(t *testing.T, db dbtest.DB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	var ids []uuid.UUID
	for i := range 2 {
		mon, err := monitor.New(db.Open(t), &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true, WriteTimeout: patience})
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "jobs")
		must(t, err)
		if i == 0 {
			_, err = project.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
			must(t, err)
			for range 10 {
				c, err := project.Create(t.Context(), checks.Spec{Channels: new("*")})
				must(t, err)
				ids = append(ids, c.ID)
			}
		}
		must(t, mon.Start(t.Context()))
		t.Cleanup(func() { _ = mon.Stop(context.Background()) })
		for n, id := range ids {
			working.Go(func() {
				for i := n; ctx.Err() == nil; i++ {
					kind := []pings.Kind{pings.Success, pings.Failure}[i%2]
					if _, err := mon.Ping(context.WithoutCancel(ctx), id, pings.Signal{Kind: kind, Body: []byte("output")}); err != nil {
						t.Errorf("a ping was refused: %v", err)
					}
				}
			})
		}
		working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = project.Update(ctx, ids[i%len(ids)], checks.Spec{Name: new(fmt.Sprint("name ", i))})
				_, _ = checks.Collect(project.EachCheck(ctx, checks.Query{}))
			}
		})
	}
	return func() { cancel(); working.Wait() }
}

// TestMigrateBesideServers migrates while two servers work, in tables that they lock in another order. No migration fails, and no
// ping is refused.
func TestMigrateBesideServers(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	pool := db.Bun(t)
	s := unmigrated(t, pool)
	must(t, s.Migrate(t.Context()))
	defer load(t, db)()
	for round := range 20 {
		before, after, err := s.MigrateFurther(t.Context(), backwards(round))
		if err != nil || after != before+1 {
			t.Fatalf("round %d: migrated from version %d to %d: %v", round, before, after, err)
		}
		_, err = pool.ExecContext(t.Context(), "UPDATE rollcall_schema SET version = version - 1")
		must(t, err)
	}
}

// TestMigrateWaits has somebody read a table in a transaction that stays open. The migration says so and waits, pings are recorded
// meanwhile, and once the transaction ends, the migration is done. If its context ends first, its error says what it waited for.
func TestMigrateWaits(t *testing.T) {
	t.Parallel() // it waits
	db := dbtest.PostgreSQL(t).Plain(t)
	f := newFilled(t, db)
	reader, err := db.Bun(t).BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = reader.Rollback() }()
	_, err = reader.ExecContext(t.Context(), "SELECT count(*) FROM rollcall_flips")
	must(t, err)
	for _, ends := range []bool{true, false} {
		said := make(chan string, 100)
		ctx, cancel := context.WithCancel(sqlstore.WithLogger(t.Context(), slog.New(slog.NewTextHandler(lines(said), nil))))
		defer cancel()
		migrated := make(chan error)
		go func() {
			_, _, err := f.store.MigrateFurther(ctx, further)
			migrated <- err
		}()
		if line := <-said; !strings.Contains(line, "the table rollcall_flips, locked by process") || !strings.Contains(line, "idle in transaction") {
			t.Errorf("the log says %s", line)
		}
		_, err = f.mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{Kind: pings.Log})
		must(t, err)
		if ends {
			cancel()
			if err := <-migrated; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waited for the table rollcall_flips") {
				t.Errorf("after its context has ended: %v", err)
			}
			f.schemaIs(t, f.version, false)
			continue
		}
		must(t, reader.Rollback())
		must(t, <-migrated)
		f.schemaIs(t, f.version+1, true)
	}
}

// lines is a writer that passes on each line of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestNewerSchema has a later version migrate the database of a store that is in use, and opens it again. As long as tables and columns
// are only added, all works. If one that pings need is gone, every error says why, and none advises to migrate.
func TestNewerSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		f := newFilled(t, db)
		id := f.checks[0].ID
		if f.store.Newer() {
			t.Error("the store takes its own schema for a newer one")
		}
		_, _, err := f.store.MigrateFurther(t.Context(), further)
		must(t, err)
		again := db.Open(t)
		must(t, again.Migrate(t.Context()))
		for _, mon := range []*monitor.Monitor{f.mon, monitorOn(t, again)} {
			_, err := mon.Ping(t.Context(), id, pings.Signal{Kind: pings.Log})
			must(t, err)
			must(t, mon.Probe(t.Context()))
			if database := mon.Health(t.Context())[0]; !database.OK() || !strings.Contains(database.Detail, newerText) {
				t.Errorf("health: %+v", database)
			}
		}
		for _, column := range []string{"rollcall_pings RENAME COLUMN ua", "rollcall_projects RENAME COLUMN name"} {
			_, err = f.db.ExecContext(t.Context(), "ALTER TABLE "+column+" TO lost")
			must(t, err)
		}
		_, ping := f.mon.Ping(t.Context(), id, pings.Signal{})
		_, list := f.mon.Projects().List(t.Context())
		_, opened := sqlstore.Open(t.Context(), f.db)
		for what, err := range map[string]error{"ping": ping, "list": list, "write": f.store.Probe(t.Context(), true), "open": opened} {
			if !errors.Is(err, sqlstore.ErrNewerSchema) || !errors.Is(err, checks.ErrUnavailable) || !strings.Contains(err.Error(), newerText) ||
				errors.Is(err, sqlstore.ErrNotMigrated) || strings.Contains(err.Error(), "sqlstore.Open") {
				t.Errorf("%s: error %v", what, err)
			}
		}
		if database := f.mon.Health(t.Context())[0]; !strings.Contains(database.Problem, newerText) {
			t.Errorf("health: %+v", database)
		}
	})
}

const newerText = "a newer version of rollcall has migrated this database"

// TestNewerRefuses has a later version demand what this one does not write. The database refuses every ping, which is not the fault of
// the pings.
func TestNewerRefuses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		f := newFilled(t, db.Plain(t))
		_, _, err := f.store.MigrateFurther(t.Context(), map[string]string{
			"sqlite":   "CREATE TRIGGER further BEFORE INSERT ON rollcall_pings BEGIN SELECT RAISE(ABORT, 'further is missing'); END",
			"postgres": "ALTER TABLE rollcall_pings ADD COLUMN further BIGINT, ADD CONSTRAINT further CHECK (further IS NOT NULL) NOT VALID",
		}[db.Name])
		must(t, err)
		_, err = f.mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{})
		if !errors.Is(err, sqlstore.ErrNewerSchema) || !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("ping: error %v", err)
		}
		if _, err := sqlstore.Open(t.Context(), f.db); !errors.Is(err, sqlstore.ErrNewerSchema) || !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("open: error %v", err)
		}
	})
}
