package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// TestHealth: the probes answer at the root of every host, and below the base URL.
// serverOK is the first line of /readyz?verbose.
var serverOK = "server: ok, time zone data " + schedule.Zoneinfo().Version + "\n"

func TestHealth(t *testing.T) {
	for _, config := range []*server.Config{
		nil,
		{BaseURL: "https://monitor.example.net/jobs"},
		{BaseURL: "https://monitor.example.net", PingBaseURL: "https://alive.example.net"},
		{BaseURL: "https://monitor.example.net/jobs", PingBaseURL: "https://monitor.example.net"},
	} {
		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
			s := serve(t, db, config)
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
			s.send("GET", "/readyz?verbose=1", nil).text(200, serverOK+"database: ok\n")

			s.must(s.bun.Close())
			s.send("GET", "/livez", nil).text(200, "ok")
			s.send("GET", "/readyz", nil).text(503, "database: is out of reach or not migrated\n")
			s.send("GET", "/readyz?verbose", nil).text(503, serverOK+"database: is out of reach or not migrated\n")
		})
	}
}

func TestHealthWhileShuttingDown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := serve(t, db, nil)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.mon.Run(ended)
		s.send("GET", "/livez", nil).text(503, "watcher: has stopped\n")
		s.send("GET", "/readyz", nil).text(200, "ok")
		s.server.Drain()
		s.send("GET", "/livez", nil).text(200, "ok")
		s.send("GET", "/readyz", nil).text(503, "server: is shutting down\n")
		s.send("GET", "/api/v3/status/", nil).text(200, "{\"status\":\"ok\"}\n")
	})
}

// TestHealthWarns: /readyz stays 200 for checks that alert nobody, and says so where it names all parts.
func TestHealthWarns(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := withProject(t, db, nil, "paid")
		s.create(object{"name": "a"})
		s.send("GET", "/readyz", nil).text(200, "ok")
		s.send("GET", "/readyz?verbose", nil).text(200, serverOK+"database: ok\n"+
			"checks: warning, 1 check: no channel gets the alerts, so nobody is notified\n")
	})
}
