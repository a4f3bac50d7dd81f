package sqlstore

import (
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

const (
	// sweepWindow is how many entries of the log are looked at in one query, at most.
	sweepWindow = 5_000
	// sweepMost bounds how many a call looks at, so that it can be stopped; sweepLeast is how many it looks at when the
	// log has not grown, so that the logs of removed checks go.
	sweepMost, sweepLeast = 1_000_000, 500
	// removeAtOnce is how many rows one transaction removes. On SQLite all pings wait for it.
	removeAtOnce = 200
)

// sweep is how far PrunePings has come. The log has no index by check, so that writing it stays cheap; instead the
// whole log is gone through, round and round, at twice the pace at which it grows. What is to be removed is then
// never more than what is to be kept.
type sweep struct {
	mu     sync.Mutex
	cursor int64 // all entries up to this one have been looked at in this round
	newest int64 // the newest entry at the last call
}

// PrunePings looks at the next part of the log and removes what need not be kept.
func (s *Store) PrunePings(ctx context.Context) (removed int, err error) {
	s.sweep.mu.Lock()
	defer s.sweep.mu.Unlock()
	var newest int64
	if err := s.db.DB.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM rollcall_pings").Scan(&newest); err != nil {
		return 0, translate(err)
	}
	left := min(sweepLeast+2*max(0, newest-s.sweep.newest), sweepMost)
	s.sweep.newest = newest
	for ; left > 0; left -= sweepWindow {
		n, err := s.pruneWindow(ctx, min(left, sweepWindow))
		removed += n
		if err != nil || s.sweep.cursor == 0 {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Store) pruneWindow(ctx context.Context, window int64) (removed int, err error) {
	entries, err := s.nextEntries(ctx, s.sweep.cursor, window)
	if err != nil {
		return 0, translate(err)
	}
	if len(entries) == 0 {
		s.sweep.cursor = 0 // the end of a round
		return 0, nil
	}
	ids, err := s.prunable(ctx, s.db.DB, entries)
	if err != nil {
		return 0, translate(err)
	}
	for part := range slices.Chunk(ids, removeAtOnce) {
		n := 0
		err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
			t := tx.(*transaction)
			// Once more: another process may have removed them since, and on SQLite a new ping may have the
			// identifier of the newest of them.
			query := "SELECT id, check_id, n FROM rollcall_pings WHERE " + s.d.among("id", "bigint")
			entries, err := scanEntries(t.tx.Tx.QueryContext(ctx, query, s.d.list(part)))
			if err != nil {
				return err
			}
			still, err := s.prunable(ctx, t.tx.Tx, entries)
			if n = len(still); err != nil || n == 0 {
				return err
			}
			return t.removePings(ctx, still)
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	s.sweep.cursor = entries[len(entries)-1].id
	return removed, nil
}

// entry is what tells whether an entry of the log may be removed.
type entry struct{ id, check, n int64 }

func scanEntries(rows *sql.Rows, err error) ([]entry, error) {
	if err != nil {
		return nil, err
	}
	var e entry
	return scanList(rows, &e, &e.id, &e.check, &e.n)
}

// nextEntries returns the entries of the log after one of them, in their order.
func (s *Store) nextEntries(ctx context.Context, after, most int64) (entries []entry, err error) {
	const query = "SELECT id, check_id, n FROM rollcall_pings WHERE id > "
	if !s.d.postgres {
		return scanEntries(s.db.DB.QueryContext(ctx, query+"? ORDER BY id LIMIT ?", after, most))
	}
	err = s.db.RunInTx(ctx, &sql.TxOptions{ReadOnly: true}, func(ctx context.Context, tx bun.Tx) (err error) {
		// Until the log is analyzed again, the planner can take it for so small that it reads and sorts all of it.
		if _, err := tx.Tx.ExecContext(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		entries, err = scanEntries(tx.Tx.QueryContext(ctx, query+"$1 ORDER BY id LIMIT $2", after, most))
		return err
	})
	return entries, err
}

// prunable returns those of some entries of the log that need not be kept. It asks for what decides that once for each
// check, and not in one query with the entries: with statistics from before the log has grown, the planner would look
// it up for each of them, at six times the cost.
func (s *Store) prunable(ctx context.Context, db querier, entries []entry) (ids []int64, err error) {
	oldest := make(map[int64]int64)
	for _, e := range entries {
		if n, ok := oldest[e.check]; !ok || e.n < n {
			oldest[e.check] = e.n
		}
	}
	upTo, err := s.needless(ctx, db, oldest)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, ok := upTo[e.check]; ok && e.n <= n {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}

// needless returns up to which ping the log of checks need not be kept, if it goes back as far as the given pings.
// Without the check it need not be kept at all. Checks whose log is short are missing.
func (s *Store) needless(ctx context.Context, db querier, oldest map[int64]int64) (upTo map[int64]int64, err error) {
	upTo = make(map[int64]int64)
	var check, newest int64
	collect := func(query string, checks []int64, each func(), fields ...any) error {
		rows, err := db.QueryContext(ctx, query, s.d.list(checks))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(fields...); err != nil {
				return err
			}
			each()
		}
		return rows.Err()
	}
	for check := range oldest {
		upTo[check] = math.MaxInt64
	}
	var long []int64
	err = collect("SELECT check_id, n_pings FROM rollcall_states WHERE "+s.d.among("check_id", "bigint"),
		slices.Collect(maps.Keys(oldest)), func() {
			if oldest[check] > newest-checks.FreePings {
				delete(upTo, check)
				return
			}
			upTo[check] = newest - checks.PaidPings
			long = append(long, check)
		}, &check, &newest)
	if err != nil || len(long) == 0 {
		return upTo, err
	}
	err = collect("SELECT c.id FROM rollcall_checks c JOIN rollcall_projects p ON p.id = c.project_id "+
		"JOIN rollcall_accounts a ON a.id = p.account_id WHERE a.plan = '"+string(checks.Free)+"' AND "+s.d.among("c.id", "bigint"),
		long, func() { upTo[check] += checks.PaidPings - checks.FreePings }, &check)
	return upTo, err
}

// PruneFlips removes flips older than an instant, and the deliveries that were made before it and are over.
func (s *Store) PruneFlips(ctx context.Context, before time.Time) (removed int, err error) {
	if _, err := s.removeOld(ctx, "rollcall_deliveries", "created_at < ? AND state <> 'pending'", before); err != nil {
		return 0, err
	}
	return s.removeOld(ctx, "rollcall_flips", "at < ?", before)
}

// removeOld removes the rows of a table that are older than an instant. At the turn of a month that can be very many.
func (s *Store) removeOld(ctx context.Context, table, older string, before time.Time) (removed int, err error) {
	for {
		var ids []int64
		err := s.db.NewSelect().Table(table).Column("id").Where(older, micros(before)).Limit(removeAtOnce).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return removed, translate(err)
		}
		n := int64(0)
		err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
			res, err := tx.(*transaction).tx.NewDelete().Table(table).Where(older, micros(before)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
			if err != nil {
				return err
			}
			n, err = res.RowsAffected()
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(n)
	}
}
