package main

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server"
)

// oneConn is a listener of one connection.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { close(l.done); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// connect serves one connection, whose other end it returns. stop ends the server.
func connect(handler http.HandlerFunc) (near net.Conn, stop func()) {
	web := newWeb(handler, slog.New(slog.DiscardHandler))
	l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	near, far := net.Pipe()
	l.conn <- far
	return near, func() {
		web.Close()
		<-served
	}
}

// TestSlowClients checks how long the server waits for a client that stops sending.
func TestSlowClients(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		within     time.Duration
	}{
		{"no request", "", readHeaderTimeout},
		{"half a head", "GET / HTTP/1.1\r\nHost:", readHeaderTimeout},
		{"half a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", readTimeout},
		{"half a chunk", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx", readTimeout},
		{"no further request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", idleTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, stop := connect(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
				})
				began := time.Now()
				go io.WriteString(near, c.sent)
				if _, err := io.Copy(io.Discard, near); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < c.within || took > c.within+time.Second {
					t.Errorf("the connection lived for %v, want %v", took, c.within)
				}
				stop()
			})
		})
	}
}

// TestUnreadAnswer checks how long the server waits for a client that does not read.
func TestUnreadAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, stop := connect(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		})
		_, _ = io.WriteString(near, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(writeTimeout - time.Second)
		answers := bufio.NewReader(near)
		if _, err := answers.ReadByte(); err != nil {
			t.Errorf("the server gave up early: %v", err)
		}
		time.Sleep(2 * time.Second)
		if n, _ := io.Copy(io.Discard, answers); n >= 1<<20 {
			t.Error("the server waited on")
		}
		stop()
	})
}

// TestLateAnswer: the server sends an answer after all the time that a request may take, to arrive and to be worked on.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, stop := connect(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(50 * time.Second)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		_, _ = io.WriteString(near, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")
		time.Sleep(readTimeout - time.Second)
		_, _ = io.WriteString(near, "x")
		answer, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil || answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("answer %v, error %v", answer, err)
		}
		near.Close()
		stop()
	})
}

func TestConnFlags(t *testing.T) {
	exempt := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		flags            connFlags
		files            int
		total, perClient int
	}{
		{connFlags{}, 1 << 20, 2048, 1024},
		{connFlags{}, 1024, 512, 256},
		{connFlags{}, 1, 1, 1},
		{connFlags{MaxConnections: new(100)}, 1024, 100, 50},
		{connFlags{MaxConnectionsPerClient: new(3)}, 1024, 512, 3},
		{connFlags{MaxConnections: new(9000), MaxConnectionsPerClient: new(8000)}, 1024, 9000, 8000},
	} {
		want := server.ConnLimits{Total: c.total, PerClient: c.perClient, Exempt: exempt}
		if diff := cmp.Diff(want, c.flags.limits(c.files, exempt), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%+v with %d files (-want +got):\n%s", c.flags, c.files, diff)
		}
	}
	for want, flags := range map[string]connFlags{
		"--max-connections: is too small: 0, the minimum is 1":             {MaxConnections: new(0)},
		"--max-connections-per-client: is too small: -1, the minimum is 1": {MaxConnectionsPerClient: new(-1)},
	} {
		if err := flags.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSoftMemoryLimit(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	t.Setenv("GOGC", "100")
	t.Setenv("GOMEMLIMIT", "1GiB")
	if setMemory(); debug.SetMemoryLimit(-1) != limit || debug.SetGCPercent(100) != 100 {
		t.Error("the environment does not take precedence")
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	if setMemory(); debug.SetMemoryLimit(-1) != memoryLimit || debug.SetGCPercent(100) != gcPercent {
		t.Error("the defaults are not set")
	}
}
