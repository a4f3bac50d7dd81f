package limit

import "testing"

// TestSlots: a client gets as many slots as each may have, unless all are taken, and what is given back, once, is free again.
func TestSlots(t *testing.T) {
	s := NewSlots[string](3, 2)
	take := func(client string, want Full) func() {
		t.Helper()
		free, full := s.Take(client)
		if full != want {
			t.Errorf("%s: %d, want %d", client, full, want)
		}
		return free
	}
	first := take("a", 0)
	take("a", 0)
	take("a", FullEach)
	take("b", 0)
	take("b", FullAll)
	first()
	first()
	take("b", 0)
	take("a", FullAll)
	if s.taken != 3 || len(s.of) != 2 {
		t.Errorf("%d are taken, by %d clients", s.taken, len(s.of))
	}
}
