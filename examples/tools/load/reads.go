package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// pingsWhileReading is the rate of pings, a second, during reads.
const pingsWhileReading = 2000

// measureReads measures how long reads take while pings come in.
func (o *options) measureReads(ctx context.Context, out io.Writer, t *target) error {
	server := t.servers[0].Greeting().URL
	api, err := client.New(server, t.data.key, nil)
	if err != nil {
		return err
	}
	check, err := api.Check(ctx, uuid.MustParse(t.data.checks[0]))
	if err != nil {
		return err
	}
	badges, err := api.Badges(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-18s %9s %8s %8s %8s %8s %8s %8s\n", "read", "bytes", "reads", "p50 ms", "p99 ms", "max ms", "pings/s", "p99 ms")
	for _, read := range []struct{ what, url string }{
		{"check", "/api/v3/checks/" + check.ID.String()}, {"badge of a check", check.BadgeURL}, {"badge of all", badges["*"].SVG}, {"list of checks", "/api/v3/checks/"},
	} {
		u, err := url.Parse(read.url)
		if err != nil {
			return err
		}
		load := o.load(t)
		load.Rate, load.Connections = pingsWhileReading, min(o.Connections, 16)
		var pings, reads loadgen.Result
		var body []byte
		var group errgroup.Group
		group.Go(func() (err error) { pings, err = load.Run(ctx); return err })
		group.Go(func() (err error) {
			reads, body, err = o.read(ctx, http.DefaultClient, server+u.EscapedPath(), http.Header{"X-Api-Key": {t.data.key}}, true)
			return err
		})
		if err := group.Wait(); err != nil {
			return fmt.Errorf("%s: %w", read.what, err)
		}
		fmt.Fprintf(out, "%-18s %9d %8d %8.2f %8.2f %8.2f %8.0f %8.2f\n", read.what, len(body), len(reads.Latencies),
			ms(reads.Quantile(0.5)), ms(reads.Quantile(0.99)), ms(reads.Quantile(1)), pings.Rate, ms(pings.Quantile(0.99)))
	}
	return nil
}

// read reads an address again and again, and returns the latencies and the last body. If it pauses, each pause is as long
// as the read before it.
func (o *options) read(ctx context.Context, client *http.Client, address string, header http.Header, pauses bool) (r loadgen.Result, body []byte, err error) {
	for end := time.Now().Add(o.Duration); time.Now().Before(end); {
		begin := time.Now()
		if body, err = fetch(ctx, client, address, header); err != nil {
			return r, nil, err
		}
		took := time.Since(begin)
		r.Latencies = append(r.Latencies, took)
		if pauses {
			time.Sleep(took)
		}
	}
	slices.Sort(r.Latencies)
	return r, body, nil
}
