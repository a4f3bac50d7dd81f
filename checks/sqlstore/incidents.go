package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type incidentRow struct {
	bun.BaseModel `bun:"table:rollcall_incidents,alias:i"`

	CheckID    uuid.UUID `bun:"check_uuid,pk"`
	ChannelID  uuid.UUID `bun:"channel_id,pk"`
	CheckName  string    `bun:"check_name"`
	DeliveryID int64     `bun:"delivery_id"`
	Open       string    `bun:"open"`
	DownAt     int64     `bun:"down_at"`
	DueAt      int64     `bun:"due_at"`
	Attempts   int64     `bun:"attempts"`
	Waiting    bool      `bun:"waiting,scanonly"`
}

func (r *incidentRow) incident() store.Incident {
	return store.Incident{
		CheckID: r.CheckID, ChannelID: r.ChannelID, CheckName: r.CheckName, DeliveryID: r.DeliveryID, Open: r.Open,
		DownAt: instant(r.DownAt), Due: instant(r.DueAt), Attempts: int(r.Attempts), Waiting: r.Waiting,
	}
}

// DueIncidents returns the incidents that have been due the longest.
func (s *database) DueIncidents(ctx context.Context, now time.Time, limit int) ([]store.Incident, error) {
	var rows []incidentRow
	err := s.db.NewSelect().Model(&rows).Where("i.due_at <= ?", micros(now)).OrderExpr("i.due_at").Limit(int64(limit)).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, s.translate(err)
	}
	var ids []uuid.UUID
	for i := range rows {
		ids = append(ids, rows[i].ChannelID)
	}
	known, err := s.Channels(ctx, store.ChannelFilter{IDs: ids})
	if err != nil {
		return nil, s.translate(err)
	}
	var list []store.Incident
	for i := range rows {
		at := slices.IndexFunc(known, func(c channels.Channel) bool { return c.ID == rows[i].ChannelID })
		if at >= 0 { // or the channel was deleted just now
			incident := rows[i].incident()
			incident.Channel = known[at]
			list = append(list, incident)
		}
	}
	return list, nil
}

// LockIncident locks and returns an incident.
func (t *transaction) LockIncident(ctx context.Context, checkID, channelID uuid.UUID) (store.Incident, error) {
	var rows []incidentRow
	q := t.tx().NewSelect().Model(&rows).ColumnExpr("?TableColumns").ColumnExpr(`EXISTS (SELECT 1 FROM rollcall_deliveries AS d
			JOIN rollcall_checks AS c ON c.id = d.check_id
			WHERE d.state = 'pending' AND c.uuid = i.check_uuid AND d.channel_id = i.channel_id) AS waiting`).
		Where("i.check_uuid = ? AND i.channel_id = ?", checkID, channelID)
	if err := t.s.d.forUpdate(q, "i", "").Scan(ctx); err != nil {
		return store.Incident{}, err
	}
	if len(rows) == 0 {
		return store.Incident{}, checks.ErrNotFound
	}
	return rows[0].incident(), nil
}

// SaveIncident adds, replaces or removes an incident, and adds the delivery that closes it.
func (t *transaction) SaveIncident(ctx context.Context, i store.Incident) error {
	if i.Close != "" {
		if err := t.closeIncident(ctx, i); err != nil {
			return err
		}
	}
	if i.Open == "" {
		_, err := t.tx().NewDelete().Model((*incidentRow)(nil)).
			Where("check_uuid = ? AND channel_id = ?", i.CheckID, i.ChannelID).Exec(ctx)
		return err
	}
	if exists, err := t.keepChannel(ctx, i.ChannelID); err != nil || !exists {
		return err
	}
	row := incidentRow{
		CheckID: i.CheckID, ChannelID: i.ChannelID, CheckName: i.CheckName, DeliveryID: i.DeliveryID, Open: i.Open,
		DownAt: micros(i.DownAt), DueAt: micros(i.Due), Attempts: int64(i.Attempts),
	}
	_, err := t.tx().NewInsert().Model(&row).On("CONFLICT (check_uuid, channel_id) DO UPDATE").
		Set("check_name = EXCLUDED.check_name").Set("delivery_id = EXCLUDED.delivery_id").Set("open = EXCLUDED.open").Set("down_at = EXCLUDED.down_at").
		Set("due_at = EXCLUDED.due_at").Set("attempts = EXCLUDED.attempts").Exec(ctx)
	return err
}

// keepChannel reports whether a channel exists. On PostgreSQL it locks the channel, so that no other transaction deletes
// it before the commit.
func (t *transaction) keepChannel(ctx context.Context, id uuid.UUID) (bool, error) {
	query := "SELECT ch.id FROM rollcall_channels AS ch WHERE ch.id = ?"
	if t.s.d.postgres {
		query += keepChannels
	}
	var found []uuid.UUID
	err := t.tx().NewRaw(query, id).Scan(ctx, &found)
	return len(found) > 0, err
}

// closeIncident adds a delivery that closes an incident.
func (t *transaction) closeIncident(ctx context.Context, i store.Incident) error {
	insert := `INSERT INTO rollcall_deliveries (flip_id, check_id, channel_id, state, due_at, created_at, close)
		SELECT coalesce(` + newestFlip("c.id") + `, 0),
			c.id, ch.id, 'pending', ?, ?, ? FROM rollcall_checks AS c CROSS JOIN rollcall_channels AS ch
		WHERE c.uuid = ? AND ch.id = ?`
	if t.s.d.postgres {
		insert += keepChannels
	}
	_, err := t.tx().NewRaw(insert, micros(i.CloseAt), micros(i.CloseAt), i.Close, i.CheckID, i.ChannelID).Exec(ctx)
	return err
}
