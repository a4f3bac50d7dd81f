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
	// logPage is how many log entries one query reads; that takes no longer than writing a batch of pings.
	logPage = 500
	// maxLook and minLook bound how many log entries one call of PrunePings looks at: minLook where the log has not grown,
	// so that the logs of deleted checks are removed too.
	maxLook, minLook = 100_000, 500
	// removeAtOnce is how many rows one transaction removes. On SQLite all pings wait for it.
	removeAtOnce = 200
	// lookUpAtOnce is how many checks one query reads.
	lookUpAtOnce = 256
)

// pruning is how far PrunePings has come. The log has no index by check, which keeps appending cheap. Instead, PrunePings
// goes round the whole log at twice the pace at which it grows, so that no more entries wait for removal than are kept.
type pruning struct {
	mu     sync.Mutex
	cursor int64 // entries up to this one have been looked at in this round
	newest int64 // the newest entry at the last call
}

// PrunePings looks at the next part of the log and removes what need not be kept.
func (s *Store) PrunePings(ctx context.Context, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	p := &s.pruning
	p.mu.Lock()
	defer p.mu.Unlock()
	var newest int64
	if err := s.db.DB.QueryRowContext(ctx, newestID("rollcall_pings")).Scan(&newest); err != nil {
		return 0, translate(err)
	}
	left := min(minLook+2*max(0, newest-p.newest), maxLook)
	p.newest = newest
	for left > 0 {
		pause()
		entries, err := s.logAfter(ctx, p.cursor, min(left, logPage))
		if err != nil {
			return removed, translate(err)
		}
		left -= logPage
		n, err := s.pruneEntries(ctx, entries, pause)
		removed += n
		if err != nil {
			return removed, err
		}
		if len(entries) == 0 || entries[len(entries)-1].id >= newest {
			// The round ends here. While pings come, it would never end otherwise.
			p.cursor = 0
			return removed, nil
		}
		p.cursor = entries[len(entries)-1].id
	}
	return removed, nil
}

// orNoPause returns pause, or a function that does nothing.
func orNoPause(pause func()) func() {
	if pause == nil {
		return func() {}
	}
	return pause
}

// pruneEntries removes the log entries among these that need not be kept.
func (s *Store) pruneEntries(ctx context.Context, entries []entry, pause func()) (removed int, err error) {
	ids, err := s.prunable(ctx, s.db.DB, entries, pause)
	if err != nil {
		return 0, translate(err)
	}
	for part := range slices.Chunk(ids, removeAtOnce) {
		pause()
		n := 0
		err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
			n, err = tx.(*transaction).removeEntries(ctx, part)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// removeEntries removes entries that were prunable when PrunePings looked at them.
func (t *transaction) removeEntries(ctx context.Context, ids []int64) (removed int, err error) {
	if !t.s.d.postgres {
		// Look again: if another process has removed the newest entry since, a new ping can have its identifier on SQLite.
		query := "SELECT id, check_id, n FROM rollcall_pings WHERE " + t.s.d.among("id", "bigint")
		entries, err := scanEntries(t.tx.Tx.QueryContext(ctx, query, t.s.d.list(ids)))
		if err != nil {
			return 0, err
		}
		if ids, err = t.s.prunable(ctx, t.tx.Tx, entries, func() {}); err != nil {
			return 0, err
		}
	}
	return t.removePings(ctx, ids)
}

// entry is the part of a log entry that decides whether it may be removed.
type entry struct{ id, check, n int64 }

func scanEntries(rows *sql.Rows, err error) ([]entry, error) {
	var e entry
	return scanList(rows, err, &e, &e.id, &e.check, &e.n)
}

// logAfter returns the log entries after one of them, in order.
func (s *Store) logAfter(ctx context.Context, after, limit int64) (page []entry, err error) {
	const query = "SELECT id, check_id, n FROM rollcall_pings WHERE id > "
	if !s.d.postgres {
		return scanEntries(s.db.DB.QueryContext(ctx, query+"? ORDER BY id LIMIT ?", after, limit))
	}
	err = s.db.RunInTx(ctx, &sql.TxOptions{ReadOnly: true}, func(ctx context.Context, tx bun.Tx) (err error) {
		// Until the log is analyzed again, the planner can take it for so small that it reads and sorts all of it.
		if _, err := tx.Tx.ExecContext(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		page, err = scanEntries(tx.Tx.QueryContext(ctx, query+"$1 ORDER BY id LIMIT $2", after, limit))
		return err
	})
	return page, err
}

// prunable returns the entries that need not be kept. It reads each check's limit once, not in a join with the entries:
// with statistics from before the log grew, the planner would look the check up for every entry.
func (s *Store) prunable(ctx context.Context, db querier, entries []entry, pause func()) (ids []int64, err error) {
	oldest := make(map[int64]int64)
	for _, e := range entries {
		if n, ok := oldest[e.check]; !ok || e.n < n {
			oldest[e.check] = e.n
		}
	}
	upTo := make(map[int64]int64, len(oldest))
	for part := range slices.Chunk(slices.Collect(maps.Keys(oldest)), lookUpAtOnce) {
		pause()
		if err := s.needless(ctx, db, part, oldest, upTo); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if n, ok := upTo[e.check]; ok && e.n <= n {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}

// needless sets, for each check, the number of the last ping that need not be kept: all pings of a deleted check, none
// (no number is set) where the log is short.
func (s *Store) needless(ctx context.Context, db querier, ids []int64, oldest, upTo map[int64]int64) error {
	rows, err := db.QueryContext(ctx, "SELECT check_id, n_pings FROM rollcall_states WHERE "+s.d.among("check_id", "bigint"), s.d.list(ids))
	var state struct{ check, newest int64 }
	states, err := scanList(rows, err, &state, &state.check, &state.newest)
	if err != nil {
		return err
	}
	for _, check := range ids {
		upTo[check] = math.MaxInt64
	}
	var long []int64
	for _, l := range states {
		if oldest[l.check] > l.newest-checks.FreePings {
			delete(upTo, l.check)
			continue
		}
		upTo[l.check] = l.newest - checks.PaidPings
		long = append(long, l.check)
	}
	if len(long) == 0 {
		return nil
	}
	rows, err = db.QueryContext(ctx, "SELECT c.id FROM rollcall_checks c JOIN rollcall_projects p ON p.id = c.project_id "+
		"JOIN rollcall_accounts a ON a.id = p.account_id WHERE a.plan = '"+string(checks.Free)+"' AND "+s.d.among("c.id", "bigint"),
		s.d.list(long))
	var check int64
	free, err := scanList(rows, err, &check, &check)
	for _, check := range free {
		upTo[check] += checks.PaidPings - checks.FreePings
	}
	return err
}

// PruneFlips removes flips older than an instant, and finished deliveries that were created before it.
func (s *Store) PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	if _, err := s.removeOld(ctx, "rollcall_deliveries", "created_at < ? AND state <> 'pending'", before, pause); err != nil {
		return 0, err
	}
	return s.removeOld(ctx, "rollcall_flips", "at < ?", before, pause)
}

// removeOld removes the rows of a table that are older than an instant. After the turn of a month they can be many.
func (s *Store) removeOld(ctx context.Context, table, older string, before time.Time, pause func()) (removed int, err error) {
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
		pause()
	}
}
