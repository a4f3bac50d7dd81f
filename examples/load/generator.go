package main

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
	"sync"
	"time"
)

// exchangeTimeout is how long a ping may wait for its answer. A server that is as slow as that has failed.
const exchangeTimeout = 30 * time.Second

// load is what is asked of a server, or of several on one database.
type load struct {
	addresses   []string // connections take them in turn
	scatter     bool     // the pings of a check go to all servers, not to the same one each time
	checks      int
	connections int
	fresh       bool    // a connection for each ping
	rate        float64 // pings a second over all connections, or 0 for a closed loop
	body        int
	duration    time.Duration
}

// outcome is how a server has coped with a load.
type outcome struct {
	rate      float64         // answers a second
	latencies []time.Duration // of all answers, in rising order
}

// quantile returns the latency that a share of the answers did not exceed.
func (o outcome) quantile(share float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	return o.latencies[min(int(share*float64(len(o.latencies))), len(o.latencies)-1)]
}

// generate puts a load on a server for its duration. Any answer but 200 is an error.
func (l load) generate(ctx context.Context) (outcome, error) {
	clients := make([]*client, l.connections)
	var err error
	for i := range clients {
		clients[i] = newClient(l, i)
		if err == nil && !l.fresh {
			err = clients[i].connect(ctx)
		}
	}
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	end := begin.Add(l.duration)
	errs := make([]error, len(clients))
	var group sync.WaitGroup
	for i, c := range clients {
		group.Go(func() { errs[i] = c.run(ctx, begin, end) })
	}
	group.Wait()
	took := time.Since(begin)
	var o outcome
	for _, c := range clients {
		o.latencies = append(o.latencies, c.latencies...)
	}
	slices.Sort(o.latencies)
	o.rate = float64(len(o.latencies)) / took.Seconds()
	return o, errors.Join(append(errs, ctx.Err())...)
}

// client sends pings one after another and waits for each answer. It writes requests from one buffer and reads
// answers into another, so that the generator leaves the machine to the servers: net/http's client would need more of
// it than the servers that are measured.
type client struct {
	load
	index     int
	address   string
	conn      net.Conn
	request   []byte
	id        []byte // the part of request that is the check
	answer    []byte
	random    *rand.Rand
	latencies []time.Duration
}

func newClient(l load, index int) *client {
	method, header := "GET", ""
	if l.body > 0 {
		method, header = "POST", "Content-Length: "+strconv.Itoa(l.body)+"\r\n"
	}
	if l.fresh {
		header += "Connection: close\r\n"
	}
	c := &client{load: l, index: index, address: l.addresses[index%len(l.addresses)], answer: make([]byte, 4096), random: rand.New(rand.NewPCG(1, uint64(index)))}
	start := method + " /ping/"
	c.request = fmt.Appendf(nil, "%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n%s\r\n", start, checkID(0), c.address, header)
	c.request = append(c.request, bytes.Repeat([]byte("x"), l.body)...)
	c.id = c.request[len(start) : len(start)+36]
	if l.rate == 0 {
		c.latencies = make([]time.Duration, 0, int(l.duration.Seconds()*50_000)/l.connections+1)
	}
	return c
}

func (c *client) connect(ctx context.Context) (err error) {
	c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	return c.conn.SetDeadline(time.Now().Add(c.duration + exchangeTimeout))
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// run sends pings until the end. With a rate, the latency of a ping counts from when it was to be sent, if the answer
// before it came later than that: pings that a slow server holds back would not be missed otherwise.
func (c *client) run(ctx context.Context, begin, end time.Time) error {
	interval := time.Duration(0)
	due := begin
	if c.rate > 0 {
		interval = time.Duration(float64(c.connections) / c.rate * float64(time.Second))
		due = begin.Add(interval * time.Duration(c.index) / time.Duration(c.connections))
	}
	for ctx.Err() == nil {
		sent := time.Now()
		if interval > 0 {
			if wait := due.Sub(sent); wait > 0 {
				time.Sleep(wait)
				sent = time.Now()
			} else {
				sent = due
			}
			due = due.Add(interval)
		}
		if !sent.Before(end) {
			return nil
		}
		if err := c.exchange(ctx); err != nil {
			return err
		}
		c.latencies = append(c.latencies, time.Since(sent))
	}
	return nil
}

// exchange sends one ping and reads its answer.
func (c *client) exchange(ctx context.Context) error {
	if c.fresh {
		if err := c.connect(ctx); err != nil {
			return err
		}
		defer c.close()
	}
	check := c.random.IntN(c.checks)
	if n := len(c.addresses); n > 1 && !c.scatter {
		check = min(check-check%n+c.index%n, c.checks-1)
	}
	copy(c.id, checkID(check).String())
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	for n := 0; ; {
		more, err := c.conn.Read(c.answer[n:])
		n += more
		if n > 0 && complete(c.answer[:n]) {
			return statusError(c.answer[:n])
		}
		switch {
		case err == io.EOF || n == len(c.answer):
			return fmt.Errorf("an answer is not as expected: %q", c.answer[:n])
		case err != nil:
			return err
		}
	}
}

// complete reports whether an answer was read to its end.
func complete(answer []byte) bool {
	head, body, found := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !found {
		return false
	}
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	return err == nil && len(body) >= n
}

func statusError(answer []byte) error {
	if bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) {
		return nil
	}
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	return fmt.Errorf("a ping was answered with %q", line)
}
