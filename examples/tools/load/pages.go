package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// pingsWhileLooking is the rate of pings, a second, while pages are open.
const pingsWhileLooking = 1000

// measurePages measures the list of the dashboard, and what open pages cost while pings come in.
func (o *options) measurePages(ctx context.Context, out io.Writer, t *target) error {
	client, list, err := signIn(ctx, t.servers[0].Greeting().URL, t.data.key)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-16s %9s %9s %8s %8s %8s %8s %8s\n", "page", "bytes", "gzip", "reads", "p50 ms", "p99 ms", "max ms", "CPU ms")
	for _, page := range []struct{ what, path string }{{"overview", "overview"}, {"list", ""}, {"list, searched", "?q=check+1"}, {"board", "board"}} {
		if err := o.measurePage(ctx, out, t, client, page.what, list+page.path); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%-16s %9s %9s %9s %9s %9s\n", "open pages", "pings/s", "p99 ms", "CPU %", "reads/s", "kB/s")
	for _, open := range []int{0, 1, o.Pages} {
		if err := o.measureOpen(ctx, out, t, client, list, open); err != nil {
			return err
		}
	}
	return nil
}

// signIn signs a client in to the dashboard, and returns it with the address of the list of checks.
func signIn(ctx context.Context, server, key string) (*http.Client, string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, "", err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	client := &http.Client{Jar: jar, Transport: transport}
	form := strings.NewReader(url.Values{"key": {key}}.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/signin", form)
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, "", errors.New("sign in: " + answer.Status)
	}
	return client, strings.TrimSuffix(answer.Request.URL.String(), "overview"), nil
}

var (
	// asBrowser is the header of a browser that opens a page.
	asBrowser = http.Header{"Accept-Encoding": {"gzip"}}
	// forNews is the header of an open page that asks what has changed.
	forNews = http.Header{"Accept-Encoding": {"gzip"}, "Rollcall-Version": {"old"}}
)

// fetch reads an address and returns the body of the answer.
func fetch(ctx context.Context, client *http.Client, address string, header http.Header) ([]byte, error) {
	answer, err := get(ctx, client, address, header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// get requests an address. The caller closes the body of the answer.
func get(ctx context.Context, client *http.Client, address string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone() // the client adds cookies
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	noNews := answer.StatusCode == http.StatusNoContent && header.Get("Rollcall-Version") != ""
	if answer.StatusCode != http.StatusOK && !noNews {
		answer.Body.Close()
		return nil, errors.New(address + ": " + answer.Status)
	}
	return answer, nil
}

// measurePage reads a page again and again.
func (o *options) measurePage(ctx context.Context, out io.Writer, t *target, client *http.Client, what, address string) error {
	var reads loadgen.Result
	var compressed []byte
	spent, err := t.spent(ctx, func() (err error) {
		reads, compressed, err = o.read(ctx, client, address, asBrowser, false)
		return err
	})
	if err != nil {
		return err
	}
	plain, err := gzip.NewReader(strings.NewReader(string(compressed)))
	if err != nil {
		return err
	}
	size, err := io.Copy(io.Discard, plain)
	fmt.Fprintf(out, "%-16s %9d %9d %8d %8.2f %8.2f %8.2f %8.2f\n", what, size, len(compressed), len(reads.Latencies),
		ms(reads.Quantile(0.5)), ms(reads.Quantile(0.99)), ms(reads.Quantile(1)), ms(spent.CPU)/float64(len(reads.Latencies)))
	return err
}

// measureOpen measures what the servers spend on pings while pages are open.
func (o *options) measureOpen(ctx context.Context, out io.Writer, t *target, client *http.Client, list string, open int) error {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	var viewers sync.WaitGroup
	defer viewers.Wait()
	defer stop()
	var fetches, size atomic.Int64
	failed := make(chan error, open)
	for range open {
		viewers.Go(func() {
			if err := look(looking, client, list, &fetches, &size); looking.Err() == nil {
				failed <- err
			}
		})
	}
	load := o.load(t)
	load.Rate, load.Connections = pingsWhileLooking, min(o.Connections, 16)
	var pings loadgen.Result
	spent, err := t.spent(ctx, func() (err error) {
		pings, err = load.Run(ctx)
		return err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	seconds := o.Duration.Seconds()
	fmt.Fprintf(out, "%-16d %9.0f %9.2f %9.1f %9.1f %9.1f\n", open, pings.Rate, ms(pings.Quantile(0.99)), 100*spent.CPU.Seconds()/seconds,
		float64(fetches.Load())/seconds, float64(size.Load())/1000/seconds)
	return nil
}

// look is an open page: it follows the stream of changes, and reads the page again when something has changed, with the
// pauses that live.js makes.
func look(ctx context.Context, client *http.Client, list string, fetches, size *atomic.Int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, list+"events", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if lines.Text() == "event: change" {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
	}()
	for range changed {
		begin := time.Now()
		body, err := fetch(ctx, client, list, forNews)
		if err != nil {
			return err
		}
		fetches.Add(1)
		size.Add(int64(len(body)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(time.Second, 10*time.Since(begin))):
		}
	}
	return errors.New("the stream of changes has ended")
}
