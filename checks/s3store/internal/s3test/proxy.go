package s3test

import (
	"net"
	"sync"
	"testing"
)

// Proxy forwards TCP connections to a server until Hold is called.
type Proxy struct {
	// URL is its address on the loopback interface.
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

// Hold stops all data in both directions, on open connections too: the server seems infinitely slow.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Release lets data pass again.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
}

// Connections returns the number of connected clients.
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

// keep registers a pair of connections for close. If the proxy is closed, it closes them and returns false.
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

// pass copies data while the gate is open, and closes both connections at the end.
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
