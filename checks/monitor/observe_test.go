package monitor_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// seen is what an observer was told.
type seen struct {
	mu      sync.Mutex
	Kinds   map[pings.Kind]int
	Batches int
	Failed  []int
	Refused int
	Sweeps  []time.Time
	Lags    []time.Duration
}

var _ monitor.Observer = (*seen)(nil)

func (s *seen) PingsWritten(kinds map[pings.Kind]int, _ time.Duration) {
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

func (s *seen) PingsFailed(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Failed = append(s.Failed, size)
}

func (s *seen) PingRefused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Refused++
}

func (s *seen) Swept(at time.Time, lags []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sweeps, s.Lags = append(s.Sweeps, at), append(s.Lags, lags...)
}

func (s *seen) Attempted(channels.Kind, monitor.Outcome, time.Duration) {}

// is asserts what was told since the last call.
func (s *seen) is(t *testing.T, what string, want *seen) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := &seen{Kinds: s.Kinds, Batches: s.Batches, Failed: s.Failed, Refused: s.Refused, Sweeps: s.Sweeps, Lags: s.Lags}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".mu" }, cmp.Ignore())); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	s.Kinds, s.Batches, s.Failed, s.Refused, s.Sweeps, s.Lags = nil, 0, nil, 0, nil, nil
}

func TestObserver(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := &sick{Store: db.Open(t)}
		clock, told := dbtest.NewClock(noon), &seen{}
		mon, err := monitor.New(store, &monitor.Config{Now: clock.Now, Observer: told, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		project, _, err := mon.CreateProject(t.Context(), monitor.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		s := setup{mon, clock, project}
		c := s.create(t, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute), Methods: new("POST")})
		for _, kind := range []pings.Kind{pings.Start, pings.Log, pings.Success} {
			s.ping(t, c.ID, kind)
		}
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Scheme: "http", Method: "GET"}); err != nil {
			t.Fatal(err)
		}
		told.is(t, "pings", &seen{Kinds: map[pings.Kind]int{"start": 1, "log": 1, "success": 1, "ign": 1}, Batches: 4})
		if _, err := s.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
			t.Fatal(err)
		}
		told.is(t, "a ping for no check", &seen{Batches: 1})

		clock.Advance(2*time.Minute + 3*time.Second)
		for range 2 {
			if _, err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		told.is(t, "sweeps", &seen{Sweeps: []time.Time{clock.Now(), clock.Now()}, Lags: []time.Duration{3 * time.Second}})

		store.set(monitor.ErrUnavailable, false, nil)
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{}); !errors.Is(err, monitor.ErrUnavailable) {
			t.Errorf("a ping without the database: %v", err)
		}
		if _, err := s.Sweep(t.Context()); err == nil {
			t.Error("a sweep without the database")
		}
		told.is(t, "an outage", &seen{Failed: []int{1}})
	})
}

func TestObserverOfFullQueue(t *testing.T) {
	store := &sick{Store: dbtest.SQLite(t).Open(t)}
	told := &seen{}
	mon, err := monitor.New(store, &monitor.Config{MaxQueue: 1, Observer: told})
	if err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	store.set(monitor.ErrUnavailable, true, gate)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	// One is being written or waits; what the queue does not take is refused at once.
	for mon.Queued() == 0 {
		if _, err := mon.Ping(gone, uuid.New(), pings.Signal{}); err == nil {
			t.Fatal("a ping has succeeded")
		}
	}
	if _, err := mon.Ping(t.Context(), uuid.New(), pings.Signal{}); !errors.Is(err, monitor.ErrUnavailable) {
		t.Errorf("a ping to a full queue: %v", err)
	}
	told.mu.Lock()
	refused := told.Refused
	told.mu.Unlock()
	if refused == 0 {
		t.Error("no ping was told of as refused")
	}
	close(gate)
}
