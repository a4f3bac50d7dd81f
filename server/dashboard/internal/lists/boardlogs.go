package lists

import (
	"cmp"
	"context"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

const (
	// maxCachedPings bounds the cache. A ping takes about 250 bytes.
	maxCachedPings = 2 * maxBoardPings
	// olderPings is how many pings from before its time a log begins with, so that the runs of the first ones are whole.
	olderPings = 10
)

// boardCache keeps the logs of checks that boards have shown. A log is only ever appended to, whichever server records a ping, so a
// view reads the entries behind those that are known, and of a check that has not changed none.
type boardCache struct {
	mu    sync.Mutex
	logs  map[uuid.UUID]*boardLog
	size  int // of all logs
	clock int // counts reads
}

// boardLog is the log of a check since an instant.
type boardLog struct {
	timeline.Log
	since time.Time
	// cut says that only the newest pings since that instant are there.
	cut bool
	// seen is the check for which the log was read, or the zero value if it has pings that came later.
	seen seen
	used int // when, by the clock of the cache
}

// seen tells whether a check has a new ping or a new transition. The times differ even if a failover has lost pings and others
// have their numbers.
type seen struct {
	pings              int64
	status             checks.Status
	since, last, start time.Time
}

func seenOf(c checks.Check) seen {
	_, newest := c.Runs.Span()
	return seen{c.NPings, c.Stored, c.StoredSince, c.LastPing, newest.StartedAt}
}

func (l *boardLog) size() int { return 1 + len(l.Pings) + len(l.Transitions) }

// newest is the number of the newest ping.
func (l *boardLog) newest() int64 {
	if len(l.Pings) == 0 {
		return 0
	}
	return l.Pings[0].N
}

// covers reports whether the log has the newest pings since an instant, at most so many.
func (l *boardLog) covers(since time.Time, most int) bool {
	return !since.Before(l.since) && (!l.cut || len(l.Pings) >= most)
}

// after returns the log since a later instant, with at most so many pings.
func (l *boardLog) after(since time.Time, most int) timeline.Log {
	older := 0
	end := slices.IndexFunc(l.Pings, func(p pings.Ping) bool {
		if older++; !p.At.Before(since) {
			older = 0
		}
		return older == olderPings
	}) + 1
	if end == 0 {
		end = len(l.Pings)
	}
	from := slices.IndexFunc(l.Transitions, func(t checks.Transition) bool { return !t.At.Before(since) })
	if from < 0 {
		from = len(l.Transitions)
	}
	return timeline.Log{Pings: l.Pings[:min(end, most)], Transitions: l.Transitions[from:]}
}

// read returns the logs of checks since an instant.
func (c *boardCache) read(q *ui.Request, list []checks.Check, since time.Time) (map[uuid.UUID]timeline.Log, error) {
	listed := monitor.PingLimit(q.Project)
	r := logReader{q: q, since: since, listed: listed, most: min(maxBoardPings/max(len(list), 1), listed), logs: make(map[uuid.UUID]*boardLog, len(list)), limits: map[int][]uuid.UUID{}}
	c.find(&r, list)
	if err := r.readPings(q.Ctx()); err != nil {
		return nil, err
	}
	if err := r.readTransitions(q.Ctx()); err != nil {
		return nil, err
	}
	c.put(r.fresh)
	logs := make(map[uuid.UUID]timeline.Log, len(r.logs))
	for id, l := range r.logs {
		logs[id] = l.after(since, r.most)
	}
	return logs, nil
}

// logReader reads what the cache does not have.
type logReader struct {
	q     *ui.Request
	since time.Time
	// listed is how many pings the log of a check has, and most how many of them a board shows.
	listed, most int
	logs         map[uuid.UUID]*boardLog // those that are known
	fresh        map[uuid.UUID]*boardLog // those among them that are read, with what is new
	// limits are the checks to read by the number of pings.
	limits map[int][]uuid.UUID
}

// find takes the logs of checks, and says how much of them is new. The list of an open page may be older than the cache.
func (c *boardCache) find(r *logReader, list []checks.Check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	r.fresh = make(map[uuid.UUID]*boardLog)
	for _, check := range list {
		l, limit := c.logs[check.ID], r.most
		if l != nil && l.covers(r.since, r.most) {
			l.used, r.logs[check.ID] = c.clock, l
			added := check.NPings - l.newest()
			if l.seen == seenOf(check) || added < 0 && r.q.Refresh {
				continue
			}
			if added >= 0 { // the newest that is known, and more in case others come meanwhile
				limit = 1 << bits.Len64(uint64(added)+2)
			}
		}
		if limit >= r.most {
			limit = r.most
			delete(r.logs, check.ID)
		}
		r.limits[limit] = append(r.limits[limit], check.ID)
		r.fresh[check.ID] = &boardLog{since: r.since, seen: seenOf(check), used: c.clock}
	}
}

// readPings reads the pings that are new, and all of a check whose log does not continue the one that is known.
func (r *logReader) readPings(ctx context.Context) error {
	var apart []uuid.UUID
	read := func(limit int, ids []uuid.UUID) error {
		recent, err := r.q.Mon.Project(r.q.Project.ID).RecentPings(ctx, ids, r.since, limit)
		if err != nil {
			return err
		}
		for _, id := range ids {
			l, known := r.fresh[id], r.logs[id]
			if l.Pings = recent[id]; known == nil {
				l.cut = len(l.Pings) == r.most
			} else if !l.continues(known, limit, r.listed) {
				delete(r.logs, id)
				apart = append(apart, id)
			}
			if l.newest() != l.seen.pings {
				l.seen = seen{}
			}
		}
		return nil
	}
	for _, limit := range slices.Sorted(maps.Keys(r.limits)) {
		if err := read(limit, r.limits[limit]); err != nil {
			return err
		}
	}
	if len(apart) == 0 {
		return nil
	}
	return read(r.most, apart)
}

// continues adds an older log behind pings that were read, at most as many as there are listed, and reports whether it is the same
// log.
func (l *boardLog) continues(known *boardLog, limit, listed int) bool {
	if len(known.Pings) == 0 {
		return len(l.Pings) < limit
	}
	last := known.Pings[0]
	i := slices.IndexFunc(l.Pings, func(p pings.Ping) bool { return p.N == last.N })
	if i < 0 || !l.Pings[i].At.Equal(last.At) || l.Pings[i].Kind != last.Kind {
		return false
	}
	l.Pings, l.since, l.cut = slices.Concat(l.Pings[:i], known.Pings), known.since, known.cut
	if len(l.Pings) > listed {
		l.Pings, l.cut = l.Pings[:listed], true
	}
	return true
}

// readTransitions reads the transitions of the checks whose logs were read.
func (r *logReader) readTransitions(ctx context.Context) error {
	since := r.since
	for _, l := range r.fresh {
		if l.since.Before(since) {
			since = l.since
		}
	}
	transitions, err := r.q.Mon.Projects().Transitions(ctx, slices.Collect(maps.Keys(r.fresh)), since)
	for id, l := range r.fresh {
		l.Transitions = transitions[id]
		r.logs[id] = l
	}
	return err
}

// put keeps logs. It drops those that were not used for the longest time beyond the limit.
func (c *boardCache) put(fresh map[uuid.UUID]*boardLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = make(map[uuid.UUID]*boardLog)
	}
	for id, l := range fresh {
		if old := c.logs[id]; old != nil {
			c.size -= old.size()
		}
		c.size += l.size()
		c.logs[id] = l
	}
	if c.size <= maxCachedPings {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.logs), func(a, b uuid.UUID) int { return cmp.Compare(c.logs[a].used, c.logs[b].used) }) {
		if c.size <= maxCachedPings/2 {
			return
		}
		c.size -= c.logs[id].size()
		delete(c.logs, id)
	}
}
