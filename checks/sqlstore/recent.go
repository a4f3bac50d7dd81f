package sqlstore

import (
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

const (
	// maxRecent bounds how many checks are remembered, somewhat under 1 kB each.
	maxRecent = 1 << 17
	// maxDistrust is for how many batches at most the memory is left aside after it was wrong.
	maxDistrust = 64
)

// recent remembers the checks of the latest batches of pings as they were written, so that the next batch need not
// read them. Whether one is still right is found out by whoever writes it: each write of a check gives its state a new
// revision, a random number, and a remembered check is written only over the revision that it is remembered with.
type recent struct {
	mu     sync.Mutex
	checks map[uuid.UUID]recentCheck

	// Where other servers write the same checks, the memory is wrong again and again. Then it is not asked for a
	// number of batches, which doubles each time.
	distrust, skip int
}

type recentCheck struct {
	check checks.Check
	row   lockedRow
}

// newRevision returns a number that no other write has given a check. A counter would not do: after a failover to a
// server that has missed the last commits, others can have counted to the same number.
func newRevision() int64 { return rand.Int64() }

// trusted reports whether the next batch should rely on what is remembered.
func (r *recent) trusted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.skip > 0 {
		r.skip--
		return false
	}
	return true
}

// get returns the checks that are remembered, and which are not.
func (r *recent) get(ids []uuid.UUID) (locked []*monitor.Locked, missing []uuid.UUID) {
	locked = make([]*monitor.Locked, 0, len(ids))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if known, ok := r.checks[id]; ok {
			locked = append(locked, &monitor.Locked{Check: known.check, Row: &known.row})
		} else {
			missing = append(missing, id)
		}
	}
	return locked, missing
}

// put remembers checks as they have been written.
func (r *recent) put(locked []*monitor.Locked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checks == nil {
		r.checks = make(map[uuid.UUID]recentCheck)
	}
	for _, l := range locked {
		if len(r.checks) >= maxRecent {
			for id := range r.checks {
				delete(r.checks, id) // any one: those that are pinged again come back
				break
			}
		}
		r.checks[l.ID] = recentCheck{check: l.Check, row: *l.Row.(*lockedRow)}
	}
}

// confirm notes that what was remembered was right.
func (r *recent) confirm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.distrust = 0
}

// drop forgets checks: with wrong, because they were not as they were remembered.
func (r *recent) drop(ids []uuid.UUID, wrong bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		delete(r.checks, id)
	}
	if wrong {
		r.distrust = min(max(1, 2*r.distrust), maxDistrust)
		r.skip = r.distrust
	}
}

// forget forgets checks that are written without the memory.
func (r *recent) forget(locked []*monitor.Locked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range locked {
		delete(r.checks, l.ID)
	}
}
