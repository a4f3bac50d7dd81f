// Package pagetest is a dashboard for tests: a site whose clock a test moves, browsers on it, and what they get. Tests of a room of
// the dashboard stand beside it in a package of their own, such as lists_test, because this package imports all rooms.
//
//	s := pagetest.New(t)
//	s.Create(checks.Spec{Name: new("backup")})
//	s.Advance(time.Hour)
//	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("overview")).Is(http.StatusOK).Has("backup")
package pagetest

import (
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// Start is the time at which a site begins.
var Start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// Site is a dashboard on a monitor, whose clock a test moves. The database is SQLite in memory.
type Site struct {
	T       *testing.T
	DB      monitor.Store
	Mon     *monitor.Monitor
	Pages   *dashboard.Dashboard
	Web     *httptest.Server
	Project checks.Project
	Keys    checks.ProjectKeys
	Clock   atomic.Int64 // microseconds since Start
}

// Config configures a site.
type Config struct {
	server.Config
	Pages   dashboard.Config
	Monitor monitor.Config                         // the clock is that of the site
	Around  func(op string, do func() error) error // operations of the database; see [dbtest.Hooked]
}

// New returns a site with a project and its keys.
func New(t *testing.T, configure ...func(*Config)) *Site {
	t.Helper()
	s := &Site{T: t, DB: dbtest.Memory(t), Web: httptest.NewUnstartedServer(nil)}
	c := s.config(configure)
	if c.Around != nil {
		s.DB = &dbtest.Hooked{Store: s.DB.(*sqlstore.Store), Around: c.Around}
	}
	var err error
	s.Mon, err = monitor.New(s.DB, &c.Monitor)
	NoError(t, err)
	s.Project, s.Keys, err = s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "backups"})
	NoError(t, err)
	s.Serve(configure...)
	s.Web.Start()
	t.Cleanup(s.Web.Close)
	return s
}

func (s *Site) config(configure []func(*Config)) *Config {
	c := &Config{Monitor: monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true, AuditRetention: 365 * 24 * time.Hour}}
	c.BaseURL = "http://" + s.Web.Listener.Addr().String()
	for _, change := range configure {
		change(c)
	}
	c.Monitor.Now, c.Dashboard = s.Now, &c.Pages
	return c
}

// NewPages returns further pages on the monitor of the site.
func (s *Site) NewPages(configure ...func(*Config)) *dashboard.Dashboard {
	s.T.Helper()
	srv, err := server.New(s.Mon, &s.config(configure).Config)
	NoError(s.T, err)
	pages := srv.Pages().(*dashboard.Dashboard)
	s.T.Cleanup(pages.Close)
	return pages
}

// Serve replaces the pages of the site by others on its monitor.
func (s *Site) Serve(configure ...func(*Config)) {
	s.T.Helper()
	s.Pages = s.NewPages(configure...)
	s.Web.Config.Handler = s.Pages
}

// Now is the time on the clock of the site.
func (s *Site) Now() time.Time { return Start.Add(time.Duration(s.Clock.Load()) * time.Microsecond) }

// Advance moves the clock.
func (s *Site) Advance(d time.Duration) { s.Clock.Add(d.Microseconds()) }

// Tick does one round of the background work of the monitor, such as sending alerts.
func (s *Site) Tick() {
	s.T.Helper()
	NoError(s.T, s.Mon.Tick(s.T.Context()))
}

// Path returns the path of a page of the project.
func (s *Site) Path(page string) string { return "/projects/" + s.Project.ID.String() + "/" + page }

// Create adds a check.
func (s *Site) Create(spec checks.Spec) checks.Check {
	if spec.Channels == nil {
		spec.Channels = new("")
	}
	s.T.Helper()
	c, err := s.Mon.Project(s.Project.ID).Create(s.T.Context(), spec)
	NoError(s.T, err)
	return *c.Check
}

// Check returns a check as it is stored.
func (s *Site) Check(c checks.Check) checks.Check {
	s.T.Helper()
	got, err := s.Mon.Check(s.T.Context(), c.ID)
	NoError(s.T, err)
	return got
}

// Ping sends a ping.
func (s *Site) Ping(c checks.Check, signal pings.Signal) {
	s.T.Helper()
	_, err := s.Mon.Ping(s.T.Context(), c.ID, signal)
	NoError(s.T, err)
}

// GoDown reports a failure, and sends the alerts.
func (s *Site) GoDown(c checks.Check) {
	s.T.Helper()
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	s.Tick()
}

// Channel adds an integration to the project.
func (s *Site) Channel(kind channels.Kind, name string, settings map[string]string) channels.Channel {
	s.T.Helper()
	c, err := s.Mon.Project(s.Project.ID).CreateChannel(s.T.Context(), channels.Channel{Kind: kind, Name: name, Settings: settings})
	NoError(s.T, err)
	return c
}

// Key creates an API key of a scope.
func (s *Site) Key(scope checks.Scope) string {
	s.T.Helper()
	text, _, err := s.Mon.Project(s.Project.ID).CreateKey(s.T.Context(), scope)
	NoError(s.T, err)
	return text
}

// Away is a database that a test takes away, for Config.Around: sessions and keys cannot be read.
type Away struct{ atomic.Bool }

func (a *Away) Around(op string, do func() error) error {
	if a.Load() && (op == "Keys" || op == "Records" || op == "Update" || op == "Setting") {
		return fmt.Errorf("%w: connection refused", checks.ErrUnavailable)
	}
	return do()
}

// IDs returns the identifiers of checks for a form.
func IDs(list ...checks.Check) (texts []string) {
	for _, c := range list {
		texts = append(texts, c.ID.String())
	}
	return texts
}

// NoError fails the test if there is an error.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
