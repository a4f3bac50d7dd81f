package email

import (
	"fmt"
	"testing"
)

// TestMemory checks that the memory is bounded and forgets the oldest alerts, however often another one is retried.
func TestMemory(t *testing.T) {
	var m memory
	result := func() map[string]error { return map[string]error{"a@example.org": nil} }
	m.keep("", result())
	m.keep("none", nil)
	for i := range 3 * maxMemory {
		m.keep(fmt.Sprint(i), result())
		if i > 0 {
			m.keep("tried again", m.take("tried again"))
		} else {
			m.keep("tried again", result())
		}
	}
	if len(m.results) != maxMemory || len(m.order) != maxMemory {
		t.Errorf("%d results, %d in order", len(m.results), len(m.order))
	}
	for id, want := range map[string]int{"": 0, "none": 0, "0": 0, "tried again": 1, fmt.Sprint(3*maxMemory - 1): 1} {
		if got := m.take(id); got == nil || len(got) != want {
			t.Errorf("%q: %v", id, got)
		}
		if got := m.take(id); len(got) != 0 {
			t.Errorf("%q is still there: %v", id, got)
		}
	}
}
