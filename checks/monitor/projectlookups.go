package monitor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// lookupAge is how long a lookup stays cached. Changes of another process take effect after that. The command line
	// promises 5 seconds.
	lookupAge = 3 * time.Second
	// maxLookups bounds the number of cached lookups.
	maxLookups = 10_000
)

// lookups is a short-lived cache of the API keys and projects that most requests look up first. It does not cache
// errors, so a new key works at once, and wrong keys take no memory.
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

// get returns the cached value of a key, or reads it.
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

// cached are the lookups of a monitor.
type cached struct {
	keys       lookups[keyID, checks.Key]
	byBadgeKey lookups[string, checks.Project]
	byID       lookups[uuid.UUID, checks.Project]
}

// forget empties the caches of projects and keys, so that a change takes effect in this process at once.
func (c *cached) forget() {
	c.keys.forget()
	c.byBadgeKey.forget()
	c.byID.forget()
}

// where returns the first item of a list that matches.
func where[T any](list []T, match func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i], true
	}
	return found, false
}

// one returns the first item of a list, or [checks.ErrNotFound]. It passes on the error of the query.
func one[T any](list []T, err error) (first T, _ error) {
	if err == nil && len(list) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return first, err
	}
	return list[0], nil
}
