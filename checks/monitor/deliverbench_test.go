package monitor_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// fleetOfChecks is a monitor with many checks, on a clock with an offset.
type fleetOfChecks struct {
	*monitor.Monitor
	ids    []uuid.UUID
	offset atomic.Int64
}

// newFleet makes checks that expect a ping a minute and assigns them to that many channels in turn.
func newFleet(b *testing.B, db dbtest.DB, size, integrations int, notify channels.NotifierFunc) *fleetOfChecks {
	b.Helper()
	s := db.Open(b)
	f := &fleetOfChecks{}
	mon, err := monitor.New(s, &monitor.Config{
		Now:      func() time.Time { return time.Now().Add(time.Duration(f.offset.Load())) },
		Channels: []channels.Type{{Kind: "pager", Notifier: notify}},
	})
	if err != nil {
		b.Fatal(err)
	}
	f.Monitor = mon
	project, err := on(mon).OpenProject(b.Context(), "p")
	if err != nil {
		b.Fatal(err)
	}
	var targets []uuid.UUID
	for range integrations {
		c, err := on(mon).CreateChannel(b.Context(), project.ID, "pager", "", nil)
		if err != nil {
			b.Fatal(err)
		}
		targets = append(targets, c.ID)
	}
	for len(f.ids) < size {
		err := s.Contract().(store.Store).Update(b.Context(), func(ctx context.Context, tx store.Tx) error {
			for range min(5000, size-len(f.ids)) {
				c, err := checks.New(project.ID, checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)}, mon.Now())
				if err != nil {
					return err
				}
				c.Channels = []uuid.UUID{targets[len(f.ids)%integrations]}
				f.ids = append(f.ids, c.ID)
				if err := tx.SaveChecks(ctx, []*store.Locked{{Check: c}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return f
}

// pingAll records a success of each check.
func (f *fleetOfChecks) pingAll(b *testing.B, ids []uuid.UUID) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(len(ids)); i = next.Add(1) {
				if _, err := f.Ping(b.Context(), ids[i-1], pings.Signal{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkDeliver has 10,000 checks go down in the same second and measures the time until the last of their alerts is
// recorded as sent. The receiver takes a millisecond for each. The number in the name is that of the channels.
func BenchmarkDeliver(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		for label, integrations := range map[string]int{"1": 1, "100": 100} {
			b.Run(label, func(b *testing.B) {
				const size = 10_000
				var received atomic.Int64
				f := newFleet(b, db.Another(b), size, integrations, func(_ context.Context, _ channels.Channel, n channels.Notification) error {
					time.Sleep(time.Millisecond)
					if n.Status == channels.Down {
						received.Add(1)
					}
					return nil
				})
				var total time.Duration
				for i := range b.N {
					b.StopTimer()
					f.pingAll(b, f.ids)
					if _, err := f.Deliver(b.Context()); err != nil { // the alerts that they are up again
						b.Fatal(err)
					}
					received.Store(0)
					f.offset.Add(int64(5 * time.Minute))
					b.StartTimer()
					begin := time.Now()
					if n, err := f.Sweep(b.Context()); n != size || err != nil {
						b.Fatal(n, err)
					}
					swept := time.Since(begin)
					if _, err := f.Deliver(b.Context()); err != nil || received.Load() != size {
						b.Fatal(received.Load(), err)
					}
					total += time.Since(begin) - swept
					if i == 0 {
						b.ReportMetric(swept.Seconds(), "s/sweep")
					}
				}
				b.ReportMetric(total.Seconds()/float64(b.N), "s/delivery")
				b.ReportMetric(float64(size*b.N)/total.Seconds(), "alerts/s")
			})
		}
	})
}

// BenchmarkAlertLatency measures the time from the deadline of a check to the arrival of its alert, with 100,000 checks of
// which 40 go down a second.
func BenchmarkAlertLatency(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		const failing, spacing = 400, 25 * time.Millisecond
		latency := make(chan time.Duration, failing)
		var f *fleetOfChecks
		f = newFleet(b, db, 100_000, 10, func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			latency <- f.Now().Sub(n.At)
			return nil
		})
		b.ResetTimer()
		// Their deadlines, two minutes later, begin in a second.
		for i := range failing {
			f.offset.Store(int64(-2*time.Minute+time.Second+time.Duration(i)*spacing) - int64(b.Elapsed()))
			if _, err := f.Ping(b.Context(), f.ids[i*200], pings.Signal{}); err != nil {
				b.Fatal(err)
			}
		}
		f.offset.Store(-int64(b.Elapsed()))
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		var all []time.Duration
		for range failing {
			all = append(all, <-latency)
		}
		cancel()
		running.Wait()
		slices.Sort(all)
		for _, q := range []struct {
			name string
			at   int
		}{{"s/p50", failing / 2}, {"s/p99", failing * 99 / 100}, {"s/max", failing - 1}} {
			b.ReportMetric(all[q.at].Seconds(), q.name)
		}
	})
}
