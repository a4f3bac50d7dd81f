package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/server/internal/origin"
)

// ConnLimits bounds the connections of an HTTP server. A bound of 0 is none.
type ConnLimits struct {
	// Total is how many connections there may be at once.
	Total int
	// PerClient is how many of them may come from one client: an IPv4 address or a /64 network of IPv6.
	PerClient int
	// Exempt are networks without a bound for each client, such as those of reverse proxies.
	Exempt []netip.Prefix
}

// retryAdmit is how often a full server looks for a connection to close.
const retryAdmit = 100 * time.Millisecond

// phase is what a connection does.
type phase int32

const (
	phaseHeader phase = iota // waits for the header of a request, after its beginning too, or for the first request
	phaseIdle                // waits for another request
	phaseBody                // waits for the body of a request
	phaseBusy                // the server works on a request, or answers it
)

// safe is how long a connection in a phase is safe from being closed for a new one. The header of a ping is one packet, and a ping
// takes no longer than ten seconds unless the client is slow.
var safe = [...]time.Duration{phaseHeader: 100 * time.Millisecond, phaseIdle: time.Second, phaseBody: time.Second, phaseBusy: 10 * time.Second}

// LimitConns returns a listener for web that keeps to limits. It sets web.ConnState, and wraps web.ConnContext and web.Handler. Call
// it before web.Serve.
//
// At a bound, a new connection replaces an old one, so that slow clients do not take the places of pings: the one for whose
// client the server has waited longest, for a tenth of a second at least for the header of a request, and a second for its body or
// after another request; or else the one that has been busy longest, for ten seconds at least. At the bound for a client, it is
// one of the same client. If there is none, the listener answers the new connection with 503 at the bound for a client. At the
// bound for all, it accepts no connection until there is room.
func LimitConns(web *http.Server, l net.Listener, limits ConnLimits) (net.Listener, error) {
	exempt, err := origin.New(limits.Exempt)
	if err != nil {
		return nil, err
	}
	limited := &limitedListener{
		Listener: l, limits: limits, exempt: exempt, freed: make(chan struct{}, 1), closed: make(chan struct{}),
		refusing: make(chan struct{}, maxRefusing),
		conns:    make(map[*limitedConn]struct{}), clients: make(map[netip.Prefix]int),
	}
	web.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*limitedConn); ok {
			c.setState(state)
		}
	}
	next, handler := web.ConnContext, web.Handler
	web.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if next != nil {
			ctx = next(ctx, c)
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	if handler == nil {
		handler = http.DefaultServeMux
	}
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
			c.received(r)
		}
		handler.ServeHTTP(w, r)
	})
	return limited, nil
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

type limitedListener struct {
	net.Listener
	limits   ConnLimits
	exempt   origin.Proxies
	freed    chan struct{} // signals that a connection has ended
	refusing chan struct{} // a counting semaphore of connections that are refused with an answer
	once     sync.Once
	closed   chan struct{}

	mu      sync.Mutex
	conns   map[*limitedConn]struct{}
	clients map[netip.Prefix]int // number of connections; without the exempt ones
}

// Accept returns the next connection that the limits allow.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &limitedConn{Conn: raw, listener: l}
		c.client, c.counted = l.clientOf(raw.RemoteAddr())
		c.setState(http.StateNew)
		if !l.admitClient(c) {
			l.refuse(raw)
			continue
		}
		for !l.admit(c) {
			select {
			case <-l.freed:
			case <-time.After(retryAdmit):
			case <-l.closed:
				raw.Close()
				return nil, net.ErrClosed
			}
		}
		return c, nil
	}
}

const (
	// maxRefusing bounds the refused connections that get an answer at a time, and refuseTime how long each waits for its request.
	maxRefusing, refuseTime = 64, time.Second
	refusal                 = "too many connections from your address\n"
)

// refuse answers the request of a connection that its client may not have. If there are many such connections, it only closes them.
func (l *limitedListener) refuse(c net.Conn) {
	select {
	case l.refusing <- struct{}{}:
	default:
		c.Close()
		return
	}
	go func() {
		defer func() { <-l.refusing }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(refuseTime))
		if _, err := c.Read(make([]byte, 4096)); err == nil {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: text/plain; charset=utf-8\r\n"+
				"Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(refusal), refusal)
		}
	}()
}

// Close closes the listener. Connections stay open.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// clientOf returns what connections from an address are counted by, and whether they are bounded.
func (l *limitedListener) clientOf(remote net.Addr) (client netip.Prefix, counted bool) {
	addr, ok := origin.ParsePeer(remote.String())
	if !ok || l.exempt.Trust(addr) {
		return netip.Prefix{}, false
	}
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	client, _ = addr.Prefix(bits)
	return client, true
}

// admitClient reports whether the client of a connection may have it.
func (l *limitedListener) admitClient(c *limitedConn) bool {
	if !c.counted || l.limits.PerClient == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients[c.client] < l.limits.PerClient ||
		l.evict(func(other *limitedConn) bool { return other.counted && other.client == c.client })
}

// admit adds a connection if there is room for it.
func (l *limitedListener) admit(c *limitedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.Total > 0 && len(l.conns) >= l.limits.Total && !l.evict(func(*limitedConn) bool { return true }) {
		return false
	}
	l.conns[c] = struct{}{}
	if c.counted {
		l.clients[c.client]++
	}
	return true
}

// evict closes the connection that a new one may replace, of those that match.
func (l *limitedListener) evict(match func(*limitedConn) bool) bool {
	now := time.Now().UnixNano()
	var victim *limitedConn
	var longest time.Duration
	waits := false // the victim does, and the server for its client
	for c := range l.conns {
		if !match(c) {
			continue
		}
		in, age := phase(c.phase.Load()), time.Duration(now-c.since.Load())
		if age >= safe[in] && (in != phaseBusy && !waits || (in != phaseBusy) == waits && age > longest) {
			victim, longest, waits = c, age, in != phaseBusy
		}
	}
	if victim == nil {
		return false
	}
	l.remove(victim)
	victim.Conn.Close()
	return true
}

// remove forgets a connection. The caller holds the lock.
func (l *limitedListener) remove(c *limitedConn) {
	if _, found := l.conns[c]; !found {
		return
	}
	delete(l.conns, c)
	if !c.counted {
		return
	}
	if l.clients[c.client]--; l.clients[c.client] == 0 {
		delete(l.clients, c.client)
	}
}

type limitedConn struct {
	net.Conn
	listener *limitedListener
	client   netip.Prefix
	counted  bool // by its client
	phase    atomic.Int32
	since    atomic.Int64 // Unix nanoseconds when the phase began
}

func (c *limitedConn) enter(p phase) {
	c.since.Store(time.Now().UnixNano())
	c.phase.Store(int32(p))
}

// setState notes that the connection waits for a request, or that one has begun to arrive.
func (c *limitedConn) setState(state http.ConnState) {
	switch state {
	case http.StateNew, http.StateActive:
		c.enter(phaseHeader)
	case http.StateIdle:
		c.enter(phaseIdle)
	case http.StateHijacked, http.StateClosed:
		c.enter(phaseBusy)
	}
}

// received notes that the header of a request has arrived, and learns when its body has.
func (c *limitedConn) received(r *http.Request) {
	if !hasBody(r) {
		c.enter(phaseBusy)
		return
	}
	c.enter(phaseBody)
	r.Body = &arrivingBody{r.Body, c}
}

// arrivingBody is the body of a request on a limited connection.
type arrivingBody struct {
	io.ReadCloser
	conn *limitedConn
}

// Read reads from the body, and notes its end.
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.conn.enter(phaseBusy)
	}
	return n, err
}

// Close closes the connection and makes room for another.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	select {
	case c.listener.freed <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}

// CloseWrite lets net/http end an answer before the connection.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
