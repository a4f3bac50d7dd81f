package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// pingsWhileReading is the load of pings a second under which reads are measured.
const pingsWhileReading = 2000

// measureReads measures how long reads take while pings come in.
func (m *measurement) measureReads(ctx context.Context, out io.Writer, p *process) error {
	for i, read := range []struct{ what, path string }{
		{"one check", p.Check}, {"badge of a check", p.Badge}, {"badge of a project", p.Tag}, {"list of checks", "/api/v3/checks/"},
	} {
		pings := m.load(p)
		pings.rate, pings.connections = pingsWhileReading, min(m.Connections, 16)
		var loaded outcome
		var pingErr error
		stop := m.profile(p, p, i)
		var group sync.WaitGroup
		group.Go(func() { loaded, pingErr = pings.generate(ctx) })
		o, size, err := readFor(ctx, "http://"+p.Address+read.path, p.Key, m.Duration)
		group.Wait()
		if err == nil {
			err = pingErr
		}
		if err := stop(); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", read.what, err)
		}
		fmt.Fprintf(out, "%-20s %8d bytes, p50 %v, p90 %v, p99 %v, max %v (%d reads; %.0f pings/s with p99 %v)\n", read.what, size,
			ms(o.quantile(0.5)), ms(o.quantile(0.9)), ms(o.quantile(0.99)), ms(o.quantile(1)), len(o.latencies), loaded.rate, ms(loaded.quantile(0.99)))
	}
	return nil
}

// readFor reads an address again and again, with pauses as long as the reads.
func readFor(ctx context.Context, url, key string, duration time.Duration) (o outcome, size int64, err error) {
	for end := time.Now().Add(duration); time.Now().Before(end); {
		begin := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return o, 0, err
		}
		request.Header.Set("X-Api-Key", key)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return o, 0, err
		}
		size, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return o, 0, fmt.Errorf("%s, %v", answer.Status, err)
		}
		took := time.Since(begin)
		o.latencies = append(o.latencies, took)
		time.Sleep(took)
	}
	slices.Sort(o.latencies)
	return o, size, nil
}
