package email

import (
	"slices"
	"sync"
)

// maxMemory is the number of partly delivered alerts that a [Notifier] remembers.
const maxMemory = 1000

// memory holds the final results, by address, of alerts that still have addresses to retry. The zero value is empty.
type memory struct {
	mu      sync.Mutex
	results map[string]map[string]error // by alert and address
	order   []string                    // alerts, oldest first
}

// take removes and returns the results of an alert. The map is never nil.
func (m *memory) take(id string) map[string]error {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := m.results[id]
	if results == nil {
		return make(map[string]error)
	}
	delete(m.results, id)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
	return results
}

// keep stores the results of an alert and forgets the oldest beyond maxMemory.
func (m *memory) keep(id string, results map[string]error) {
	if len(results) == 0 || id == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.results == nil {
		m.results = make(map[string]map[string]error)
	}
	m.results[id] = results
	m.order = append(m.order, id)
	for len(m.order) > maxMemory {
		delete(m.results, m.order[0])
		m.order = m.order[1:]
	}
}
