package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// maxAttempts bounds how often Update runs a transaction that hits deadlocks or serialization failures.
const maxAttempts = 5

// lookup reads what people set up: from a database, or in a transaction.
type lookup struct {
	from   bun.IDB
	schema *schema // nil in a transaction
}

// database is the store of a monitor.
type database struct {
	lookup
	db    *bun.DB
	d     dialect
	plans checks.Plans
	// writing is a lock for the transaction that writes to SQLite. It is fair and wakes waiters at once; SQLite's own
	// lock does neither.
	writing     chan struct{}
	checkpoints checkpoints
	pruning     pruning
	cache       cache
	listeners   listeners
	writer      sqliteWriter
	compiled    map[string]*sql.Stmt // the statements of a ping by their text; Migrate sets it
	file        *sqliteFile          // nil for PostgreSQL and in memory
	announced   announced
	placed      atomic.Pointer[placement]
	placements  atomic.Int64 // numbers them
	workers     workers
	direct      direct
	owned       bool                 // Close closes the pool
	seesMemory  atomic.Pointer[bool] // whether the user of the database may see how much memory sessions have
}

var _ store.Store = (*database)(nil)

// Own gives the pool to the store, whose Close closes it from now on. Packages that open the database themselves call it.
func (s *database) Own() { s.owned = true }

// layout returns how the database keeps its rows, as far as the store has noticed.
func (s *database) layout() layout { return s.placed.Load().layout }

// placement is a layout as it was read from the database.
type placement struct {
	layout layout
	number int64 // of the layout
	read   time.Time
}

// place takes a layout that was read. It has a new number if it differs from the last one.
func (s *database) place(l layout) {
	p := &placement{layout: l, read: time.Now()}
	if last := s.placed.Load(); last != nil && reflect.DeepEqual(last.layout, l) {
		p.number = last.number
	} else {
		p.number = s.placements.Add(1)
	}
	s.placed.Store(p)
}

// Update runs fn in a transaction; see [store.Store].
func (s *database) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	release, err := s.writeAlone(ctx)
	if err != nil {
		return err
	}
	defer release()
	attempts, begin := maxAttempts, time.Now()
	for attempt := 1; ; attempt++ {
		t, committing, err := s.try(ctx, fn)
		if s.writer.waits(err, begin) {
			if ctx.Err() != nil {
				return fmt.Errorf("%w: %w", ctx.Err(), translate(err))
			}
			attempt--
			continue
		}
		if !locked(err) && s.writer.held.Load() != nil {
			s.writer.held.Store(nil)
		}
		if t.direct && err != nil {
			if ctx = s.detour(ctx, err); !committing {
				continue
			}
		}
		again := retryable(err) || s.stale(ctx, t.layout, err)
		if disconnected(err) {
			// After a restart of the database, every connection in the pool is dead, and each attempt discards one.
			if attempts == maxAttempts {
				attempts += s.db.DB.Stats().OpenConnections
			}
			again = true
			if committing {
				done, known := s.outcome(ctx, t.saved)
				if done {
					err = nil
				}
				again = known
			}
		}
		if err == nil {
			s.cache.put(t.saved)
			s.checkpointBodies(t.bodyBytes)
			return nil
		}
		if !again || attempt >= attempts || ctx.Err() != nil {
			if committing && !refused(err) && ctx.Err() == nil { // perhaps it was done
				return &translatedError{store.ErrUnavailable, err}
			}
			return s.translate(err)
		}
	}
}

// outcome determines, after a lost answer, whether a commit was done, from the revisions of its checks. Locking the
// rows waits for a commit in progress. known is false if the commit wrote no checks, or others have written all of them
// since. Both count only if the transaction that looked is committed too: that waits for the same standbys, while a commit
// that was broken off shows its rows although no standby has them.
func (s *database) outcome(ctx context.Context, saved []*store.Locked) (done, known bool) {
	written := make(map[int64]*lockedRow, len(saved))
	for _, l := range saved {
		row := l.Row.(*lockedRow)
		written[row.id] = row
	}
	_, _, err := s.try(ctx, func(ctx context.Context, tx store.Tx) error {
		t := tx.(*transaction)
		rows, err := t.layout.lock(ctx, t, slices.Collect(maps.Keys(written)))
		for _, row := range rows {
			w := written[row.id]
			done = done || row.revision == w.revision
			known = known || row.revision == w.revision || row.revision == w.before
		}
		return err
	})
	return done && err == nil, known && err == nil
}

// writeAlone waits until no other transaction of this store writes to SQLite, and returns a function that lets the next
// one write.
func (s *database) writeAlone(ctx context.Context) (release func(), err error) {
	if s.d.postgres {
		return func() {}, nil
	}
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		if held := s.writer.held.Load(); held != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), translate(*held))
		}
		return nil, ctx.Err()
	}
}

// try runs fn in a transaction and reports whether the transaction reached its commit.
func (s *database) try(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) (t *transaction, committing bool, err error) {
	t = &transaction{s: s, layout: s.layout()}
	run := s.runInTx
	if l, is := t.layout.(spread); is {
		if pool, at := s.pool(ctx, store.NodeOf(ctx)); pool != nil {
			t.direct, t.worker, t.named = true, at, l.workers[store.NodeOf(ctx)]
			run = func(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
				return t.onWorker(ctx, pool, fn)
			}
		}
	}
	err = run(ctx, func(ctx context.Context, tx bun.Tx) error {
		t.lookup, t.conn = lookup{from: tx}, tx
		if err := t.begin(ctx); err != nil {
			return err
		}
		err := fn(ctx, t)
		if err == nil {
			err = t.layout.commit(ctx, t)
		}
		if err == nil && s.file != nil && time.Since(s.file.checked) >= checkFileEvery {
			err = s.file.inPlace(&s.writer)
		}
		committing = err == nil
		return err
	})
	return t, committing, err
}
