package monitor_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// stalling is a store that, once armed, holds up the next transaction until it is released.
type stalling struct {
	store.Store
	armed          atomic.Bool
	began, release chan struct{}
}

func newStalling(s monitor.Store) *stalling {
	return &stalling{Store: s.Contract().(store.Store), began: make(chan struct{}), release: make(chan struct{})}
}

func (s *stalling) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if s.armed.CompareAndSwap(true, false) {
		s.began <- struct{}{}
		<-s.release
	}
	return s.Store.Update(ctx, fn)
}

// hold runs fn until its transaction is held up. finish lets it go on and returns its error.
func (s *stalling) hold(fn func() error) (finish func() error) {
	s.armed.Store(true)
	done := make(chan error, 1)
	go func() { done <- fn() }()
	<-s.began
	return func() error {
		s.release <- struct{}{}
		return <-done
	}
}

// servers are two monitors on one database, of which one is slow, and a check that was pinged at noon.
type servers struct {
	setup
	slow  *monitor.Monitor
	store *stalling // of the slow one
	check checks.Check
}

const margin = 2 * time.Second

func newServers(t *testing.T, db dbtest.DB) servers {
	t.Helper()
	config := monitor.Config{CommitMargin: margin}
	s := servers{setup: configured(t, db.Open(t), checks.ProjectSpec{Name: "p"}, config), store: newStalling(db.Open(t))}
	s.slow = s.with(t, database{s.store}, config)
	s.check = s.create(t, everyMinute())
	s.ping(t, s.check.ID, pings.Success)
	return s
}

// receive has the slow server receive a success. The function that it returns lets the server commit it.
func (s servers) receive(t *testing.T) (commit func()) {
	t.Helper()
	finish := s.store.hold(func() error {
		_, err := s.slow.Ping(t.Context(), s.check.ID, pings.Signal{})
		return err
	})
	return func() {
		t.Helper()
		must(t, finish())
	}
}

// TestCommitMargin has one server receive a ping in time, and another one sweep before it is committed.
func TestCommitMargin(t *testing.T) {
	up, down := flips.Flip{At: noon, Up: true, Reason: flips.Success}, flips.Flip{At: noon.Add(2 * time.Minute), Reason: flips.Overdue}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := newServers(t, db)
		s.clock.Advance(2*time.Minute - time.Second)
		commit := s.receive(t)
		s.clock.Advance(time.Second + margin - time.Microsecond)
		s.sweep(t, 0)
		commit()
		s.clock.Advance(time.Minute - margin)
		s.sweep(t, 0)
		s.flipsAre(t, s.check.ID, up)
	})
	t.Run("no ping", func(t *testing.T) {
		s := newServers(t, dbtest.SQLite(t))
		s.clock.Advance(2*time.Minute + margin - time.Microsecond)
		s.sweep(t, 0)
		s.clock.Advance(time.Microsecond)
		s.sweep(t, 1)
		s.flipsAre(t, s.check.ID, down, up)
	})
	t.Run("a commit after the margin", func(t *testing.T) {
		s := newServers(t, dbtest.SQLite(t))
		s.clock.Advance(2*time.Minute - time.Second)
		commit := s.receive(t)
		s.clock.Advance(time.Second + margin)
		s.sweep(t, 1)
		commit()
		s.sweep(t, 0)
		s.flipsAre(t, s.check.ID, flips.Flip{At: down.At, Up: true, Reason: flips.Success}, down, up)
	})
}

// TestSweepBesideUncommittedPing sweeps past a deadline while the same server still writes a ping that came before it.
// The check does not go down, and others only if their deadlines were before the ping.
func TestSweepBesideUncommittedPing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := newStalling(db.Open(t))
		s := newSetup(t, database{store}, checks.ProjectSpec{Name: "p"})
		pinged, silent, early := s.create(t, everyMinute()), s.create(t, everyMinute()), s.create(t, everyMinute())
		s.ping(t, early.ID, pings.Success)
		s.clock.Advance(time.Minute)
		s.ping(t, pinged.ID, pings.Success)
		s.ping(t, silent.ID, pings.Success)
		s.clock.Advance(2*time.Minute - time.Second)
		finish := store.hold(func() error {
			_, err := s.Ping(t.Context(), pinged.ID, pings.Signal{Kind: pings.Success})
			return err
		})
		s.clock.Advance(10 * time.Second)
		s.sweep(t, 1) // early
		must(t, finish())
		s.sweep(t, 1) // silent
		up := flips.Flip{At: noon.Add(time.Minute), Up: true, Reason: flips.Success}
		s.flipsAre(t, pinged.ID, up)
		s.flipsAre(t, silent.ID, flips.Flip{At: noon.Add(3 * time.Minute), Reason: flips.Overdue}, up)
	})
}

// TestSweepBesidePing sweeps between the moment at which a ping reads the clock and the one at which it is queued.
func TestSweepBesidePing(t *testing.T) {
	clock := dbtest.NewClock(noon)
	var between atomic.Pointer[func()]
	now := func() time.Time {
		at := clock.Now()
		if fn := between.Swap(nil); fn != nil {
			(*fn)()
		}
		return at
	}
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{Now: now, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	s := setup{verbs: on(mon), clock: clock}
	s.project, _, err = s.CreateProject(t.Context(), checks.ProjectSpec{Name: "p"})
	must(t, err)
	c := s.create(t, everyMinute())
	s.ping(t, c.ID, pings.Success)
	clock.Advance(2*time.Minute - time.Microsecond)
	swept := make(chan struct{})
	sweep := func() {
		clock.Advance(time.Minute)
		go func() {
			defer close(swept)
			s.sweep(t, 0)
		}()
		select { // the sweep either ends or waits for the ping
		case <-swept:
		case <-time.After(200 * time.Millisecond):
		}
	}
	between.Store(&sweep)
	s.ping(t, c.ID, pings.Success)
	<-swept
	s.flipsAre(t, c.ID, flips.Flip{At: noon, Up: true, Reason: flips.Success})
}
