package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// historyRow is a delivery with its check, its channel, and the direction and the reason of its flip.
type historyRow struct {
	deliveryRow

	FinishedAt  int64     `bun:"finished_at"`
	CheckUUID   uuid.UUID `bun:"check_uuid"`
	CheckName   string    `bun:"check_name"`
	CheckSlug   string    `bun:"check_slug"`
	ChannelName string    `bun:"channel_name"`
	ChannelKind string    `bun:"channel_kind"`
	FlipUp      bool      `bun:"flip_up"`
	Reason      string    `bun:"reason"`
}

// selectDeliveries begins a query for historyRows whose checks and channels exist, newest first.
func (s *database) selectDeliveries() *bun.SelectQuery {
	return s.db.NewSelect().TableExpr("rollcall_deliveries AS d").
		ColumnExpr("d.id, d.flip_id, d.reminder, d.state, d.attempts, d.due_at, d.created_at, d.finished_at, d.error, d.close, d.channel_id, d.recipient, d.done, d.held, d.held_until, d.batch").
		ColumnExpr("c.uuid AS check_uuid, c.name AS check_name, c.slug AS check_slug").
		ColumnExpr("CASE WHEN ch.project_id <> c.project_id THEN 'in another project' ELSE coalesce(ch.name, ?) END AS channel_name", store.OnAlert.Name).
		ColumnExpr("coalesce(ch.kind, ?) AS channel_kind", string(store.OnAlert.Kind)).
		ColumnExpr("(d.close <> '' OR coalesce(f.up, FALSE)) AS flip_up, coalesce(f.reason, '') AS reason").
		Join("JOIN rollcall_checks AS c ON c.id = d.check_id").
		Join("LEFT JOIN rollcall_channels AS ch ON ch.id = d.channel_id").
		Join("LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id").
		Where("ch.id IS NOT NULL OR d.channel_id = ?", store.OnAlert.ID).OrderExpr("d.id DESC")
}

// Deliveries returns deliveries of a project, newest first.
func (s *database) Deliveries(ctx context.Context, projectID uuid.UUID, query checks.DeliveryQuery) ([]checks.Delivery, error) {
	var rows []historyRow
	q := s.selectDeliveries().Where("c.project_id = ?", projectID).Limit(int64(query.Limit))
	if query.IDs != nil {
		q = q.Where("d.id IN (?)", bun.List(query.IDs))
	}
	if query.Check != uuid.Nil {
		q = q.Where("c.uuid = ?", query.Check)
	}
	if query.Channel != uuid.Nil {
		q = q.Where("d.channel_id = ?", query.Channel)
	}
	if query.Batch > 0 {
		q = q.Where("d.batch = ? AND d.id >= ?", query.Batch, query.Batch)
	}
	if query.State != "" {
		q = q.Where("d.state = ?", string(query.State))
	}
	if query.Before > 0 {
		q = q.Where("d.id < ?", query.Before)
	}
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]checks.Delivery, len(rows))
	for i, r := range rows {
		list[i] = r.delivery()
	}
	return list, nil
}

// canLeave is when a delivery d could leave.
const canLeave = "CASE WHEN d.held_until > d.created_at THEN d.held_until ELSE d.created_at END"

// Waiting sums up the pending alerts of a project that were tried without success, or could leave before an instant. It leaves
// out those that the gate keeps back, with what is behind them in their lines.
func (s *database) Waiting(ctx context.Context, projectID uuid.UUID, before time.Time) (map[uuid.UUID]store.Waiting, error) {
	var rows []struct {
		ChannelID              uuid.UUID
		Alerts, Attempts       int
		Oldest, Newest, Failed int64
	}
	err := s.db.NewSelect().TableExpr("rollcall_deliveries AS d").Join("JOIN rollcall_checks AS c ON c.id = d.check_id").
		ColumnExpr("d.channel_id, count(*) AS alerts, max(d.attempts) AS attempts").ColumnExpr("min("+canLeave+") AS oldest, max("+canLeave+") AS newest").
		ColumnExpr("max(CASE WHEN d.error <> '' THEN d.id ELSE 0 END) AS failed").
		Where("c.project_id = ? AND d.state = 'pending' AND d.close = '' AND (d.error <> '' OR "+canLeave+" < ?)", projectID, micros(before)).
		Where("NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS k WHERE k.due_at = k.held_until AND k.held_until >= ? AND k.id = "+firstOfLine+")", micros(before)).
		GroupExpr("d.channel_id").Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, s.translate(err)
	}
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.Failed)
	}
	var failed []struct {
		ID    int64
		Error string
	}
	err = s.db.NewSelect().TableExpr("rollcall_deliveries AS d").Column("d.id", "d.error").Where("d.id IN (?)", bun.List(ids)).Scan(ctx, &failed)
	if err != nil {
		return nil, s.translate(err)
	}
	errors := make(map[int64]string, len(failed))
	for _, r := range failed {
		errors[r.ID] = r.Error
	}
	waiting := make(map[uuid.UUID]store.Waiting, len(rows))
	for _, r := range rows {
		waiting[r.ChannelID] = store.Waiting{
			Alerts: r.Alerts, Attempts: r.Attempts, Oldest: instant(r.Oldest), Newest: instant(r.Newest), Error: errors[r.Failed],
		}
	}
	return waiting, nil
}

// FirstGivenUp reads the deliveries to a channel in the order of their IDs, from one on.
func (s *database) FirstGivenUp(ctx context.Context, projectID, channel uuid.UUID, after int64) (time.Time, error) {
	var at []int64
	err := s.db.NewSelect().TableExpr("rollcall_deliveries AS d").Join("JOIN rollcall_checks AS c ON c.id = d.check_id").
		ColumnExpr(canLeave).Where("c.project_id = ? AND d.channel_id = ? AND d.id > ? AND d.state = 'failed' AND d.close = ''", projectID, channel, after).
		OrderExpr("d.id").Limit(1).Scan(ctx, &at)
	if err != nil || len(at) == 0 {
		return time.Time{}, s.translate(err)
	}
	return instant(at[0]), nil
}

func (r *historyRow) delivery() checks.Delivery {
	q := r.queued()
	check := checks.Check{ID: r.CheckUUID, Settings: checks.Settings{Name: r.CheckName, Slug: r.CheckSlug}}
	d := checks.Delivery{
		ID: r.ID, CheckID: r.CheckUUID, CheckName: check.DisplayName(),
		ChannelID: r.ChannelID, ChannelName: r.ChannelName, ChannelKind: channels.Kind(r.ChannelKind), Recipient: r.Recipient,
		Status: channels.Down, Reason: flips.Reason(r.Reason), Reminder: int(r.Reminder),
		State: checks.DeliveryState(r.State), Attempts: int(r.Attempts),
		CreatedAt: instant(r.CreatedAt), FinishedAt: instant(r.FinishedAt), Error: r.Error, Close: r.Close, InPart: len(q.Done) > 0, Batch: r.Batch,
	}
	if r.FlipUp {
		d.Status = channels.Up
	}
	if d.State == checks.DeliveryPending {
		d.Due = instant(r.DueAt)
	}
	if d.State == checks.DeliverySkipped || d.State == checks.DeliveryPending && r.DueAt == r.HeldUntil {
		d.Held, d.HeldBy = q.Held, q.HeldBy
	}
	return d
}

// RetryDeliveries makes failed deliveries pending again. It locks them in the order of their keys, to prevent deadlocks.
func (t *transaction) RetryDeliveries(ctx context.Context, ids []int64, due time.Time) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	failed := t.tx().NewSelect().TableExpr("rollcall_deliveries AS f").Column("f.id").
		Where("f.id IN (?) AND f.state = 'failed'", bun.List(ids)).OrderExpr("f.id")
	res, err := t.tx().NewRaw(`UPDATE rollcall_deliveries SET state = 'pending', attempts = CASE WHEN attempts > 0 THEN 1 ELSE 0 END, due_at = ?, finished_at = NULL, error = ''
		WHERE id IN (?)`, micros(due), t.s.d.forUpdate(failed, "f", "")).Exec(ctx)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
