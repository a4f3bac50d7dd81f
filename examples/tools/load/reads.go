package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// pingsWhileReading is the rate of pings, a second, during reads.
const pingsWhileReading = 2000

// measureReads measures how long reads take while pings come in.
func (o *options) measureReads(ctx context.Context, out io.Writer, data *fixture, t *target) error {
	api, err := client.New(t.servers[0].Greeting().URL, data.key, nil)
	if err != nil {
		return err
	}
	check, err := api.Get(ctx, uuid.MustParse(data.checks[0]))
	if err != nil {
		return err
	}
	badges, err := api.Badges(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-18s %9s %8s %8s %8s %8s %8s %8s\n", "read", "bytes", "reads", "p50 ms", "p99 ms", "max ms", "pings/s", "p99 ms")
	for _, read := range []struct{ what, url string }{
		{"check", check.UpdateURL}, {"badge of a check", check.BadgeURL}, {"badge of all", badges["*"].SVG}, {"list of checks", "/api/v3/checks/"},
	} {
		load := o.load(data, t)
		load.Rate, load.Connections = pingsWhileReading, min(o.Connections, 16)
		var pings loadgen.Result
		var pingErr error
		var group sync.WaitGroup
		group.Go(func() { pings, pingErr = load.Run(ctx) })
		reads, size, err := readFor(ctx, t.servers[0].Greeting().URL, read.url, data.key, o.Duration)
		group.Wait()
		if err := errors.Join(err, pingErr); err != nil {
			return fmt.Errorf("%s: %w", read.what, err)
		}
		fmt.Fprintf(out, "%-18s %9d %8d %8.2f %8.2f %8.2f %8.0f %8.2f\n", read.what, size, len(reads.Latencies),
			ms(reads.Quantile(0.5)), ms(reads.Quantile(0.99)), ms(reads.Quantile(1)), pings.Rate, ms(pings.Quantile(0.99)))
	}
	return nil
}

// readFor reads the path of a URL from a server again and again, with pauses as long as the reads.
func readFor(ctx context.Context, server, address, key string, duration time.Duration) (r loadgen.Result, size int64, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return r, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+u.EscapedPath(), nil)
	if err != nil {
		return r, 0, err
	}
	request.Header.Set("X-Api-Key", key)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		begin := time.Now()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return r, 0, err
		}
		size, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return r, 0, fmt.Errorf("%s: %w", response.Status, err)
		}
		took := time.Since(begin)
		r.Latencies = append(r.Latencies, took)
		time.Sleep(took)
	}
	slices.Sort(r.Latencies)
	return r, size, nil
}
