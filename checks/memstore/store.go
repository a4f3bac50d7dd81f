// Package memstore is a store in memory, for tests and for programs that need no durability. It needs no database and no
// migration, and everything in it is lost when the process ends:
//
//	mon, err := monitor.New(memstore.New(), nil)
//	go mon.Run(ctx) // watches deadlines, sends alerts and removes old pings until ctx ends
//	project, err := mon.OpenProject(ctx, "jobs")
//	job, err := mon.Registry(project.ID).Register(ctx, checks.Spec{Slug: new("backup"), Timeout: new(time.Hour)})
//	jobErr, pingErr := job.Run(ctx, backup)
//
// In all else a [Store] keeps the contract of package storetest: transactions are atomic, readers never see half of
// one, and several monitors in one process may share a store. Whatever it returns is a copy that the caller may change.
//
// # Memory
//
// A ping in the log takes about 300 bytes and its body. A check keeps its newest 1,000 pings, or 100 on the free plan,
// and flips and deliveries are kept for about three months. Older ones stay until the monitor's Run or Prune removes
// them.
//
// # Large bodies
//
// A Store is a [store.BodyQueue], so that a program can test its Config.Bodies. The queue ends with the process, and
// nothing removes the objects that it leaves in object storage.
package memstore

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Store keeps projects, keys, checks, their logs, channels and deliveries in memory. It is safe for concurrent use.
// [New] makes one.
type Store struct {
	plans checks.Plans

	mu           sync.RWMutex
	last         int64     // the last number that next gave
	onAlertUntil time.Time // until when alerts also go to store.OnAlert
	settings     map[string]string
	leases       map[string]store.Lease
	ended        map[uuid.UUID]time.Time // sessions, and until when they are kept
	accounts     map[account]int         // their MaxChecks
	projects     map[uuid.UUID]*project
	keys         map[uuid.UUID]checks.Key
	channels     map[uuid.UUID]channels.Channel
	statusPages  map[uuid.UUID]checks.StatusPage
	checks       map[uuid.UUID]*check
	deleted      []*check // those whose logs await pruning
	deliveries   map[int64]*delivery
	lines        map[line][]*delivery // pending ones in the order of their IDs; none is empty
	alerts       map[alert]bool       // one for each delivery
	incidents    map[incident]store.Incident
	spools       map[uuid.UUID]spool
	spooled      map[int64]spooledPing
	lastSpooled  int64 // the identifier of the last one
	uploads      map[int64]*upload
	removals     map[string]*store.BodyJob
	objects      map[string]bool // the objects that belong to pings
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.BodyQueue = (*Store)(nil)
)

// New returns an empty store. There is nothing to migrate and nothing to close.
func New() *Store {
	return &Store{
		settings:    make(map[string]string),
		leases:      make(map[string]store.Lease),
		ended:       make(map[uuid.UUID]time.Time),
		accounts:    make(map[account]int),
		projects:    make(map[uuid.UUID]*project),
		keys:        make(map[uuid.UUID]checks.Key),
		channels:    make(map[uuid.UUID]channels.Channel),
		statusPages: make(map[uuid.UUID]checks.StatusPage),
		checks:      make(map[uuid.UUID]*check),
		deliveries:  make(map[int64]*delivery),
		lines:       make(map[line][]*delivery),
		alerts:      make(map[alert]bool),
		incidents:   make(map[incident]store.Incident),
		spools:      make(map[uuid.UUID]spool),
		spooled:     make(map[int64]spooledPing),
		uploads:     make(map[int64]*upload),
		removals:    make(map[string]*store.BodyJob),
		objects:     make(map[string]bool),
	}
}

// next returns a number that the store has never given before, also if the transaction fails.
func (s *Store) next() int64 {
	s.last++
	return s.last
}

// view runs fn while nothing changes. The error is that of ctx.
func (s *Store) view(ctx context.Context, fn func()) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	fn()
	return nil
}

// change runs fn alone. The error is that of ctx.
func (s *Store) change(ctx context.Context, fn func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	fn()
	return nil
}

// Update runs fn in a transaction, while no other transaction and no reader runs. It commits the transaction if fn
// returns nil, and undoes it otherwise, also if fn panics or ctx has ended.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &transaction{s: s}
	defer func() { t.rollBack() }()
	err := fn(ctx, t)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		t.undo = nil // keeps the changes
	}
	return err
}

// Probe returns the error of ctx.
func (s *Store) Probe(ctx context.Context, write bool) error {
	if write {
		return s.change(ctx, func() {})
	}
	return s.view(ctx, func() {})
}

// Setting returns a named value. If there is none, it stores and returns the initial one.
func (s *Store) Setting(ctx context.Context, name, initial string) (value string, err error) {
	err = s.change(ctx, func() {
		if _, found := s.settings[name]; !found {
			s.settings[name] = initial
		}
		value = s.settings[name]
	})
	return value, err
}

// EndSession notes that a session has ended, and forgets old ones.
func (s *Store) EndSession(ctx context.Context, id uuid.UUID, now, until time.Time) error {
	return s.change(ctx, func() {
		maps.DeleteFunc(s.ended, func(_ uuid.UUID, until time.Time) bool { return until.Before(now) })
		s.ended[id] = until
	})
}

// SessionEnded reports whether a session has ended.
func (s *Store) SessionEnded(ctx context.Context, id uuid.UUID) (ended bool, err error) {
	err = s.view(ctx, func() { _, ended = s.ended[id] })
	return ended, err
}

// Lease returns the lease of a task, which becomes mine if nobody else holds it.
func (s *Store) Lease(ctx context.Context, task string, now time.Time, mine store.Lease) (lease store.Lease, err error) {
	err = s.change(ctx, func() {
		lease = s.leases[task]
		if lease.Holder == mine.Holder || !now.Before(lease.Until) || lease.Until.After(mine.Until) {
			lease = store.Lease{Holder: mine.Holder, Until: checks.Instant(mine.Until)}
			s.leases[task] = lease
		}
	})
	return lease, err
}

// transaction is the store inside a transaction. It changes the store in place, and each change goes through put, drop
// or save, which know how to undo it.
type transaction struct {
	s    *Store
	undo []func()
}

var _ store.Tx = (*transaction)(nil)

// rollBack undoes the changes, the last one first.
func (t *transaction) rollBack() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
}

// put sets the value of a key.
func put[K comparable, V any](t *transaction, m map[K]V, key K, value V) {
	before, found := m[key]
	t.undo = append(t.undo, func() {
		if found {
			m[key] = before
		} else {
			delete(m, key)
		}
	})
	m[key] = value
}

// drop removes a key.
func drop[K comparable, V any](t *transaction, m map[K]V, key K) {
	if before, found := m[key]; found {
		t.undo = append(t.undo, func() { m[key] = before })
		delete(m, key)
	}
}

// save prepares for a change of what p points to. Slices in it may grow by append; their items must stay as they are.
func save[T any](t *transaction, p *T) {
	before := *p
	t.undo = append(t.undo, func() { *p = before })
}
