package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/timeline"
)

// Logs returns the pings and the transitions of checks of a project since an instant, from which package timeline makes
// their runs. It returns at least the newest pings since then, but of no check more than most, nor more than
// [Monitor.Pings] lists. A check without any is not in the map. The number of queries does not depend on the number of
// checks. The caller sees to it that they are in the project. Error: [checks.ErrNotFound] for an unknown project.
func (m *Monitor) Logs(ctx context.Context, projectID uuid.UUID, ids []uuid.UUID, since time.Time, most int) (map[uuid.UUID]timeline.Log, error) {
	project, err := m.admin.CachedProject(ctx, projectID)
	if err != nil {
		return nil, err
	}
	recent, err := m.store.RecentPings(ctx, ids, since, min(most, project.PingLimit()))
	if err != nil {
		return nil, err
	}
	transitions, err := m.store.RecentTransitions(ctx, ids, since)
	if err != nil {
		return nil, err
	}
	logs := make(map[uuid.UUID]timeline.Log, len(recent))
	for id, list := range recent {
		logs[id] = timeline.Log{Pings: list}
	}
	for id, list := range transitions {
		logs[id] = timeline.Log{Pings: logs[id].Pings, Transitions: list}
	}
	return logs, nil
}
