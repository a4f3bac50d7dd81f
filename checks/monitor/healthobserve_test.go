package monitor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// seen is an observer that notes what it is told.
type seen struct {
	mu      sync.Mutex
	Kinds   map[pings.Kind]int
	Batches int
	Failed  []int
	Refused int
	held    int
	Sweeps  []time.Time
	Lags    []time.Duration
}

func (s *seen) observer() monitor.Observer {
	return monitor.Observer{
		PingsWritten: s.pingsWritten, PingsFailed: s.pingsFailed, PingRefused: s.pingRefused, Swept: s.swept,
		SpoolHeld: func() { s.held++ },
	}
}

func (s *seen) pingsWritten(kinds map[pings.Kind]int, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Batches++
	for kind, n := range kinds {
		if s.Kinds == nil {
			s.Kinds = map[pings.Kind]int{}
		}
		s.Kinds[kind] += n
	}
}

func (s *seen) pingsFailed(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Failed = append(s.Failed, size)
}

func (s *seen) pingRefused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Refused++
}

func (s *seen) swept(at time.Time, lags []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sweeps, s.Lags = append(s.Sweeps, at), append(s.Lags, lags...)
}

// is compares what the observer was told since the last call.
func (s *seen) is(t *testing.T, what string, want *seen) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(seen{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	s.Kinds, s.Batches, s.Failed, s.Refused, s.Sweeps, s.Lags = nil, 0, nil, 0, nil, nil
}

func TestObserver(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store, observer := &sick{Store: open()}, &seen{}
		s := configured(t, database{store}, checks.ProjectSpec{Name: "p"}, monitor.Config{Observer: observer.observer()})
		spec := everyMinute()
		spec.Methods = new("POST")
		c := s.create(t, spec)
		for _, kind := range []pings.Kind{pings.Start, pings.Log, pings.Success} {
			s.ping(t, c.ID, kind)
		}
		_, err := s.Ping(t.Context(), c.ID, pings.Signal{Scheme: "http", Method: "GET"})
		must(t, err)
		observer.is(t, "pings", &seen{Kinds: map[pings.Kind]int{"start": 1, "log": 1, "success": 1, "ign": 1}, Batches: 4})
		if _, err := s.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
			t.Fatal(err)
		}
		observer.is(t, "ping of an unknown check", &seen{Batches: 1})

		s.clock.Advance(2*time.Minute + 3*time.Second)
		s.sweep(t, 1)
		s.sweep(t, 0)
		observer.is(t, "sweeps", &seen{Sweeps: []time.Time{s.Now(), s.Now()}, Lags: []time.Duration{3 * time.Second}})

		store.set(checks.ErrUnavailable, false, nil)
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{}); !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("ping without the database: error %v, want ErrUnavailable", err)
		}
		if _, err := s.Sweep(t.Context()); err == nil {
			t.Error("a sweep without the database has succeeded")
		}
		observer.is(t, "outage", &seen{Failed: []int{1}})
	})
}

func TestObserverOfFullQueue(t *testing.T) {
	store := &sick{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
	observer := &seen{}
	mon, err := monitor.New(database{store}, &monitor.Config{MaxQueue: 1, Observer: observer.observer()})
	must(t, err)
	gate := make(chan struct{})
	store.set(checks.ErrUnavailable, true, gate)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for mon.Queued() == 0 {
		if _, err := mon.Ping(cancelled, uuid.New(), pings.Signal{}); err == nil {
			t.Fatal("a ping has succeeded")
		}
	}
	if _, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrUnavailable) {
		t.Errorf("ping to a full queue: error %v, want ErrUnavailable", err)
	}
	observer.mu.Lock()
	defer observer.mu.Unlock()
	if observer.Refused == 0 {
		t.Error("the observer was told of no refused ping")
	}
	close(gate)
}
