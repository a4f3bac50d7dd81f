package sqlstore_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// queryLog keeps the queries that were run.
type queryLog struct{ queries []string }

func (r *queryLog) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }
func (r *queryLog) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	r.queries = append(r.queries, e.Query)
}

// TestPlans runs the queries of the watcher, the delivery, the board and the overview on a database with many rows. None of them scans a table.
func TestPlans(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		bundb := db.Plain(t).Bun(t)
		store := dbtest.OpenOn(t, bundb).Database()
		fillOutbox(t, store, bundb, now)
		var r queryLog
		watched, err := sqlstore.New(bundb.WithQueryHook(&r))
		if err != nil {
			t.Fatal(err)
		}
		exercise(t, watched.Database(), now)
		readLogs(t, watched.Database(), bundb, now)
		var plans int
		for _, query := range r.queries {
			if strings.HasPrefix(query, "BEGIN") || strings.HasPrefix(query, "COMMIT") {
				continue
			}
			plans++
			if plan := explain(t, bundb, db.Name, query); scans(db.Name).MatchString(plan) {
				t.Errorf("%.600s\n%s", query, plan)
			}
		}
		if plans < 15 {
			t.Errorf("only %d queries were seen", plans)
		}
	})
}

// exercise runs what a server runs all the time.
func exercise(t *testing.T, s *sqlstore.Database, now time.Time) {
	var due []store.DueChannel
	for _, at := range []time.Time{now.Add(-time.Hour * 24), now} {
		var err error
		if due, err = s.DueChannels(t.Context(), at, uuid.Nil, 1000); err != nil {
			t.Fatal(err)
		}
	}
	claim := store.DeliveryClaim{Now: now, Until: now.Add(time.Minute)}
	for _, channel := range due {
		claim.Room = append(claim.Room, store.ChannelRoom{Channel: channel.Channel, N: 10})
	}
	var results []store.DeliveryResult
	claimed := 0
	for range 3 {
		var got []store.QueuedDelivery
		err := s.Update(t.Context(), func(ctx context.Context, tx store.Tx) (err error) {
			got, err = exchange(ctx, tx, results, claim)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Alerts(t.Context(), got); err != nil {
			t.Fatal(err)
		}
		results, claimed = nil, claimed+len(got)
		for i, q := range got {
			r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts, Mark: &store.ChannelMark{}}
			if r.State = checks.DeliverySent; i == 0 {
				r.Copies = []uuid.UUID{q.ChannelID}
			}
			results = append(results, r)
		}
	}
	if _, err := s.FirstGivenUp(t.Context(), uuid.Nil, due[0].Channel, 20_000_000); err != nil {
		t.Fatal(err)
	}
	if claimed < 100 {
		t.Fatalf("only %d deliveries were claimed", claimed)
	}
	if _, _, _, err := s.Outlook(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.LockDue(ctx, now, 100)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readLogs runs what the board and the overview run, for as many checks as it shows at first.
func readLogs(t *testing.T, s *sqlstore.Database, db *bun.DB, now time.Time) {
	var ids []uuid.UUID
	if err := db.NewSelect().Table("rollcall_checks").Column("uuid").OrderExpr("id DESC").Limit(30).Scan(t.Context(), &ids); err != nil {
		t.Fatal(err)
	}
	searchChecks(t, s, db)
	since := now.Add(-24 * time.Hour)
	if logs, err := s.Pings(t.Context(), store.PingQuery{Checks: ids, Since: since, Limit: 1000, Brief: true}); err != nil || len(logs) < 30 {
		t.Fatalf("read %d logs: %v", len(logs), err)
	}
	if logs, err := s.Pings(t.Context(), store.PingQuery{Checks: ids, Limit: 200, Failed: true}); err != nil || len(logs) < 30 {
		t.Fatalf("read %d failures: %v", len(logs), err)
	}
	if lists, err := s.Events(t.Context(), store.EventQuery{Checks: ids, From: since}); err != nil || len(lists) < 30 {
		t.Fatalf("read the transitions of %d checks: %v", len(lists), err)
	}
	if lists, err := s.Events(t.Context(), store.EventQuery{Checks: ids, From: since, Limit: 50}); err != nil || len(lists) < 30 {
		t.Fatalf("read the newest events of %d checks: %v", len(lists), err)
	}
}

// searchChecks runs the searches of the management interface for a few of the checks.
func searchChecks(t *testing.T, s *sqlstore.Database, db *bun.DB) {
	t.Helper()
	var project uuid.UUID
	if err := db.NewSelect().Table("rollcall_projects").Column("id").Scan(t.Context(), &project); err != nil {
		t.Fatal(err)
	}
	for _, f := range []store.CheckFilter{
		{ProjectID: &project, Slug: new("slug-7")}, {ProjectID: &project, Tags: []string{"tag-7"}},
		{ProjectID: &project, Tags: []string{"all", "tag-7"}}, {ProjectID: &project, Tags: []string{"all", "none"}},
	} {
		list, err := s.Checks(t.Context(), f)
		if want := map[bool]int{true: 0, false: 1}[slices.Contains(f.Tags, "none")]; err != nil || len(list) < want || len(list) > 100 {
			t.Fatalf("%v selects %d checks: %v", f, len(list), err)
		}
	}
	if tags, err := s.Tags(t.Context(), project); err != nil || len(tags) < 50 {
		t.Fatalf("%d tags: %v", len(tags), err)
	}
	for _, m := range []store.Match{{Name: new("name-7")}, {Slug: new("slug-7")}, {Tags: []string{"tag-7", "all"}}, {Name: new("name-7"), Slug: new("slug-7")}} {
		if ids, err := s.FindChecks(t.Context(), project, m); err != nil || len(ids) == 0 || len(ids) > 100 {
			t.Fatalf("%v matches %d checks: %v", m, len(ids), err)
		}
	}
}

// exchange does what one turn of the delivery does: it records results, claims deliveries and locks the lines of some.
func exchange(ctx context.Context, tx store.Tx, results []store.DeliveryResult, claim store.DeliveryClaim) ([]store.QueuedDelivery, error) {
	if err := tx.RecordResults(ctx, claim.Now, results); err != nil {
		return nil, err
	}
	claimed, err := tx.ClaimDeliveries(ctx, claim)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	if _, err := tx.LockLines(ctx, []int64{claimed[0].ID, claimed[len(claimed)-1].ID}); err != nil {
		return nil, err
	}
	return claimed, tx.ReleaseHeld(ctx, uuid.Nil, claim.Now)
}

// fillOutbox makes one real check with a flip and copies its rows.
func fillOutbox(t *testing.T, store *sqlstore.Database, db *bun.DB, now time.Time) {
	t.Helper()
	mon, err := monitor.New(store, &monitor.Config{Now: func() time.Time { return now.Add(-time.Hour) }, Channels: standard.Kinds(), DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := mon.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		_, err := p.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: fmt.Sprint(i), Settings: map[string]string{"to": "a@example.org"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := p.Create(t.Context(), checks.Spec{Channels: new("*")})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure} {
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	postgres := db.Dialect().Name().String() == "pg"
	rows := 5000
	if postgres { // which scans small tables even if there is an index
		rows = 20_000
	}
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", rows)
	newUUID := "lower(hex(randomblob(4))) || '-0000-4000-8000-' || substr('000000000000' || n.i, -12)"
	if postgres {
		newUUID = "gen_random_uuid()"
	}
	copies := func(table, from string, replace map[string]string) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 0")
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		rows.Close()
		var values []string
		for _, column := range columns {
			value, ok := replace[column]
			if !ok {
				value = "t." + column
			}
			values = append(values, value)
		}
		query := fmt.Sprintf("%s INSERT INTO %s (%s) SELECT %s FROM n CROSS JOIN %s AS t WHERE %s",
			"", table, strings.Join(columns, ", "), strings.Join(values, ", "), table, from)
		if _, err := db.ExecContext(t.Context(), numbers+strings.TrimSpace(query)); err != nil {
			t.Fatal(err)
		}
	}
	copies("rollcall_checks", "t.id = 1", map[string]string{"id": "n.i + 1000", "uuid": newUUID, "badge_key": newUUID,
		"name": "'name-' || n.i", "slug": "'slug-' || n.i", "tags": "'tag-' || (n.i / 100) || ' all'"})
	copies("rollcall_states", "t.check_id = 1", map[string]string{"check_id": "n.i + 1000", "log_head": "n.i + 1000",
		"watch_at": fmt.Sprintf("CASE WHEN n.i %% 100 = 0 THEN %d + n.i END", now.UnixMicro()-1_000_000)})
	copies("rollcall_pings", "t.id = 1", map[string]string{"id": "n.i + 1000", "check_id": "n.i + 1000"})
	copies("rollcall_flips", "t.id <= 3", map[string]string{"id": "t.id * 100000 + n.i", "check_id": "n.i + 1000"})
	// Most are sent. Some are pending, and some of those have failed, have others behind them or sum up flips.
	first := "t.id <= 20 AND n.i % 20 = 0" // those of the first flip
	for flip := range 2 {
		copies("rollcall_deliveries", first, map[string]string{
			"id":      fmt.Sprintf("%d + n.i * 100 + t.id", 10_000_000*(1+flip)),
			"flip_id": fmt.Sprintf("%d + n.i", 100000*(1+2*flip)), "check_id": "n.i + 1000",
			"state": "CASE WHEN n.i % 400 = 0 THEN 'pending' ELSE 'sent' END",
			"error": "CASE WHEN n.i % 800 = 0 THEN 'away' ELSE '' END", "since": "CASE WHEN n.i % 1200 = 0 THEN 1 END",
		})
	}
	if _, err := db.ExecContext(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
}

func explain(t *testing.T, db *bun.DB, name, query string) string {
	t.Helper()
	keyword := "EXPLAIN "
	if name == "sqlite" {
		keyword = "EXPLAIN QUERY PLAN "
	}
	rows, err := db.DB.QueryContext(t.Context(), keyword+query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(*values[len(values)-1].(*any)))
	}
	return strings.Join(slices.Compact(lines), "\n")
}

// scans matches a plan that scans a table. Small tables and intermediate results may be scanned.
func scans(name string) *regexp.Regexp {
	if name == "sqlite" {
		return regexp.MustCompile(`(?m)^SCAN (d|h|r|f|s|c|p|a|b|e|g|o|rollcall_(deliveries|states|flips|checks|pings))( |$)`)
	}
	return regexp.MustCompile(`Seq Scan on rollcall_(deliveries|states|flips|checks|check_tags|pings)`)
}
