package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type uploadRow struct {
	bun.BaseModel `bun:"table:rollcall_uploads,alias:u"`

	PingID   int64  `bun:"ping_id,pk"`
	Object   string `bun:"object"`
	Attempts int64  `bun:"attempts"`
	DueAt    int64  `bun:"due_at"`
}

type removalRow struct {
	bun.BaseModel `bun:"table:rollcall_removals,alias:r"`

	Object   string `bun:"object,pk"`
	Attempts int64  `bun:"attempts"`
	DueAt    int64  `bun:"due_at"`
}

// ClaimBodies leases jobs that are due. It looks for one without a lock first, because usually there is none.
func (s *database) ClaimBodies(
	ctx context.Context, task store.BodyTask, now, until time.Time, limit int,
) (jobs []store.BodyJob, err error) {
	table, columns := "rollcall_uploads", "ping_id AS id, object, attempts"
	if task == store.RemovalTask {
		table, columns = "rollcall_removals", "0 AS id, object, attempts"
	}
	var due bool
	err = s.db.NewRaw("SELECT EXISTS (SELECT 1 FROM ? WHERE due_at <= ?)", bun.Ident(table), micros(now)).Scan(ctx, &due)
	if err != nil || !due {
		return nil, s.translate(err)
	}
	err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		t := tx.(*transaction)
		var rows []struct {
			ID       int64  `bun:"id"`
			Object   string `bun:"object"`
			Attempts int    `bun:"attempts"`
		}
		q := t.tx().NewSelect().TableExpr("? AS q", bun.Ident(table)).ColumnExpr(columns).
			Where("due_at <= ?", micros(now)).OrderExpr("due_at").Limit(int64(limit))
		if err := s.d.forUpdate(q, "q", " SKIP LOCKED").Scan(ctx, &rows); err != nil {
			return err
		}
		jobs = make([]store.BodyJob, len(rows))
		for i, r := range rows {
			jobs[i] = store.BodyJob{Task: task, ID: r.ID, Key: r.Object, Attempts: r.Attempts + 1, Due: instant(micros(until))}
		}
		return t.lease(ctx, jobs)
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

var leaseUploads = statement{
	sqlite: "UPDATE rollcall_uploads SET attempts = ?, due_at = ? WHERE ping_id = ?",
	postgres: `UPDATE rollcall_uploads AS u SET attempts = v.attempts, due_at = v.due_at
		FROM (SELECT unnest($1::bigint[]) AS attempts, unnest($2::bigint[]) AS due_at, unnest($3::bigint[]) AS ping_id) AS v
		WHERE u.ping_id = v.ping_id AND u.ping_id = ANY ($3::bigint[])`,
}

var leaseRemovals = statement{
	sqlite: "UPDATE rollcall_removals SET attempts = ?, due_at = ? WHERE object = ?",
	postgres: `UPDATE rollcall_removals AS r SET attempts = v.attempts, due_at = v.due_at
		FROM (SELECT unnest($1::bigint[]) AS attempts, unnest($2::bigint[]) AS due_at, unnest($3::text[]) AS object) AS v
		WHERE r.object = v.object AND r.object = ANY ($3::text[])`,
}

var moveBodies = statement{
	sqlite: "UPDATE rollcall_pings SET body = NULL, object = ? WHERE id = ?",
	postgres: `UPDATE rollcall_pings AS p SET body = NULL, object = v.object
		FROM (SELECT unnest($1::text[]) AS object, unnest($2::bigint[]) AS id) AS v WHERE p.id = v.id AND p.id = ANY ($2::bigint[])`,
}

// lease writes Attempts and Due of queued jobs.
func (t *transaction) lease(ctx context.Context, jobs []store.BodyJob) error {
	var uploads, removals [][]any
	for _, job := range jobs {
		if job.Task == store.UploadTask {
			uploads = append(uploads, []any{int64(job.Attempts), micros(job.Due), job.ID})
		} else {
			removals = append(removals, []any{int64(job.Attempts), micros(job.Due), job.Key})
		}
	}
	if err := t.exec(ctx, leaseUploads, uploads); err != nil {
		return err
	}
	return t.exec(ctx, leaseRemovals, removals)
}

// UploadBody returns the body of an upload. It matches the object key as well as the ID, because SQLite can reuse the
// ID of a pruned entry. On Citus, the log may have a commit that the queue does not show yet: a ping with an object has no
// body any more.
func (s *database) UploadBody(ctx context.Context, job store.BodyJob) (body []byte, err error) {
	err = s.db.NewRaw(`SELECT p.body FROM rollcall_uploads u JOIN rollcall_pings p ON p.id = u.ping_id
		WHERE u.ping_id = ? AND u.object = ? AND p.object IS NULL`, job.ID, job.Key).Scan(ctx, &body)
	return body, s.translate(err)
}

// RecordBodies records the outcome of jobs.
func (s *database) RecordBodies(ctx context.Context, results []store.BodyResult) error {
	var uploads, removals []store.BodyResult
	for _, r := range results {
		if r.Task == store.UploadTask {
			uploads = append(uploads, r)
		} else {
			removals = append(removals, r)
		}
	}
	if len(results) == 0 {
		return nil
	}
	return s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		t := tx.(*transaction)
		if err := t.recordUploads(ctx, uploads); err != nil {
			return err
		}
		return t.recordRemovals(ctx, removals)
	})
}

// recordUploads locks the uploads before the pings, as removePings does. The second of the two transactions then sees
// the changes of the first.
func (t *transaction) recordUploads(ctx context.Context, results []store.BodyResult) error {
	if len(results) == 0 {
		return nil
	}
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	var rows []uploadRow
	q := t.tx().NewSelect().Model(&rows).Where("ping_id IN (?)", bun.List(ids)).OrderExpr("ping_id")
	if err := t.s.d.forUpdate(q, "u", "").Scan(ctx); err != nil {
		return err
	}
	queued := make(map[int64]string, len(rows))
	for _, r := range rows {
		queued[r.PingID] = r.Object
	}
	var moved [][]any
	var finished []int64
	var missing, again []store.BodyJob
	for _, r := range results {
		switch still := queued[r.ID] == r.Key; {
		case r.RetryAt.IsZero() && still:
			moved = append(moved, []any{r.Key, r.ID})
			finished = append(finished, r.ID)
		case r.RetryAt.IsZero():
			missing = append(missing, r.BodyJob)
		case still:
			r.Due = r.RetryAt
			again = append(again, r.BodyJob)
		}
	}
	if err := t.layout.moveBodies(ctx, t, moved); err != nil {
		return err
	}
	if len(finished) > 0 {
		if _, err := t.tx().NewDelete().Model((*uploadRow)(nil)).Where("ping_id IN (?)", bun.List(finished)).Exec(ctx); err != nil {
			return err
		}
	}
	if err := t.lease(ctx, again); err != nil {
		return err
	}
	return t.disown(ctx, missing)
}

// disown queues the removal of objects whose uploads are no longer queued. It keeps the objects that belong to their
// pings, because another server has recorded those uploads. It reads them by an UPDATE, which waits for locks on every shard:
// on Citus, the queue may show a commit that the log does not show yet.
func (t *transaction) disown(ctx context.Context, jobs []store.BodyJob) error {
	if len(jobs) == 0 {
		return nil
	}
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	var owned []string
	err := t.tx().NewRaw("UPDATE rollcall_pings SET object = object WHERE id IN (?) RETURNING coalesce(object, '')", bun.List(ids)).Scan(ctx, &owned)
	if err != nil {
		return err
	}
	var removals []removalRow
	for _, job := range jobs {
		if !slices.Contains(owned, job.Key) {
			removals = append(removals, removalRow{Object: job.Key})
		}
	}
	return t.queueRemovals(ctx, removals)
}

// recordRemovals ignores a removal if its due_at has changed since the claim.
func (t *transaction) recordRemovals(ctx context.Context, results []store.BodyResult) error {
	if len(results) == 0 {
		return nil
	}
	keys := make([]string, len(results))
	for i, r := range results {
		keys[i] = r.Key
	}
	var rows []removalRow
	q := t.tx().NewSelect().Model(&rows).Where("r.object IN (?)", bun.List(keys)).OrderExpr("r.object")
	if err := t.s.d.forUpdate(q, "r", "").Scan(ctx); err != nil {
		return err
	}
	due := make(map[string]int64, len(rows))
	for _, r := range rows {
		due[r.Object] = r.DueAt
	}
	var done []string
	var again []store.BodyJob
	for _, r := range results {
		switch at, queued := due[r.Key]; {
		case !queued || at != micros(r.Due):
		case r.RetryAt.IsZero():
			done = append(done, r.Key)
		default:
			r.Due = r.RetryAt
			again = append(again, r.BodyJob)
		}
	}
	if len(done) > 0 {
		if _, err := t.tx().NewDelete().Model((*removalRow)(nil)).Where("object IN (?)", bun.List(done)).Exec(ctx); err != nil {
			return err
		}
	}
	return t.lease(ctx, again)
}

// queueRemovals adds removals to the queue. If one is queued already, it gets a new due time, which makes the server that
// works on it do it once more.
func (t *transaction) queueRemovals(ctx context.Context, rows []removalRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := t.tx().NewInsert().Model(&rows).On("CONFLICT (object) DO UPDATE").Set("due_at = EXCLUDED.due_at").Exec(ctx)
	return err
}

// uploadSlack is how long after the end of its lease an upload may still take effect: object storage may complete an
// abandoned request.
const uploadSlack = 2 * time.Minute

// removePings removes log entries and their uploads, and queues the removal of their objects. It returns how many
// entries it removed.
func (t *transaction) removePings(ctx context.Context, entries []entry) (removed int, err error) {
	if len(entries) == 0 {
		return 0, nil
	}
	var removals []removalRow
	d, list := t.s.d, t.s.d.list(entryIDs(entries))
	var u uploadRow
	rows, err := t.tx().Tx.QueryContext(ctx, "DELETE FROM rollcall_uploads WHERE "+d.among("ping_id", "bigint")+" RETURNING object, attempts, due_at", list)
	uploads, err := scanList(rows, err, &u, &u.Object, &u.Attempts, &u.DueAt)
	if err != nil {
		return 0, err
	}
	for _, u := range uploads {
		if u.Attempts > 0 {
			removals = append(removals, removalRow{Object: u.Object, DueAt: u.DueAt + uploadSlack.Microseconds()})
		}
	}
	objects, err := t.layout.removeLogs(ctx, t, entries)
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
