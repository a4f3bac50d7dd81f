// Package loadgen sends pings to servers, at a fixed rate or as fast as they answer, and measures the latency.
//
//	result, err := loadgen.Load{Servers: []string{"127.0.0.1:8000"}, Checks: ids, Connections: 64, Duration: time.Second}.Run(ctx)
//	p99 := result.Quantile(0.99)
package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Timeout is how long a ping may wait for its response. A server that takes longer has failed.
const Timeout = 30 * time.Second

// Load describes the pings to send.
type Load struct {
	Servers     []string // host:port of each; connections use them in turn
	Checks      []string // UUIDs of the checks to ping, in random order
	Scatter     bool     // every server gets pings of every check, instead of always the same checks
	Connections int
	Reconnect   bool    // use a new connection for each ping
	Rate        float64 // pings a second over all connections; 0 sends each ping as soon as the last one was answered
	Body        int     // bytes; with any, pings are POST requests
	Duration    time.Duration
}

// Result is how the servers coped with a load.
type Result struct {
	Rate      float64         // responses a second
	Latencies []time.Duration // of all responses, ascending
}

// Quantile returns the latency that a share of the responses, from 0 to 1, did not exceed.
func (r Result) Quantile(share float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	return r.Latencies[min(int(share*float64(len(r.Latencies))), len(r.Latencies)-1)]
}

// Run sends the pings. It fails if a ping gets any response but 200, or none within [Timeout].
func (l Load) Run(ctx context.Context) (Result, error) {
	connections := make([]*connection, l.Connections)
	defer func() {
		for _, c := range connections {
			c.close()
		}
	}()
	for i := range connections {
		connections[i] = newConnection(l, i)
		if !l.Reconnect {
			if err := connections[i].open(ctx); err != nil {
				return Result{}, err
			}
		}
	}
	begin := time.Now()
	var group errgroup.Group
	for _, c := range connections {
		group.Go(func() error { return c.run(ctx, begin) })
	}
	err := group.Wait()
	took := time.Since(begin)
	var r Result
	for _, c := range connections {
		r.Latencies = append(r.Latencies, c.latencies...)
	}
	slices.Sort(r.Latencies)
	r.Rate = float64(len(r.Latencies)) / took.Seconds()
	return r, errors.Join(err, ctx.Err())
}

// connection sends one ping after another. It writes requests from one buffer and reads responses into another, so
// that the load leaves the machine to the servers: the client of net/http uses more CPU than a server that is measured.
type connection struct {
	Load
	index     int
	server    string
	conn      net.Conn // nil while closed
	request   []byte
	check     []byte // the part of request that names the check
	response  []byte
	random    *rand.Rand
	latencies []time.Duration
}

func newConnection(l Load, index int) *connection {
	method, header := "GET", ""
	if l.Body > 0 {
		method, header = "POST", fmt.Sprintf("Content-Length: %d\r\n", l.Body)
	}
	if l.Reconnect {
		header += "Connection: close\r\n"
	}
	c := &connection{
		Load: l, index: index, server: l.Servers[index%len(l.Servers)],
		response: make([]byte, 4096), random: rand.New(rand.NewPCG(1, uint64(index))),
	}
	start := method + " /ping/"
	c.request = fmt.Appendf(nil, "%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n%s\r\n", start, l.Checks[0], c.server, header)
	c.request = append(c.request, bytes.Repeat([]byte("x"), l.Body)...)
	c.check = c.request[len(start) : len(start)+len(l.Checks[0])]
	return c
}

func (c *connection) open(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.server); err != nil {
		return err
	}
	return c.conn.SetDeadline(time.Now().Add(c.Duration + Timeout))
}

func (c *connection) close() {
	if c != nil && c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// run sends pings until the end. At a fixed rate, the latency of a ping counts from when it was due, even if the
// response before it came later: otherwise a slow server would hide the pings that it holds up.
func (c *connection) run(ctx context.Context, begin time.Time) error {
	interval, due := time.Duration(0), begin
	if c.Rate > 0 {
		interval = time.Duration(float64(c.Connections) / c.Rate * float64(time.Second))
		due = begin.Add(interval * time.Duration(c.index) / time.Duration(c.Connections))
	}
	for end := begin.Add(c.Duration); ctx.Err() == nil; due = due.Add(interval) {
		sent := time.Now()
		if interval > 0 {
			if wait := due.Sub(sent); wait > 0 {
				time.Sleep(wait)
				sent = time.Now()
			} else {
				sent = due
			}
		}
		if !sent.Before(end) {
			return nil
		}
		if err := c.ping(ctx); err != nil {
			return err
		}
		c.latencies = append(c.latencies, time.Since(sent))
	}
	return nil
}

// ping sends one ping and reads its response.
func (c *connection) ping(ctx context.Context) error {
	if c.Reconnect {
		if err := c.open(ctx); err != nil {
			return err
		}
		defer c.close()
	}
	check := c.random.IntN(len(c.Checks))
	if n := len(c.Servers); n > 1 && !c.Scatter {
		check = min(check-check%n+c.index%n, len(c.Checks)-1)
	}
	copy(c.check, c.Checks[check])
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	for n := 0; ; {
		more, err := c.conn.Read(c.response[n:])
		n += more
		switch {
		case complete(c.response[:n]):
			return statusError(c.response[:n])
		case err == io.EOF || n == len(c.response):
			return fmt.Errorf("unexpected response to a ping: %q", c.response[:n])
		case err != nil:
			return err
		}
	}
}

// complete reports whether a response has arrived in full.
func complete(response []byte) bool {
	head, body, found := bytes.Cut(response, []byte("\r\n\r\n"))
	if !found {
		return false
	}
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	return err == nil && len(body) >= n
}

func statusError(response []byte) error {
	if bytes.HasPrefix(response, []byte("HTTP/1.1 200 ")) {
		return nil
	}
	line, _, _ := bytes.Cut(response, []byte("\r\n"))
	return fmt.Errorf("a ping got the response %q", line)
}
