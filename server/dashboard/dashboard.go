// Package dashboard shows the checks of a monitor as web pages: what is wrong, since when, why, who was alerted, and what
// will happen next. The pages are made on the server and work without JavaScript. With it, they follow every change.
//
//	srv, err := server.New(mon, &server.Config{BaseURL: "https://ops.example.org/jobs", Dashboard: &dashboard.Config{}})
//	mux.Handle("/jobs/", srv)
//
// The server answers with the pages and everything else below its BaseURL; [server.Server.Pages] is the pages alone. Both
// take the whole path of a request, so mount them without [http.StripPrefix]. Pages call the monitor, and neither the
// database nor the management interface.
//
// # Signing in
//
// There are three ways to sign in:
//
//   - With an API key of a project: a read-only key views, a read-write key also edits, and an admin key also manages the keys
//     and the project itself. The session ends 14 days after the last visit, 90 days after the key was entered, when the
//     key is revoked or expires, and at sign-out. The database keeps it, so its end holds at once on every server. [Dashboard.SignInLink] makes a link that signs in once.
//   - With an account, if Config.Accounts is set: see package server/dashboard/accounts. People have roles in projects, and
//     administrators manage people. Programs without accounts do not link that package.
//   - At the program, if server.Config.Authorize is set: it says who sends a request, and with which rights ([checks.Right]).
//
// Before what only owners and administrators may do, and what ends sessions or passkeys, the pages ask those who have signed in more
// than 15 minutes ago to confirm that it is them. Where the program signs people in, it asks for itself.
//
// # Security
//
// The Content-Security-Policy of every page allows scripts and styles from this handler alone, and none inline. Requests
// that change something must come from the same origin ([http.CrossOriginProtection]). Names and outputs of jobs are
// untrusted; the templates escape them.
//
// Editors make integrations, and so decide where this server sends alerts. Config.Kinds says of which kinds. No page shows
// a stored secret, only the host of a URL and the names of headers, and none is sent anywhere but to the receiver that it was stored for.
package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/check"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/forms"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/integrations"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/lists"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/overview"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/project"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// Config configures the pages of a server. The zero value of a field selects its default. What pages share with the rest of
// the server is said once, in [server.Config]: addresses, who may see what, the rate limit, the signer of badges and the
// logger.
type Config struct {
	// BaseURL is the address of the pages for browsers, if they are not below that of the server: an http or https URL
	// without a query. Mount [server.Server.Pages] there. Default: BaseURL of the server, which then answers with the pages.
	BaseURL string
	// PingEmailDomain is the domain of e-mail addresses that take pings. Default: none, and no page shows one.
	PingEmailDomain string
	// PushKey is the public key with which browsers subscribe to integrations of the kind webpush (see webpush.PublicKey).
	// Default: none, and no page offers to subscribe the browser.
	PushKey string
	// Kinds are the kinds of integrations that editors may make and change. Default: all kinds of the monitor but those
	// that are privileged, such as shell (see [channels.Type]). Editors may test and delete integrations of any kind.
	// An empty list that is not nil allows none. Those who own the project may do more by the management interface, unless
	// server.Config.ChannelKinds limits that too.
	Kinds []channels.Kind
	// ImportClient makes the requests of imports from Healthchecks servers, whose addresses editors type. Default: a client
	// of package outbound, which reaches public addresses alone.
	ImportClient *http.Client
	// SignInURL is where a program with server.Config.Authorize lets people sign in. Default: none, and the answer is 401.
	SignInURL string
	// MaxStreams is how many open pages follow changes at once by a stream of events. One person or key may have a fifth of them, or
	// 10 if that is more. Pages beyond refresh themselves twice a minute. Each stream is a connection; keep it far below
	// [server.ConnLimits], so that there is room for pings. Default: 500.
	MaxStreams int
	// Accounts lets people sign in with accounts of the installation: an *accounts.Accounts. It has no effect beside
	// server.Config.Authorize. Default: people sign in with API keys.
	Accounts Accounts
}

// maxStreams is the default of Config.MaxStreams.
const maxStreams = 500

// Accounts is what Config.Accounts needs. A program implements it only by package server/dashboard/accounts; the interface
// keeps people, their passwords and their sessions out of programs without accounts.
type Accounts interface {
	// Contract returns what the dashboard calls. Its type is internal, and changes with every version.
	Contract() any
}

// registrar is the contract of [Accounts]. Register adds the pages of accounts and says who sends a request.
type registrar interface {
	Register(site *ui.Site, sessions *session.Sessions)
}

// CheckURL returns the address of the page of a check, for the links of alerts (see monitor.Config.AlertLink). baseURL
// is that of the pages, or "" for the default of a server.
func CheckURL(baseURL string, c checks.Check) string {
	return strings.TrimRight(cmp.Or(baseURL, baseurl.Default), "/") + "/checks/" + c.UniqueKey()
}

// ListURL returns the address of the list of a project's checks that are down, for the links of messages about several checks (see
// monitor.Config.ListLink). baseURL is as for [CheckURL].
func ListURL(baseURL string, projectID uuid.UUID) string {
	return strings.TrimRight(cmp.Or(baseURL, baseurl.Default), "/") + "/projects/" + projectID.String() + "/?state=down"
}

// Dashboard is an [http.Handler] of the pages. It is safe for concurrent use.
type Dashboard struct {
	site     *ui.Site
	sessions *session.Sessions
	status   *statuspage.Handler
}

var _ server.Pages = (*Config)(nil)

// Pages returns the pages of a server, a [*Dashboard], and their address. [server.New] calls it; programs do not. It starts
// nothing and reads nothing. The error names the field of the configuration that is wrong.
func (c *Config) Pages(mon *monitor.Monitor, of server.Config) (pages http.Handler, baseURL string, err error) {
	base, err := baseurl.Parse("BaseURL", cmp.Or(c.BaseURL, of.BaseURL))
	if err != nil {
		return nil, "", fmt.Errorf("dashboard: %w", err)
	}
	if c.MaxStreams < 0 {
		return nil, "", fmt.Errorf("dashboard: MaxStreams is too small: %d, the minimum is 0", c.MaxStreams)
	}
	status, err := statuspage.New(mon, &statuspage.Config{BaseURL: base.Text + "/status", Logger: of.Logger})
	if err != nil {
		return nil, "", err
	}
	site, err := ui.New(mon, base, ui.Config{
		Config: of, PingEmailDomain: c.PingEmailDomain, PushKey: c.PushKey, Kinds: c.Kinds,
		ImportClient: cmp.Or(c.ImportClient, project.ImportClient()), SignInURL: c.SignInURL, MaxStreams: cmp.Or(c.MaxStreams, maxStreams),
		RefreshStatusPages: status.Refresh,
	})
	if err != nil {
		return nil, "", err
	}
	d := &Dashboard{site: site, sessions: session.New(site), status: status}
	switch {
	case of.Authorize != nil:
		site.Authorize = func(_ http.ResponseWriter, r *http.Request) (ui.Access, error) {
			access, err := of.Authorize(r)
			return ui.Access{Access: access}, err
		}
	case c.Accounts != nil:
		accounts, ok := c.Accounts.Contract().(registrar)
		if !ok {
			return nil, "", errors.New("dashboard: Accounts must be those of package accounts, of the same version")
		}
		accounts.Register(site, d.sessions)
	default:
		d.sessions.SignInRoutes()
	}
	overview.Register(site)
	lists.Register(site)
	check.Register(site)
	forms.Register(site)
	integrations.Register(site)
	project.Register(site)
	site.Mount("/status/*rest", status)
	return d, base.Text, nil
}

// ServeHTTP answers a request for a page.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.site.ServeHTTP(w, r) }

// Viewer returns who sends a request, or the zero value if nobody is signed in by name who may see the project.
func (d *Dashboard) Viewer(w http.ResponseWriter, r *http.Request, project uuid.UUID) audit.Actor {
	access, err := d.site.Authorize(w, r)
	if err != nil || access.Name == "" || access.Right(project) == checks.None {
		return audit.Actor{}
	}
	return access.Actor(project, d.site.Address(r))
}

// CheckURL returns the address of the page of a check.
func (d *Dashboard) CheckURL(c checks.Check) string { return CheckURL(d.site.URL, c) }

// SignInLink returns an address that signs one person in, once and within a day, as the API key with this
// text would. The session ends when the key is revoked. The error is [checks.ErrNotFound] for a text that is no key of a
// project.
func (d *Dashboard) SignInLink(ctx context.Context, key string) (string, error) {
	return d.sessions.Link(ctx, key)
}

// Close ends the streams of open pages, for a server that shuts down. Pages connect again to the server that follows.
func (d *Dashboard) Close() {
	d.site.Close()
	d.status.Close()
}
