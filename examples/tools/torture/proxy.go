package main

import (
	"net"
	"sync"
)

// proxy passes TCP connections on to a server. While it holds them, the server seems to be there and never answers, as
// behind a network that drops packets.
type proxy struct {
	net.Listener
	target string
	gate   sync.RWMutex // locked while nothing may pass
}

// newProxy starts a proxy that runs until it is closed.
func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{Listener: listener, target: target}
	go p.accept()
	return p, nil
}

func (p *proxy) hold() error    { p.gate.Lock(); return nil }
func (p *proxy) release() error { p.gate.Unlock(); return nil }

func (p *proxy) accept() {
	for {
		near, err := p.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := net.Dial("tcp", p.target)
			if err != nil {
				near.Close()
				return
			}
			go p.pass(near, far)
			p.pass(far, near)
		}()
	}
}

// pass copies data until one side ends, and then ends both.
func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.gate.RLock()
		_, failed := to.Write(buffer[:n])
		p.gate.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}
