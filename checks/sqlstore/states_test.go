package sqlstore_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestServersShareChecks has three servers take the pings of one check in turn. What a server has cached of the check is
// stale at nearly every ping.
func TestServersShareChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var servers []*monitor.Monitor
		for range 3 {
			servers = append(servers, monitorOn(t, db.Open(t).Database()))
		}
		c := addCheck(t, servers[0])
		const n = 300
		for i := range int64(n) {
			p, err := servers[(i/(1+i%7))%3].Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
			if err != nil || p.N != i+1 {
				t.Fatalf("ping %d has number %d, error %v", i+1, p.N, err)
			}
		}
		_, err := servers[1].Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Methods: new("POST")})
		must(t, err)
		for i, mon := range servers {
			p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success, Scheme: "http", Method: "GET"})
			if err != nil || p.Kind != pings.Ignored {
				t.Errorf("server %d does not know the new settings: ping of kind %s, error %v", i, p.Kind, err)
			}
		}
		log, err := checks.Collect(servers[2].Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
		if err != nil || len(log) != n+3 || log[0].N != n+3 {
			t.Errorf("the log has %d entries, want %d; error %v", len(log), n+3, err)
		}
	})
}

// TestRowChangedByHand changes a state without giving it a new revision, while a ping waits for the lock of the row. The
// ping is written once all the same.
func TestRowChangedByHand(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	_, mon, c := withCheck(t, db)
	ping := func() error {
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		return err
	}
	must(t, ping()) // the check is cached from now on
	sqldb, err := sql.Open("pgx", db.URL)
	must(t, err)
	defer sqldb.Close()
	tx, err := sqldb.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	_, err = tx.Exec(`UPDATE rollcall_states SET n_pings = n_pings`)
	must(t, err)
	done := make(chan error)
	go func() { done <- ping() }()
	for waiting := 0; waiting == 0; {
		must(t, sqldb.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
	}
	must(t, tx.Commit())
	if err := <-done; err != nil {
		t.Error(err)
	}
	log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
	if err != nil || len(log) != 2 || log[0].N != 2 {
		t.Errorf("the log has %d pings, want 2; error %v", len(log), err)
	}
	if got, err := mon.Check(t.Context(), c.ID); err != nil || got.NPings != 2 {
		t.Errorf("the check counts %d pings, want 2; error %v", got.NPings, err)
	}
}

// TestBatchesFindStatesByKey writes batches to 1,000 checks. PostgreSQL may scan the table of states until it has a plan for
// any parameters, which it makes after five times, and does not from then on.
func TestBatchesFindStatesByKey(t *testing.T) {
	pool := dbtest.PostgreSQL(t).Plain(t).Bun(t)
	pool.SetMaxOpenConns(1)
	s := dbtest.OpenOn(t, pool).Database()
	mon := monitorOn(t, s)
	project := addCheck(t, mon).ProjectID
	var ids []uuid.UUID
	must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		var created []*store.Locked
		for range 1000 {
			c, err := checks.New(project, checks.Spec{}, mon.Now())
			must(t, err)
			ids, created = append(ids, c.ID), append(created, &store.Locked{Check: c})
		}
		return tx.SaveChecks(ctx, created)
	}))
	_, err := pool.DB.ExecContext(t.Context(), "VACUUM ANALYZE rollcall_states")
	must(t, err)
	write := func() {
		for batch := range slices.Chunk(ids, 50) {
			record(t, s, batch, pings.Signal{Kind: pings.Success}, mon.Now())
		}
	}
	write()
	before := scanned(t, pool, "rollcall_states")
	write()
	write()
	if rows := scanned(t, pool, "rollcall_states") - before; rows > 0 {
		t.Errorf("read %d states by scanning the table", rows)
	}
}

// TestUnknownZone has a check in a time zone that is no longer known. It goes down, and the others are watched as before.
func TestUnknownZone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		clock := dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		mon, err := monitor.New(db.Open(t).Database(), &monitor.Config{Now: clock.Now})
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "p")
		must(t, err)
		for _, schedule := range []string{"0 3 * * *", "0 4 * * *"} {
			c, err := project.Create(t.Context(), checks.Spec{Schedule: &schedule})
			must(t, err)
			_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
			must(t, err)
		}
		_, err = db.Bun(t).ExecContext(t.Context(), "UPDATE rollcall_checks SET tz = 'Mars/Phobos' WHERE schedule = '0 3 * * *'")
		must(t, err)
		clock.Advance(48 * time.Hour)
		must(t, mon.Tick(t.Context()))
		list, err := checks.Stored(project.Checks(t.Context(), checks.Query{}))
		if len(list) != 2 || err != nil {
			t.Errorf("the list has %d checks, want 2; error %v", len(list), err)
		}
		for _, c := range list {
			if c.Stored != checks.StatusDown {
				t.Errorf("%s is %s, want down", c.Schedule, c.Stored)
			}
		}
	})
}

// newestState has a value in every field.
func newestState() checks.State {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	run := uuid.NullUUID{UUID: uuid.UUID{1, 2, 3, 15: 4}, Valid: true}
	day := checks.Totals{Runs: 300, Failures: 2, Timed: 3, Sum: time.Hour, Min: time.Second, Max: time.Minute}
	s := checks.State{
		Stored: checks.StatusDown, StoredSince: at, NPings: 4711, LastPing: at.Add(1e9),
		Runs: checks.OpenRuns{{ID: run, StartedAt: at.Add(2e9), Open: true}, {StartedAt: at.Add(4e9)}},
		History: checks.History{
			Recent:      checks.RecentRuns(checks.Run{At: at, Duration: 1230 * time.Millisecond, Result: checks.RunFailure}),
			LastSuccess: at.Add(11e9), LastSuccessDuration: 20 * time.Millisecond, Today: checks.Day{Date: at.UTC().Truncate(24 * time.Hour), Totals: day},
		},
	}
	a := &s.Alerting
	a.Since, a.Failures, a.FailedAt, a.ExpectedAt, a.HeldSince = at.Add(5e9), 2, at.Add(6e9), at.Add(7e9), at.Add(8e9)
	a.RepeatFrom, a.Reminders, a.Next = at.Add(9e9), 3, at.Add(10e9)
	return s
}

// saveState gives a check a state.
func saveState(t *testing.T, s *sqlstore.Database, id uuid.UUID, state checks.State) {
	t.Helper()
	must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		l.State = state
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}))
}

// stateOf returns the state of a check as a store that has nothing in its cache reads it.
func stateOf(t *testing.T, db *bun.DB, id uuid.UUID) (checks.State, error) {
	t.Helper()
	s, err := sqlstore.New(db)
	must(t, err)
	list, err := s.Database().Checks(t.Context(), store.CheckFilter{ID: &id})
	if err != nil {
		return checks.State{}, err
	}
	return list[0].State, nil
}

// TestStateColumn reads the column state back, and what it looks like: later versions read it too.
func TestStateColumn(t *testing.T) {
	const head = `"status":"down","since":"2026-03-01T12:00:00.123456Z","n_pings":4711,` +
		`"last_ping":"2026-03-01T12:00:01.123456Z","runs":[{"id":"01020300-0000-0000-0000-000000000004",` +
		`"started_at":"2026-03-01T12:00:02.123456Z","open":true},{"started_at":"2026-03-01T12:00:04.123456Z"`
	const tail = `}],"ended":[{"id":"01020300-0000-0000-0000-000000000000","at":"2026-03-01T12:00:01.123456Z"}],` +
		`"alerting":{"since":"2026-03-01T12:00:05.123456Z","failures":2,"failed_at":"2026-03-01T12:00:06.123456Z",` +
		`"expected_at":"2026-03-01T12:00:07.123456Z","held_since":"2026-03-01T12:00:08.123456Z",` +
		`"repeat_from":"2026-03-01T12:00:09.123456Z","reminders":3,"next":"2026-03-01T12:00:10.123456Z"},` +
		`"history":{"recent":"gMmH26b9pQbtAw==","last_success":"2026-03-01T12:00:11.123456Z","last_success_duration":20000000,` +
		`"today":{"date":"2026-03-01T00:00:00Z","runs":300,"failures":2,"timed":3,"sum":3600000000000,"min":1000000000,` +
		`"max":60000000000}}}`
	want, full := `{"version":2,`+head+tail, newestState()
	full.Ended = checks.EndedRuns{{ID: uuid.UUID{1, 2, 3}, At: full.LastPing}}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Bun(t)
		s := dbtest.OpenOn(t, pool).Database()
		c := addCheck(t, monitorOn(t, s))
		saveState(t, s, c.ID, full)
		var text string
		must(t, pool.NewRaw("SELECT state FROM rollcall_states").Scan(t.Context(), &text))
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("column (-want +got):\n%s", diff)
		}
		got, err := stateOf(t, pool, c.ID)
		must(t, err)
		if diff := cmp.Diff(full, got); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})
}

// TestStateOfNewerVersion refuses a state of a later version: to write it again would lose what only that version knows.
func TestStateOfNewerVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Bun(t)
		s := dbtest.OpenOn(t, pool).Database()
		c := addCheck(t, monitorOn(t, s))
		for state, want := range map[string]string{
			`{"version":3}`:                      "version 3",
			`{"version":3,"last_ping":{"at":1}}`: "version 3",
			`{"version":1,"last_ping":{"at":1}}`: "state of a check",
		} {
			_, err := pool.NewRaw("UPDATE rollcall_states SET state = ?, revision = 4711", state).Exec(t.Context())
			must(t, err)
			if _, err := stateOf(t, pool, c.ID); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", state, err, want)
			}
		}
	})
}

// TestPingsAreHot pings checks on PostgreSQL, one by one and in batches. Once the states have their size, updates of them stay in their
// page and touch no index, and no ping writes to the settings. An update still leaves its page while a snapshot of another session keeps
// old versions there, as each ANALYZE of autovacuum does: a few may. With an index on what a ping changes, none would be HOT.
func TestPingsAreHot(t *testing.T) {
	pool := dbtest.PostgreSQL(t).Plain(t).Bun(t)
	pool.SetMaxOpenConns(1) // whose session counts
	s := dbtest.OpenOn(t, pool).Database()
	mon := monitorOn(t, s)
	project, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	var ids []uuid.UUID
	for range 50 {
		c, err := project.Create(t.Context(), checks.Spec{Timeout: new(time.Hour)})
		must(t, err)
		ids = append(ids, c.ID)
	}
	now := time.Now().UTC().Truncate(time.Second)
	round := func() {
		t.Helper()
		now = now.Add(time.Minute)
		record(t, s, ids, pings.Signal{Kind: pings.Start}, now)
		for part := range slices.Chunk(ids, 7) {
			now = now.Add(time.Second + time.Duration(now.Second())*7*time.Millisecond)
			record(t, s, part, pings.Signal{}, now)
		}
		record(t, s, ids[:1], pings.Signal{Kind: pings.Log}, now)
	}
	for range 2 * checks.MaxRecent {
		round()
	}
	updates := func(table string) (all, hot int) {
		t.Helper()
		_, err := pool.DB.ExecContext(t.Context(), "SELECT pg_stat_force_next_flush()")
		must(t, err)
		must(t, pool.DB.QueryRowContext(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = to_regclass($1)", table).Scan(&all, &hot))
		return all, hot
	}
	states, hotStates := updates("rollcall_states")
	settings, _ := updates("rollcall_checks")
	const rounds = 20
	for range rounds {
		round()
	}
	states2, hot2 := updates("rollcall_states")
	if all, hot := states2-states, hot2-hotStates; all != rounds*(2*len(ids)+1) || hot < all*3/4 {
		t.Errorf("%d of %d updates of states were HOT, want three of four at least", hot, all)
	}
	if after, _ := updates("rollcall_checks"); after != settings {
		t.Errorf("pings have updated the settings of checks %d times", after-settings)
	}
}
