package dashboard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// start is the time at which a site begins.
var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// site is a dashboard on a monitor in memory, whose clock a test moves.
type site struct {
	t       *testing.T
	db      monitor.Store
	mon     *monitor.Monitor
	pages   *dashboard.Dashboard
	web     *httptest.Server
	project checks.Project
	keys    monitor.Keys
	clock   atomic.Int64 // microseconds since start
}

func newSite(t *testing.T, configure ...func(*config)) *site {
	t.Helper()
	return newSiteStored(t, nil, configure...)
}

// newSiteStored is newSite with a hook around the operations of its database; see [dbtest.Hooked].
func newSiteStored(t *testing.T, around func(op string, do func() error) error, configure ...func(*config)) *site {
	t.Helper()
	s := &site{t: t, db: dbtest.Memory(t)}
	var err error
	if around != nil {
		s.db = &dbtest.Hooked{Store: s.db.(*sqlstore.Store), Around: around}
	}
	s.mon, err = monitor.New(s.db, &monitor.Config{Now: s.now, Channels: standard.Kinds(), DeliveredElsewhere: true, AuditRetention: 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if s.project, s.keys, err = s.mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "backups"}); err != nil {
		t.Fatal(err)
	}
	s.web = httptest.NewUnstartedServer(nil)
	s.pages = s.newPages(configure...)
	s.web.Config.Handler = s.pages
	s.web.Start()
	t.Cleanup(s.web.Close)
	t.Cleanup(s.pages.Close)
	return s
}

// config configures the pages of a site and their server.
type config struct {
	server.Config
	pages dashboard.Config
}

// newPages returns pages on the monitor of the site.
func (s *site) newPages(configure ...func(*config)) *dashboard.Dashboard {
	s.t.Helper()
	var c config
	c.BaseURL = "http://" + s.web.Listener.Addr().String()
	for _, change := range configure {
		change(&c)
	}
	c.Dashboard = &c.pages
	srv, err := server.New(s.mon, &c.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	return srv.Pages().(*dashboard.Dashboard)
}

func (s *site) now() time.Time { return start.Add(time.Duration(s.clock.Load()) * time.Microsecond) }

// advance moves the clock.
func (s *site) advance(d time.Duration) { s.clock.Add(d.Microseconds()) }

// path returns the path of a page of the project.
func (s *site) path(page string) string { return "/projects/" + s.project.ID.String() + "/" + page }

// create adds a check.
func (s *site) create(spec checks.Spec) checks.Check {
	s.t.Helper()
	c, err := s.mon.Project(s.project.ID).Create(context.Background(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return *c.Check
}

// browser is a client with cookies that follows no redirects.
type browser struct {
	*site
	client *http.Client
	header http.Header
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &browser{site: s, client: client, header: http.Header{}}
}

// signedIn is a browser that signed in with a key.
func (s *site) signedIn(key string) *browser {
	s.t.Helper()
	b := s.browser()
	b.post("/signin", url.Values{"key": {key}}).is(http.StatusSeeOther)
	return b
}

// key creates an API key of a scope.
func (s *site) key(scope checks.Scope) string {
	s.t.Helper()
	text, _, err := s.mon.Project(s.project.ID).CreateKey(s.t.Context(), scope)
	noError(s.t, err)
	return text
}

// owner returns a browser that is signed in with an admin key.
func (s *site) owner() *browser {
	s.t.Helper()
	return s.signedIn(s.key(checks.Admin))
}

// answer is what a browser got.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (b *browser) send(method, path string, form url.Values) *answer {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	if !strings.HasPrefix(path, "http") {
		path = b.web.URL + path
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header = b.header.Clone()
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{t: b.t, status: response.StatusCode, header: response.Header, body: string(text)}
}

func (b *browser) get(path string) *answer {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil)
}

func (b *browser) post(path string, form url.Values) *answer {
	b.t.Helper()
	return b.send(http.MethodPost, path, form)
}

// is fails the test unless the status is the given one.
func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// has fails the test unless the body has all texts.
func (a *answer) has(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("the page has no %q:\n%s", text, a.body)
		}
	}
	return a
}

// hasNo fails the test if the body has one of the texts.
func (a *answer) hasNo(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Errorf("the page has %q:\n%s", text, a.body)
		}
	}
	return a
}
