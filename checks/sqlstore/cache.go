package sqlstore

import (
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// maxCacheBytes bounds the memory of the cache: about 100,000 Simple checks without long texts, or 30,000 Cron checks.
const maxCacheBytes = 128 << 20

// cache keeps checks as this store committed them, so that a batch of pings need not read them again.
//
// A transaction uses an entry only if it has locked the check's row and the row has the entry's revision. So a stale
// entry, such as after a write by another server, only costs a read.
type cache struct {
	limit int // bytes

	mu    sync.Mutex
	byID  map[uuid.UUID]*cacheEntry
	byKey map[int64]*cacheEntry // the same entries by the key of their row
	bytes int
}

type cacheEntry struct {
	check checks.Check // without Channels
	row   lockedRow
	size  int
}

// checkKey is a check with the key of its row.
type checkKey struct {
	id   int64
	uuid uuid.UUID
}

// keys returns the row keys of the cached checks among ids, and the ids that are not cached.
func (c *cache) keys(ids []uuid.UUID) (keys []checkKey, missing []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys = make([]checkKey, 0, len(ids))
	for _, id := range ids {
		if entry, ok := c.byID[id]; ok {
			keys = append(keys, checkKey{entry.row.id, id})
		} else {
			missing = append(missing, id)
		}
	}
	return keys, missing
}

// get returns copies of the checks that are cached with the revision of their locked row, and the keys of the others.
func (c *cache) get(rows []lockedKey) (locked []*store.Locked, missing []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	locked = make([]*store.Locked, 0, len(rows))
	for _, row := range rows {
		entry, ok := c.byKey[row.id]
		if !ok || entry.row.revision != row.revision {
			missing = append(missing, row.id)
			continue
		}
		state := entry.row
		locked = append(locked, &store.Locked{Check: entry.check, Row: &state})
	}
	return locked, missing
}

// state returns a copy of the state of a check that is cached with a revision, or nil.
func (c *cache) state(key, revision int64) *checks.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.byKey[key]
	if !ok || entry.row.revision != revision {
		return nil
	}
	s := entry.check.State
	s.Runs, s.Ended, s.History.Recent = slices.Clone(s.Runs), slices.Clone(s.Ended), slices.Clone(s.History.Recent)
	return &s
}

// put caches checks as a transaction has committed them.
func (c *cache) put(saved []*store.Locked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID, c.byKey = make(map[uuid.UUID]*cacheEntry), make(map[int64]*cacheEntry)
	}
	for _, l := range saved {
		entry, ok := c.byID[l.ID]
		if !ok {
			if lost, found := c.byKey[l.Row.(*lockedRow).id]; found { // by a failover: the database has reused its key
				c.remove(lost.check.ID)
			}
			entry = new(cacheEntry)
			c.byID[l.ID], c.byKey[l.Row.(*lockedRow).id] = entry, entry
		}
		entry.check, entry.row = l.Check, *l.Row.(*lockedRow)
		entry.check.Channels, entry.row.was = nil, nil
		entry.row.before = entry.row.revision
		c.bytes -= entry.size
		entry.size = sizeOf(&entry.check)
		c.bytes += entry.size
	}
	for id := range c.byID { // evict in any order: the next ping of a check caches it again
		if c.bytes <= c.limit {
			break
		}
		c.remove(id)
	}
}

// forget removes a deleted check.
func (c *cache) forget(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(id)
}

// clear removes all checks.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID, c.byKey, c.bytes = nil, nil, 0
}

func (c *cache) remove(id uuid.UUID) {
	if entry, ok := c.byID[id]; ok {
		delete(c.byID, id)
		delete(c.byKey, entry.row.id)
		c.bytes -= entry.size
	}
}

// sizeOf estimates the memory of an entry in bytes: fixed parts including two map entries, the compiled schedule, open
// and finished runs, and texts. It counts a schedule for each check, although checks can share one.
func sizeOf(c *checks.Check) int {
	const fixed, schedule, run, end, text = 1300, 3000, 56, 40, 16
	size := fixed
	if c.IsCron() {
		size += schedule
	}
	for _, tag := range c.Tags {
		size += text + len(tag)
	}
	return size + run*len(c.Runs) + end*len(c.Ended) + len(c.History.Recent) + len(c.Name) + len(c.Slug) + len(c.Desc) + len(c.Schedule) + len(c.TZ) +
		len(c.StartKW) + len(c.SuccessKW) + len(c.FailureKW) + len(c.QuietHours) + len(c.After)
}
