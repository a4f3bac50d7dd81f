// Package clienttest is a server for the tests of programs that use package client. It keeps everything in memory, has a
// clock that the test moves, and collects alerts:
//
//	srv := clienttest.NewServer(t)
//	check, err := srv.Client().Create(ctx, checks.Spec{Slug: new("backup"), Timeout: new(time.Hour)})
//	err = srv.Pinger("backup").Success(ctx, nil)
//	srv.Advance(3 * time.Hour)
//	alerts := srv.TakeAlerts() // backup is down
//
// It is a real server on a port of this machine, made of packages server and checks/monitor/monitortest. A program that
// reads its URL and key from the environment gets [Server.URL] and [Server.Key].
package clienttest

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// start is when the clock of every server starts.
var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// Server is a server with one project. It is safe for concurrent use.
type Server struct {
	URL     string // the base URL, for [client.New]
	Key     string // a read-write API key of the project
	PingKey string // the ping key of the project

	t   testing.TB
	mon *monitortest.Monitor
}

// NewServer starts a server, which stops at the end of the test. Its clock stands at 2026-01-01 12:00 UTC.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, mon: monitortest.New(start, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})}
	t.Cleanup(s.mon.Close)
	project, keys, err := s.mon.Projects().Create(context.Background(), checks.ProjectSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	s.URL, s.Key, s.PingKey = "http://"+web.Listener.Addr().String(), keys.ReadWrite, project.PingKey
	handler, err := server.New(s.mon.Monitor, &server.Config{BaseURL: s.URL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = handler
	web.Start()
	t.Cleanup(web.Close)
	return s
}

// Client returns a client of the project. An error of a ping that a reporter of the client sends fails the test.
func (s *Server) Client() *client.Client {
	s.t.Helper()
	c, err := client.New(s.URL, s.Key, &client.Config{Pinger: s.config()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// Pinger returns a pinger of the check with a slug, which its first ping creates if there is none. An error of a ping of
// its Run fails the test.
func (s *Server) Pinger(slug string) *client.Pinger {
	s.t.Helper()
	config := s.config()
	p, err := client.NewPinger(client.SlugURL(s.URL+"/ping", s.PingKey, slug)+"?create=1", &config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func (s *Server) config() client.PingerConfig {
	return client.PingerConfig{Job: job.Config{OnPingError: func(_ context.Context, err error) { s.t.Error(err) }}}
}

// Now returns the time of the server.
func (s *Server) Now() time.Time { return s.mon.Now() }

// Advance moves the clock of the server forward. On its way, deadlines pass and alerts are sent, as on a real server.
func (s *Server) Advance(d time.Duration) { s.mon.Advance(d) }

// TakeAlerts returns the alerts about all checks since the last call, oldest first, those that are due now included.
func (s *Server) TakeAlerts() []channels.Notification { return s.mon.TakeAlerts() }
