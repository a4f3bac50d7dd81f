package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// transitionRow is a flip, or a pause if part is 1.
type transitionRow struct {
	check                  uuid.UUID
	id, at, to, from, part int64
	reason                 string
}

func (r *transitionRow) transition() (t checks.Transition, err error) {
	t = checks.Transition{At: instant(r.at), Reason: checks.Reason(r.reason)}
	if t.To, err = decode(statuses[:], r.to); err != nil {
		return t, err
	}
	t.From, err = decode(statuses[:], r.from)
	return t, err
}

// Transitions returns the flips and the pauses of a check, by time.
func (s *Store) Transitions(ctx context.Context, checkID uuid.UUID) ([]checks.Transition, error) {
	all, err := s.transitions(ctx, "c.uuid = ?", checkID)
	return all[checkID], err
}

// RecentTransitions returns the flips and the pauses of checks since an instant, by time.
func (s *Store) RecentTransitions(ctx context.Context, checkIDs []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	if len(checkIDs) == 0 {
		return nil, nil
	}
	return s.transitions(ctx, s.d.anyOf("c.uuid", "uuid")+" AND t.at >= ?", s.d.list(checkIDs), since.UnixMicro())
}

// transitions returns the flips and the pauses that meet a condition on a check c and a row t, by time.
func (s *Store) transitions(ctx context.Context, where string, args ...any) (map[uuid.UUID][]checks.Transition, error) {
	rows, err := s.transitionRows(ctx, where, args...)
	if err != nil {
		return nil, translate(err)
	}
	lists := make(map[uuid.UUID][]checks.Transition)
	for _, r := range rows {
		t, err := r.transition()
		if err != nil {
			return nil, err
		}
		lists[r.check] = append(lists[r.check], t)
	}
	return lists, nil
}

func (s *Store) transitionRows(ctx context.Context, where string, args ...any) ([]transitionRow, error) {
	var codes [3]int64
	for i, status := range []checks.Status{checks.StatusUp, checks.StatusDown, checks.StatusPaused} {
		var err error
		if codes[i], err = code(statuses[:], status); err != nil {
			return nil, err
		}
	}
	query := `SELECT uuid, id, at, to_status, from_status, reason, part FROM (
			SELECT c.uuid, t.at, CASE WHEN t.up THEN ? ELSE ? END AS to_status, t.from_status, t.reason, 0 AS part, t.id
			FROM rollcall_flips AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
			UNION ALL
			SELECT c.uuid, t.at, ?, t.from_status, '', 1, t.id
			FROM rollcall_pauses AS t JOIN rollcall_checks AS c ON c.id = t.check_id WHERE ` + where + `
		) AS u ORDER BY at, part, id`
	all := append([]any{codes[0], codes[1]}, args...)
	all = append(append(all, codes[2]), args...)
	rows, err := s.db.QueryContext(ctx, query, all...)
	var row transitionRow
	return scanList(rows, err, &row, &row.check, &row.id, &row.at, &row.to, &row.from, &row.reason, &row.part)
}
