package server

import (
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

const (
	// maxWait and maxBusy are how long a connection that waits for a request, or is busy with one, is safe from being
	// closed for a new one. Pings take no longer than maxBusy, unless the client is slow.
	maxWait = time.Second
	maxBusy = 10 * time.Second
	// retryAdmit is how often a full server looks for a connection to close.
	retryAdmit = 100 * time.Millisecond
)

// LimitConns returns a listener for web that keeps to limits, and sets web.ConnState. Call it before web.Serve.
//
// At a bound, a new connection replaces an old one: the one that has waited longest for a request, for a second at
// least, or else the one that has been busy longest, for ten seconds at least. At the bound for a client, it is one of
// the same client. If there is none, the listener closes the new connection at the bound for a client. At the bound for
// all, it accepts no connection until there is room.
func LimitConns(web *http.Server, l net.Listener, limits ConnLimits) (net.Listener, error) {
	exempt, err := origin.New(limits.Exempt)
	if err != nil {
		return nil, err
	}
	limited := &limitedListener{
		Listener: l, limits: limits, exempt: exempt, freed: make(chan struct{}, 1), closed: make(chan struct{}),
		conns: make(map[*limitedConn]struct{}), clients: make(map[netip.Prefix]int),
	}
	web.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*limitedConn); ok {
			c.setState(state)
		}
	}
	return limited, nil
}

type limitedListener struct {
	net.Listener
	limits ConnLimits
	exempt origin.Proxies
	freed  chan struct{} // signals that a connection has ended
	once   sync.Once
	closed chan struct{}

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
			raw.Close()
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
	waited, busy := int64(maxWait)-1, int64(maxBusy)-1
	for c := range l.conns {
		if !match(c) {
			continue
		}
		since := c.since.Load()
		switch {
		case since > 0 && now-since > waited:
			victim, waited = c, now-since
		case since < 0 && waited < int64(maxWait) && now+since > busy:
			victim, busy = c, now+since
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
	counted  bool         // by its client
	since    atomic.Int64 // Unix nanoseconds since it waits for a request; negative since it is busy with one
}

// setState notes whether the connection waits for a request.
func (c *limitedConn) setState(state http.ConnState) {
	now := time.Now().UnixNano()
	if state != http.StateNew && state != http.StateIdle {
		now = -now
	}
	c.since.Store(now)
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
