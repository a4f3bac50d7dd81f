package sqlstore

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// maxRecent bounds how many checks are remembered, somewhat under 1 kB each.
	maxRecent = 1 << 17
	// maxDistrust is for how many batches at most the memory is left aside after it was wrong.
	maxDistrust = 64
)

// recent remembers checks as they were written by the latest batches of pings or read by the latest lists, so that the
// next ones need not read them. Whether one is still right is told by its revision, a random number that each write of
// a check or of its settings changes: a remembered check is written only over the revision that it is remembered with,
// and listed only if the database has that revision.
type recent struct {
	mu     sync.Mutex
	checks map[uuid.UUID]*recentCheck
	byRow  map[int64]*recentCheck // the same, by the keys of their rows

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

// batch has room for the checks of a batch, which is used again: to allocate 1 kB for each ping would be noticeable.
type batch struct {
	locked []*monitor.Locked
	copies []copied
}

// copied is a remembered check that a batch may change.
type copied struct {
	locked monitor.Locked
	row    lockedRow
	pings  [1]pings.Ping // most have no more
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// release makes the room of a batch free. Nothing may refer to its checks any more.
func (b *batch) release() {
	clear(b.locked)
	clear(b.copies)
	batches.Put(b)
}

// get returns the checks that are remembered, which the caller releases, and which are not.
func (r *recent) get(ids []uuid.UUID) (b *batch, missing []uuid.UUID) {
	b = batches.Get().(*batch)
	b.locked = slices.Grow(b.locked[:0], len(ids))
	b.copies = slices.Grow(b.copies[:0], len(ids))[:len(ids)]
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, id := range ids {
		if known, ok := r.checks[id]; ok {
			c := &b.copies[i]
			c.row = known.row
			c.locked.Check, c.locked.Row, c.locked.Pings = known.check, &c.row, c.pings[:0]
			b.locked = append(b.locked, &c.locked)
		} else {
			missing = append(missing, id)
		}
	}
	return b, missing
}

// put remembers checks as they have been written.
func (r *recent) put(locked []*monitor.Locked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range locked {
		known, ok := r.checks[l.ID]
		if !ok {
			if len(r.checks) >= maxRecent {
				for id := range r.checks {
					r.remove(id) // any one: those that are pinged again come back
					break
				}
			}
			known = r.add(l)
		}
		known.check, known.row = l.Check, *l.Row.(*lockedRow)
	}
}

// add makes room for a check that is not remembered.
func (r *recent) add(l *monitor.Locked) *recentCheck {
	if r.checks == nil {
		r.checks, r.byRow = make(map[uuid.UUID]*recentCheck), make(map[int64]*recentCheck)
	}
	known := new(recentCheck)
	r.checks[l.ID], r.byRow[l.Row.(*lockedRow).id] = known, known
	return known
}

func (r *recent) remove(id uuid.UUID) {
	if known, ok := r.checks[id]; ok {
		delete(r.checks, id)
		delete(r.byRow, known.row.id)
	}
}

// listed is a check of a list: which it is, and its revision.
type listed struct {
	id, revision int64
	remembered   int64 // the revision that was remembered, 0 for none
	found        bool
	assigned     bool // whether its channels are known
}

// lookUpAtOnce is how many checks are looked up before pings get their turn.
const lookUpAtOnce = 256

// lookUp finds those of a list that are remembered with the revision that the database has, each at its place.
func (r *recent) lookUp(list []listed) []checks.Check {
	found := make([]checks.Check, len(list))
	for first := 0; first < len(list); first += lookUpAtOnce {
		r.mu.Lock()
		for i := first; i < min(first+lookUpAtOnce, len(list)); i++ {
			l := &list[i]
			known, ok := r.byRow[l.id]
			if !ok {
				continue
			}
			l.remembered = known.row.revision
			if l.found = l.revision != 0 && l.remembered == l.revision; l.found {
				found[i] = known.check
				found[i].Runs = slices.Clone(known.check.Runs)
				l.assigned, found[i].Channels = known.row.assigned, slices.Clone(known.row.channels)
			}
		}
		r.mu.Unlock()
	}
	return found
}

// learn remembers a check that was read because lookUp did not find it, unless it was written meanwhile or there is no
// room: what is pinged matters more.
func (r *recent) learn(l *monitor.Locked, remembered int64) {
	row := *l.Row.(*lockedRow)
	if row.revision == 0 {
		return // written by a program that gives none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.checks[l.ID]
	if ok && known.row.revision != remembered || !ok && (remembered != 0 || len(r.checks) >= maxRecent) {
		return
	}
	if !ok {
		known = r.add(l)
	}
	known.check, known.row = l.Check, row
	known.check.Runs = slices.Clone(l.Runs)
}

// learnChannels remembers the channels of a check of a list, if the check is remembered with the list's revision. They
// must have been read after that revision was: where they have changed since, the check has another one.
func (r *recent) learnChannels(l listed, channels []uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.byRow[l.id]; ok && known.row.revision == l.revision {
		known.row.assigned, known.row.channels = true, slices.Clone(channels)
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
		r.remove(id)
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
		r.remove(l.ID)
	}
}
