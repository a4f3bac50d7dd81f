package monitor_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func (s setup) prune(t *testing.T) {
	t.Helper()
	_, err := s.Prune(t.Context())
	must(t, err)
}

// TestPingLimits lists as many pings as server/API.md section 4.8 allows, whether or not the others were pruned.
func TestPingLimits(t *testing.T) {
	for plan, limit := range map[string]int{"free": 100, "paid": 1000} {
		t.Run(string(plan), func(t *testing.T) {
			s := newSetup(t, dbtest.SQLite(t).Open(t), checks.ProjectSpec{Name: "p", Plan: plan})
			c := s.create(t, checks.Spec{})
			together(limit+5, func(int) {
				if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: []byte("x")}); err != nil {
					t.Error(err)
				}
			})
			for _, pruned := range []bool{false, true} {
				log, err := s.Pings(t.Context(), c.ID)
				if err != nil || len(log) != limit || log[0].N != int64(limit+5) {
					t.Errorf("pruned %v: the log has %d pings, want %d; error %v", pruned, len(log), limit, err)
				}
				if _, err := s.PingBody(t.Context(), c.ID, 5); !errors.Is(err, checks.ErrNotFound) {
					t.Errorf("pruned %v: body of the newest ping beyond the limit: error %v, want ErrNotFound", pruned, err)
				}
				if body, err := s.PingBody(t.Context(), c.ID, 6); err != nil || string(body) != "x" {
					t.Errorf("pruned %v: body of the oldest ping in the list: %q, error %v", pruned, body, err)
				}
				s.prune(t)
			}
		})
	}
}

// TestFlipRetention covers server/API.md section 8: flips of the current month and of the two before it are kept.
func TestFlipRetention(t *testing.T) {
	s := newSetup(t, dbtest.SQLite(t).Open(t), checks.ProjectSpec{Name: "p"})
	c := s.create(t, checks.Spec{})
	s.ping(t, c.ID, pings.Success) // goes down on 2 March
	s.clock.Set(time.Date(2026, 4, 15, 0, 0, 0, 0, time.UTC))
	s.ping(t, c.ID, pings.Failure)
	for _, test := range []struct {
		now  time.Time
		want int
	}{
		{time.Date(2026, 5, 31, 23, 59, 59, 0, time.UTC), 2},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), 0},
	} {
		s.clock.Set(test.now)
		s.prune(t)
		if got := s.flips(t, c.ID); len(got) != test.want {
			t.Errorf("flips at %v: %v, want %d", test.now, got, test.want)
		}
	}
}

// prunes counts the calls of PrunePings.
type prunes struct {
	store.Store
	n atomic.Int64
}

func (p *prunes) PrunePings(ctx context.Context, pause func()) (int, error) {
	p.n.Add(1)
	return p.Store.PrunePings(ctx, pause)
}

// TestPruneShared runs two servers, of which one prunes the log. When it is gone, the other takes over.
func TestPruneShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := dbtest.Memory(t)
		var stores [2]*prunes
		var stop [2]context.CancelFunc
		var running sync.WaitGroup
		for i := range stores {
			stores[i] = &prunes{Store: shared.Contract().(store.Store)}
			mon, err := monitor.New(database{stores[i]}, nil)
			must(t, err)
			var ctx context.Context
			ctx, stop[i] = context.WithCancel(t.Context())
			running.Go(func() { _ = mon.Run(ctx) })
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		if stores[0].n.Load() < 500 || stores[1].n.Load() != 0 {
			t.Errorf("%d and %d prunes in ten minutes", stores[0].n.Load(), stores[1].n.Load())
		}
		stop[0]()
		time.Sleep(2 * time.Minute)
		if stores[1].n.Load() < 50 {
			t.Errorf("%d prunes by the other in two minutes", stores[1].n.Load())
		}
		stop[1]()
		running.Wait()
	})
}
