package lists

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// boardLogs is what a board shows beside the checks.
type boardLogs struct {
	byCheck map[uuid.UUID]timeline.Log
	took    map[uuid.UUID]time.Duration // the durations of the last runs
	size    int                         // in pings
}

// boardCache keeps the logs of boards for open pages that ask again, so that the clock can move without a query.
type boardCache struct {
	mu      sync.Mutex
	entries []boardEntry // the oldest first
}

type boardEntry struct {
	project uuid.UUID
	version string
	since   time.Time
	ids     []uuid.UUID
	logs    boardLogs
}

// maxCachedPings bounds the cache. A ping takes about 250 bytes.
const maxCachedPings = 2 * maxBoardPings

// read returns the logs of checks since an instant. For an open page that asks again while nothing has changed, it asks
// no database.
func (c *boardCache) read(q *ui.Request, list []checks.Check, since time.Time) (boardLogs, error) {
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if q.Refresh {
		if logs, ok := c.get(q.Project.ID, q.Version, ids, since); ok {
			return logs, nil
		}
	}
	most := maxBoardPings / max(len(ids), 1)
	recent, err := q.Mon.Project(q.Project.ID).RecentPings(q.Ctx(), ids, since, most)
	if err != nil {
		return boardLogs{}, err
	}
	transitions, err := q.Mon.Projects().Transitions(q.Ctx(), ids, since)
	if err != nil {
		return boardLogs{}, err
	}
	logs := boardLogs{byCheck: timeline.Logs(recent, transitions)}
	if logs.took, err = q.Mon.Project(q.Project.ID).LastDurations(q.Ctx()); err != nil {
		return boardLogs{}, err
	}
	for _, log := range logs.byCheck {
		logs.size += 1 + len(log.Pings)
	}
	c.put(boardEntry{q.Project.ID, q.Version, since, ids, logs})
	return logs, nil
}

func (c *boardCache) get(project uuid.UUID, version string, ids []uuid.UUID, since time.Time) (boardLogs, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.project == project && e.version == version && !since.Before(e.since) && since.Sub(e.since) < 24*time.Hour && slices.Equal(e.ids, ids) {
			return e.logs, true
		}
	}
	return boardLogs{}, false
}

// put adds an entry. It replaces older ones of the project for the same checks, and drops the oldest beyond the limit.
func (c *boardCache) put(e boardEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(old boardEntry) bool {
		return old.project == e.project && (old.version != e.version || old.since.Sub(e.since).Abs() < time.Hour && slices.Equal(old.ids, e.ids))
	})
	c.entries = append(c.entries, e)
	size := 0
	for i, each := range slices.Backward(c.entries) {
		if size += each.logs.size; size > maxCachedPings && i < len(c.entries)-1 {
			c.entries = slices.Clone(c.entries[i+1:])
			return
		}
	}
}
