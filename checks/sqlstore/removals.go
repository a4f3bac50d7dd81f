package sqlstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type removalRow struct {
	bun.BaseModel `bun:"table:rollcall_removals,alias:r"`

	Object   string `bun:"object,pk"`
	Attempts int64  `bun:"attempts"`
	DueAt    int64  `bun:"due_at"`
}

// queueRemovals adds removals to the queue. One that is there already gets a new due time, by which whoever is
// working on it sees that it must be done once more.
func (t *transaction) queueRemovals(ctx context.Context, rows []removalRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := t.tx.NewInsert().Model(&rows).On("CONFLICT (object) DO UPDATE").Set("due_at = EXCLUDED.due_at").Exec(ctx)
	return err
}

// ClaimRemovals returns removals that are due and postpones them.
func (s *Store) ClaimRemovals(ctx context.Context, now, until time.Time, limit int) (list []monitor.Removal, err error) {
	if due, err := s.anyDue(ctx, "rollcall_removals", now); err != nil || !due {
		return nil, err
	}
	err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		var rows []removalRow
		if err := t.lockQueued(&rows, "r", now, limit).Scan(ctx); err != nil || len(rows) == 0 {
			list = nil
			return err
		}
		list = make([]monitor.Removal, len(rows))
		for i, r := range rows {
			list[i] = monitor.Removal{Key: r.Object, Attempts: int(r.Attempts) + 1, Due: instant(micros(until))}
		}
		return t.postponeRemovals(ctx, list)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *transaction) postponeRemovals(ctx context.Context, list []monitor.Removal) error {
	rows := make([][]any, len(list))
	for i, r := range list {
		rows[i] = []any{int64(r.Attempts), micros(r.Due), r.Key}
	}
	return t.s.d.update(ctx, t.tx, "rollcall_removals", []column{{"attempts", "bigint"}, {"due_at", "bigint"}, {"object", "text"}}, rows)
}

// FinishRemovals takes removals off the queue.
func (s *Store) FinishRemovals(ctx context.Context, done []monitor.Removal) error {
	if len(done) == 0 {
		return nil
	}
	byDue := make(map[int64][]string)
	for _, r := range done {
		byDue[micros(r.Due)] = append(byDue[micros(r.Due)], r.Key)
	}
	return s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		for due, keys := range byDue {
			_, err := tx.(*transaction).tx.NewDelete().Model((*removalRow)(nil)).Where("object IN (?) AND due_at = ?", bun.List(keys), due).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// RetryRemovals writes when removals are tried again.
func (s *Store) RetryRemovals(ctx context.Context, list []monitor.Removal, claimed time.Time) error {
	if len(list) == 0 {
		return nil
	}
	return s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		keys := make([]string, len(list))
		for i, r := range list {
			keys[i] = r.Key
		}
		var ours []string
		q := t.tx.NewSelect().Model((*removalRow)(nil)).Column("r.object").
			Where("r.object IN (?) AND r.due_at = ?", bun.List(keys), micros(claimed)).OrderExpr("r.object")
		if err := t.s.d.forUpdate(q, "r", "").Scan(ctx, &ours); err != nil {
			return err
		}
		claimedKeys := make(map[string]bool, len(ours))
		for _, key := range ours {
			claimedKeys[key] = true
		}
		var still []monitor.Removal
		for _, r := range list {
			if claimedKeys[r.Key] {
				still = append(still, r)
			}
		}
		return t.postponeRemovals(ctx, still)
	})
}

// uploadSlack is how long after the end of a claim an upload may still take effect: a request that was given up
// may yet be carried out.
const uploadSlack = 2 * time.Minute

// removePings removes entries of the log, with their uploads, and queues the removal of their objects. It returns how
// many were still there.
func (t *transaction) removePings(ctx context.Context, ids []int64) (removed int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	var removals []removalRow
	d, list := t.s.d, t.s.d.list(ids)
	var u uploadRow
	rows, err := t.tx.Tx.QueryContext(ctx, "DELETE FROM rollcall_uploads WHERE "+d.among("ping_id", "bigint")+" RETURNING object, attempts, due_at", list)
	uploads, err := scanList(rows, err, &u, &u.Object, &u.Attempts, &u.DueAt)
	if err != nil {
		return 0, err
	}
	for _, u := range uploads {
		if u.Attempts > 0 {
			removals = append(removals, removalRow{Object: u.Object, DueAt: u.DueAt + uploadSlack.Microseconds()})
		}
	}
	rows, err = t.tx.Tx.QueryContext(ctx, "DELETE FROM rollcall_pings WHERE "+d.among("id", "bigint")+" RETURNING coalesce(object, '')", list)
	var object string
	objects, err := scanList(rows, err, &object, &object)
	if err != nil {
		return 0, err
	}
	for _, key := range objects {
		if key != "" {
			removals = append(removals, removalRow{Object: key})
		}
	}
	return len(objects), t.queueRemovals(ctx, removals)
}
