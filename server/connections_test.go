package server_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/server"
)

// pipes is a listener of pipes, which work in a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// from is the server's end of a pipe, with the address of a client.
type from struct {
	net.Conn
	addr netip.AddrPort
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(f.addr) }

// limitedSite is a server with bounded connections. A request for /slow is answered when slow is closed.
type limitedSite struct {
	*testing.T
	listener *pipes
	slow     chan struct{}
}

// limited runs a test with a limitedSite in a bubble.
func limited(t *testing.T, limits server.ConnLimits, test func(s *limitedSite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &limitedSite{t, &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}, make(chan struct{})}
		web := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/slow" {
				<-s.slow
			}
		})}
		l, err := server.LimitConns(web, s.listener, limits)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- web.Serve(l) }()
		test(s)
		close(s.slow)
		web.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// limitedPeer is a client of a limitedSite.
type limitedPeer struct {
	net.Conn
	answers *bufio.Reader
}

// dial connects a client with an address.
func (s *limitedSite) dial(addr string) *limitedPeer {
	near, far := net.Pipe()
	s.Cleanup(func() { near.Close() })
	go func() { s.listener.conns <- from{far, netip.AddrPortFrom(netip.MustParseAddr(addr), 5000)} }()
	synctest.Wait()
	return &limitedPeer{near, bufio.NewReader(near)}
}

// send sends a request without waiting for the answer.
func (p *limitedPeer) send(path string) {
	go io.WriteString(p, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	synctest.Wait()
}

// answered reports whether an answer arrives in time.
func (p *limitedPeer) answered(within time.Duration) bool {
	_ = p.SetReadDeadline(time.Now().Add(within))
	answer, err := http.ReadResponse(p.answers, nil)
	return err == nil && answer.StatusCode == http.StatusOK
}

// gone reports whether the server has closed the connection.
func (p *limitedPeer) gone() bool {
	_ = p.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := p.Read(make([]byte, 1))
	return err == io.EOF
}

// refused reports whether the server has closed the connection and said why.
func (p *limitedPeer) refused() bool {
	p.send("/")
	_ = p.SetReadDeadline(time.Now().Add(time.Second))
	answer, err := http.ReadResponse(p.answers, nil)
	if err != nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		return false
	}
	text, err := io.ReadAll(answer.Body)
	return err == nil && strings.Contains(string(text), "your address") && p.gone()
}

// begin sends a part of a request.
func (p *limitedPeer) begin(part string) {
	go io.WriteString(p, part)
	synctest.Wait()
}

func (s *limitedSite) holds(what string, ok bool) {
	s.Helper()
	if !ok {
		s.Errorf("does not hold: %s", what)
	}
}

func TestConnectionsOfClient(t *testing.T) {
	limits := server.ConnLimits{PerClient: 2, Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	limited(t, limits, func(s *limitedSite) {
		first, second := s.dial("192.0.2.1"), s.dial("192.0.2.1")
		s.holds("a third connection is refused", s.dial("192.0.2.1").refused())
		other := s.dial("192.0.2.2")
		other.send("/")
		s.holds("another client is answered", other.answered(time.Second))

		time.Sleep(time.Millisecond)
		first.send("/")
		s.holds("the first connection is answered", first.answered(time.Second))
		time.Sleep(time.Second)
		third := s.dial("::ffff:192.0.2.1")
		s.holds("the connection that was idle longest is closed", second.gone())
		s.holds("the others stay open", !first.gone() && !other.gone())
		third.send("/")
		s.holds("the new connection is answered", third.answered(time.Second))

		third.Close()
		synctest.Wait()
		s.holds("a connection that ends makes room", !s.dial("192.0.2.1").gone())

		a, b := s.dial("2001:db8::1"), s.dial("2001:db8::ffff:1")
		s.holds("a /64 network of IPv6 is one client", s.dial("2001:db8:0:0:1::").refused())
		s.holds("another network is another client", !s.dial("2001:db8:0:1::").gone() && !a.gone() && !b.gone())
		for range 5 {
			s.holds("an exempt proxy is not limited", !s.dial("10.1.2.3").gone())
		}
	})
}

func TestBusyConnectionsOfClient(t *testing.T) {
	limited(t, server.ConnLimits{PerClient: 2}, func(s *limitedSite) {
		first, second := s.dial("192.0.2.1"), s.dial("192.0.2.1")
		first.send("/slow")
		time.Sleep(time.Second)
		second.send("/slow")
		time.Sleep(9*time.Second - time.Nanosecond)
		s.holds("a connection busy for less than ten seconds is not replaced", s.dial("192.0.2.1").refused() && !first.gone() && !second.gone())
		third := s.dial("192.0.2.1")
		s.holds("the connection that was busy longest is closed", first.gone() && !second.gone())
		third.send("/")
		s.holds("the new connection is answered", third.answered(time.Second))
		time.Sleep(time.Minute)
		s.dial("192.0.2.1")
		s.holds("an idle connection is closed before a busy one", third.gone() && !second.gone())
	})
}

// TestSlowConnectionsOfClient: a connection whose client is slow with the header or the body of a request makes room for another, but
// not while the server works on the request.
func TestSlowConnectionsOfClient(t *testing.T) {
	limited(t, server.ConnLimits{PerClient: 1}, func(s *limitedSite) {
		header := s.dial("192.0.2.1")
		header.begin("GET / HTTP/1.1\r\nHost")
		time.Sleep(99 * time.Millisecond)
		s.holds("a header has a tenth of a second", s.dial("192.0.2.1").refused() && !header.gone())
		body := s.dial("192.0.2.1")
		s.holds("a slow header makes room", header.gone())

		body.begin("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
		time.Sleep(999 * time.Millisecond)
		s.holds("a body has a second", s.dial("192.0.2.1").refused() && !body.gone())
		busy := s.dial("192.0.2.1")
		s.holds("a slow body makes room", body.gone())

		busy.begin("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
		time.Sleep(5 * time.Second)
		s.holds("a request that the server works on stays", s.dial("192.0.2.1").refused() && !busy.gone())
		s.slow <- struct{}{}
		s.holds("it is answered", busy.answered(time.Second))
	})
}

func TestConnectionsInAll(t *testing.T) {
	limited(t, server.ConnLimits{Total: 2, PerClient: 2}, func(s *limitedSite) {
		s.dial("192.0.2.1").send("/slow")
		idle := s.dial("192.0.2.2")
		third := s.dial("192.0.2.3")
		third.send("/")
		s.holds("a third connection waits", !third.answered(50*time.Millisecond))
		s.holds("the third connection replaces one without a request", third.answered(150*time.Millisecond) && idle.gone())

		third.send("/slow")
		fourth := s.dial("192.0.2.4")
		fourth.send("/")
		s.holds("a new connection waits while all are busy", !fourth.answered(8*time.Second))
		s.holds("the new connection replaces a busy one in the end", fourth.answered(2*time.Second))
	})
	limited(t, server.ConnLimits{Total: 1}, func(s *limitedSite) {
		busy, waiting := s.dial("192.0.2.1"), s.dial("192.0.2.2")
		busy.send("/slow")
		waiting.send("/")
		s.slow <- struct{}{}
		s.holds("the busy connection is answered", busy.answered(time.Second))
		s.holds("the connection that waited is served", waiting.answered(2*time.Second))
	})
	limited(t, server.ConnLimits{Total: 1}, func(s *limitedSite) {
		s.dial("192.0.2.1").send("/slow")
		s.dial("192.0.2.2") // Serve must return although the listener holds it back
	})
	limited(t, server.ConnLimits{}, func(s *limitedSite) {
		for range 100 {
			s.holds("no connection is closed without limits", !s.dial("192.0.2.1").gone())
		}
	})
}
