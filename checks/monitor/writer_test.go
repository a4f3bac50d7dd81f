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

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAnswersAreOnesOwn has callers of whom many give up while their ping is being written: the others get the answers to
// their own pings, and none is lost.
func TestAnswersAreOnesOwn(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		list := []checks.Check{s.create(t, checks.Spec{}), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})}
		var answered atomic.Int64
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					if (w+i)%3 == 0 {
						go cancel()
					}
					agent := fmt.Sprintf("%d %d", w, i)
					p, err := s.Ping(ctx, list[i%3].ID, pings.Signal{UserAgent: agent})
					cancel()
					if err == nil {
						answered.Add(1)
					}
					if err == nil && p.UserAgent != agent || err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("the ping of %s got the answer to %s: %v", agent, p.UserAgent, err)
					}
				}
			})
		}
		wg.Wait()
		s.ping(t, list[0].ID, pings.Success) // all others are written before it
		var written int64
		for _, c := range list {
			now, err := s.Check(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			written += now.NPings
		}
		if written <= answered.Load() || written > 16*40+1 {
			t.Errorf("%d pings were written, and %d answered", written, answered.Load())
		}
	})
}

// TestBadPingFailsAlone has a ping that no check can take among good ones.
func TestBadPingFailsAlone(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil {
					t.Error(err)
				}
				if i%4 == 0 {
					if _, err := s.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
						t.Errorf("a ping of no check: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if c, _ = s.Check(t.Context(), c.ID); c.NPings != 40 {
			t.Errorf("%d pings", c.NPings)
		}
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Ignored}); err == nil {
			t.Error("a signal that no job can send was taken")
		}
	})
}

// poison is a store that cannot write the pings of one check.
type poison struct {
	monitor.Store
	bad uuid.UUID
}

type poisonTx struct {
	monitor.Tx
	bad uuid.UUID
}

var errPoison = errors.New("cannot be written")

func (p poison) Update(ctx context.Context, fn func(context.Context, monitor.Tx) error) error {
	return p.Store.Update(ctx, func(ctx context.Context, tx monitor.Tx) error { return fn(ctx, poisonTx{tx, p.bad}) })
}

func (p poisonTx) SaveChecks(ctx context.Context, locked []*monitor.Locked) error {
	for _, l := range locked {
		if l.ID == p.bad {
			return errPoison
		}
	}
	return p.Tx.SaveChecks(ctx, locked)
}

func TestBatchWithOneThatCannotBeWritten(t *testing.T) {
	store := dbtest.SQLite(t).Open(t)
	s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
	good, bad := s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
	mon, err := monitor.New(poison{store, bad.ID}, &monitor.Config{Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if _, err := mon.Ping(t.Context(), good.ID, pings.Signal{}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := mon.Ping(t.Context(), bad.ID, pings.Signal{}); !errors.Is(err, errPoison) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	if c, _ := s.Check(t.Context(), good.ID); c.NPings != 30 {
		t.Errorf("%d good pings", c.NPings)
	}
	if c, _ := s.Check(t.Context(), bad.ID); c.NPings != 0 {
		t.Errorf("%d bad pings", c.NPings)
	}
}

// failsTogether is a store that cannot write two checks at once, and takes its time.
type failsTogether struct {
	monitor.Store
	batch, single time.Duration
}

func (s failsTogether) Update(ctx context.Context, fn func(context.Context, monitor.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx monitor.Tx) error { return fn(ctx, failsTogetherTx{tx, s}) })
}

type failsTogetherTx struct {
	monitor.Tx
	store failsTogether
}

func (tx failsTogetherTx) SaveChecks(ctx context.Context, locked []*monitor.Locked) error {
	took := tx.store.single * time.Duration(min(len(locked), 1))
	if len(locked) > 1 {
		took = tx.store.batch
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(locked) > 1 {
		return errPoison
	}
	return tx.Tx.SaveChecks(ctx, locked)
}

// TestSingleRetries has a batch fail after most of its time limit: each of its pings is then tried alone, with a time limit
// of its own, and a ping for which that is too short is told that the database is unavailable.
func TestSingleRetries(t *testing.T) {
	for name, test := range map[string]struct {
		single time.Duration
		want   error
	}{
		"in time":  {3 * time.Second, nil},
		"too slow": {time.Minute, monitor.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			store := dbtest.SQLite(t).Open(t)
			s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
			ids := []uuid.UUID{s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID}
			synctest.Test(t, func(t *testing.T) {
				slow := slowOnce{failsTogether{store, 4 * time.Second, test.single}, new(atomic.Bool), make(chan struct{}), make(chan struct{})}
				mon, err := monitor.New(slow, nil)
				if err != nil {
					t.Fatal(err)
				}
				results := make(chan error)
				slow.armed.Store(true)
				go func() { // while it is held up, the others become one batch
					_, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{})
					results <- err
				}()
				<-slow.begun
				for _, id := range ids {
					go func() {
						_, err := mon.Ping(t.Context(), id, pings.Signal{})
						results <- err
					}()
				}
				synctest.Wait()
				slow.gate <- struct{}{}
				if err := <-results; !errors.Is(err, checks.ErrNotFound) {
					t.Errorf("the ping before them: %v", err)
				}
				for range ids {
					if err := <-results; !errors.Is(err, test.want) {
						t.Errorf("a ping of the batch: %v, want %v", err, test.want)
					}
				}
			})
		})
	}
}

// TestBodiesAreBounded pings with bodies up to the largest, until the queue takes no more of them.
func TestBodiesAreBounded(t *testing.T) {
	const most, queued = 8 << 20, 64 << 20
	store := dbtest.SQLite(t).Open(t)
	s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
	id := s.create(t, checks.Spec{}).ID
	_, err := s.Ping(t.Context(), id, pings.Signal{Body: make([]byte, most+1)})
	if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "body" {
		t.Errorf("a body that is a byte too large: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		mon, err := monitor.New(blocked{store, gate}, &monitor.Config{WriteTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 20)
		body := make([]byte, most)
		ping := func() {
			go func() {
				_, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{Body: body}) // of no check, which takes no disk
				results <- err
			}()
			synctest.Wait()
		}
		ping() // is being written
		for range queued / most {
			ping()
		}
		select {
		case err := <-results:
			t.Fatalf("a body within the limits: %v", err)
		default:
		}
		ping()
		if err := <-results; !errors.Is(err, monitor.ErrUnavailable) {
			t.Errorf("a body beyond them: %v", err)
		}
		close(gate)
		for range 1 + queued/most {
			if err := <-results; !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("a body that was taken: %v", err)
			}
		}
	})
}

// blocked is a store whose transactions wait until they may go on.
type blocked struct {
	monitor.Store
	gate chan struct{}
}

func (b blocked) Update(ctx context.Context, fn func(context.Context, monitor.Tx) error) error {
	select {
	case <-b.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.Store.Update(ctx, fn)
}

// slowOnce is a store that, once armed, holds up the next transaction until it may begin.
type slowOnce struct {
	monitor.Store
	armed       *atomic.Bool
	begun, gate chan struct{}
}

func (s slowOnce) Update(ctx context.Context, fn func(context.Context, monitor.Tx) error) error {
	if s.armed.CompareAndSwap(true, false) {
		s.begun <- struct{}{}
		<-s.gate
	}
	return s.Store.Update(ctx, fn)
}

// TestPingInTimeThatIsWrittenLate has the watcher come by after a deadline, while the ping that came before it is still
// being written: the check does not go down. Others do, once that ping is written.
func TestPingInTimeThatIsWrittenLate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		slow := slowOnce{db.Open(t), new(atomic.Bool), make(chan struct{}), make(chan struct{})}
		s := newSetup(t, slow, monitor.ProjectSpec{Name: "p"})
		every := checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}
		pinged, silent, early := s.create(t, every), s.create(t, every), s.create(t, every)
		s.ping(t, early.ID, pings.Success)
		s.clock.Advance(time.Minute)
		s.ping(t, pinged.ID, pings.Success)
		s.ping(t, silent.ID, pings.Success)
		s.clock.Advance(2*time.Minute - time.Second)
		slow.armed.Store(true)
		written := make(chan error)
		go func() {
			_, err := s.Ping(t.Context(), pinged.ID, pings.Signal{Kind: pings.Success})
			written <- err
		}()
		<-slow.begun
		s.clock.Advance(10 * time.Second)
		if n, err := s.Sweep(t.Context()); n != 1 || err != nil { // early, whose deadline was before the ping
			t.Errorf("sweep while a ping is written: %d checks down, %v", n, err)
		}
		slow.gate <- struct{}{}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		if n, err := s.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("sweep after it: %d checks down, %v", n, err)
		}
		if diff := cmp.Diff([]flips.Flip{{At: noon.Add(time.Minute), Up: true}}, s.flips(t, pinged.ID)); diff != "" {
			t.Errorf("the check that was pinged in time: %s", diff)
		}
		if list := s.flips(t, silent.ID); len(list) != 2 || list[0].Up || !list[0].At.Equal(noon.Add(3*time.Minute)) {
			t.Errorf("the check that was not: %v", list)
		}
	})
}

func TestQueueIsBoundedAndCancelledCallersLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.SQLite(t).Open(t)
		s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
		c := s.create(t, checks.Spec{})
		gate := make(chan struct{})
		mon, err := monitor.New(blocked{store, gate}, &monitor.Config{MaxQueue: 5, MaxBatch: 3, WriteTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 20)
		ping := func(ctx context.Context) {
			go func() {
				_, err := mon.Ping(ctx, c.ID, pings.Signal{})
				results <- err
			}()
			synctest.Wait()
		}
		ping(ctx) // is being written
		for range 5 {
			ping(ctx) // wait
		}
		ping(ctx)
		if err := <-results; !errors.Is(err, monitor.ErrUnavailable) {
			t.Errorf("one more than the queue takes: %v", err)
		}
		cancel()
		for range 6 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled caller: %v", err)
			}
		}
		ping(t.Context()) // the queue is full until they are written
		if err := <-results; !errors.Is(err, monitor.ErrUnavailable) {
			t.Errorf("while the queue is full: %v", err)
		}
		close(gate)
		synctest.Wait()
		if got, _ := s.Check(t.Context(), c.ID); got.NPings != 6 {
			t.Errorf("%d pings were recorded of 6 that were taken", got.NPings)
		}
	})
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.SQLite(t).Open(t)
		mon, err := monitor.New(blocked{store, nil}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = mon.Ping(t.Context(), uuid.New(), pings.Signal{})
		if !errors.Is(err, monitor.ErrUnavailable) || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}
