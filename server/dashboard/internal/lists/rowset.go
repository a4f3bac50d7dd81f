package lists

import (
	"hash/maphash"
	"sync"
)

// rowSets remembers the rows that open pages have, by the tokens of these pages, so that they get only what differs.
type rowSets struct {
	mu   sync.Mutex
	sets []*rowSet // the newest last
}

// rowSet is the rows of a page: their identifiers, and sums of their HTML.
type rowSet struct {
	token string
	ids   []string
	sums  []uint64
}

// maxRowSets bounds what is remembered: up to allSize rows each, of about 40 bytes.
const maxRowSets = 100

var seed = maphash.MakeSeed()

func sumOf(r tableRow) uint64 { return maphash.String(seed, r.html) }

// add remembers rows and returns their token.
func (s *rowSets) add(rows []tableRow) string {
	set := &rowSet{ids: make([]string, len(rows)), sums: make([]uint64, len(rows))}
	var all maphash.Hash
	all.SetSeed(seed)
	for i, r := range rows {
		set.ids[i], set.sums[i] = r.id, sumOf(r)
		_, _ = all.WriteString(r.id)
		_, _ = all.WriteString(number(set.sums[i]))
	}
	set.token = number(all.Sum64())
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, old := range s.sets {
		if old.token == set.token {
			s.sets = append(append(s.sets[:i:i], s.sets[i+1:]...), old)
			return set.token
		}
	}
	s.sets = append(s.sets, set)
	if len(s.sets) > maxRowSets {
		s.sets = append(s.sets[:0:0], s.sets[1:]...)
	}
	return set.token
}

// find returns the rows with a token, or nil.
func (s *rowSets) find(token string) *rowSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range s.sets {
		if set.token == token {
			return set
		}
	}
	return nil
}
