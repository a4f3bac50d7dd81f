package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// TestHealth: the probes answer at the root of every host, and below the base URL.
func TestHealth(t *testing.T) {
	for _, config := range []*server.Config{
		nil,
		{BaseURL: "https://monitor.example.net/jobs"},
		{BaseURL: "https://monitor.example.net", PingBaseURL: "https://alive.example.net"},
		{BaseURL: "https://monitor.example.net/jobs", PingBaseURL: "https://monitor.example.net"},
	} {
		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
			s := serve(t, db, config, dbtest.NewClock(noon))
			s.client = http.DefaultClient // these paths are not in the OpenAPI document
			paths := []string{"/livez", "/readyz"}
			if config != nil && strings.HasSuffix(config.BaseURL, "/jobs") {
				paths = append(paths, "/jobs/livez", "/jobs/readyz")
			}
			for _, path := range paths {
				r := s.send("GET", path, nil)
				r.text(200, "ok")
				s.equal("Content-Type", r.header.Get("Content-Type"), "text/plain; charset=utf-8")
				s.equal("Cache-Control", r.header.Get("Cache-Control"), "no-store")
				s.send("GET", path, nil, "Host", "alive.example.net").text(200, "ok")
				s.send("HEAD", path, nil).text(200, "")
				s.equal("Allow", s.send("POST", path, nil).is(405).header.Get("Allow"), "GET, HEAD")
			}
			s.send("GET", "/livez?verbose", nil).text(200, "watcher: ok\n")
			s.send("GET", "/readyz?verbose=1", nil).text(200, "server: ok\ndatabase: ok\n")

			if err := s.bun.Close(); err != nil {
				t.Fatal(err)
			}
			s.send("GET", "/livez", nil).text(200, "ok")
			s.send("GET", "/readyz", nil).text(503, "database: is out of reach or not migrated\n")
			s.send("GET", "/readyz?verbose", nil).text(503, "server: ok\ndatabase: is out of reach or not migrated\n")
		})
	}
}

func TestHealthWhileShuttingDown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		mon, err := monitor.New(db.Open(t), &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		srv, err := server.New(mon, &server.Config{Signer: signer})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(srv.Handler())
		defer web.Close()
		get := func(path string, status int, want string) {
			t.Helper()
			answer, err := http.Get(web.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != status || string(text) != want {
				t.Errorf("%s: %d %q, %v, want %d %q", path, answer.StatusCode, text, err, status, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = mon.Run(ended)
		get("/livez", 503, "watcher: has stopped\n")
		get("/readyz", 200, "ok")
		srv.Drain()
		get("/livez", 200, "ok")
		get("/readyz", 503, "server: is shutting down\n")
		get("/api/v3/status/", 200, "{\"status\":\"ok\"}\n")
	})
}
