package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// PingLimit returns how many pings of a check of the project are listed: the newest 1,000, or 100 on the plan "free".
func PingLimit(p checks.Project) int { return store.PingLimit(p) }

// RecentPings returns the newest pings of checks of the project since an instant, newest first, with the number, kind, time,
// run, exit status, duration and body size of each. It may return some that are older, but of no check more than most, nor
// more than [Project.Pings] lists. A check without any is not in the map. The caller sees to it that the checks are in the
// project. Error: [checks.ErrNotFound] for an unknown project.
func (p *Project) RecentPings(ctx context.Context, ids []uuid.UUID, since time.Time, most int) (map[uuid.UUID][]pings.Ping, error) {
	project, err := p.cached.byID.get(ctx, p.id, p.now())
	if err != nil {
		return nil, p.about(err)
	}
	return p.store.Pings(ctx, store.PingQuery{Checks: ids, Since: since, Limit: min(most, store.PingLimit(project)), Brief: true})
}

// LastFailures returns the newest failure of each of some checks, if it is among the newest pings of the check, which most
// bounds. Each has the end of its body, at most 8 KiB; its BodySize tells whether that is all. A body in object storage is
// left out. The caller sees to it that the checks are in the project. Error: [checks.ErrNotFound] for an unknown project.
func (p *Project) LastFailures(ctx context.Context, ids []uuid.UUID, most int) (map[uuid.UUID]pings.Ping, error) {
	project, err := p.cached.byID.get(ctx, p.id, p.now())
	if err != nil {
		return nil, p.about(err)
	}
	logs, err := p.store.Pings(ctx, store.PingQuery{Checks: ids, Limit: min(most, store.PingLimit(project)), Failed: true})
	failures := make(map[uuid.UUID]pings.Ping, len(logs))
	for id, log := range logs {
		failures[id] = log[0]
	}
	return failures, err
}

// timedPings is the number of newest pings of a check among which [Project.LastDurations] looks for one with a duration.
const timedPings = 5

// LastDurations returns the duration of the last finished run of each check of the project. It leaves out a check if
// several other pings followed that run. Error: [checks.ErrNotFound].
func (p *Project) LastDurations(ctx context.Context) (map[uuid.UUID]time.Duration, error) {
	all, err := p.store.Pings(ctx, store.PingQuery{Project: p.id, Limit: timedPings, Timed: true})
	durations := make(map[uuid.UUID]time.Duration, len(all))
	for id, log := range all {
		durations[id] = *log[0].Duration
	}
	return durations, p.about(p.exists(ctx, len(durations), err))
}
