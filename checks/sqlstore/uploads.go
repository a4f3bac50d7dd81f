package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// objectKey names the object of a ping's body. The identifier of the row is never given to another check, whereas
// a program may make a new check with the UUID of one that is gone, and objects of that one are removed late.
func objectKey(check uuid.UUID, row, n int64) string {
	return fmt.Sprintf("%s/%d-%d", check, row, n)
}

type uploadRow struct {
	bun.BaseModel `bun:"table:rollcall_uploads,alias:u"`

	PingID   int64  `bun:"ping_id,pk"`
	Object   string `bun:"object"`
	Attempts int64  `bun:"attempts"`
	DueAt    int64  `bun:"due_at"`
}

// anyDue reports whether a queue has something due. It is asked all the time, and locks nothing.
func (s *Store) anyDue(ctx context.Context, table string, now time.Time) (bool, error) {
	var due bool
	err := s.db.NewRaw("SELECT EXISTS (SELECT 1 FROM ? WHERE due_at <= ?)", bun.Ident(table), micros(now)).Scan(ctx, &due)
	return due, translate(err)
}

// lockQueued selects the rows of a queue that are due, leaving out those that another transaction has locked.
func (t *transaction) lockQueued(rows any, alias string, now time.Time, limit int) *bun.SelectQuery {
	q := t.tx.NewSelect().Model(rows).Where("due_at <= ?", micros(now)).OrderExpr("due_at").Limit(int64(limit))
	return t.s.d.forUpdate(q, alias, " SKIP LOCKED")
}

// ClaimUploads returns uploads that are due and postpones them.
func (s *Store) ClaimUploads(ctx context.Context, now, until time.Time, limit int) (list []monitor.Upload, err error) {
	if due, err := s.anyDue(ctx, "rollcall_uploads", now); err != nil || !due {
		return nil, err
	}
	err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		var rows []uploadRow
		if err := t.lockQueued(&rows, "u", now, limit).Scan(ctx); err != nil || len(rows) == 0 {
			list = nil
			return err
		}
		list = make([]monitor.Upload, len(rows))
		for i, r := range rows {
			list[i] = monitor.Upload{ID: r.PingID, Key: r.Object, Attempts: int(r.Attempts) + 1, Due: instant(micros(until))}
		}
		return t.postponeUploads(ctx, list)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *transaction) postponeUploads(ctx context.Context, list []monitor.Upload) error {
	rows := make([][]any, len(list))
	for i, u := range list {
		rows[i] = []any{int64(u.Attempts), micros(u.Due), u.ID}
	}
	return t.s.d.update(ctx, t.tx, "rollcall_uploads", []column{{"attempts", "bigint"}, {"due_at", "bigint"}, {"ping_id", "bigint"}}, rows)
}

// UploadBody returns the body of an upload.
func (s *Store) UploadBody(ctx context.Context, u monitor.Upload) (body []byte, err error) {
	// By the key as well: on SQLite the identifier of a pruned entry may have been given to another one.
	err = s.db.NewRaw("SELECT p.body FROM rollcall_uploads u JOIN rollcall_pings p ON p.id = u.ping_id WHERE u.ping_id = ? AND u.object = ?",
		u.ID, u.Key).Scan(ctx, &body)
	return body, translate(err)
}

// RetryUploads writes when uploads are tried again.
func (s *Store) RetryUploads(ctx context.Context, list []monitor.Upload) error {
	if len(list) == 0 {
		return nil
	}
	return s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		queued, err := t.queued(ctx, list)
		if err != nil {
			return err
		}
		var still []monitor.Upload
		for _, u := range list {
			if queued[u.ID] == u.Key {
				still = append(still, u)
			}
		}
		return t.postponeUploads(ctx, still)
	})
}

// queued locks those of a list of uploads that are in the queue, and returns their keys.
func (t *transaction) queued(ctx context.Context, list []monitor.Upload) (map[int64]string, error) {
	var rows []uploadRow
	q := t.tx.NewSelect().Model(&rows).Where("ping_id IN (?)", bun.List(uploadIDs(list))).OrderExpr("ping_id")
	if err := t.s.d.forUpdate(q, "u", "").Scan(ctx); err != nil {
		return nil, err
	}
	keys := make(map[int64]string, len(rows))
	for _, r := range rows {
		keys[r.PingID] = r.Object
	}
	return keys, nil
}

func uploadIDs(list []monitor.Upload) []int64 {
	ids := make([]int64, len(list))
	for i, u := range list {
		ids[i] = u.ID
	}
	return ids
}

// FinishUploads records that bodies are in object storage. It locks the uploads before it touches the pings, as
// removePings does, so that of the two whoever comes second sees what the first has done.
func (s *Store) FinishUploads(ctx context.Context, done []monitor.Upload) error {
	if len(done) == 0 {
		return nil
	}
	return s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		queued, err := t.queued(ctx, done)
		if err != nil {
			return err
		}
		var moved [][]any
		var finished []int64
		var missing []monitor.Upload
		for _, u := range done {
			if queued[u.ID] != u.Key {
				missing = append(missing, u)
				continue
			}
			moved = append(moved, []any{nil, u.Key, u.ID})
			finished = append(finished, u.ID)
		}
		err = t.s.d.update(ctx, t.tx, "rollcall_pings", []column{{"body", "bytea"}, {"object", "text"}, {"id", "bigint"}}, moved)
		if err != nil {
			return err
		}
		if len(finished) > 0 {
			if _, err := t.tx.NewDelete().Model((*uploadRow)(nil)).Where("ping_id IN (?)", bun.List(finished)).Exec(ctx); err != nil {
				return err
			}
		}
		return t.disown(ctx, missing)
	})
}

// disown queues the removal of objects that were uploaded although nobody wanted that any more: their uploads are
// not in the queue, and they are not the objects of their pings, as they would be had another server been faster.
func (t *transaction) disown(ctx context.Context, list []monitor.Upload) error {
	if len(list) == 0 {
		return nil
	}
	var owned []string
	err := t.tx.NewRaw("SELECT object FROM rollcall_pings WHERE id IN (?) AND object IS NOT NULL", bun.List(uploadIDs(list))).Scan(ctx, &owned)
	if err != nil {
		return err
	}
	has := make(map[string]bool, len(owned))
	for _, key := range owned {
		has[key] = true
	}
	var removals []removalRow
	for _, u := range list {
		if !has[u.Key] {
			removals = append(removals, removalRow{Object: u.Key})
		}
	}
	return t.queueRemovals(ctx, removals)
}
