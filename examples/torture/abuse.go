package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// abuse is what clients do that mean no good, or cannot do better. While they do, jobs must be served as ever.
type abuse struct {
	name   string
	count  int           // connections
	begin  string        // what is sent first; %s is the path of a ping
	more   string        // what is sent again and again, if anything
	every  time.Duration // how often
	deaf   bool          // nothing is read
	within time.Duration // after which the server has ended the connection; 0 when it need not
}

const (
	// slowClients is how many connections of each kind of slow client there are.
	slowClients = 50
	// commonFiles is how many files a process may have open on most systems, and reservedFiles how many of them are left
	// for other things.
	commonFiles, reservedFiles = 1024, 500
	// maxAbuseMemory bounds what the server may need with all of them.
	maxAbuseMemory = 1 << 30
)

// abuses returns what is done. The limits are those of the server's connections.
func abuses(idle int) []abuse {
	const (
		post     = "POST %s HTTP/1.1\r\nHost: localhost\r\n"
		document = "GET /api/v3/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
	)
	megabyte := "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n"
	return []abuse{
		{name: "slow headers", count: slowClients, within: 10 * time.Second,
			begin: post, more: "X-Slow: 1\r\n", every: time.Second},
		{name: "slow bodies", count: slowClients, within: time.Minute,
			begin: post + "Content-Length: 1000\r\n\r\n", more: "x", every: time.Second},
		{name: "endless bodies", count: 10, within: time.Minute,
			begin: post + "Transfer-Encoding: chunked\r\n\r\n", more: megabyte, every: 50 * time.Millisecond},
		{name: "answers that nobody reads", count: slowClients, within: time.Minute,
			begin: strings.Repeat(document, 100), more: document, every: time.Second, deaf: true},
		{name: "no request", count: slowClients, within: 10 * time.Second},
		{name: "nothing after a request", count: idle, begin: post + "Content-Length: 0\r\n\r\n"},
	}
}

// abuseReport is what was seen.
type abuseReport struct {
	Connections    int
	Pings, Refused int           // of well-behaved jobs
	P99, Slowest   time.Duration // of their pings
	Memory, Before uint64
	Ended          []string // how long each kind of connection lived at most
}

func (r abuseReport) String() string {
	return fmt.Sprintf("%d connections; %d pings meanwhile, %d refused, p99 %v, the slowest %v; "+
		"memory %d MB, %d MB before; connections lived at most: %s",
		r.Connections, r.Pings, r.Refused, r.P99.Round(time.Millisecond), r.Slowest.Round(time.Millisecond),
		r.Memory>>20, r.Before>>20, strings.Join(r.Ended, ", "))
}

// abuse lets all kinds of bad clients work at the same time as a few good ones.
func (s *site) abuse(ctx context.Context, idle int) (report abuseReport, err error) {
	victims, err := s.createMany(ctx, "victim", 1)
	if err != nil {
		return report, err
	}
	list, err := s.createMany(ctx, "good", 16)
	if err != nil {
		return report, err
	}
	meter := newMeter(s.servers[0].pid)
	defer meter.stop()
	sleep(ctx, 200*time.Millisecond)
	report.Before = meter.most()
	working, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	var good sync.WaitGroup
	var results []result
	good.Go(func() { results = s.pingAll(working, list, "good", 0, began) })
	report.Connections, report.Ended = s.bad(ctx, idle, "/ping/"+victims[0].id.String())
	stop()
	good.Wait()
	report.Memory = meter.most()
	var took []time.Duration
	for _, p := range results {
		took = append(took, p.ret-p.call)
		if p.status != http.StatusOK {
			report.Refused++
		}
	}
	if report.Refused*100 > len(results) {
		s.problem("abuse: %d of %d pings were refused", report.Refused, len(results))
	}
	slices.Sort(took)
	report.Pings, report.P99, report.Slowest = len(took), percentile(took, 0.99), percentile(took, 1)
	if report.Slowest > answerWithin+s.slack {
		s.problem("abuse: a ping was answered only after %v", report.Slowest)
	}
	if report.Memory > maxAbuseMemory {
		s.problem("abuse: the server needed %d MB", report.Memory>>20)
	}
	return report, s.auditPings(ctx, list, results)
}

// bad opens all bad connections and returns when the server has ended those that it must end.
func (s *site) bad(ctx context.Context, idle int, ping string) (connections int, ended []string) {
	address := strings.TrimPrefix(s.servers[0].address(), "http://")
	wanted, release := context.WithCancel(ctx)
	defer release()
	var all, mustEnd sync.WaitGroup
	var mu sync.Mutex
	for _, a := range abuses(idle) {
		if a.begin != "" && strings.Contains(a.begin, "%s") {
			a.begin = fmt.Sprintf(a.begin, ping)
		}
		lived := make([]time.Duration, min(a.count, openFiles()-reservedFiles))
		connections += len(lived)
		var kind sync.WaitGroup
		for i := range lived {
			kind.Go(func() {
				var err error
				if lived[i], err = a.run(wanted, address); err != nil {
					s.problem("abuse: %s: %v", a.name, err)
				}
			})
		}
		if a.within == 0 {
			all.Go(kind.Wait)
			continue
		}
		mustEnd.Go(func() {
			kind.Wait()
			longest := slices.Max(lived)
			if longest > a.within+answerWithin+s.slack {
				s.problem("abuse: %s: a connection lived for %v, want %v at most", a.name, longest, a.within)
			}
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, fmt.Sprintf("%s %v", a.name, longest.Round(100*time.Millisecond)))
		})
	}
	mustEnd.Wait()
	release()
	all.Wait()
	return connections, ended
}

// run makes one connection and returns how long the server let it live, or how long it was wanted.
func (a abuse) run(ctx context.Context, address string) (lived time.Duration, err error) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	began := time.Now()
	if err := a.write(conn, a.begin); err != nil {
		return 0, err
	}
	gone := make(chan struct{})
	if !a.deaf {
		go func() {
			defer close(gone)
			_, _ = io.Copy(io.Discard, conn)
		}()
	}
	if a.more == "" {
		select {
		case <-gone:
		case <-ctx.Done():
		}
		return time.Since(began), nil
	}
	for {
		select {
		case <-gone:
			return time.Since(began), nil
		case <-ctx.Done():
			return time.Since(began), ctx.Err()
		case <-time.After(a.every):
		}
		if a.write(conn, a.more) != nil {
			return time.Since(began), nil
		}
	}
}

// write sends a text, as far as the other side takes it.
func (a abuse) write(conn net.Conn, text string) error {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := io.WriteString(conn, text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
