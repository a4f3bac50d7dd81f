package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// round is what one server did in one round, with what a ping has cost.
type round struct {
	outcome
	generator, server time.Duration // CPU time a ping
	written           float64       // bytes a ping
	batch             float64       // pings a transaction
	largest           int64
}

// measureRound puts a load on a server and finds what that cost.
func measureRound(ctx context.Context, l load, p *process) (r round, err error) {
	before, err := p.tell("usage")
	if err != nil {
		return r, err
	}
	own := cpuTime()
	if r.outcome, err = l.generate(ctx); err != nil {
		return r, err
	}
	own = cpuTime() - own
	after, err := p.tell("usage")
	if err != nil {
		return r, err
	}
	n := max(1, len(r.latencies))
	r.generator, r.server = own/time.Duration(n), (after.CPU-before.CPU)/time.Duration(n)
	r.written = float64(after.Written-before.Written) / float64(n)
	r.batch = float64(after.Pings-before.Pings) / float64(max(1, after.Batches-before.Batches))
	r.largest = after.Largest
	return r, nil
}

func (m *measurement) load(servers ...*process) load {
	var addresses []string
	for _, p := range servers {
		addresses = append(addresses, p.Address)
	}
	return load{addresses: addresses, scatter: m.Scatter, checks: m.Checks, connections: m.Connections, fresh: m.NewConnections, body: m.Body, duration: m.Duration}
}

// warmUp is for how long the server takes pings for each check before it is measured, if there are more than 1,000.
const (
	warmUp    = 200 * time.Microsecond
	maxWarmUp = 30 * time.Second
)

// measurePings measures both servers in turn.
func (m *measurement) measurePings(ctx context.Context, out io.Writer, ceiling, product *process) error {
	// The first pings of a process, and of a check, find cold caches.
	most := 0.0
	for _, p := range []*process{ceiling, product} {
		warm := m.load(p)
		warm.duration = min(m.Duration, time.Second)
		if p == product {
			warm.duration += min(time.Duration(max(0, m.Checks-1000))*warmUp, maxWarmUp)
		}
		o, err := warm.generate(ctx)
		if err != nil {
			return err
		}
		most = o.rate
	}
	rate := m.Rate
	if rate > 0 && rate <= 1 {
		rate *= most
	}
	var bare, own []round
	for i := range m.Rounds {
		for _, p := range []*process{ceiling, product} {
			l := m.load(p)
			l.rate = rate
			stop := m.profile(p, product, i)
			r, err := measureRound(ctx, l, p)
			if err := stop(); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if p == ceiling {
				bare = append(bare, r)
			} else {
				own = append(own, r)
			}
		}
	}
	if err := report(out, bare, own); err != nil || m.SVG == "" {
		return err
	}
	return m.chart(ctx, product, own)
}

// profile starts a CPU profile of the product and returns what ends it.
func (m *measurement) profile(p, product *process, round int) (stop func() error) {
	if m.Profile == "" || p != product {
		return func() error { return nil }
	}
	name, err := filepath.Abs(filepath.Join(m.Profile, fmt.Sprintf("round%d.pprof", round+1)))
	if err == nil {
		err = os.MkdirAll(m.Profile, 0o777)
	}
	if err == nil {
		_, err = p.tell("profile " + name)
	}
	if err != nil {
		return func() error { return err }
	}
	return func() error {
		_, err := p.tell("profile")
		return err
	}
}

func report(out io.Writer, bare, own []round) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "round\tceiling/s\tpings/s\tratio\tp50\tp90\tp99\tmax\tbatch\tlargest\t")
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = own[i].rate / max(1, bare[i].rate)
		fmt.Fprintf(table, "%d\t%.0f\t%.0f\t%.2f\t%v\t%v\t%v\t%v\t%.1f\t%d\t\n", i+1, bare[i].rate, own[i].rate, ratios[i],
			ms(own[i].quantile(0.5)), ms(own[i].quantile(0.9)), ms(own[i].quantile(0.99)), ms(own[i].quantile(1)), own[i].batch, own[i].largest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	of := func(rounds []round, value func(round) float64) float64 {
		values := make([]float64, len(rounds))
		for i, r := range rounds {
			values[i] = value(r)
		}
		return median(values)
	}
	rate := func(r round) float64 { return r.rate }
	server := func(r round) float64 { return us(r.server) }
	generator := func(r round) float64 { return us(r.generator) }
	latencies := func(rounds []round) string {
		at := func(share float64) time.Duration {
			return ms(time.Duration(of(rounds, func(r round) float64 { return float64(r.quantile(share)) })))
		}
		return fmt.Sprintf("p50 %v, p90 %v, p99 %v, max %v", at(0.5), at(0.9), at(0.99), at(1))
	}
	fmt.Fprintf(out, "median: %.0f pings/s of %.0f, ratio %.2f; %s (ceiling: %s)\n",
		of(own, rate), of(bare, rate), median(ratios), latencies(own), latencies(bare))
	_, err := fmt.Fprintf(out, "a ping: server %.1f µs of CPU (ceiling %.1f), generator %.1f (%.1f), %.0f bytes written, %.1f pings a batch\n",
		of(own, server), of(bare, server), of(own, generator), of(bare, generator),
		of(own, func(r round) float64 { return r.written }), of(own, func(r round) float64 { return r.batch }))
	return err
}

// median returns the middle one of the values, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// ms rounds a latency to what is worth reading.
func ms(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
