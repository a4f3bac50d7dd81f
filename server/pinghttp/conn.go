package pinghttp

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// headSize is how long a head may be on the short way.
	headSize = 4 << 10
	// freshTime is how long a connection that has not had a request yet is kept when the server ends.
	freshTime = 5 * time.Second
)

// conn is a connection whose requests go the short way.
type conn struct {
	net.Conn
	s      *Server
	l      *listener
	opened time.Time
	used   atomic.Bool // it has had a request

	parser parser
	memory *memory
	// When the limits that are set now were set.
	readSet, writeSet time.Time
}

// memory is what a connection needs, and the next after it.
type memory struct {
	buffer [headSize]byte
	answer answer
}

func newMemory() any {
	return &memory{answer: answer{header: make(http.Header, 16), names: make([]string, 0, 16), text: make([]byte, 0, 1<<10)}}
}

func newConn(s *Server, nc net.Conn, l *listener) *conn {
	return &conn{Conn: nc, s: s, l: l, opened: time.Now(), parser: parser{remote: nc.RemoteAddr().String()}}
}

// serve answers requests until one comes that does not go the short way, or there are no more.
func (c *conn) serve() {
	defer c.s.forget(c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx = context.WithValue(ctx, http.ServerContextKey, c.s.web)
	c.parser.ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.LocalAddr())
	c.memory = c.s.memory.Get().(*memory)
	rest := c.answerAll()
	if rest == nil {
		c.Close()
		c.s.memory.Put(c.memory) // otherwise the rest is in it
		return
	}
	_ = c.SetDeadline(time.Time{}) // an error means that it is closed, which the next to read is told
	c.l.hand(&handed{c.Conn, rest}, nil)
}

// answerAll answers requests, and returns what was read of the first that does not go the short way. It is nil if the
// connection is to be closed.
func (c *conn) answerAll() (rest []byte) {
	defer func() {
		if reason := recover(); reason != nil {
			if reason != http.ErrAbortHandler {
				c.s.logf("pinghttp: panic serving %s: %v\n%s", c.parser.remote, reason, debug.Stack())
			}
			rest = nil
		}
	}()
	buffer := c.memory.buffer[:]
	wasPost := false
	for now := c.opened; ; {
		c.await(now)
		n, err := c.Read(buffer)
		if err != nil {
			return nil
		}
		if !c.used.Swap(true) {
			c.readSet = time.Time{} // the next request has another limit
		}
		head := buffer[:n]
		if wasPost {
			head = withoutBreaks(head)
		}
		r := c.parser.parse(head)
		if r == nil || !c.s.takes(r) {
			return head
		}
		wasPost = r.Method == http.MethodPost
		var more bool
		if now, more = c.respond(r); !more {
			return nil
		}
	}
}

// withoutBreaks drops the line breaks that old clients send after the body of a POST, as net/http does.
func withoutBreaks(head []byte) []byte {
	start := head[:min(4, len(head))]
	return head[len(start)-len(bytes.TrimLeft(start, "\r\n")):]
}

// await limits how long the next request is waited for.
func (c *conn) await(now time.Time) {
	limit := c.s.web.IdleTimeout
	if !c.used.Load() {
		limit = c.s.web.ReadHeaderTimeout
	}
	if limit == 0 {
		limit = c.s.web.ReadTimeout
	}
	renew(&c.readSet, now, limit, c.SetReadDeadline)
	if c.s.closing.Load() {
		c.finish() // again, as the limit may have come after it
	}
}

// renew sets a limit, unless it was set so shortly before that it does not matter: to set one for each request would be a
// noticeable part of its cost. So a limit is that eighth longer that it may have been set before.
func renew(set *time.Time, now time.Time, limit time.Duration, deadline func(time.Time) error) {
	if limit > 0 && (set.IsZero() || now.Sub(*set) > limit/8) {
		*set = now
		_ = deadline(now.Add(limit + limit/8)) // an error means that the connection is closed
	}
}

// finish has the connection closed as soon as it has no request.
func (c *conn) finish() {
	until := c.opened
	if !c.used.Load() {
		until = until.Add(freshTime) // a request may be on its way
	}
	_ = c.SetReadDeadline(until)
}

// respond answers a request. more says whether there may be another.
func (c *conn) respond(r *http.Request) (now time.Time, more bool) {
	a := &c.memory.answer
	a.reset()
	c.s.handler().ServeHTTP(a, r)
	now = time.Now()
	message, last := a.message(r.Method, c.s.dateOf(now), r.Close || c.s.closing.Load())
	renew(&c.writeSet, now, c.s.web.WriteTimeout, c.SetWriteDeadline)
	_, err := c.Write(message)
	return now, err == nil && !last
}
