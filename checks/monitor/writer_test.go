package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestCancelledCallers has many callers give up while their pings are written. The others get the answers to their own
// pings, and none of those is lost.
func TestCancelledCallers(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		list := []checks.Check{s.create(t, checks.Spec{}), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})}
		const callers, each = 16, 40
		var answered atomic.Int64
		together(callers, func(caller int) {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if (caller+i)%3 == 0 {
					go cancel()
				}
				agent := fmt.Sprintf("%d %d", caller, i)
				p, err := s.Ping(ctx, list[i%3].ID, pings.Signal{UserAgent: agent})
				cancel()
				switch {
				case err == nil:
					answered.Add(1)
					if p.UserAgent != agent {
						t.Errorf("the ping of %s got the answer to that of %s", agent, p.UserAgent)
					}
				case !errors.Is(err, context.Canceled):
					t.Errorf("the ping of %s: error %v, want context.Canceled", agent, err)
				}
			}
		})
		s.ping(t, list[0].ID, pings.Success) // is written after all others
		var written int64
		for _, c := range list {
			written += s.nPings(t, c.ID)
		}
		if written <= answered.Load() || written > callers*each+1 {
			t.Errorf("%d pings were written and %d answered", written, answered.Load())
		}
	})
}

// TestBadPingFailsAlone sends pings that no check can take among good ones.
func TestBadPingFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{})
		together(40, func(i int) {
			if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil {
				t.Error(err)
			}
			if i%4 == 0 {
				if _, err := s.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
					t.Errorf("ping of an unknown check: error %v, want ErrNotFound", err)
				}
			}
		})
		if n := s.nPings(t, c.ID); n != 40 {
			t.Errorf("the check counts %d pings, want 40", n)
		}
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Ignored}); err == nil {
			t.Error("a signal of a kind that no job can send was accepted")
		}
	})
}

// unsaved is a store that asks before it saves checks.
type unsaved struct {
	store.Store
	before func(ctx context.Context, locked []*store.Locked) error
}

func (s unsaved) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, unsavedTx{tx, s}) })
}

type unsavedTx struct {
	store.Tx
	store unsaved
}

func (tx unsavedTx) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	if err := tx.store.before(ctx, locked); err != nil {
		return err
	}
	return tx.Tx.SaveChecks(ctx, locked)
}

var errUnsaved = errors.New("cannot be saved")

// TestCheckThatCannotBeSaved has a check in every batch that makes it fail. The pings of the other check are written.
func TestCheckThatCannotBeSaved(t *testing.T) {
	db := dbtest.SQLite(t).Open(t)
	s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
	good, bad := s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
	mon := s.with(t, database{unsaved{db.Contract().(store.Store), func(_ context.Context, locked []*store.Locked) error {
		for _, l := range locked {
			if l.ID == bad.ID {
				return errUnsaved
			}
		}
		return nil
	}}}, monitor.Config{})
	together(60, func(i int) {
		id, want := good.ID, error(nil)
		if i%2 == 1 {
			id, want = bad.ID, errUnsaved
		}
		if _, err := mon.Ping(t.Context(), id, pings.Signal{}); !errors.Is(err, want) {
			t.Errorf("ping %d: error %v, want %v", i, err, want)
		}
	})
	for id, want := range map[uuid.UUID]int64{good.ID: 30, bad.ID: 0} {
		if n := s.nPings(t, id); n != want {
			t.Errorf("the check counts %d pings, want %d", n, want)
		}
	}
}

// TestSingleRetries has a batch fail after most of its time limit. Each of its pings is then tried alone, with a time limit
// of its own.
func TestSingleRetries(t *testing.T) {
	for name, test := range map[string]struct {
		single time.Duration // to save one check
		want   error
	}{
		"in time":  {3 * time.Second, nil},
		"too slow": {time.Minute, checks.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.SQLite(t).Open(t)
			s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
			ids := []uuid.UUID{s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID}
			synctest.Test(t, func(t *testing.T) {
				slow := newStalling(database{unsaved{db.Contract().(store.Store), func(ctx context.Context, locked []*store.Locked) error {
					took, err := test.single*time.Duration(len(locked)), error(nil)
					if len(locked) > 1 {
						took, err = 4*time.Second, errUnsaved
					}
					select {
					case <-time.After(took):
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				}}})
				mon, err := monitor.New(database{slow}, nil)
				must(t, err)
				finish := slow.hold(func() error { // meanwhile the others queue up and become one batch
					_, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{})
					return err
				})
				var wg sync.WaitGroup
				for _, id := range ids {
					wg.Go(func() {
						if _, err := mon.Ping(t.Context(), id, pings.Signal{}); !errors.Is(err, test.want) {
							t.Errorf("ping of the batch: error %v, want %v", err, test.want)
						}
					})
				}
				synctest.Wait()
				if err := finish(); !errors.Is(err, checks.ErrNotFound) {
					t.Errorf("ping of an unknown check: error %v, want ErrNotFound", err)
				}
				wg.Wait()
			})
		})
	}
}

// blocked is a store whose transactions wait until the gate is closed.
type blocked struct {
	store.Store
	gate chan struct{}
}

func (b blocked) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	select {
	case <-b.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.Store.Update(ctx, fn)
}

// queue is a monitor in a bubble whose pings are not written until the gate is closed.
type queue struct {
	mon     *monitor.Monitor
	gate    chan struct{}
	results chan error
}

func newQueue(t *testing.T, s monitor.Store, config monitor.Config) queue {
	t.Helper()
	q := queue{gate: make(chan struct{}), results: make(chan error, 20)}
	config.WriteTimeout = time.Hour
	var err error
	q.mon, err = monitor.New(database{blocked{s.Contract().(store.Store), q.gate}}, &config)
	must(t, err)
	return q
}

// ping sends a ping and returns once it waits or has failed.
func (q queue) ping(ctx context.Context, id uuid.UUID, s pings.Signal) {
	go func() {
		_, err := q.mon.Ping(ctx, id, s)
		q.results <- err
	}()
	synctest.Wait()
}

// answered compares the errors of the next n pings that are answered.
func (q queue) answered(t *testing.T, what string, n int, want error) {
	t.Helper()
	for range n {
		if err := <-q.results; !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", what, err, want)
		}
	}
}

// TestBodiesAreBounded queues bodies of the largest size until the queue takes no more.
func TestBodiesAreBounded(t *testing.T) {
	const most, queued = 8 << 20, 64 << 20
	store := dbtest.SQLite(t).Open(t)
	s := newSetup(t, store, checks.ProjectSpec{Name: "p"})
	id := s.create(t, checks.Spec{}).ID
	_, err := s.Ping(t.Context(), id, pings.Signal{Body: make([]byte, most+1)})
	if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "body" {
		t.Errorf("body that is a byte too large: error %v, want a *checks.FieldError", err)
	}
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, store, monitor.Config{})
		body := make([]byte, most)
		ping := func() { // of an unknown check, so that nothing is written to the disk
			q.ping(t.Context(), uuid.New(), pings.Signal{Body: body})
		}
		for range 1 + queued/most { // one is being written
			ping()
		}
		if n := len(q.results); n > 0 {
			t.Fatalf("%d bodies within the limits were refused: %v", n, <-q.results)
		}
		ping()
		q.answered(t, "body beyond the limits", 1, checks.ErrUnavailable)
		close(q.gate)
		q.answered(t, "queued body", 1+queued/most, checks.ErrNotFound)
	})
}

// TestQueueIsBounded fills the queue and cancels all callers. Their pings count until they are written, and they are.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.SQLite(t).Open(t)
		s := newSetup(t, store, checks.ProjectSpec{Name: "p"})
		c := s.create(t, checks.Spec{})
		q := newQueue(t, store, monitor.Config{MaxQueue: 5, MaxBatch: 3})
		ctx, cancel := context.WithCancel(t.Context())
		for range 7 { // one is being written, and five wait
			q.ping(ctx, c.ID, pings.Signal{})
		}
		q.answered(t, "ping beyond the limit", 1, checks.ErrUnavailable)
		cancel()
		q.answered(t, "ping of a cancelled caller", 6, context.Canceled)
		q.ping(t.Context(), c.ID, pings.Signal{})
		q.answered(t, "ping to the full queue", 1, checks.ErrUnavailable)
		close(q.gate)
		synctest.Wait()
		if n := s.nPings(t, c.ID); n != 6 {
			t.Errorf("%d pings were written, want the 6 that were queued", n)
		}
	})
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, err := monitor.New(database{blocked{dbtest.SQLite(t).Open(t).Contract().(store.Store), nil}}, nil)
		must(t, err)
		begin := time.Now()
		_, err = mon.Ping(t.Context(), uuid.New(), pings.Signal{})
		if !errors.Is(err, checks.ErrUnavailable) || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: error %v, want ErrUnavailable after 5 s", time.Since(begin), err)
		}
	})
}
