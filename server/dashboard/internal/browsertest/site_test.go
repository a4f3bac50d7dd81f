package browsertest_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/channels/webpush"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/people"
)

func TestMain(m *testing.M) {
	status := dbtest.Run(m)
	browsertest.Close()
	os.Exit(status)
}

// noon is the time at which every site begins: a Sunday, four weeks after the clocks of Europe went back.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// pushSecret makes the key of a site for Web Push.
const pushSecret = "0123456789abcdefghijklmnopqrstuvwxyz"

// site is a server with a project, on a database in a file. The clock moves when the test moves it.
type site struct {
	*testing.T
	store   *sqlstore.Store // open until the browser has closed
	clock   *dbtest.Clock
	address string
	url     string
	mon     *monitor.Monitor
	pages   *dashboard.Dashboard
	web     *http.Server
	project checks.Project
	keys    checks.ProjectKeys
	people  *people.People // nil without accounts
	// accounts configures accounts, if there are any, and host takes the place of the address in the URL.
	accounts *accounts.Config
	host     string
	// demand says who must use a second factor.
	demand people.Demand
	// counted counts the requests of the server.
	counted counter
}

func newSite(t *testing.T) *site {
	t.Helper()
	return (&site{T: t, store: dbtest.SQLite(t).Open(t), clock: dbtest.NewClock(noon), address: "127.0.0.1:0"}).open()
}

// newTown is newSite with accounts.
func newTown(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, store: dbtest.SQLite(t).Open(t), clock: dbtest.NewClock(noon), address: "127.0.0.1:0", accounts: &accounts.Config{KeySignIn: true}}
	return s.open()
}

// open starts the server and adds a project.
func (s *site) open() *site {
	t := s.T
	t.Helper()
	s.start()
	t.Cleanup(s.stop)
	var err error
	s.project, s.keys, err = s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "harbor"})
	s.must(err)
	return s
}

// start starts the server, from the second time on at the same address.
func (s *site) start() {
	s.Helper()
	listener, err := net.Listen("tcp", s.address)
	s.must(err)
	s.address = listener.Addr().String()
	s.url = "http://" + s.address
	if s.host != "" {
		s.url = strings.Replace(s.url, "127.0.0.1", s.host, 1)
	}
	pusher, err := webpush.New(&webpush.Config{Secret: func(context.Context) (string, error) { return pushSecret, nil }})
	s.must(err)
	pushKey, err := webpush.PublicKey(pushSecret)
	s.must(err)
	types := standard.Kinds()
	for i := range types {
		switch types[i].Kind {
		case pusher.Kind:
			types[i] = pusher
		case channels.Webhook:
			types[i].Notifier = channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error {
				return channels.Permanent(errors.New(hostile))
			})
		}
	}
	s.mon, err = monitor.New(s.store, &monitor.Config{
		Now: s.clock.Now, Logger: slog.New(slog.DiscardHandler), Channels: types, DeliveredElsewhere: true,
	})
	s.must(err)
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	s.must(err)
	pages := &dashboard.Config{PushKey: pushKey}
	if s.accounts != nil {
		s.people, err = people.New(s.mon, &people.Config{Logger: slog.New(slog.DiscardHandler), SecondFactor: s.demand})
		s.must(err)
		pages.Accounts = accounts.New(s.people, s.accounts)
	}
	handler, err := server.New(s.mon, &server.Config{BaseURL: s.url, Signer: signer, Dashboard: pages})
	s.must(err)
	s.pages = handler.Pages().(*dashboard.Dashboard)
	s.web = &http.Server{Handler: s.counted.around(handler)}
	web := s.web
	go func() { _ = web.Serve(listener) }()
}

// stop ends the server as a crash would.
func (s *site) stop() { _ = s.web.Close() }

func (s *site) must(err error) {
	if err != nil {
		s.Helper()
		s.Fatal(err)
	}
}

// create adds a check.
func (s *site) create(spec checks.Spec) checks.Check {
	s.Helper()
	if spec.Channels == nil {
		spec.Channels = new("")
	}
	c, err := s.mon.Project(s.project.ID).Create(s.Context(), spec)
	s.must(err)
	return *c.Check
}

// ping signals for a check.
func (s *site) ping(id uuid.UUID, kind pings.Kind, body ...string) {
	s.Helper()
	_, err := s.mon.Ping(s.Context(), id, pings.Signal{
		Kind: kind, Body: []byte(strings.Join(body, "\n")), Scheme: "https", Method: "POST", RemoteAddr: "192.0.2.7", UserAgent: hostile,
	})
	s.must(err)
}

// advance moves the clock, and does what a running monitor would then.
func (s *site) advance(d time.Duration) {
	s.Helper()
	s.clock.Advance(d)
	err := s.mon.Tick(s.Context())
	s.must(err)
	err = s.mon.Tick(s.Context())
	s.must(err)
}

// path returns the path of a page of the project.
func (s *site) path(page string) string { return "/projects/" + s.project.ID.String() + "/" + page }

// browser opens the list of checks, signed in with a key.
func (s *site) browser(key string) *browsertest.Page {
	s.Helper()
	return s.browserOf(s.T, key)
}

// admin creates an admin key, which opens every page of the project.
func (s *site) admin() string {
	s.Helper()
	text, _, err := s.mon.Project(s.project.ID).CreateKey(s.Context(), checks.Admin)
	s.must(err)
	return text
}

// browserOf is browser for a subtest.
func (s *site) browserOf(t *testing.T, key string) *browsertest.Page {
	t.Helper()
	page := browsertest.Open(t, s.url)
	link, err := s.pages.SignInLink(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	page.Go(link)
	page.Go(s.path(""))
	return page
}
