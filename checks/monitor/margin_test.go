package monitor_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// slowStore is a store whose transactions wait until they are released.
type slowStore struct {
	monitor.Store
	began, release chan struct{}
}

func (s *slowStore) Update(ctx context.Context, fn func(context.Context, monitor.Tx) error) error {
	close(s.began)
	<-s.release
	return s.Store.Update(ctx, fn)
}

// servers are two monitors on one database, of which one is slow, and a check that was pinged at noon.
type servers struct {
	setup
	slow  *monitor.Monitor
	store *slowStore
	check checks.Check
}

const margin = 2 * time.Second

func newServers(t *testing.T, db dbtest.DB) servers {
	t.Helper()
	clock := dbtest.NewClock(noon)
	slow := &slowStore{Store: db.Open(t), began: make(chan struct{}), release: make(chan struct{})}
	config := &monitor.Config{Now: clock.Now, Logger: slog.New(slog.DiscardHandler), CommitMargin: margin}
	s := servers{setup: setup{clock: clock}, store: slow}
	var err error
	if s.slow, err = monitor.New(slow, config); err != nil {
		t.Fatal(err)
	}
	if s.Monitor, err = monitor.New(db.Open(t), config); err != nil {
		t.Fatal(err)
	}
	if s.project, _, err = s.CreateProject(t.Context(), monitor.ProjectSpec{Name: "p"}); err != nil {
		t.Fatal(err)
	}
	s.check = s.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	s.ping(t, s.check.ID, pings.Success)
	return s
}

// sweep has the fast server look for overdue checks.
func (s servers) sweep(t *testing.T, want int) {
	t.Helper()
	if down, err := s.Sweep(t.Context()); err != nil || down != want {
		t.Errorf("at %v: %d checks taken down, %v; want %d", s.clock.Now(), down, err, want)
	}
}

// receive has the slow server receive a success. The function that it returns lets the server commit it.
func (s servers) receive(t *testing.T) (commit func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.slow.Ping(context.WithoutCancel(t.Context()), s.check.ID, pings.Signal{})
		done <- err
	}()
	<-s.store.began
	return func() {
		close(s.store.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestCommitMargin has one server receive a ping in time, and another look for overdue checks before it is committed.
func TestCommitMargin(t *testing.T) {
	deadline := noon.Add(2 * time.Minute)
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := newServers(t, db)
		s.clock.Advance(2*time.Minute - time.Second)
		commit := s.receive(t)
		s.clock.Advance(time.Second + margin - time.Microsecond)
		s.sweep(t, 0)
		commit()
		s.clock.Advance(time.Hour/60 - margin)
		s.sweep(t, 0)
		if diff := cmp.Diff([]flips.Flip{{At: noon, Up: true}}, s.flips(t, s.check.ID)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("no ping", func(t *testing.T) {
		s := newServers(t, dbtest.SQLite(t))
		s.clock.Advance(2*time.Minute + margin - time.Microsecond)
		s.sweep(t, 0)
		s.clock.Advance(time.Microsecond)
		s.sweep(t, 1)
		if diff := cmp.Diff([]flips.Flip{{At: deadline}, {At: noon, Up: true}}, s.flips(t, s.check.ID)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a commit after the margin", func(t *testing.T) {
		s := newServers(t, dbtest.SQLite(t))
		s.clock.Advance(2*time.Minute - time.Second)
		commit := s.receive(t)
		s.clock.Advance(time.Second + margin)
		s.sweep(t, 1)
		commit()
		s.sweep(t, 0)
		want := []flips.Flip{{At: deadline, Up: true}, {At: deadline}, {At: noon, Up: true}}
		if diff := cmp.Diff(want, s.flips(t, s.check.ID)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSweepBesidesPing has the watcher come by between the moment at which a ping reads the clock and the one at which
// it is queued.
func TestSweepBesidesPing(t *testing.T) {
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
	if err != nil {
		t.Fatal(err)
	}
	s := setup{Monitor: mon, clock: clock}
	if s.project, _, err = s.CreateProject(t.Context(), monitor.ProjectSpec{Name: "p"}); err != nil {
		t.Fatal(err)
	}
	c := s.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	s.ping(t, c.ID, pings.Success)
	clock.Advance(2*time.Minute - time.Microsecond)
	swept := make(chan struct{})
	sweep := func() {
		clock.Advance(time.Minute)
		go func() {
			defer close(swept)
			if down, err := s.Sweep(context.WithoutCancel(t.Context())); err != nil || down > 0 {
				t.Errorf("%d checks taken down, %v", down, err)
			}
		}()
		select { // The watcher either runs to its end or waits for the ping.
		case <-swept:
		case <-time.After(200 * time.Millisecond):
		}
	}
	between.Store(&sweep)
	s.ping(t, c.ID, pings.Success)
	<-swept
	if diff := cmp.Diff([]flips.Flip{{At: noon, Up: true}}, s.flips(t, c.ID)); diff != "" {
		t.Error(diff)
	}
}
