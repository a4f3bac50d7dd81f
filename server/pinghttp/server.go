// Package pinghttp serves HTTP where most requests are pings, which it answers in about half of the time that [net/http]
// takes.
//
//	web := &http.Server{Handler: srv.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
//	fast := pinghttp.New(web, srv.IsPing)
//	err := fast.Serve(listener)
//
// It is an [http.Server] with a short way in front of it. A request goes the short way when there is nothing to it: GET,
// HEAD or POST of HTTP/1.1 without a body, whose head has come in one piece of 4 kB at most and says no more about the
// connection than whether it is kept. Everything else is left to the http.Server, with the connection and what was read from it, for as long
// as the connection lasts.
//
// The short way decides only whether there is nothing to a request. [http.ReadRequest] reads it; of one whose fields are,
// byte for byte, those of the request before it on the connection, only the target is read. The handler cannot tell the
// difference, but that it gets an [http.ResponseWriter] that keeps the answer, with its header, until the handler returns,
// and cannot flush or hijack, and that the context of a request does not end when its client goes away. So it is for
// requests with short answers that are worth finishing, as pings are.
//
// On connections with TLS all requests go to the http.Server.
package pinghttp

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an [http.Server] with a short way for pings. It may be used by many goroutines at once, and is of no use
// after [Server.Shutdown] or [Server.Close].
type Server struct {
	web   *http.Server
	takes func(*http.Request) bool
	date  atomic.Pointer[date]
	// memory is that of connections.
	memory sync.Pool

	mu      sync.Mutex
	closing atomic.Bool // set while mu is held
	conns   map[*conn]struct{}
	busy    sync.WaitGroup // one for each of conns
}

// New returns a server for the requests of web, of which takes tells those that may go the short way; many goroutines call
// it at once. New starts nothing.
//
// The handler, the time limits and the log of errors are those of web, whose fields must not be changed any more. The
// handler must not change the fields of a request, which may be those of the next one too. On the short way, a time limit
// may be exceeded by an eighth, WriteTimeout begins with the answer, and BaseContext, ConnContext, ConnState, MaxHeaderBytes
// and SetKeepAlivesEnabled have no effect.
func New(web *http.Server, takes func(*http.Request) bool) *Server {
	return &Server{web: web, takes: takes, memory: sync.Pool{New: newMemory}, conns: make(map[*conn]struct{})}
}

// Serve answers the requests of a listener until [Server.Shutdown] or [Server.Close], and closes it. The error is never
// nil; it is that of [http.Server.Serve].
func (s *Server) Serve(l net.Listener) error {
	rest := &listener{Listener: l, connections: make(chan accepted), done: make(chan struct{})}
	go s.accept(rest)
	return s.web.Serve(rest)
}

// accept takes connections until the listener is closed.
func (s *Server) accept(l *listener) {
	for {
		c, err := l.Listener.Accept()
		if _, secret := c.(*tls.Conn); secret || err != nil {
			// It is for the http.Server to wait after an error that passes, and to stop after another.
			if !l.hand(c, err) {
				return
			}
			continue
		}
		s.start(c, l)
	}
}

// start serves a connection.
func (s *Server) start(nc net.Conn, l *listener) {
	c := newConn(s, nc, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.busy.Go(c.serve)
}

// forget ends what [Server.start] has begun.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Shutdown stops listening, closes connections without a request and waits until the others have been answered, as
// [http.Server.Shutdown] does. The error is that of ctx if it ends before; call [Server.Close] then.
func (s *Server) Shutdown(ctx context.Context) error {
	s.close((*conn).finish)
	err := s.web.Shutdown(ctx)
	answered := make(chan struct{})
	go func() {
		s.busy.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops listening and closes all connections at once, as [http.Server.Close] does.
func (s *Server) Close() error {
	s.close(func(c *conn) { c.Close() })
	return s.web.Close()
}

// close takes no more connections, and does end to those that there are.
func (s *Server) close(end func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for c := range s.conns {
		end(c)
	}
}

func (s *Server) handler() http.Handler {
	if s.web.Handler != nil {
		return s.web.Handler
	}
	return http.DefaultServeMux
}

func (s *Server) logf(format string, args ...any) {
	if s.web.ErrorLog != nil {
		s.web.ErrorLog.Printf(format, args...)
	} else {
		log.Printf(format, args...)
	}
}

// date is a second, as answers tell it.
type date struct {
	second int64
	text   string
}

// dateOf returns the value of the field Date.
func (s *Server) dateOf(now time.Time) string {
	d := s.date.Load()
	if second := now.Unix(); d == nil || d.second != second {
		d = &date{second, now.UTC().Format(http.TimeFormat)}
		s.date.Store(d)
	}
	return d.text
}

// listener gives connections to the http.Server that are left to it.
type listener struct {
	net.Listener
	connections chan accepted
	once        sync.Once
	done        chan struct{} // closed by Close
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// Accept waits for a connection that is left to the http.Server.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.connections:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// hand has Accept return a connection or an error. When there is nobody any more who accepts, it closes the connection and
// returns false.
func (l *listener) hand(c net.Conn, err error) bool {
	select {
	case l.connections <- accepted{c, err}:
		return true
	case <-l.done:
		if c != nil {
			c.Close()
		}
		return false
	}
}

// Close closes the listener below. Nothing more is accepted.
func (l *listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		close(l.done)
		err = l.Listener.Close()
	})
	return err
}

// handed is a connection of which some was read already.
type handed struct {
	net.Conn
	unread []byte
}

// Read returns what was read before, and then what comes.
func (h *handed) Read(p []byte) (int, error) {
	if len(h.unread) == 0 {
		return h.Conn.Read(p)
	}
	n := copy(p, h.unread)
	if h.unread = h.unread[n:]; len(h.unread) == 0 {
		h.unread = nil
	}
	return n, nil
}

// CloseWrite is what net/http calls so that a client gets an answer although not all that it sends is read.
func (h *handed) CloseWrite() error {
	if c, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}
