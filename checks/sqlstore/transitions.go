package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// transitionRow is a flip or a pause.
type transitionRow struct {
	check            uuid.UUID
	id, at, to, from int64
	reason           string
	isPause          bool
	checks.Transition
}

// read sets the transition.
func (r *transitionRow) read() (err error) {
	r.At, r.Reason = instant(r.at), flips.Reason(r.reason)
	if r.To, err = decode(statuses[:], r.to); err != nil {
		return err
	}
	r.From, err = decode(statuses[:], r.from)
	return err
}

// Transitions returns the flips and the pauses of checks since an instant, by time.
func (s *database) Transitions(ctx context.Context, checkIDs []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	if len(checkIDs) == 0 {
		return nil, nil
	}
	rows, err := s.transitionRows(ctx, s.d.anyOf("c.uuid", "uuid")+" AND t.at >= ?", s.d.list(checkIDs), since.UnixMicro())
	if err != nil {
		return nil, err
	}
	lists := make(map[uuid.UUID][]checks.Transition, len(rows))
	for id, list := range rows {
		for _, r := range list {
			lists[id] = append(lists[id], r.Transition)
		}
	}
	return lists, nil
}

func (s *database) transitionRows(ctx context.Context, where string, args ...any) (map[uuid.UUID][]transitionRow, error) {
	query := `SELECT uuid, id, at, to_status, from_status, reason, pause FROM (
			SELECT c.uuid, t.at, CASE WHEN t.up THEN ? ELSE ? END AS to_status, t.from_status, t.reason, FALSE AS pause, t.id
			FROM rollcall_flips AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
			UNION ALL
			SELECT c.uuid, t.at, ?, t.from_status, '', TRUE, t.id
			FROM rollcall_pauses AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
		) AS u ORDER BY at, id`
	all := append([]any{code(statuses[:], checks.StatusUp), code(statuses[:], checks.StatusDown)}, args...)
	all = append(append(all, code(statuses[:], checks.StatusPaused)), args...)
	rows, err := s.db.QueryContext(ctx, query, all...)
	var row transitionRow
	list, err := scanList(rows, err, &row, &row.check, &row.id, &row.at, &row.to, &row.from, &row.reason, &row.isPause)
	if err != nil {
		return nil, translate(err)
	}
	flips, pauses := make(map[uuid.UUID][]transitionRow), make(map[uuid.UUID][]transitionRow)
	for _, r := range list {
		if err := r.read(); err != nil {
			return nil, err
		}
		into := flips
		if r.isPause {
			into = pauses
		}
		into[r.check] = append(into[r.check], r)
	}
	for id, list := range pauses {
		flips[id] = store.MergePauses(flips[id], list, func(r transitionRow) checks.Transition { return r.Transition })
	}
	return flips, nil
}
