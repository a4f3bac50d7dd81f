package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
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
	// sweepWindow is how many entries of the log are looked at before the progress is told, at most, and sweepPage how many
	// in one query: that takes no longer than writing a batch of pings.
	sweepWindow, sweepPage = 5_000, 500
	// sweepMost bounds how many a call looks at, so that it can be stopped; sweepLeast is how many it looks at when the
	// log has not grown, so that the logs of removed checks go.
	sweepMost, sweepLeast = 1_000_000, 500
	// removeAtOnce is how many rows one transaction removes. On SQLite all pings wait for it.
	removeAtOnce = 200
)

// sweep is how far PrunePings has come. The log has no index by check, so that writing it stays cheap; instead the
// whole log is gone through, round and round, at twice the pace at which it grows. What is to be removed is then
// never more than what is to be kept.
//
// While the log grows, the place is kept in the database, so that several servers go round together instead of each by
// itself, and a server that starts goes on.
type sweep struct {
	mu     sync.Mutex
	cursor int64 // all entries up to this one have been looked at in this round, by this server
}

// progress is the place that all servers share.
type progress struct {
	cursor int64 // all entries up to this one have been looked at in this round
	newest int64 // the newest entry when that was begun
}

// progressSetting is the name of its setting.
const progressSetting = "log_sweep"

func (p progress) String() string { return fmt.Sprintf("%d %d", p.cursor, p.newest) }

// PrunePings looks at the next part of the log and removes what need not be kept.
func (s *Store) PrunePings(ctx context.Context, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	s.sweep.mu.Lock()
	defer s.sweep.mu.Unlock()
	var newest int64
	var value string
	err = s.db.DB.QueryRowContext(ctx, "SELECT ("+newestID("rollcall_pings")+"), "+
		"coalesce((SELECT value FROM rollcall_settings WHERE name = '"+progressSetting+"'), '')").Scan(&newest, &value)
	if err != nil {
		return 0, translate(err)
	}
	var before progress
	if value == "" {
		if value, err = s.Setting(ctx, progressSetting, before.String()); err != nil {
			return 0, err
		}
	}
	if _, err := fmt.Sscan(value, &before.cursor, &before.newest); err != nil {
		before = progress{} // a round from the start does no harm
	}
	grown := newest != before.newest
	if grown {
		s.sweep.cursor = before.cursor
	}
	left := min(sweepLeast+2*max(0, newest-before.newest), sweepMost)
	for ; left > 0; left -= sweepWindow {
		entries, err := s.nextEntries(ctx, s.sweep.cursor, min(left, sweepWindow), pause)
		if err != nil {
			return removed, translate(err)
		}
		after := progress{newest: newest}
		if len(entries) > 0 {
			after.cursor = entries[len(entries)-1].id
		}
		// What has come since is left for the next round. It would not end while pings come otherwise.
		ends := len(entries) == 0 || after.cursor >= newest
		if ends {
			after.cursor = 0
		}
		if grown {
			next := after.String()
			pause()
			if first, err := s.advance(ctx, value, next); err != nil || !first {
				return removed, err
			}
			value = next
		}
		s.sweep.cursor = after.cursor
		n, err := s.pruneEntries(ctx, entries, pause)
		removed += n
		if err != nil || ends {
			return removed, err
		}
	}
	return removed, nil
}

// orNoPause returns a pause that can be called.
func orNoPause(pause func()) func() {
	if pause == nil {
		return func() {}
	}
	return pause
}

// advance replaces the shared progress of the sweep, if this server is the first to do so since it was read: another that
// was first looks at what comes next. It is told before the entries are looked at. If a server ends between, they have
// their turn in the next round.
func (s *Store) advance(ctx context.Context, before, after string) (first bool, err error) {
	err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		result, err := tx.(*transaction).tx.NewUpdate().Model((*settingRow)(nil)).Set("value = ?", after).
			Where("name = ? AND value = ?", progressSetting, before).Exec(ctx)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		first = n > 0
		return err
	})
	return first, err
}

// pruneEntries removes those of some entries of the log that need not be kept.
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

// removeEntries removes entries that could be removed when they were looked at.
func (t *transaction) removeEntries(ctx context.Context, ids []int64) (removed int, err error) {
	if !t.s.d.postgres {
		// Once more: when another process has removed the newest of them since, a new ping can have its identifier on SQLite.
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

// entry is what tells whether an entry of the log may be removed.
type entry struct{ id, check, n int64 }

func scanEntries(rows *sql.Rows, err error) ([]entry, error) {
	var e entry
	return scanList(rows, err, &e, &e.id, &e.check, &e.n)
}

// nextEntries returns the entries of the log after one of them, in their order.
func (s *Store) nextEntries(ctx context.Context, after, most int64, pause func()) (entries []entry, err error) {
	for {
		pause()
		limit := min(most-int64(len(entries)), sweepPage)
		page, err := s.pageOfEntries(ctx, after, limit)
		entries = append(entries, page...)
		if err != nil || int64(len(page)) < limit || int64(len(entries)) == most {
			return entries, err
		}
		after = page[len(page)-1].id
	}
}

func (s *Store) pageOfEntries(ctx context.Context, after, limit int64) (page []entry, err error) {
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

// prunable returns those of some entries of the log that need not be kept. It asks for what decides that once for each
// check, and not in one query with the entries: with statistics from before the log has grown, the planner would look
// it up for each of them, at six times the cost.
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

// needless adds up to which ping the log of checks need not be kept, if it goes back as far as their oldest. Without the
// check it need not be kept at all. Checks whose log is short are left out.
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

// PruneFlips removes flips older than an instant, and the deliveries that were made before it and are over.
func (s *Store) PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	if _, err := s.removeOld(ctx, "rollcall_deliveries", "created_at < ? AND state <> 'pending'", before, pause); err != nil {
		return 0, err
	}
	return s.removeOld(ctx, "rollcall_flips", "at < ?", before, pause)
}

// removeOld removes the rows of a table that are older than an instant. At the turn of a month that can be very many.
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
