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

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// logPage bounds the log entries that one query reads, so that it takes no longer than writing a batch of pings.
	logPage = 500
	// minLook and maxLook bound the log entries that one call of PrunePings examines. It examines minLook even if the
	// log has not grown, to remove the logs of deleted checks.
	maxLook, minLook = 100_000, 500
	// removeAtOnce bounds the rows that one transaction removes. On SQLite all pings wait for it.
	removeAtOnce = 200
	// lookUpAtOnce bounds the checks that one query reads.
	lookUpAtOnce = 256
)

// pruning is the position of PrunePings in the log. The log has no index by check, which keeps appending cheap.
// Instead, PrunePings cycles through the whole log at twice the pace at which it grows, so that at most half of the log
// awaits removal.
type pruning struct {
	mu      sync.Mutex
	cursors map[string]int64 // by table, the last entry that was examined in this round
	part    int              // of the log, where the round is
	newest  int64            // the newest entry at the last call
}

// PrunePings examines the next part of the log and removes expired entries.
func (s *database) PrunePings(ctx context.Context, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	p := &s.pruning
	p.mu.Lock()
	defer p.mu.Unlock()
	var newest int64
	if err := s.db.DB.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM rollcall_pings").Scan(&newest); err != nil {
		return 0, s.translate(err)
	}
	left := int(min(minLook+2*max(0, newest-p.newest), maxLook))
	p.newest = newest
	for parts := s.logParts(ctx); left > 0; {
		pause()
		part, limit := p.next(parts), min(left, logPage)
		entries, err := s.logAfter(ctx, part, p.cursors[part.tables.pings], limit)
		if err != nil && part.node != 0 {
			parts = s.leave(ctx, part, err)
			continue
		}
		if err != nil {
			return removed, s.translate(err)
		}
		left -= len(entries)
		n, err := s.pruneEntries(ctx, part, entries, pause)
		removed += n
		if err != nil {
			return removed, err
		}
		// Ignore entries newer than the start of this call, or the round would never end while pings arrive.
		if len(entries) == limit && entries[limit-1].id < newest {
			p.cursors[part.tables.pings] = entries[limit-1].id
		} else if p.end(part); p.part == len(parts) {
			return removed, nil
		}
	}
	return removed, nil
}

// next returns the part that the round has reached.
func (p *pruning) next(parts []logPart) logPart {
	if p.cursors == nil {
		p.cursors = make(map[string]int64)
	}
	if p.part >= len(parts) {
		p.part = 0
	}
	return parts[p.part]
}

// end ends the round of a part.
func (p *pruning) end(part logPart) {
	delete(p.cursors, part.tables.pings)
	p.part++
}

// orNoPause returns pause, or a function that does nothing.
func orNoPause(pause func()) func() {
	if pause == nil {
		return func() {}
	}
	return pause
}

// pruneEntries removes the expired ones among log entries of a part.
func (s *database) pruneEntries(ctx context.Context, part logPart, entries []entry, pause func()) (removed int, err error) {
	expired, err := s.expired(ctx, s.db.DB, part, entries, pause)
	if err != nil {
		return 0, s.translate(err)
	}
	s.layout().sortLogs(expired)
	for part := range slices.Chunk(expired, removeAtOnce) {
		pause()
		n := 0
		err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
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

// removeEntries removes entries that PrunePings found to be expired.
func (t *transaction) removeEntries(ctx context.Context, entries []entry) (removed int, err error) {
	if !t.s.d.postgres {
		// Check again: if another process has removed the newest entry since, SQLite can have reused its identifier.
		query := "SELECT id, check_id, n FROM rollcall_pings WHERE " + t.s.d.among("id", "bigint")
		entries, err = scanEntries(t.tx().Tx.QueryContext(ctx, query, t.s.d.list(entryIDs(entries))))
		if err != nil {
			return 0, err
		}
		if entries, err = t.s.expired(ctx, t.tx().Tx, logPart{}, entries, func() {}); err != nil {
			return 0, err
		}
	}
	return t.removePings(ctx, entries)
}

// entry is the part of a log entry that decides whether it may be removed.
type entry struct{ id, check, n int64 }

func entryIDs(entries []entry) []int64 {
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	return ids
}

func scanEntries(rows *sql.Rows, err error) ([]entry, error) {
	var e entry
	return scanList(rows, err, &e, &e.id, &e.check, &e.n)
}

// logAfter returns the entries of a part of the log after one of them, in order.
func (s *database) logAfter(ctx context.Context, part logPart, after int64, limit int) (page []entry, err error) {
	query := "SELECT id, check_id, n FROM " + part.tables.pings + " WHERE id > "
	if !s.d.postgres {
		return scanEntries(part.db.DB.QueryContext(ctx, query+"? ORDER BY id LIMIT ?", after, limit))
	}
	err = part.db.RunInTx(ctx, &sql.TxOptions{ReadOnly: true}, func(ctx context.Context, tx bun.Tx) (err error) {
		// With statistics from when the log was small, the planner would read and sort all of it.
		if _, err := tx.Tx.ExecContext(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		page, err = scanEntries(tx.Tx.QueryContext(ctx, query+"$1 ORDER BY id LIMIT $2", after, limit))
		return err
	})
	return page, err
}

// expired returns the entries beyond the limits of their checks. It does not join entries with checks: with statistics
// from before the log grew, the planner would look up the check for every entry.
func (s *database) expired(ctx context.Context, db querier, part logPart, entries []entry, pause func()) (list []entry, err error) {
	oldest := make(map[int64]int64)
	for _, e := range entries {
		if n, ok := oldest[e.check]; !ok || e.n < n {
			oldest[e.check] = e.n
		}
	}
	upTo := make(map[int64]int64, len(oldest))
	for ids := range slices.Chunk(slices.Collect(maps.Keys(oldest)), lookUpAtOnce) {
		pause()
		if err := s.expiredUpTo(ctx, db, part, ids, oldest, upTo); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if n, ok := upTo[e.check]; ok && e.n <= n {
			list = append(list, e)
		}
	}
	return list, nil
}

// expiredUpTo sets upTo, for each check, to the number of its last expired ping. For a deleted check, that is the
// largest number. It sets none for a check with a short log. db has the accounts.
func (s *database) expiredUpTo(ctx context.Context, db querier, part logPart, ids []int64, oldest, upTo map[int64]int64) error {
	newest, err := s.newestPings(ctx, db, part, ids)
	if err != nil {
		return err
	}
	var long []int64
	for _, check := range ids {
		switch n, exists := newest[check]; {
		case !exists:
			upTo[check] = math.MaxInt64
		case oldest[check] <= n-store.FreePings:
			upTo[check] = n - store.PaidPings
			long = append(long, check)
		}
	}
	if len(long) == 0 {
		return nil
	}
	rows, err := db.QueryContext(ctx, "SELECT c.id FROM rollcall_checks c JOIN rollcall_projects p ON p.id = c.project_id "+
		"JOIN rollcall_accounts a ON a.id = p.account_id WHERE a.plan = 'free' AND "+s.d.among("c.id", "bigint"),
		s.d.list(long))
	var check int64
	free, err := scanList(rows, err, &check, &check)
	for _, check := range free {
		upTo[check] += store.PaidPings - store.FreePings
	}
	return err
}

// newestPings returns the numbers of the last pings of checks, in the part of the log that has their entries. A shard that is being
// copied can lack a state, so the coordinator must agree that a check is gone.
func (s *database) newestPings(ctx context.Context, db querier, part logPart, ids []int64) (map[int64]int64, error) {
	newest := make(map[int64]int64, len(ids))
	read := func(from querier, table string) error {
		rows, err := from.QueryContext(ctx, "SELECT check_id, n_pings FROM "+table+" WHERE "+s.d.among("check_id", "bigint"), s.d.list(ids))
		var state struct{ check, n int64 }
		states, err := scanList(rows, err, &state, &state.check, &state.n)
		for _, state := range states {
			newest[state.check] = state.n
		}
		return err
	}
	if part.node != 0 && read(part.db.DB, part.tables.states) == nil {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { _, found := newest[id]; return found })
		if len(ids) == 0 {
			return newest, nil
		}
	}
	return newest, read(db, "rollcall_states")
}

// PruneFlips removes flips and pauses older than an instant, windows that ended before it, and finished deliveries that were
// created before it.
func (s *database) PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	if _, err := s.removeOld(ctx, "rollcall_deliveries", "created_at < ? AND state <> 'pending'", before, pause); err != nil {
		return 0, err
	}
	if _, err := s.removeOld(ctx, "rollcall_pauses", "at < ?", before, pause); err != nil {
		return 0, err
	}
	if _, err := s.removeOld(ctx, "rollcall_windows", "ends_at < ?", before, pause); err != nil {
		return 0, err
	}
	if err := s.pruneWindows(ctx); err != nil {
		return 0, err
	}
	return s.removeOld(ctx, "rollcall_flips", "at < ?", before, pause)
}

// removeOld removes the rows of a table that are older than an instant, in small transactions: after the turn of a
// month there can be many.
func (s *database) removeOld(ctx context.Context, table, older string, before time.Time, pause func()) (removed int, err error) {
	for {
		var ids []string // integers or UUIDs
		err := s.db.NewSelect().Table(table).Column("id").Where(older, micros(before)).Limit(removeAtOnce).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return removed, s.translate(err)
		}
		n := int64(0)
		err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			res, err := tx.(*transaction).tx().NewDelete().Table(table).Where(older, micros(before)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
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
