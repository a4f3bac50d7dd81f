package monitor

import (
	"context"
	"sync"
	"time"
)

const (
	// lookupAge is how long a lookup stays cached. Changes of another process take effect after that; the command line
	// promises five seconds.
	lookupAge = 3 * time.Second
	// maxLookups bounds how many lookups are cached.
	maxLookups = 10_000
)

// lookups caches what read finds by a key, for a short time: the API keys and projects that most requests begin with.
// Errors are not cached, so that a new key works at once and a stranger fills no memory.
type lookups[K comparable, V any] struct {
	read func(context.Context, K) (V, error)

	mu    sync.Mutex
	known map[K]lookup[V]
	epoch int // counts calls of forget
}

type lookup[V any] struct {
	value V
	read  time.Time
}

// get returns what is cached for a key, or else what read finds.
func (l *lookups[K, V]) get(ctx context.Context, key K, now time.Time) (V, error) {
	l.mu.Lock()
	found, ok := l.known[key]
	epoch := l.epoch
	l.mu.Unlock()
	if age := now.Sub(found.read); ok && age >= 0 && age < lookupAge {
		return found.value, nil
	}
	value, err := l.read(ctx, key)
	if err != nil {
		return value, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return value, nil // forget was called meanwhile: the value may be stale
	}
	if l.known == nil || len(l.known) >= maxLookups {
		l.known = make(map[K]lookup[V])
	}
	l.known[key] = lookup[V]{value, now}
	return value, nil
}

// forget empties the cache.
func (l *lookups[K, V]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
	l.epoch++
}
