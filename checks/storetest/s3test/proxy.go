package s3test

import (
	"net"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to a server, until it is told to hold them up.
type Proxy struct {
	// URL is where it listens, on the loopback interface.
	URL string

	server   string
	listener net.Listener
	closed   chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	gate  chan struct{} // closed while data may pass
	conns map[net.Conn]bool
}

// StartProxy returns a proxy of the server that lets everything pass. It ends with the test.
func (s *Server) StartProxy(t testing.TB) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		URL: "http://" + listener.Addr().String(), server: s.addr, listener: listener,
		closed: make(chan struct{}), gate: make(chan struct{}), conns: make(map[net.Conn]bool),
	}
	close(p.gate)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Hold stops all data, in both directions and also of connections that are open: the server seems to be infinitely
// slow.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Release lets all data pass again.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
}

// Connections returns how many clients are connected.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		p.running.Go(func() { p.pass(client, server) })
		p.running.Go(func() { p.pass(server, client) })
	}
}

// keep notes a pair of connections for close, or closes them when that was first.
func (p *Proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		client.Close()
		server.Close()
		return false
	default:
		p.conns[client], p.conns[server] = true, true
		return true
	}
}

// pass copies from one connection to the other while the gate is open, and closes both at the end.
func (p *Proxy) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		select {
		case <-gate:
		case <-p.closed:
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			break
		}
	}
	from.Close()
	to.Close()
	p.mu.Lock()
	delete(p.conns, from)
	delete(p.conns, to)
	p.mu.Unlock()
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	close(p.closed)
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
