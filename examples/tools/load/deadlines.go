package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// lead is how long before the first deadline of a round the deadlines are set: longer than any server takes to see them.
const lead = 3 * time.Second

// watched is a server, with its own database, whose alerts are measured.
type watched struct {
	name, binary string
	target
	rate float64        // of the pings meanwhile
	late loadgen.Result // how long after the deadlines the alerts arrived
	idle usage
	over time.Duration // how long it was idle
	// transactions are those of the idle server on PostgreSQL, with statements outside of transactions.
	transactions int64
}

// arrivals notes when the first alert about each check arrives.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time // by UUID
}

func (a *arrivals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := strings.TrimPrefix(r.URL.Path, "/")
	if _, again := a.at[id]; !again {
		a.at[id] = time.Now()
	}
}

// of returns when the alert about a check arrived, or the zero time.
func (a *arrivals) of(id string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[id]
}

// measureDeadlines measures how long after their deadlines alerts arrive, and what servers cost that only watch. Two
// binaries take turns.
func (o *options) measureDeadlines(ctx context.Context, dir string, out io.Writer) error {
	alerts := &arrivals{at: make(map[string]time.Time)}
	receiver := httptest.NewServer(alerts)
	defer receiver.Close()
	o.receiver = receiver.URL + "/$UUID"
	servers := []*watched{{name: "rollcall", binary: o.Rollcall}}
	if o.Against != "" {
		servers = append(servers, &watched{name: "against", binary: o.Against})
	}
	defer func() {
		for _, w := range servers {
			w.stop()
		}
	}()
	for _, w := range servers {
		one := *o
		one.Rollcall = w.binary
		if err := one.startProduct(ctx, filepath.Join(dir, w.name), o.Database[0], &w.target); err != nil {
			return err
		}
		defer w.data.db.Close()
	}
	fmt.Fprintf(out, "%s, %d checks, %d CPUs, %s\n", servers[0].target.name, o.Checks[0], runtime.NumCPU(), runtime.Version())
	for round := range o.Rounds {
		for _, w := range servers {
			if err := o.measureIdle(ctx, w); err != nil {
				return err
			}
			if err := o.measureAlerts(ctx, w, alerts, w.data.checks[round*o.Deadlines:][:o.Deadlines]); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	fmt.Fprintf(out, "%-9s %8s %8s %8s %8s %8s   idle, a minute: %12s %9s %7s\n",
		"server", "alerts", "p50 ms", "p95 ms", "max ms", "pings/s", "transactions", "wake-ups", "CPU ms")
	for _, w := range servers {
		w.print(out)
	}
	return nil
}

func (w *watched) print(out io.Writer) {
	slices.Sort(w.late.Latencies)
	minutes, transactions := w.over.Minutes(), "unknown"
	if w.data.postgres() {
		transactions = fmt.Sprintf("%.0f", float64(w.transactions)/minutes)
	}
	fmt.Fprintf(out, "%-9s %8d %8.1f %8.1f %8.1f %8.0f %29s %9.0f %7.0f\n", w.name, len(w.late.Latencies), ms(w.late.Quantile(0.5)),
		ms(w.late.Quantile(0.95)), ms(w.late.Quantile(1)), w.rate, transactions, float64(w.idle.Wakeups)/minutes, ms(w.idle.CPU)/minutes)
}

// measureIdle adds what a server uses that gets no pings.
func (o *options) measureIdle(ctx context.Context, w *watched) error {
	before, err := w.committed(ctx)
	if err != nil {
		return err
	}
	idle, err := w.spent(ctx, func() error { return wait(ctx, o.Duration) })
	if err != nil {
		return err
	}
	after, err := w.committed(ctx)
	w.idle.CPU, w.idle.Wakeups, w.transactions = w.idle.CPU+idle.CPU, w.idle.Wakeups+idle.Wakeups, w.transactions+after-before
	w.over += o.Duration
	return err
}

// committed returns how many transactions PostgreSQL has committed in the database, or 0 for SQLite, which does not count.
func (w *watched) committed(ctx context.Context) (n int64, err error) {
	if w.data.postgres() {
		err = w.data.db.NewRaw("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(ctx, &n)
	}
	return n, err
}

// measureAlerts spreads the deadlines of checks over a round, and adds how much later their alerts arrive. Meanwhile the
// server takes pings of other checks, if the flags say so.
func (o *options) measureAlerts(ctx context.Context, w *watched, alerts *arrivals, list []string) error {
	load := o.load(&w.target)
	load.Checks = w.data.checks[o.Rounds*o.Deadlines:]
	if o.Rate > 0 && w.rate == 0 {
		load.Duration = time.Second
		most, err := load.Run(ctx)
		if err != nil {
			return err
		}
		if w.rate = o.Rate; o.Rate <= 1 {
			w.rate *= most.Rate
		}
	}
	deadlines, err := w.data.setDeadlines(ctx, list, time.Now().Add(lead), o.Duration)
	if err != nil {
		return err
	}
	var group errgroup.Group
	if load.Rate, load.Duration = w.rate, lead+o.Duration; w.rate > 0 {
		group.Go(func() error { _, err := load.Run(ctx); return err })
	}
	group.Go(func() error {
		for id, at := range deadlines {
			for alerts.of(id).IsZero() {
				if time.Since(at) > loadgen.Timeout {
					return errors.New("an alert did not arrive")
				}
				if err := wait(ctx, 10*time.Millisecond); err != nil {
					return err
				}
			}
			w.late.Latencies = append(w.late.Latencies, alerts.of(id).Sub(at))
		}
		return nil
	})
	return group.Wait()
}
