// Package dashboard shows the checks of a monitor as web pages: what is wrong, since when, why, who was alerted, and what
// will happen next. The pages are made on the server and work without JavaScript. With it, they follow every change.
//
//	pages, err := dashboard.New(mon, &dashboard.Config{BaseURL: "https://ops.example.org/jobs"})
//	mux.Handle("/jobs/", pages)
//
// The handler takes the whole path of a request, so mount it without [http.StripPrefix]. It calls the monitor, and
// neither the database nor the HTTP interface of package server.
//
// # Signing in
//
// People sign in with an API key of a project: a read-only key looks, a read-write key also edits. The cookie of the
// session is signed and expires. It ends when the key is revoked, and for this browser alone when the person signs out.
// [Dashboard.SignInLink] makes a link that signs in once.
// A program with its own users sets Config.Authorize instead.
//
// # Security
//
// The Content-Security-Policy of every page allows scripts and styles from this handler alone, and none inline. Requests
// that change something must come from the same origin ([http.CrossOriginProtection]). Names and outputs of jobs are
// untrusted; the templates escape them.
//
// Editors make integrations, and so decide where this server sends alerts. Config.Kinds says of which kinds. No page shows
// a stored secret, and none is sent anywhere but to the receiver that it was stored for.
package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/check"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/forms"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/integrations"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/lists"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/project"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// DefaultBaseURL is the default of Config.BaseURL.
const DefaultBaseURL = "http://localhost:8000"

// Config configures a [Dashboard]. The zero value of a field selects its default.
type Config struct {
	// BaseURL is the address of the dashboard for browsers: an http or https URL without a query. The dashboard answers
	// below its path. Cookies are marked Secure if it is an https URL. Default: [DefaultBaseURL].
	BaseURL string
	// PingBaseURL is the address of the ping endpoints, for the lines to copy. Default: BaseURL + "/ping".
	PingBaseURL string
	// APIBaseURL is the address below which package server has /api/v3/ and badges. Default: BaseURL.
	APIBaseURL string
	// PingEmailDomain is the domain of e-mail addresses that take pings. Default: none, and no page shows one.
	PingEmailDomain string
	// PingBodyLimit is how many bytes of a ping's body the server keeps, for the lines to copy: they send no more. Default:
	// 100,000, that of package server.
	PingBodyLimit int64
	// Signer signs the addresses of badges. Servers on one database need the same signer. Default: none, and no page shows
	// badges of tags.
	Signer badges.Signer
	// PushKey is the public key with which browsers subscribe to integrations of the kind webpush (see webpush.PublicKey).
	// Default: none, and no page offers to subscribe the browser.
	PushKey string
	// Kinds are the kinds of integrations that editors may make and change. Default: all kinds of the monitor but those
	// that are privileged, such as shell (see [channels.KindInfo]). Editors may test and delete integrations of any kind.
	// An empty list that is not nil allows none.
	Kinds []channels.Kind
	// ImportClient makes the requests of imports from Healthchecks servers, whose addresses editors type. Default: a client
	// of package outbound, which reaches public addresses alone.
	ImportClient *http.Client
	// Authorize says what the sender of a request may see and change. If nobody is signed in, it returns [ErrSignedOut]:
	// pages then lead to SignInURL. It must not read the body. Default: people sign in here, with API keys and links.
	Authorize func(*http.Request) (Access, error)
	// SignInURL is where a program with Authorize lets people sign in. Default: none, and the answer is 401.
	SignInURL string
	// RateLimit is how many pages and actions of a project a minute this server makes for the holders of one API key, on
	// average and at once; with Authorize, for the viewers of one name. An open page asks once a second while its project
	// changes; what it gets does not count if nothing has changed, or if another viewer of the page has just got the same.
	// Beyond the limit, the answer is 429. Default: no limit.
	RateLimit int
	// Logger logs errors that are not the client's. Default: slog.Default().
	Logger *slog.Logger
}

// CheckURL returns the address of the page of a check, for the links of alerts (see monitor.Config.AlertLink). baseURL
// is that of [Config], or "" for its default.
func CheckURL(baseURL string, c checks.Check) string {
	return strings.TrimRight(cmp.Or(baseURL, DefaultBaseURL), "/") + "/checks/" + c.UniqueKey()
}

// SignInLinkAge is how long a link of [Dashboard.SignInLink] can be used.
const SignInLinkAge = session.LinkAge

// Dashboard is an [http.Handler] of the pages. It is safe for concurrent use.
type Dashboard struct {
	site     *ui.Site
	sessions *session.Sessions
	status   *statuspage.Handler
}

// New returns the pages of a monitor. A nil config selects the defaults. New starts nothing and reads nothing. The error
// names the field of the configuration that is wrong.
func New(mon *monitor.Monitor, config *Config) (*Dashboard, error) {
	if mon == nil {
		return nil, errors.New("dashboard: no monitor")
	}
	var c Config
	if config != nil {
		c = *config
	}
	base, err := baseurl.Parse("BaseURL", cmp.Or(c.BaseURL, DefaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	c.BaseURL = base.Text
	status, err := statuspage.New(mon, &statuspage.Config{BaseURL: c.BaseURL + "/status", Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	site, err := ui.New(mon, base, ui.Config{
		PingBaseURL:     strings.TrimRight(cmp.Or(c.PingBaseURL, c.BaseURL+"/ping"), "/"),
		APIBaseURL:      strings.TrimRight(cmp.Or(c.APIBaseURL, c.BaseURL), "/"),
		PingEmailDomain: c.PingEmailDomain, PingBodyLimit: c.PingBodyLimit, Signer: c.Signer, PushKey: c.PushKey, Kinds: c.Kinds,
		ImportClient:  cmp.Or(c.ImportClient, project.ImportClient()),
		ForeignSignIn: c.Authorize != nil, SignInURL: c.SignInURL,
		RateLimit: c.RateLimit, Logger: cmp.Or(c.Logger, slog.Default()), RefreshStatusPages: status.Refresh,
	})
	if err != nil {
		return nil, err
	}
	d := &Dashboard{site: site, sessions: session.New(site), status: status}
	site.Authorize, site.ForgetKeys = d.sessions.Access, d.sessions.Forget
	if c.Authorize != nil {
		site.Authorize = func(_ http.ResponseWriter, r *http.Request) (ui.Access, error) {
			access, err := c.Authorize(r)
			return access.internal(), err
		}
	}
	lists.Register(site)
	check.Register(site)
	forms.Register(site)
	integrations.Register(site)
	project.Register(site)
	site.Mount("/status/*rest", status)
	return d, nil
}

// ServeHTTP answers a request for a page.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.site.ServeHTTP(w, r) }

// SignInLink returns an address that signs one person in, once and within [SignInLinkAge], as the API key with this
// text would. The session ends when the key is revoked. The error is [checks.ErrNotFound] for a text that is no key.
func (d *Dashboard) SignInLink(ctx context.Context, key string) (string, error) {
	return d.sessions.Link(ctx, key)
}

// Close ends the streams of open pages, for a server that shuts down. Pages connect again to the server that follows.
func (d *Dashboard) Close() {
	d.site.Close()
	d.status.Close()
}
