package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// LockDeliveries locks deliveries in the order of their keys and returns those that exist.
func (t *transaction) LockDeliveries(ctx context.Context, ids []int64) ([]store.QueuedDelivery, error) {
	var rows []deliveryRow
	q := t.tx.NewSelect().Model(&rows).ColumnExpr(queuedColumns).Where("d.id IN (?)", bun.List(ids)).OrderExpr("d.id")
	if err := t.s.d.forUpdate(q, "d", "").Scan(ctx); err != nil {
		return nil, err
	}
	list := make([]store.QueuedDelivery, len(rows))
	for i := range rows {
		list[i] = rows[i].queued()
	}
	return list, nil
}

// LockLines locks lines and returns each by the ID of its first delivery.
func (t *transaction) LockLines(ctx context.Context, ids []int64) (map[int64][]store.WaitingDelivery, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		deliveryRow
		First  int64 `bun:"first"`
		FlipAt int64 `bun:"flip_at"`
		FlipUp bool  `bun:"flip_up"`
	}
	query := "SELECT " + queuedColumns + `, h.id AS first, coalesce(f.at, d.created_at) AS flip_at, (d.close <> '' OR coalesce(f.up, FALSE)) AS flip_up
		FROM rollcall_deliveries AS h
		JOIN rollcall_deliveries AS d ON d.check_id = h.check_id AND d.channel_id = h.channel_id AND d.state = 'pending'
		LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id
		WHERE h.id IN (?) ORDER BY d.id`
	if t.s.d.postgres {
		query += " FOR UPDATE OF d"
	}
	if err := t.tx.NewRaw(query, bun.List(ids)).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	lines := make(map[int64][]store.WaitingDelivery, len(ids))
	for i := range rows {
		r := &rows[i]
		lines[r.First] = append(lines[r.First], store.WaitingDelivery{
			QueuedDelivery: r.queued(), FlipID: r.FlipID, FlipAt: instant(r.FlipAt), FlipUp: r.FlipUp,
		})
	}
	return lines, nil
}

var updateDeliveries = statement{
	sqlite: `UPDATE rollcall_deliveries SET state = ?, attempts = ?, due_at = ?, since = nullif(?, 0), finished_at = ?, error = ?,
			done = ?
		WHERE id = ?`,
	postgres: `UPDATE rollcall_deliveries AS d SET state = v.state, attempts = v.attempts, due_at = v.due_at,
			since = nullif(v.since, 0), finished_at = v.finished_at, error = v.error, done = v.done
		FROM (SELECT unnest($1::text[]) AS state, unnest($2::bigint[]) AS attempts, unnest($3::bigint[]) AS due_at,
			unnest($4::bigint[]) AS since, unnest($5::bigint[]) AS finished_at, unnest($6::text[]) AS error,
			unnest($7::text[]) AS done, unnest($8::bigint[]) AS id) AS v
		WHERE d.id = v.id AND d.id = ANY ($8::bigint[])`,
}

// SaveDeliveries writes changes to locked deliveries, their copies, the marks of channels, and incidents.
func (t *transaction) SaveDeliveries(ctx context.Context, c store.DeliveryChanges) error {
	var rows [][]any
	var ended []int64
	for _, q := range c.Deliveries {
		var finished any
		if q.State != store.DeliveryPending {
			finished = micros(c.Now)
			ended = append(ended, q.ID)
		}
		rows = append(rows, []any{
			string(q.State), int64(q.Attempts), micros(q.Due), micros(q.Since), finished, q.Error, doneText(q.Done), q.ID,
		})
	}
	if err := t.s.d.exec(ctx, t.tx, updateDeliveries, rows); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.Copies)) {
		if err := t.copyDelivery(ctx, id, c.Copies[id], c.Now); err != nil {
			return err
		}
	}
	if err := t.wakeNext(ctx, ended, c.Now); err != nil {
		return err
	}
	if err := t.markChannels(ctx, c.Marks); err != nil {
		return err
	}
	for _, i := range c.Incidents {
		if err := t.SaveIncident(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
