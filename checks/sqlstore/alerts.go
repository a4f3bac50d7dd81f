package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// alertRow is a delivery with its flip and the instants of the flips around it.
type alertRow struct {
	deliveryRow

	Project string `bun:"project"`
	Open    string `bun:"open"`
	FlipAt  int64  `bun:"flip_at"`
	FlipUp  bool   `bun:"flip_up"`
	Reason  string `bun:"reason"`
	DownAt  int64  `bun:"down_at"`
	UpAt    int64  `bun:"up_at"`
}

// earlierRow is a flip that a delivery sums up.
type earlierRow struct {
	DeliveryID int64  `bun:"delivery_id"`
	At         int64  `bun:"at"`
	Up         bool   `bun:"up"`
	Reason     string `bun:"reason"`
}

// Alerts returns the content of claimed deliveries, with a fixed number of queries.
func (s *Store) Alerts(ctx context.Context, claimed []store.QueuedDelivery) ([]store.Alert, error) {
	if len(claimed) == 0 {
		return nil, nil
	}
	rows, err := s.alertRows(ctx, claimed)
	if err != nil || len(rows) == 0 {
		return nil, translate(err)
	}
	about, err := s.alertParts(ctx, rows)
	if err != nil {
		return nil, translate(err)
	}
	byID := make(map[int64]store.QueuedDelivery, len(claimed))
	for _, q := range claimed {
		byID[q.ID] = q
	}
	alerts := make([]store.Alert, 0, len(rows))
	for _, r := range rows {
		check, known := about.checks[r.CheckID]
		channel, there := about.channels[r.ChannelID]
		if !known || !there {
			continue
		}
		alerts = append(alerts, store.Alert{
			QueuedDelivery: byID[r.ID],
			Check:          check,
			Project:        r.Project,
			Channel:        channel,
			Members:        about.members[channel.ID],
			Flip:           store.AlertFlip{At: instant(r.FlipAt), Up: r.FlipUp, Reason: checks.Reason(r.Reason)},
			Reminder:       int(r.Reminder),
			DownAt:         instant(r.DownAt),
			UpAt:           instant(r.UpAt),
			Earlier:        about.earlier[r.ID],
			Ping:           about.pings[r.CheckID].Ping,
			BodyEnd:        about.pings[r.CheckID].end,
			Close:          r.Close,
			Open:           r.Open,
		})
	}
	return alerts, nil
}

func (s *Store) alertRows(ctx context.Context, claimed []store.QueuedDelivery) (rows []alertRow, err error) {
	ids := make([]int64, len(claimed))
	for i, q := range claimed {
		ids[i] = q.ID
	}
	err = s.db.NewRaw(`SELECT d.id, d.check_id, d.channel_id, d.reminder, coalesce(d.since, 0) AS since, d.close, pr.name AS project,
			coalesce(i.open, '') AS open,
			coalesce(f.at, 0) AS flip_at, coalesce(f.up, FALSE) AS flip_up, coalesce(f.reason, '') AS reason,
			coalesce(CASE WHEN f.up THEN (SELECT b.at FROM rollcall_flips AS b WHERE b.check_id = f.check_id
				AND b.at <= f.at AND b.id < f.id AND NOT b.up ORDER BY b.at DESC, b.id DESC LIMIT 1) END, 0) AS down_at,
			coalesce(CASE WHEN NOT f.up THEN (SELECT a.at FROM rollcall_flips AS a WHERE a.check_id = f.check_id
				AND a.at >= f.at AND a.id > f.id AND a.up ORDER BY a.at, a.id LIMIT 1) END, 0) AS up_at
		FROM rollcall_deliveries AS d
		JOIN rollcall_checks AS c ON c.id = d.check_id JOIN rollcall_projects AS pr ON pr.id = c.project_id
		LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id
		LEFT JOIN rollcall_incidents AS i ON i.check_uuid = c.uuid AND i.channel_id = d.channel_id
		WHERE d.id IN (?)`, bun.List(ids)).Scan(ctx, &rows)
	return rows, err
}

// alertParts holds the rows that alerts are made of, by their keys.
type alertParts struct {
	checks   map[int64]checks.Check
	channels map[uuid.UUID]channels.Channel
	members  map[uuid.UUID][]uuid.UUID
	pings    map[int64]newestPing
	earlier  map[int64][]store.AlertFlip
}

func (s *Store) alertParts(ctx context.Context, rows []alertRow) (p alertParts, err error) {
	checkIDs := distinct(rows, func(r alertRow) int64 { return r.CheckID })
	channelIDs := distinct(rows, func(r alertRow) uuid.UUID { return r.ChannelID })
	var summaries []int64
	for _, r := range rows {
		if r.Since != 0 {
			summaries = append(summaries, r.ID)
		}
	}
	if p.checks, err = s.alertChecks(ctx, checkIDs); err != nil {
		return p, err
	}
	list, err := channelsWhere(ctx, s.db, "ch.id IN (?)", bun.List(channelIDs))
	if err != nil {
		return p, err
	}
	p.channels = make(map[uuid.UUID]channels.Channel, len(list))
	for _, c := range list {
		p.channels[c.ID] = c
	}
	p.channels[store.OnAlert.ID] = store.OnAlert
	if p.members, err = s.groupMembers(ctx, list); err != nil {
		return p, err
	}
	if p.pings, err = s.newestPings(ctx, checkIDs); err != nil || len(summaries) == 0 {
		return p, err
	}
	p.earlier, err = s.earlierFlips(ctx, summaries)
	return p, err
}

// groupMembers returns the existing members of each group in a list of channels, oldest first.
func (s *Store) groupMembers(ctx context.Context, list []channels.Channel) (map[uuid.UUID][]uuid.UUID, error) {
	wanted := make(map[uuid.UUID][]uuid.UUID)
	var ids []uuid.UUID
	for _, c := range list {
		if c.Kind == channels.Group {
			wanted[c.ID] = channels.GroupMembers(c)
			ids = append(ids, wanted[c.ID]...)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var existing []uuid.UUID
	err := s.db.NewSelect().Model((*channelRow)(nil)).Column("ch.id").Where("ch.id IN (?)", bun.List(ids)).
		OrderExpr("ch.created_at, ch.id").Scan(ctx, &existing)
	members := make(map[uuid.UUID][]uuid.UUID, len(wanted))
	for group, ids := range wanted {
		for _, id := range existing {
			if slices.Contains(ids, id) {
				members[group] = append(members[group], id)
			}
		}
	}
	return members, err
}

// distinct returns the keys of rows, each once.
func distinct[R any, K comparable](rows []R, key func(R) K) []K {
	keys := make(map[K]bool, len(rows))
	for _, r := range rows {
		keys[key(r)] = true
	}
	return slices.Collect(maps.Keys(keys))
}

// alertChecks reads checks by their keys.
func (s *Store) alertChecks(ctx context.Context, ids []int64) (map[int64]checks.Check, error) {
	rows, err := s.checkRows(ctx, s.db, s.db.DB, "c.id IN (?)", bun.List(ids))
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]checks.Check, len(rows))
	for i := range rows {
		if byID[rows[i].id], err = s.check(rows[i]); err != nil {
			return nil, err
		}
	}
	return byID, nil
}

// newestPing is the newest entry of a check's log with the beginning and the end of its body.
type newestPing struct {
	pings.Ping
	end []byte
}

func (s *Store) newestPings(ctx context.Context, ids []int64) (map[int64]newestPing, error) {
	var rows []struct {
		CheckID int64  `bun:"check_id"`
		BodyEnd []byte `bun:"body_end"`
		pingRow
	}
	err := s.db.NewRaw(`SELECT s.check_id, `+pingColumns+`, substr(p.body, 1, ?0) AS body, p.object,
			substr(p.body, CASE WHEN length(p.body) > ?1 THEN length(p.body) - ?1 + 1 ELSE 1 END) AS body_end
		FROM rollcall_states AS s JOIN rollcall_pings AS p ON p.id = s.log_head AND p.check_id = s.check_id
		WHERE s.check_id IN (?2)`, channels.MaxBody, channels.MaxEnd, bun.List(ids)).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	newest := make(map[int64]newestPing, len(rows))
	for i := range rows {
		ping, err := rows[i].ping()
		if err != nil {
			return nil, err
		}
		newest[rows[i].CheckID] = newestPing{ping, rows[i].BodyEnd}
	}
	return newest, nil
}

// earlierFlips reads the flips that deliveries sum up, oldest first.
func (s *Store) earlierFlips(ctx context.Context, ids []int64) (map[int64][]store.AlertFlip, error) {
	var rows []earlierRow
	err := s.db.NewRaw(`SELECT delivery_id, at, up, reason FROM (
			SELECT d.id AS delivery_id, e.id, e.at, e.up, e.reason,
				row_number() OVER (PARTITION BY d.id ORDER BY e.at DESC, e.id DESC) AS n
			FROM rollcall_deliveries AS d JOIN rollcall_flips AS e
				ON e.check_id = d.check_id AND e.at >= d.since AND e.id < d.flip_id
			WHERE d.id IN (?)
		) AS earlier WHERE n <= ? ORDER BY delivery_id, at, id`, bun.List(ids), store.MaxEarlier).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	earlier := make(map[int64][]store.AlertFlip)
	for _, r := range rows {
		earlier[r.DeliveryID] = append(earlier[r.DeliveryID],
			store.AlertFlip{At: instant(r.At), Up: r.Up, Reason: checks.Reason(r.Reason)})
	}
	return earlier, nil
}
