package sqlstore

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Zoned returns checks with a time zone, in the order of their IDs, with the next times that their rows have. It reads the two
// tables one after the other, because on Citus they are on different nodes.
func (s *database) Zoned(ctx context.Context, after uuid.UUID, limit int) ([]store.Zoned, error) {
	var check struct {
		key int64
		store.Zoned
	}
	rows, err := s.db.QueryContext(ctx, "SELECT c.id, c.uuid FROM rollcall_checks AS c WHERE c.uuid > ? AND c.tz NOT IN ('', 'UTC') ORDER BY c.uuid LIMIT ?", after, limit)
	found, err := scanList(rows, err, &check, &check.key, &check.ID)
	if err != nil {
		return nil, s.translate(err)
	}
	keys, list, places := make([]int64, len(found)), make([]store.Zoned, len(found)), make(map[int64]int, len(found))
	for i, c := range found {
		keys[i], list[i], places[c.key] = c.key, c.Zoned, i
	}
	var state struct{ key, next int64 }
	rows, err = s.db.DB.QueryContext(ctx, "SELECT s.check_id, coalesce(s.next_at, 0) FROM rollcall_states AS s WHERE "+s.d.among("s.check_id", "bigint"), s.d.list(keys))
	states, err := scanList(rows, err, &state, &state.key, &state.next)
	for _, st := range states {
		list[places[st.key]].NextAt = instant(st.next)
	}
	return list, s.translate(err)
}

// Recompile drops compiled schedules, and the cached checks that have them.
func (s *database) Recompile() {
	s.plans.Clear()
	s.cache.clear()
}
