package limit

import "sync"

// Slots bounds what lasts, such as the streams of open pages: all at once, and those of each client.
type Slots[K comparable] struct {
	all, each int

	mu    sync.Mutex
	taken int
	of    map[K]int
}

// NewSlots returns slots for all clients, of which each may take some.
func NewSlots[K comparable](all, each int) *Slots[K] {
	return &Slots[K]{all: all, each: each, of: make(map[K]int)}
}

// Full is the bound that a client has reached.
type Full int

// The bounds of [Slots].
const (
	FullAll  Full = iota + 1 // of all clients together
	FullEach                 // of this client
)

// Take takes a slot, which the client gives back with free. full is 0, or the bound that was reached.
func (s *Slots[K]) Take(client K) (free func(), full Full) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[client] >= s.each:
		return nil, FullEach
	case s.taken >= s.all:
		return nil, FullAll
	}
	s.taken++
	s.of[client]++
	return sync.OnceFunc(func() { s.free(client) }), 0
}

func (s *Slots[K]) free(client K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[client]--; s.of[client] == 0 {
		delete(s.of, client)
	}
}

// Most returns the bounds.
func (s *Slots[K]) Most() (all, each int) { return s.all, s.each }
