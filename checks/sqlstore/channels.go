package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type channelRow struct {
	bun.BaseModel `bun:"table:rollcall_channels,alias:ch"`

	ID        uuid.UUID `bun:"id,pk"`
	ProjectID uuid.UUID `bun:"project_id"`
	Kind      string    `bun:"kind"`
	Name      string    `bun:"name"`
	Settings  string    `bun:"settings"`
	Sources   string    `bun:"sources"` // "" for none
	CreatedAt int64     `bun:"created_at"`
	FailedAt  int64     `bun:"failed_at,nullzero"`
	Error     string    `bun:"error"`
}

// Channels returns channels, oldest first.
func (l lookup) Channels(ctx context.Context, f store.ChannelFilter) ([]channels.Channel, error) {
	var where conditions
	addSet(&where, "ch.project_id", f.ProjectID)
	return readAll(ctx, l, func(rows *[]channelRow) *bun.SelectQuery {
		q := l.from.NewSelect().Model(rows).Where(where.String(), where.args...).OrderExpr("ch.created_at, ch.id").Limit(int64(f.Limit))
		if f.IDs != nil {
			q = q.Where("ch.id IN (?)", bun.List(f.IDs))
		}
		if len(f.NotKinds) > 0 {
			q = q.Where("ch.kind NOT IN (?)", bun.List(f.NotKinds))
		}
		return q
	}, (*channelRow).channel)
}

func (r *channelRow) channel() (channels.Channel, error) {
	c := channels.Channel{
		ID: r.ID, ProjectID: r.ProjectID, Kind: channels.Kind(r.Kind), Name: r.Name, CreatedAt: instant(r.CreatedAt),
		FailedAt: instant(r.FailedAt), Error: r.Error,
	}
	if err := json.Unmarshal([]byte(r.Settings), &c.Settings); err != nil {
		return c, fmt.Errorf("sqlstore: the settings of channel %s: %w", r.ID, err)
	}
	if r.Sources != "" {
		if err := json.Unmarshal([]byte(r.Sources), &c.Sources); err != nil {
			return c, fmt.Errorf("sqlstore: the sources of channel %s: %w", r.ID, err)
		}
	}
	return c, nil
}

// newChannelRow returns the row of a channel without its mark, which only deliveries set.
func newChannelRow(c channels.Channel) (channelRow, error) {
	row := channelRow{ID: c.ID, ProjectID: c.ProjectID, Kind: string(c.Kind), Name: c.Name, CreatedAt: micros(c.CreatedAt)}
	settings, err := json.Marshal(c.Settings)
	if err != nil {
		return channelRow{}, err
	}
	row.Settings = string(settings)
	if len(c.Sources) == 0 {
		return row, nil
	}
	sources, err := json.Marshal(c.Sources)
	row.Sources = string(sources)
	return row, err
}

// SaveChannel adds a channel, or writes its name, its settings and their sources. Checks that await a channel get it.
func (t *transaction) SaveChannel(ctx context.Context, c channels.Channel) error {
	row, err := newChannelRow(c)
	if err != nil {
		return err
	}
	result, err := t.tx().NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").
		Set("name = EXCLUDED.name").Set("settings = EXCLUDED.settings").Set("sources = EXCLUDED.sources").
		Where("ch.project_id = EXCLUDED.project_id").Exec(ctx)
	if err != nil {
		return translate(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, checks.ErrNotFound)
	}
	_, err = t.tx().NewUpdate().Table("rollcall_check_channels").Set("channel_id = ?", c.ID).Where("channel_id = ?", c.ProjectID).Exec(ctx)
	return translate(err)
}

// DeleteChannel removes a channel of a project, takes it from all checks and deletes its deliveries. A transaction that
// adds deliveries locks the channel (see keepChannels), so the last statement finds them all.
func (t *transaction) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	if err := t.deleteOne(ctx, "rollcall_channels", projectID, id); err != nil {
		return err
	}
	for _, table := range []string{"rollcall_check_channels", "rollcall_deliveries"} {
		if _, err := t.tx().NewDelete().Table(table).Where("channel_id = ?", id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
