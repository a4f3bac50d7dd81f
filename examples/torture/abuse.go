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
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/loadgen"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

const (
	// slowClients is the number of slow clients of each kind.
	slowClients = 50
	// reservedFiles is how many of the files that this process may open are left for other things.
	reservedFiles = 500
	// maxAbuseMemory bounds the memory of the server.
	maxAbuseMemory = 1 << 30
)

// abuse is a kind of client that means harm or cannot do better.
type abuse struct {
	name   string
	count  int           // connections
	begin  string        // sent first
	more   string        // sent again and again unless empty
	every  time.Duration // how often
	deaf   bool          // reads nothing
	within time.Duration // how soon the server must close the connection; 0 if it need not
}

// abuses returns all kinds. The time limits are those of the server.
func abuses(idle int, ping string) []abuse {
	post := "POST " + ping + " HTTP/1.1\r\nHost: localhost\r\n"
	const document = "GET /api/v3/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
	megabyte := "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n"
	return []abuse{
		{name: "slow headers", count: slowClients, within: 10 * time.Second,
			begin: post, more: "X-Slow: 1\r\n", every: time.Second},
		{name: "slow bodies", count: slowClients, within: time.Minute,
			begin: post + "Content-Length: 1000\r\n\r\n", more: "x", every: time.Second},
		{name: "endless bodies", count: 10, within: time.Minute,
			begin: post + "Transfer-Encoding: chunked\r\n\r\n", more: megabyte, every: 50 * time.Millisecond},
		{name: "unread answers", count: slowClients, within: time.Minute,
			begin: strings.Repeat(document, 100), more: document, every: time.Second, deaf: true},
		{name: "no request", count: slowClients, within: 10 * time.Second},
		{name: "nothing after a request", count: idle, begin: post + "Content-Length: 0\r\n\r\n"},
	}
}

// abuseReport is what was seen.
type abuseReport struct {
	connections    int
	pings          loadgen.Result // of well-behaved jobs
	refused        int            // of them
	memory, before uint64         // peak memory, and memory before
	ended          []string       // the longest life of each kind of connection that must end
}

func (r *abuseReport) String() string {
	return fmt.Sprintf("%d connections; %d pings meanwhile, %d refused, p99 %v, the slowest %v; "+
		"memory %d MB, %d MB before; connections lived at most: %s",
		r.connections, len(r.pings.Latencies), r.refused, r.pings.Quantile(0.99).Round(time.Millisecond),
		r.pings.Quantile(1).Round(time.Millisecond), r.memory>>20, r.before>>20, strings.Join(r.ended, ", "))
}

// runAbuse lets bad clients of all kinds work at once, beside a job that must not notice them.
func runAbuse(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	list, err := s.create(ctx, "job", 17, timeouts()[0])
	if err != nil {
		return nil, err
	}
	victim, list := list[0], list[1:]
	r := new(abuseReport)
	r.before, _ = program.Memory(s.servers[0].PID())
	working, stop := context.WithCancel(ctx)
	defer stop()
	var good sync.WaitGroup
	var results []result
	good.Go(func() { results = s.pingAll(working, list, 0, time.Now()) })
	s.abuse(ctx, abuses(o.Idle, "/ping/"+victim.id.String()), r)
	stop()
	good.Wait()
	_, r.memory = program.Memory(s.servers[0].PID())
	for _, p := range results {
		r.pings.Latencies = append(r.pings.Latencies, p.ret-p.call)
		if p.status != http.StatusOK {
			r.refused++
		}
	}
	slices.Sort(r.pings.Latencies)
	if r.refused*100 > len(results) {
		s.problem("%d of %d pings were refused", r.refused, len(results))
	}
	if slowest := r.pings.Quantile(1); slowest > answerWithin+s.slack {
		s.problem("a ping was answered only after %v", slowest)
	}
	if r.memory > maxAbuseMemory {
		s.problem("the server used %d MB", r.memory>>20)
	}
	return r, s.auditPings(ctx, list, results)
}

// abuse opens all bad connections and returns once the server has closed those that it must close.
func (s *site) abuse(ctx context.Context, kinds []abuse, r *abuseReport) {
	address := strings.TrimPrefix(s.servers[0].Greeting().URL, "http://")
	wanted, release := context.WithCancel(ctx)
	defer release()
	lives := make([][]time.Duration, len(kinds))
	var idle, mustEnd sync.WaitGroup
	for k, a := range kinds {
		lives[k] = make([]time.Duration, min(a.count, openFiles()-reservedFiles))
		group := &idle
		if a.within > 0 {
			group = &mustEnd
		}
		for i := range lives[k] {
			group.Go(func() {
				var err error
				if lives[k][i], err = a.run(wanted, address); err != nil {
					s.problem("%s: %v", a.name, err)
				}
			})
		}
	}
	mustEnd.Wait()
	release()
	idle.Wait()
	for k, a := range kinds {
		r.connections += len(lives[k])
		if a.within == 0 {
			continue
		}
		longest := slices.Max(lives[k])
		r.ended = append(r.ended, fmt.Sprintf("%s %v", a.name, longest.Round(100*time.Millisecond)))
		if longest > a.within+answerWithin+s.slack {
			s.problem("%s: a connection lived for %v, want %v at most", a.name, longest, a.within)
		}
	}
}

// openFiles returns how many files and connections this process may have open.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // the default of most systems
	}
	return int(min(limit.Cur, 1<<20))
}

// run makes one connection and returns how long the server let it live. It closes the connection when ctx ends.
func (a abuse) run(ctx context.Context, address string) (lived time.Duration, err error) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	began := time.Now()
	if err := write(conn, a.begin); err != nil {
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
		if write(conn, a.more) != nil {
			return time.Since(began), nil
		}
	}
}

// write sends as much of a text as the other side takes within a second.
func write(conn net.Conn, text string) error {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := io.WriteString(conn, text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
