package sqlstore

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// anyInstant lies outside of all instants, before with a minus sign and after without.
const anyInstant = int64(1) << 62

// History returns the newest flips and pauses of a check with their deliveries, newest first, in three queries.
func (s *database) History(ctx context.Context, checkID uuid.UUID, q store.HistoryQuery) ([]store.Event, error) {
	before := anyInstant
	if !q.Before.IsZero() {
		before = micros(q.Before)
	}
	oldest, err := s.oldest(ctx, checkID, before, q.Limit)
	if err != nil {
		return nil, translate(err)
	}
	all, err := s.transitionRows(ctx, "c.uuid = ? AND t.at >= ? AND t.at < ?", checkID, oldest, before)
	if err != nil {
		return nil, err
	}
	rows := all[checkID]
	slices.Reverse(rows)
	var ids []int64
	for _, r := range rows {
		if !r.isPause {
			ids = append(ids, r.id)
		}
	}
	deliveries, err := s.deliveriesOf(ctx, checkID, ids)
	if err != nil {
		return nil, translate(err)
	}
	list := make([]store.Event, len(rows))
	for i, r := range rows {
		list[i].Transition = r.Transition
		if !r.isPause {
			list[i].Deliveries = deliveries[r.id]
		}
	}
	return list, nil
}

// oldest returns the instant of the limit-th newest flip or pause before an instant. If there are fewer, it is before all.
func (s *database) oldest(ctx context.Context, checkID uuid.UUID, before int64, limit int) (oldest int64, err error) {
	err = s.db.NewRaw(`SELECT coalesce((SELECT at FROM (
			SELECT at FROM (SELECT f.at FROM rollcall_flips AS f JOIN rollcall_checks AS c ON c.id = f.check_id
				WHERE c.uuid = ? AND f.at < ? ORDER BY f.at DESC LIMIT ?) AS flips
			UNION ALL
			SELECT at FROM (SELECT p.at FROM rollcall_pauses AS p JOIN rollcall_checks AS c ON c.id = p.check_id
				WHERE c.uuid = ? AND p.at < ? ORDER BY p.at DESC LIMIT ?) AS pauses
		) AS t ORDER BY at DESC LIMIT 1 OFFSET ?), ?)`,
		checkID, before, limit, checkID, before, limit, limit-1, -anyInstant).Scan(ctx, &oldest)
	return oldest, err
}

// deliveriesOf returns the deliveries of a check by their flips, newest first.
func (s *database) deliveriesOf(ctx context.Context, checkID uuid.UUID, flips []int64) (map[int64][]store.Delivery, error) {
	if len(flips) == 0 {
		return nil, nil
	}
	var rows []historyRow
	err := s.selectDeliveries().Where("c.uuid = ?", checkID).Where(`d.id IN (SELECT id FROM (
			SELECT r.id, row_number() OVER (PARTITION BY r.flip_id ORDER BY CASE r.reminder WHEN 0 THEN 0 ELSE 1 END, r.id DESC) AS n
			FROM rollcall_deliveries AS r JOIN rollcall_checks AS rc ON rc.id = r.check_id
			WHERE rc.uuid = ? AND r.flip_id IN (?)
		) AS ranked WHERE n <= ?)`, checkID, bun.List(flips), store.MaxEventDeliveries).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	byFlip := make(map[int64][]store.Delivery)
	for _, r := range rows {
		byFlip[r.FlipID] = append(byFlip[r.FlipID], r.delivery())
	}
	return byFlip, nil
}
