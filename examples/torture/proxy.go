package main

import (
	"io"
	"net"
	"sync"
)

// proxy passes TCP connections on to an address, until it is told to hold them up: then the other side seems to be
// there and never says a word, as behind a network that drops packets.
type proxy struct {
	listener net.Listener
	target   string

	mu   sync.Mutex
	gate chan struct{} // closed while data may pass
}

func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, gate: make(chan struct{})}
	close(p.gate)
	go p.accept()
	return p, nil
}

// hold stops all data, of open connections and of new ones.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// release lets all data pass again.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
}

func (p *proxy) pass() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate
}

// close takes no more connections. Those that are open end with their ends.
func (p *proxy) close() { _ = p.listener.Close() }

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer near.Close()
			far, err := net.Dial("tcp", p.target)
			if err != nil {
				return
			}
			defer far.Close()
			var both sync.WaitGroup
			both.Go(func() { p.copy(far, near) })
			both.Go(func() { p.copy(near, far) })
			both.Wait()
		}()
	}
}

// copy passes data on until one side ends, and ends the other then.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		<-p.pass()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				_ = from.Close()
			}
			return
		}
	}
}
