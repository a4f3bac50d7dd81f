package sqlstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// anyInstant lies outside of all instants, before with a minus sign and after without.
const anyInstant = int64(1) << 62

// Events returns the flips and pauses of checks, by time.
func (s *database) Events(ctx context.Context, q store.EventQuery) (map[uuid.UUID][]checks.Event, error) {
	if len(q.Checks) == 0 {
		return nil, nil
	}
	from, until := -anyInstant, anyInstant
	if !q.From.IsZero() {
		from = q.From.UnixMicro()
	}
	if !q.Until.IsZero() {
		until = q.Until.UnixMicro()
	}
	if q.Limit > 0 {
		oldest, err := s.oldest(ctx, q.Checks, from, until, q.Limit)
		if err != nil {
			return nil, s.translate(err)
		}
		from = max(from, oldest)
	}
	lists, err := s.eventsBetween(ctx, q.Checks, from, until)
	if err != nil || !q.Deliveries {
		return lists, s.translate(err)
	}
	for id, list := range lists {
		if err := s.addDeliveries(ctx, id, list); err != nil {
			return nil, s.translate(err)
		}
	}
	return lists, nil
}

func (s *database) eventsBetween(ctx context.Context, ids []uuid.UUID, from, until int64) (map[uuid.UUID][]checks.Event, error) {
	where := s.d.anyOf("c.uuid", "uuid") + " AND t.at >= ? AND t.at < ?"
	query := `SELECT uuid, id, at, to_status, from_status, reason, pause FROM (
			SELECT c.uuid, t.at, CASE WHEN t.up THEN ? ELSE ? END AS to_status, t.from_status, t.reason, FALSE AS pause, t.id
			FROM rollcall_flips AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
			UNION ALL
			SELECT c.uuid, t.at, ?, t.from_status, '', TRUE, t.id
			FROM rollcall_pauses AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
		) AS u ORDER BY at, id`
	list := s.d.list(ids)
	rows, err := s.db.QueryContext(ctx, query, code(statuses[:], checks.StatusUp), code(statuses[:], checks.StatusDown), list, from, until,
		code(statuses[:], checks.StatusPaused), list, from, until)
	var row struct {
		check            uuid.UUID
		id, at, to, from int64
		reason           string
		isPause          bool
	}
	found, err := scanList(rows, err, &row, &row.check, &row.id, &row.at, &row.to, &row.from, &row.reason, &row.isPause)
	if err != nil {
		return nil, err
	}
	changes, pauses := make(map[uuid.UUID][]checks.Event), make(map[uuid.UUID][]checks.Event)
	for _, r := range found {
		e := checks.Event{ID: r.id, CheckID: r.check, Transition: checks.Transition{At: instant(r.at), Reason: flips.Reason(r.reason)}}
		if e.To, err = decode(statuses[:], r.to); err != nil {
			return nil, err
		}
		if e.From, err = decode(statuses[:], r.from); err != nil {
			return nil, err
		}
		into := changes
		if r.isPause {
			e.ID, into = 0, pauses
		}
		into[r.check] = append(into[r.check], e)
	}
	for id, list := range pauses {
		changes[id] = mergePauses(changes[id], list)
	}
	return changes, nil
}

// mergePauses returns the transitions of a check and its pauses in one list, in the order in which they happened. Each of
// the two has that order already. A pause at the instant of a transition comes after it, unless that transition ended it.
func mergePauses(transitions, pauses []checks.Event) []checks.Event {
	merged := make([]checks.Event, 0, len(transitions)+len(pauses))
	var status checks.Status
	for len(transitions) > 0 && len(pauses) > 0 {
		t, pause := transitions[0].Transition, pauses[0].Transition
		endedEarlier := status == checks.StatusPaused && pause.From == t.To // t ended the pause before this one
		if pause.At.Before(t.At) || t.EndsAtOnce(pause) && !endedEarlier {
			merged, pauses, status = append(merged, pauses[0]), pauses[1:], checks.StatusPaused
		} else {
			merged, transitions, status = append(merged, transitions[0]), transitions[1:], t.To
		}
	}
	return append(append(merged, transitions...), pauses...)
}

// oldest returns the instant of the limit-th newest flip or pause of checks between two instants. If there are fewer, it is
// before all.
func (s *database) oldest(ctx context.Context, ids []uuid.UUID, from, until int64, limit int) (oldest int64, err error) {
	where, of := "c.uuid = ?", any(ids[0]) // the index has the order
	if len(ids) > 1 {
		where, of = s.d.anyOf("c.uuid", "uuid"), s.d.list(ids)
	}
	err = s.db.NewRaw(`SELECT coalesce((SELECT at FROM (
			SELECT at FROM (SELECT f.at FROM rollcall_flips AS f JOIN rollcall_checks AS c ON c.id = f.check_id
				WHERE `+where+` AND f.at >= ? AND f.at < ? ORDER BY f.at DESC LIMIT ?) AS flips
			UNION ALL
			SELECT at FROM (SELECT p.at FROM rollcall_pauses AS p JOIN rollcall_checks AS c ON c.id = p.check_id
				WHERE `+where+` AND p.at >= ? AND p.at < ? ORDER BY p.at DESC LIMIT ?) AS pauses
		) AS t ORDER BY at DESC LIMIT 1 OFFSET ?), ?)`,
		of, from, until, limit, of, from, until, limit, limit-1, -anyInstant).Scan(ctx, &oldest)
	return oldest, err
}

// addDeliveries adds the deliveries of a check to its events, newest first.
func (s *database) addDeliveries(ctx context.Context, checkID uuid.UUID, events []checks.Event) error {
	byFlip, ids := make(map[int64]*checks.Event), []int64(nil)
	for i, e := range events {
		if e.ID != 0 {
			byFlip[e.ID], ids = &events[i], append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []historyRow
	err := s.selectDeliveries().Where("c.uuid = ?", checkID).Where(`d.id IN (SELECT id FROM (
			SELECT r.id, row_number() OVER (PARTITION BY r.flip_id ORDER BY CASE r.reminder WHEN 0 THEN 0 ELSE 1 END, r.id DESC) AS n
			FROM rollcall_deliveries AS r JOIN rollcall_checks AS rc ON rc.id = r.check_id
			WHERE rc.uuid = ? AND r.flip_id IN (?)
		) AS ranked WHERE n <= ?)`, checkID, bun.List(ids), store.MaxEventDeliveries).Scan(ctx, &rows)
	for _, r := range rows {
		e := byFlip[r.FlipID]
		e.Deliveries = append(e.Deliveries, r.delivery())
	}
	return err
}
