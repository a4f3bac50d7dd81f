package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// handle serves a handler until the end of the test. It does not log panics.
func handle(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	web := httptest.NewUnstartedServer(h)
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	t.Cleanup(web.Close)
	return web
}

func TestMiddleware(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		status   int // 0 if the connection breaks
		response string
		kind     pings.Kind
		body     string // how it begins
	}{
		"nothing":         {func(http.ResponseWriter, *http.Request) {}, 200, "", pings.Success, "status 200 OK\n"},
		"a text":          {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") }, 200, "done", pings.Success, "status 200 OK\n"},
		"a status":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, "", pings.Success, "status 202 Accepted\n"},
		"a redirect":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(399) }, 399, "", pings.Success, "status 399\n"},
		"a client error":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, 400, "", pings.Failure, "status 400 Bad Request"},
		"a server error":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no tape", http.StatusServiceUnavailable) }, 503, "no tape\n", pings.Failure, "status 503 Service Unavailable"},
		"an unknown one":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) }, 599, "", pings.Failure, "status 599"},
		"a panic":         {func(http.ResponseWriter, *http.Request) { panic("no tape") }, 0, "", pings.Failure, "panic: no tape\n\ngoroutine"},
		"an abort":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "", pings.Failure, "panic: net/http: abort Handler"},
		"the first count": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.WriteHeader(500) }, 200, "", pings.Success, "status 200 OK\n"},
		"after a text":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x"); w.WriteHeader(500) }, 200, "x", pings.Success, "status 200 OK\n"},
		"after a flush": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			w.WriteHeader(500)
		}, 200, "", pings.Success, "status 200 OK\n"},
		"early hints": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(500) }, 500, "", pings.Failure, "status 500 Internal Server Error"},
		"its output": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(job.Output(r.Context()), "42 files")
		}, 200, "", pings.Success, "42 files\nstatus 200 OK\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.create(checks.Spec{})
			web := handle(t, client.Middleware(s.pinger(c.PingURL))(test.handler))
			res, err := http.Post(web.URL, "text/plain", strings.NewReader("go"))
			switch {
			case test.status == 0 && err == nil:
				t.Error("the panic did not reach net/http")
			case test.status > 0 && err != nil:
				t.Fatal(err)
			case test.status > 0:
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode != test.status || string(text) != test.response {
					t.Errorf("%d, %q", res.StatusCode, text)
				}
			}
			list, bodies := s.log(c)
			equal(t, "kinds", kinds(list), []pings.Kind{pings.Start, test.kind})
			if !strings.HasPrefix(bodies[1], test.body) || test.kind == pings.Success && bodies[1] != test.body || list[0].RunID != list[1].RunID {
				t.Errorf("body %q of %+v", bodies[1], list)
			}
		})
	}
}

// A handler behind Middleware can stream, hijack the connection, and outlive the caller.
func TestMiddlewareKeepsResponseWriter(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.create(checks.Spec{})
	received := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "half")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-received // the client has the first line while the handler runs
		fmt.Fprintln(w, "done")
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	mux.HandleFunc("/leave", func(_ http.ResponseWriter, r *http.Request) {
		close(received)
		<-r.Context().Done()
	})
	wrapped := client.Middleware(s.pinger(c.PingURL))(mux)
	var running sync.WaitGroup
	web := handle(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		wrapped.ServeHTTP(w, r)
	}))

	res, err := http.Get(web.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "half\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	received <- struct{}{}
	if rest, err := io.ReadAll(lines); string(rest) != "done\n" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	res.Body.Close()

	if res, err = http.Get(web.URL + "/hijack"); err != nil || res.StatusCode != 204 {
		t.Fatalf("%+v, %v", res, err)
	}
	res.Body.Close()

	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", web.URL+"/leave", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-received; cancel() }()
	if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	web.Close() // waits for the handlers, but not for that of the hijacked connection
	running.Wait()
	list, _ := s.log(c)
	count := make(map[pings.Kind]int)
	for _, kind := range kinds(list) {
		count[kind]++
	}
	equal(t, "kinds", count, map[pings.Kind]int{"start": 3, "success": 3})
}

// Requests work without a reporter, with a server that does not answer, and on an embedded monitor.
func TestMiddlewareReporters(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.create(checks.Spec{})
	var logged strings.Builder
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	for name, r := range map[string]job.Reporter{
		"nil":      (*client.Pinger)(nil),
		"no check": s.pinger(s.url + "/ping/none"),
		"embedded": s.mon.Job(c.ID),
	} {
		w := httptest.NewRecorder()
		client.Middleware(r)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })).
			ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 204 {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if text := logged.String(); strings.Count(text, "cannot report a run rollcall.component=job") != 2 || !strings.Contains(text, "not found") {
		t.Errorf("logged %q", text)
	}
	if list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{})); err != nil || list[0].NPings != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
