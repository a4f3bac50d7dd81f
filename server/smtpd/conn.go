package smtpd

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// listener accepts connections up to the limits.
type listener struct {
	net.Listener
	server *Server
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, refusal := l.server.admit(raw)
		if refusal == "" {
			return c, nil
		}
		// This does not block: it fits into the send buffer of a new connection.
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = raw.Write([]byte("421 " + refusal + "\r\n"))
		raw.Close()
	}
}

// admit registers the connection, or returns the reason for refusing it.
func (s *Server) admit(raw net.Conn) (c *conn, refusal string) {
	c = &conn{Conn: raw, server: s, addr: remoteAddr(raw), end: time.Now().Add(s.config.SessionTimeout)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, "4.3.2 The service is shutting down"
	case len(s.conns) >= s.config.MaxConnections:
		return nil, "4.3.2 Too many connections, try again later"
	case s.clients[c.client()] >= s.config.MaxPerClient:
		return nil, "4.7.0 Too many connections from your address, try again later"
	}
	s.conns[c] = true
	s.clients[c.client()]++
	return c, ""
}

// remoteAddr returns the address of a client, or the zero address if it has none.
func remoteAddr(raw net.Conn) netip.Addr {
	addr, err := netip.ParseAddrPort(raw.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr().WithZone("").Unmap()
}

// conn is a connection with deadlines that the server controls. The library sees neither TLS nor odd commands.
type conn struct {
	net.Conn
	server *Server
	addr   netip.Addr
	end    time.Time // when the session must end
	tls    *tls.Conn // above Conn after STARTTLS

	// broken means that a read failed or reached the end of the stream.
	broken  atomic.Bool
	refused atomic.Int64 // number of refused recipients
	// idle and named count what a client has sent since its last message: commands that deliver none, and recipients.
	idle, named   atomic.Int64
	hasRecipients atomic.Bool // of the message that follows
	over          atomic.Bool // nothing more is read
	// lingers makes Close wait for the client to stop sending, so that it can read the last reply.
	lingers atomic.Bool
	data    endFinder
	commands

	mu        sync.Mutex
	hungUp    bool // accept no further command
	receiving int  // messages being received
	closed    bool
}

// client returns the key for counting connections.
func (c *conn) client() netip.Prefix {
	if c.addr.Is6() {
		p, _ := c.addr.Prefix(64)
		return p
	}
	return netip.PrefixFrom(c.addr, c.addr.BitLen())
}

// SetReadDeadline enforces the end of the session. The library calls it before it waits for a command.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setReadDeadline(t)
}

func (c *conn) setReadDeadline(t time.Time) error {
	if t.IsZero() || t.After(c.end) {
		t = c.end
	}
	if c.hungUp && c.receiving == 0 {
		t = time.Unix(1, 0) // already past, so the library replies 421 and closes
	}
	return c.Conn.SetReadDeadline(t)
}

// hangUp closes the connection once it is not receiving a message.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hungUp = true
	if c.receiving == 0 {
		_ = c.setReadDeadline(c.end)
	}
}

// begin marks the start of receiving a message, done its end.
func (c *conn) begin() {
	c.server.mu.Lock()
	c.server.receiving++
	c.server.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receiving++
	if c.hungUp { // the client already got its 354, so it may finish
		_ = c.setReadDeadline(time.Now().Add(c.server.config.ReadTimeout))
	}
}

func (c *conn) done() {
	c.mu.Lock()
	c.receiving--
	if c.hungUp && c.receiving == 0 {
		_ = c.setReadDeadline(c.end)
	}
	c.mu.Unlock()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.receiving--
	c.server.checkDrained()
}

// Close closes the connection and unregisters it. The library may call it several times.
func (c *conn) Close() error {
	if c.lingers.Swap(false) {
		c.linger()
	}
	c.mu.Lock()
	over := c.tls
	c.mu.Unlock()
	if over != nil {
		_ = over.Close() // says so to the client
	}
	err := c.Conn.Close()
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return err
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.clients[c.client()]--; s.clients[c.client()] == 0 {
		delete(s.clients, c.client())
	}
	s.checkDrained()
	return err
}

// linger discards some further data from the client. Closing with unread data would reset the connection, and the client
// would not see the last reply.
func (c *conn) linger() {
	if c.tls != nil {
		_ = c.tls.CloseWrite()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.CopyN(io.Discard, c.Conn, maxLinger)
	}
}
