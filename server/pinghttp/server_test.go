package pinghttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/server/pinghttp"
)

// bench is a server in a bubble of synctest, which clients reach by pipes.
type bench struct {
	*testing.T
	*pinghttp.Server
	web *http.Server
	l   *listener
	log *bytes.Buffer
}

// inBubble runs a test with a server for which everything goes the short way, but what is below /api.
func inBubble(t *testing.T, web func() *http.Server, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, web: web(), l: newListener(), log: new(bytes.Buffer)}
		b.web.ErrorLog = log.New(b.log, "", 0)
		b.Server = pinghttp.New(b.web, func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/api") })
		ended := serving(t, b.Serve, b.l)
		test(b)
		b.Close()
		ended()
	})
}

// dial connects.
func (b *bench) dial() *peer {
	client, server := net.Pipe()
	b.l.conns <- server
	synctest.Wait() // until it is accepted
	b.Cleanup(func() { client.Close() })
	return &peer{b, client, bufio.NewReader(client)}
}

// peer is a client.
type peer struct {
	b *bench
	net.Conn
	answers *bufio.Reader
}

// send sends a request with a path.
func (p *peer) send(path string) {
	p.b.Helper()
	if _, err := fmt.Fprintf(p, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		p.b.Error(err)
	}
}

// answered reads an answer.
func (p *peer) answered() *http.Response {
	p.b.Helper()
	r, err := http.ReadResponse(p.answers, nil)
	if err != nil {
		p.b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		p.b.Error(err)
	}
	return r
}

// closed waits until the server closes the connection, and returns for how long.
func (p *peer) closed() time.Duration {
	p.b.Helper()
	begin := time.Now()
	if rest, err := io.ReadAll(p.answers); err != nil || len(rest) > 0 {
		p.b.Errorf("there is more: %q, %v", rest, err)
	}
	return time.Since(begin)
}

// within checks a limit, which may be exceeded by an eighth.
func (p *peer) within(what string, took, limit time.Duration) {
	p.b.Helper()
	if took < limit || took > limit+limit/8 {
		p.b.Errorf("%s took %v, not %v", what, took, limit)
	}
}

func TestLimits(t *testing.T) {
	web := func() *http.Server {
		return &http.Server{
			Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }),
			ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 3 * time.Minute, IdleTimeout: 2 * time.Minute,
		}
	}
	t.Run("no request", func(t *testing.T) {
		inBubble(t, web, func(b *bench) {
			p := b.dial()
			p.within("the first request", p.closed(), b.web.ReadHeaderTimeout)
		})
	})
	t.Run("half a request", func(t *testing.T) {
		inBubble(t, web, func(b *bench) {
			p := b.dial()
			if _, err := io.WriteString(p, "GET / HTT"); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, _ = io.Copy(io.Discard, p.answers) // net/http may say why it closes
			p.within("the rest of a head", time.Since(begin), b.web.ReadHeaderTimeout)
		})
	})
	t.Run("no further request", func(t *testing.T) {
		inBubble(t, web, func(b *bench) {
			p := b.dial()
			for range 100 {
				p.send("/")
				p.answered()
				time.Sleep(7 * time.Second)
			}
			p.send("/")
			p.answered()
			p.within("the next request", p.closed(), b.web.IdleTimeout)
		})
	})
	t.Run("no IdleTimeout", func(t *testing.T) {
		fewer := func() *http.Server {
			w := web()
			w.IdleTimeout, w.ReadHeaderTimeout = 0, 0
			return w
		}
		inBubble(t, fewer, func(b *bench) {
			p := b.dial()
			p.within("the first request", p.closed(), b.web.ReadTimeout)
			p = b.dial()
			p.send("/")
			p.answered()
			p.within("the next request", p.closed(), b.web.ReadTimeout)
		})
	})
	t.Run("no limits", func(t *testing.T) {
		none := func() *http.Server { return &http.Server{Handler: web().Handler} }
		inBubble(t, none, func(b *bench) {
			p := b.dial()
			time.Sleep(1000 * time.Hour)
			p.send("/")
			p.answered()
			time.Sleep(1000 * time.Hour)
			p.send("/")
			p.answered()
		})
	})
	t.Run("an answer that is not read", func(t *testing.T) {
		inBubble(t, web, func(b *bench) {
			p := b.dial()
			p.send("/")
			p.answered()
			time.Sleep(time.Minute)
			p.send("/")
			begin := time.Now()
			time.Sleep(b.web.WriteTimeout - time.Second)
			synctest.Wait()
			if _, err := p.answers.ReadByte(); err != nil {
				t.Errorf("it was given up after %v: %v", time.Since(begin), err)
			}
			p = b.dial()
			p.send("/")
			time.Sleep(b.web.WriteTimeout * 9 / 8)
			synctest.Wait()
			if n, err := p.answers.ReadByte(); err != io.EOF {
				t.Errorf("it was sent afterwards: %v, %v", n, err)
			}
		})
	})
}

// waiting is a handler that answers when it is told to.
type waiting struct{ begun, end chan struct{} }

// withWaiting is inBubble with such a handler.
func withWaiting(t *testing.T, test func(b *bench, h *waiting)) {
	var h *waiting
	inBubble(t, func() *http.Server {
		h = &waiting{make(chan struct{}), make(chan struct{})} // in the bubble
		return &http.Server{Handler: h}
	}, func(b *bench) { test(b, h) })
}

func (h *waiting) ServeHTTP(_ http.ResponseWriter, _ *http.Request) {
	h.begun <- struct{}{}
	<-h.end
}

// TestShutdown holds that requests are answered to their end, and that nothing else is waited for: neither what is left to
// net/http nor what goes the short way.
func TestShutdown(t *testing.T) {
	for _, path := range []string{"/ping", "/api"} {
		t.Run(path[1:], func(t *testing.T) {
			withWaiting(t, func(b *bench, h *waiting) {
				idle, busy, fresh, late := b.dial(), b.dial(), b.dial(), b.dial()
				idle.send(path)
				<-h.begun
				h.end <- struct{}{}
				idle.answered()
				busy.send(path)
				<-h.begun
				begin := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- b.Shutdown(b.Context()) }()
				synctest.Wait()
				if took := idle.closed(); took > time.Second { // net/http looks now and then
					t.Errorf("a connection without a request was kept for %v", took)
				}
				late.send("/ping") // it was on its way
				<-h.begun
				time.Sleep(time.Minute)
				if len(ended) > 0 {
					t.Fatal("the answers were not waited for")
				}
				close(h.end)
				for _, p := range []*peer{busy, late} {
					if r := p.answered(); !r.Close {
						t.Error("the client is not told that the connection is closed")
					}
					p.closed()
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > time.Minute+time.Second {
					t.Errorf("it took %v", took)
				}
				fresh.closed()
			})
		})
	}
}

// TestShutdownFresh holds that a connection without a request is closed soon, although one might be on its way.
func TestShutdownFresh(t *testing.T) {
	withWaiting(t, func(b *bench, _ *waiting) {
		b.dial()
		p := b.dial()
		time.Sleep(time.Second)
		begin := time.Now()
		if err := b.Shutdown(b.Context()); err != nil {
			t.Error(err)
		}
		p.closed()
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestClose(t *testing.T) {
	withWaiting(t, func(b *bench, h *waiting) {
		idle, busy := b.dial(), b.dial()
		busy.send("/ping")
		<-h.begun
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		if err := b.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		b.Close()
		idle.closed()
		busy.closed()
		close(h.end)
		if err := b.Serve(newListener()); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
}

func TestPanic(t *testing.T) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		panic("of a handler")
	})
	inBubble(t, func() *http.Server { return &http.Server{Handler: handler} }, func(b *bench) {
		p := b.dial()
		p.send("/abort")
		p.closed()
		if b.log.Len() > 0 {
			t.Errorf("it was logged: %s", b.log)
		}
		p = b.dial()
		p.send("/ping")
		p.closed()
		if text := b.log.String(); !strings.Contains(text, "panic serving pipe: of a handler") || !strings.Contains(text, "server_test.go") {
			t.Errorf("the log is %q", text)
		}
	})
}

// TestContext holds that the context of a request ends with its connection at the latest, and tells of the server.
func TestContext(t *testing.T) {
	var ctx context.Context
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ctx = r.Context() })
	inBubble(t, func() *http.Server { return &http.Server{Handler: handler} }, func(b *bench) {
		p := b.dial()
		p.send("/ping")
		p.answered()
		if got := ctx.Value(http.ServerContextKey); got != b.web {
			t.Errorf("the server is %v", got)
		}
		if addr, ok := ctx.Value(http.LocalAddrContextKey).(net.Addr); !ok || addr.Network() != "pipe" {
			t.Errorf("the address is %v", addr)
		}
		if ctx.Err() != nil {
			t.Error("it ended with the request")
		}
		p.Close()
		<-ctx.Done()
	})
}

// TestAcceptErrors holds that an error that passes does not end a server, and that another does.
func TestAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener()
		s := pinghttp.New(&http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.NotFoundHandler()}, func(*http.Request) bool { return true })
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		defer s.Close()
		for range 10 {
			l.errs <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		p := (&bench{T: t, l: l}).dial()
		p.send("/ping")
		if r := p.answered(); r.StatusCode != http.StatusNotFound {
			t.Errorf("the answer is %s", r.Status)
		}
		broken := errors.New("the listener is broken")
		l.errs <- broken
		if err := <-served; !errors.Is(err, broken) {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// TestTLS holds that connections with TLS are left to net/http.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := pinghttp.New(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, long := w.(http.Flusher)
		fmt.Fprint(w, r.TLS != nil && long)
	})}, func(*http.Request) bool { return true })
	ended := serving(t, s.Serve, tls.NewListener(l, &tls.Config{Certificates: certified.TLS.Certificates}))
	client := certified.Client()
	answer, err := client.Get("https://" + l.Addr().String() + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "true" {
		t.Errorf("the answer is %q, %v", body, err)
	}
	client.CloseIdleConnections()
	s.Close()
	ended()
}

// TestManyConnections holds that connections do not get into the way of each other, as each has memory of its own.
func TestManyConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := pinghttp.New(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Target", r.RequestURI)
		_, _ = io.WriteString(w, r.UserAgent()+r.URL.Path)
	})}, func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/api") })
	ended := serving(t, s.Serve, l)
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	client := &http.Client{Transport: transport}
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for j := range 50 {
				path := fmt.Sprintf("/%s/%d/%d", []string{"ping", "api"}[j/40], i, j)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("User-Agent", fmt.Sprint(i, j%3))
				answer, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if want := r.UserAgent() + path; err != nil || string(body) != want || answer.Header.Get("Target") != path {
					t.Errorf("the answer is %q and %q, not %q: %v", body, answer.Header, want, err)
				}
			}
		})
	}
	clients.Wait()
	transport.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	ended()
}
