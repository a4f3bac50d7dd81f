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

	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
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

// runAbuse lets bad clients of all kinds work at once, beside a job that must not notice them.
func runAbuse(ctx context.Context, s *site, o options) (report string, err error) {
	list, err := s.create(ctx, "job", 17, timeouts()[0])
	if err != nil {
		return "", err
	}
	victim, list := list[0], list[1:]
	before, _ := program.Memory(s.servers[0].PID())
	working, stop := context.WithCancel(ctx)
	defer stop()
	var job sync.WaitGroup
	job.Go(func() { s.pingAll(working, list, pinger{body: largeBody, afterRefusal: 20 * time.Millisecond}) })
	bad := s.abuse(ctx, abuses(o.Idle, "/ping/"+victim.id.String()))
	stop()
	job.Wait()
	_, peak := program.Memory(s.servers[0].PID())
	var pings loadgen.Result
	refused := 0
	for _, p := range s.results {
		pings.Latencies = append(pings.Latencies, p.ret-p.call)
		if p.status != http.StatusOK {
			refused++
		}
	}
	slices.Sort(pings.Latencies)
	slowest := pings.Quantile(1)
	if refused*100 > len(s.results) {
		s.problem("%d of %d pings were refused", refused, len(s.results))
	}
	if slowest > answerWithin+s.slack {
		s.problem("a ping was answered only after %v", slowest)
	}
	if peak > maxAbuseMemory {
		s.problem("the server used %d MB", peak>>20)
	}
	report = fmt.Sprintf("%d pings, %d refused, p99 %v, the slowest %v; memory %d MB, %d MB before; %s", len(s.results), refused,
		pings.Quantile(0.99).Round(time.Millisecond), slowest.Round(time.Millisecond), peak>>20, before>>20, bad)
	return report, s.auditPings(ctx, list, nil)
}

// abuse opens all bad connections. Once the server has closed those that it must close, it reports how long they lived.
func (s *site) abuse(ctx context.Context, kinds []abuse) (report string) {
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
	var longest []string
	for k, a := range kinds {
		lived := slices.Max(lives[k])
		longest = append(longest, fmt.Sprintf("%d with %s up to %v", len(lives[k]), a.name, lived.Round(100*time.Millisecond)))
		if a.within > 0 && lived > a.within+answerWithin+s.slack {
			s.problem("%s: a connection lived for %v, want %v at most", a.name, lived, a.within)
		}
	}
	return "connections: " + strings.Join(longest, ", ")
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
