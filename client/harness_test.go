package client_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// noon is the time at the start of every test with a server.
var noon = time.Date(2026, 3, 15, 12, 0, 0, 250_000_000, time.UTC)

// site is a server with a project.
type site struct {
	*testing.T
	mon     *monitor.Monitor
	clock   *dbtest.Clock
	url     string
	project checks.Project
	keys    checks.ProjectKeys
	client  *client.Client
	reader  *client.Client // has a read-only key
}

// serve starts a server on an SQLite database. Its base URL has a path.
func serve(t *testing.T, config server.Config, plan string) *site {
	t.Helper()
	return serveOn(t, dbtest.SQLite(t), config, plan, monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
}

// serveOn starts a server on a database.
func serveOn(t *testing.T, db dbtest.DB, config server.Config, plan string, own monitor.Config) *site {
	t.Helper()
	s := &site{T: t, clock: dbtest.NewClock(noon)}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	own.Now, own.Logger = s.clock.Now, quiet
	if s.mon, err = monitor.New(db.Open(t), &own); err != nil {
		t.Fatal(err)
	}
	if s.project, s.keys, err = s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "Backups", Plan: plan}); err != nil {
		t.Fatal(err)
	}
	if config.Signer, err = badges.NewSigner([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	s.url = "http://" + web.Listener.Addr().String() + "/watch"
	config.BaseURL, config.Logger = s.url, quiet
	srv, err := server.New(s.mon, &config)
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = srv
	web.Start()
	t.Cleanup(web.Close)
	through := &client.Config{HTTPClient: web.Client()}
	if s.client, err = client.New(s.url+"/", s.keys.ReadWrite, through); err != nil {
		t.Fatal(err)
	}
	if s.reader, err = client.New(s.url, s.keys.ReadOnly, through); err != nil {
		t.Fatal(err)
	}
	return s
}

// create creates a check.
func (s *site) create(spec checks.Spec) checks.Snapshot {
	s.Helper()
	c, err := s.client.Create(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// get reads a check.
func (s *site) get(c checks.Snapshot) checks.Snapshot {
	s.Helper()
	got, err := s.client.Check(s.Context(), c.ID)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// pinger returns a pinger for a ping URL.
func (s *site) pinger(url string) *client.Pinger {
	s.Helper()
	p, err := client.NewPinger(url, nil)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// log returns the pings of a check, oldest first, and their bodies.
func (s *site) log(c checks.Snapshot) (list []pings.Ping, bodies []string) {
	s.Helper()
	newest, err := checks.Collect(s.client.Pings(s.Context(), c.ID, checks.PingQuery{}))
	if err != nil {
		s.Fatal(err)
	}
	for i := len(newest) - 1; i >= 0; i-- {
		list = append(list, newest[i])
		text := ""
		if newest[i].BodySize != 0 {
			text = s.body(c, newest[i].N)
		}
		bodies = append(bodies, text)
	}
	return list, bodies
}

func (s *site) body(c checks.Snapshot, n int64) string {
	s.Helper()
	body, err := s.client.PingBody(s.Context(), c.ID, n)
	if err != nil {
		s.Fatal(err)
	}
	return string(body)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// roundTripper is a server without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
