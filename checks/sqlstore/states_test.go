package sqlstore_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestServersShareChecks has three servers take the pings of one check in turn. What a server has cached of the check is
// stale at nearly every ping.
func TestServersShareChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var servers []*monitor.Monitor
		for range 3 {
			servers = append(servers, monitorOn(t, db.Open(t)))
		}
		c := addCheck(t, servers[0])
		const n = 300
		for i := range int64(n) {
			p, err := servers[(i/(1+i%7))%3].Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
			if err != nil || p.N != i+1 {
				t.Fatalf("ping %d has number %d, error %v", i+1, p.N, err)
			}
		}
		_, err := servers[1].Update(t.Context(), c.ID, checks.Spec{Methods: new("POST")})
		must(t, err)
		for i, mon := range servers {
			p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success, Scheme: "http", Method: "GET"})
			if err != nil || p.Kind != pings.Ignored {
				t.Errorf("server %d does not know the new settings: ping of kind %s, error %v", i, p.Kind, err)
			}
		}
		log, err := servers[2].Pings(t.Context(), c.ID)
		if err != nil || len(log) != n+3 || log[0].N != n+3 {
			t.Errorf("the log has %d entries, want %d; error %v", len(log), n+3, err)
		}
	})
}

// TestRowChangedByHand changes a state without giving it a new revision, while a ping waits for the lock of the row. The
// ping is written once all the same.
func TestRowChangedByHand(t *testing.T) {
	db := dbtest.PostgreSQL(t)
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
	_, err = tx.Exec(`UPDATE rollcall_states SET last_start = last_start`)
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
	log, err := mon.Pings(t.Context(), c.ID)
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
	pool := dbtest.PostgreSQL(t).Bun(t)
	pool.SetMaxOpenConns(1)
	s := dbtest.OpenOn(t, pool)
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
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: clock.Now})
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "p")
		must(t, err)
		for _, schedule := range []string{"0 3 * * *", "0 4 * * *"} {
			c, err := mon.Create(t.Context(), project.ID, checks.Spec{Schedule: &schedule})
			must(t, err)
			_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
			must(t, err)
		}
		_, err = db.Bun(t).ExecContext(t.Context(), "UPDATE rollcall_checks SET tz = 'Mars/Phobos' WHERE schedule = '0 3 * * *'")
		must(t, err)
		clock.Advance(48 * time.Hour)
		if n, err := mon.Sweep(t.Context()); n != 2 || err != nil {
			t.Errorf("%d checks went down, want 2; error %v", n, err)
		}
		if list, err := mon.Checks(t.Context(), project.ID, monitor.CheckQuery{}); len(list) != 2 || err != nil {
			t.Errorf("the list has %d checks, want 2; error %v", len(list), err)
		}
	})
}
