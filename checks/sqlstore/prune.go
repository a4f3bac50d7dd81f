package sqlstore

import (
	"context"
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
	var upTo int64
	err = s.db.NewRaw("SELECT coalesce(max(id), 0) FROM (SELECT id FROM rollcall_pings WHERE id > ? ORDER BY id LIMIT ?) AS w",
		s.sweep.cursor, window).Scan(ctx, &upTo)
	if err != nil {
		return 0, translate(err)
	}
	if upTo == 0 {
		s.sweep.cursor = 0 // the end of a round
		return 0, nil
	}
	ids, err := prunable(ctx, s.db, "l.id > ? AND l.id <= ?", s.sweep.cursor, upTo)
	if err != nil {
		return 0, translate(err)
	}
	for part := range slices.Chunk(ids, removeAtOnce) {
		n := 0
		err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
			t := tx.(*transaction)
			// Once more: another process may have removed them since, and on SQLite a new ping may have the
			// identifier of the newest of them.
			still, err := prunable(ctx, t.tx, "l.id IN (?)", bun.List(part))
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
	s.sweep.cursor = upTo
	return removed, nil
}

// prunable returns those of some entries of the log that need not be kept.
func prunable(ctx context.Context, db bun.IDB, where string, args ...any) (ids []int64, err error) {
	err = db.NewRaw(`SELECT l.id FROM rollcall_pings l LEFT JOIN rollcall_states s ON s.check_id = l.check_id
		LEFT JOIN rollcall_checks c ON c.id = l.check_id LEFT JOIN rollcall_projects p ON p.id = c.project_id
		LEFT JOIN rollcall_accounts a ON a.id = p.account_id
		WHERE (s.check_id IS NULL OR l.n <= s.n_pings - CASE a.plan WHEN ? THEN ? ELSE ? END) AND `+where,
		append([]any{checks.Free, checks.FreePings, checks.PaidPings}, args...)...).Scan(ctx, &ids)
	return ids, err
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
