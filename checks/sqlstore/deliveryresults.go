package sqlstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// recordResults writes what has become of deliveries.
func (t *transaction) recordResults(ctx context.Context, results []monitor.DeliveryResult, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	rows, err := t.lockDeliveries(ctx, results)
	if err != nil {
		return err
	}
	var again, over [][]any
	var ended []int64
	marks := make(map[uuid.UUID]channelMark)
	for _, r := range results {
		row, ok := rows[r.ID]
		// That it was sent is true whoever has claimed it since.
		if !ok || r.State != monitor.DeliverySent && row.Attempts != int64(r.Attempts) {
			continue
		}
		if r.State == monitor.DeliveryPending {
			if r.Uncounted {
				row.Attempts--
			}
			again = append(again, []any{row.Attempts, micros(r.Due), orText(r.Error, row.Error), r.ID})
			continue
		}
		if r.State == monitor.DeliverySent && r.Members != nil {
			if err := t.expand(ctx, &r, now); err != nil {
				return err
			}
		}
		delete(rows, r.ID) // it is over: nothing else that is said of it counts
		over = append(over, []any{string(r.State), micros(now), r.Error, r.ID})
		ended = append(ended, r.ID)
		switch {
		case r.State == monitor.DeliveryFailed:
			marks[r.ChannelID] = channelMark{r.ChannelID, micros(now), r.Error}
		case r.Members == nil:
			marks[r.ChannelID] = channelMark{channel: r.ChannelID}
		}
	}
	err = t.s.d.update(ctx, t.tx, "rollcall_deliveries",
		[]column{{"attempts", "bigint"}, {"due_at", "bigint"}, {"error", "text"}, {"id", "bigint"}}, again)
	if err != nil {
		return err
	}
	if err := t.finish(ctx, over); err != nil {
		return err
	}
	if err := t.wakeNext(ctx, ended, now); err != nil {
		return err
	}
	list := make([]channelMark, 0, len(marks))
	for _, mark := range marks {
		list = append(list, mark)
	}
	return t.markChannels(ctx, list)
}

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// lockDeliveries locks those of the deliveries that are pending, in the order of their keys.
func (t *transaction) lockDeliveries(
	ctx context.Context, results []monitor.DeliveryResult,
) (map[int64]deliveryRow, error) {
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	var rows []deliveryRow
	q := t.tx.NewSelect().Model(&rows).
		Where("d.id IN (?) AND d.state = 'pending'", bun.List(ids)).OrderExpr("d.id")
	if err := t.s.d.forUpdate(q, "d", "").Scan(ctx); err != nil {
		return nil, err
	}
	byID := make(map[int64]deliveryRow, len(rows))
	for _, r := range rows {
		byID[r.ID] = r
	}
	return byID, nil
}

// finish writes that deliveries are over: state, instant, reason and identifier of each.
func (t *transaction) finish(ctx context.Context, rows [][]any) error {
	return t.s.d.update(ctx, t.tx, "rollcall_deliveries",
		[]column{{"state", "text"}, {"finished_at", "bigint"}, {"error", "text"}, {"id", "bigint"}}, rows)
}

// wakeNext makes the deliveries due that have waited for those that have ended. One that was claimed before is left
// alone: it may be on its way. One that is due already is written too, so that this waits for another transaction that
// has locked it and is about to park it behind what has just ended.
func (t *transaction) wakeNext(ctx context.Context, ended []int64, now time.Time) error {
	if len(ended) == 0 {
		return nil
	}
	_, err := t.tx.NewRaw(`UPDATE rollcall_deliveries SET due_at = ?
		WHERE state = 'pending' AND attempts = 0 AND id IN (
			SELECT (SELECT h.id FROM rollcall_deliveries AS h WHERE h.state = 'pending'
				AND h.check_id = d.check_id AND h.channel_id = d.channel_id ORDER BY h.id LIMIT 1)
			FROM rollcall_deliveries AS d WHERE d.id IN (?))`, micros(now), bun.List(ended)).Exec(ctx)
	return err
}

// noMembers is why a delivery to a group fails of which no member exists any more.
const noMembers = "the group has no members"

// expand adds the deliveries to the members of a group, or makes the result a failure when there are none.
func (t *transaction) expand(ctx context.Context, r *monitor.DeliveryResult, now time.Time) error {
	var members []uuid.UUID
	err := t.tx.NewSelect().Model((*channelRow)(nil)).Column("ch.id").Where("ch.id IN (?)", bun.List(r.Members)).
		OrderExpr("ch.created_at, ch.id").Scan(ctx, &members)
	if err != nil {
		return err
	}
	if len(members) == 0 {
		r.State, r.Error = monitor.DeliveryFailed, noMembers
		return nil
	}
	insert := `INSERT INTO rollcall_deliveries
			(flip_id, check_id, channel_id, reminder, since, state, due_at, created_at)
		SELECT d.flip_id, d.check_id, ch.id, d.reminder, d.since, 'pending', ?, d.created_at
		FROM rollcall_deliveries AS d CROSS JOIN rollcall_channels AS ch
		WHERE d.id = ? AND ch.id IN (?) AND NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS o
			WHERE o.check_id = d.check_id AND o.channel_id = ch.id AND o.flip_id = d.flip_id AND o.reminder = d.reminder
				AND o.created_at = d.created_at)
		ORDER BY ch.created_at, ch.id`
	if t.s.d.postgres {
		insert += keepChannels
	}
	_, err = t.tx.NewRaw(insert, micros(now), r.ID, bun.List(members)).Exec(ctx)
	return err
}

// keepChannels locks the channels that an INSERT into rollcall_deliveries selects as ch. On PostgreSQL a channel could
// otherwise be deleted between the select and the commit, and the delivery would be left behind.
const keepChannels = " FOR KEY SHARE OF ch"

// channelMark is the mark of an integration: since when and why it fails, or the zero time when it works.
type channelMark struct {
	channel uuid.UUID
	at      int64
	err     string
}

// markChannels writes the marks of integrations, in the order of their identifiers.
func (t *transaction) markChannels(ctx context.Context, marks []channelMark) error {
	slices.SortStableFunc(marks, func(a, b channelMark) int { return bytes.Compare(a.channel[:], b.channel[:]) })
	var failing [][]any
	var working []uuid.UUID
	for _, m := range marks {
		if m.at != 0 {
			failing = append(failing, []any{m.at, m.err, m.channel.String()})
		} else {
			working = append(working, m.channel)
		}
	}
	err := t.s.d.update(ctx, t.tx, "rollcall_channels",
		[]column{{"failed_at", "bigint"}, {"error", "text"}, {"id", "uuid"}}, failing)
	if err != nil || len(working) == 0 {
		return err
	}
	_, err = t.tx.NewRaw(`UPDATE rollcall_channels SET failed_at = NULL, error = ''
		WHERE id IN (?) AND failed_at IS NOT NULL`,
		bun.List(working)).Exec(ctx)
	return err
}
