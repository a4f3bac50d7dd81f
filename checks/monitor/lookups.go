package monitor

import (
	"context"
	"sync"
	"time"
)

const (
	// lookupAge is for how long the answer to a lookup is used again. What another process changes takes effect by
	// then at the latest; five seconds are promised.
	lookupAge = 3 * time.Second
	// maxLookups bounds how many answers are kept.
	maxLookups = 10_000
)

// lookups remembers for a short time what was found by a key: the API keys and projects that most requests begin with.
// That there is nothing is not remembered, so that a new key can be used at once and a stranger fills no memory.
type lookups[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]lookup[V]
	epoch int // counts calls of forget
}

type lookup[V any] struct {
	value V
	read  time.Time
}

// get returns what is remembered of a key, or else what read finds.
func (l *lookups[K, V]) get(ctx context.Context, key K, now time.Time, read func(context.Context, K) (V, error)) (V, error) {
	l.mu.Lock()
	found, ok := l.known[key]
	epoch := l.epoch
	l.mu.Unlock()
	if age := now.Sub(found.read); ok && age >= 0 && age < lookupAge {
		return found.value, nil
	}
	value, err := read(ctx, key)
	if err != nil {
		return value, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return value, nil // it may be what was to be forgotten
	}
	if l.known == nil || len(l.known) >= maxLookups {
		l.known = make(map[K]lookup[V])
	}
	l.known[key] = lookup[V]{value, now}
	return value, nil
}

// forget makes the next lookups find what is there.
func (l *lookups[K, V]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
	l.epoch++
}
