// Package server serves Rollcall over HTTP: the management [API], the ping endpoints and the status badges.
// It is a thin shell: it decodes requests, calls a [monitor.Monitor] and renders the result.
//
//	srv, err := server.New(mon, &server.Config{BaseURL: "https://rollcall.example.org", Dashboard: &dashboard.Config{}})
//	web := &http.Server{
//		Handler:           srv,
//		ReadHeaderTimeout: 10 * time.Second,
//		ReadTimeout:       time.Minute,
//		WriteTimeout:      2 * time.Minute, // work on a request ends after 50 seconds
//		IdleTimeout:       2 * time.Minute,
//	}
//	listener, err := net.Listen("tcp", ":8000")
//	listener, err = server.LimitConns(web, listener, server.ConnLimits{Total: 2048, PerClient: 1024})
//	err = web.Serve(listener)
//
// # Mounting
//
// A [Server] answers everything below Config.BaseURL, and pings below Config.PingBaseURL, so a program mounts it at the paths of
// both. It takes the whole path of a request and needs no [http.StripPrefix]:
//
//	mux.Handle("/ops/", srv) // BaseURL is https://example.org/ops
//
// For a listener, a host or a middleware of their own, its parts are handlers too. With PingBaseURL
// https://example.org/alive:
//
//	mux.Handle("/ops/api/v3/", srv.API())
//	mux.Handle("/ops/badge/", srv.Badges())
//	mux.Handle("/ops/b/", srv.Badges())
//	mux.Handle("/ops/unsubscribe/", srv.Unsubscribe())
//	mux.Handle("/ops/acknowledge/", srv.Acknowledge())
//	mux.Handle("/alive/", srv.Pings())
//	mux.Handle("/ops/", srv.Pages())
//
// # Signing in
//
// Clients of the management interface send an API key, and people sign in to the pages with one. A program with its own
// users sets Config.Authorize instead, and needs no keys. A key in the header X-Api-Key works all the same.
//
// Browsers attach cookies, certificates and passwords even to requests that a page of another site makes. So Authorize
// counts only within one origin. A POST or DELETE from another origin gets 403, and Authorize is not called
// ([http.CrossOriginProtection]). Pages of other origins can read an answer only if the request had the header X-Api-Key.
// Pings and badges need no sign-in.
//
// # Limits
//
// The handlers leave slow clients to the timeouts of the [net/http.Server], and the number of connections to
// [LimitConns]. They bound the memory for bodies. Of a management body they read 1 MB at most, and 64 kB until its API
// key is known; of a ping body the larger of Config.PingBodyLimit and 10 kB. Each request may hold 16 kB of its body.
// Beyond that, all requests together may hold 16 MB, or four times PingBodyLimit if that is more.
//
// Any number of servers can share a database. Each server counts the requests of a key for itself.
//
// # Logging
//
// Config.AccessLog writes a line for each request, and Config.Answered receives each request, for metrics. If a request
// fails for a reason that is not its own, the cause goes to Config.Logger, and the client gets only "internal error".
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"
	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/openapi"
	"github.com/rollcall-dev/rollcall/server/internal/origin"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
)

// defaultPingBodyLimit is the default of Config.PingBodyLimit.
const defaultPingBodyLimit = 100_000

// Config configures a [Server] and the pages of Config.Dashboard. The zero value of a field selects its default.
type Config struct {
	// BaseURL is the address of the management interface for clients: an http or https URL without a query. If it has a
	// path, the server answers below that path. Default: http://localhost:8000.
	BaseURL string
	// PingBaseURL is the address of the ping endpoints for jobs. Default: BaseURL + "/ping".
	PingBaseURL string
	// RateLimit is how many requests a minute each API key may make to the management interface, on average and at once.
	// With Authorize, it is for each name and project. Pages have a limit of their own, 10 times as high.
	// Pings and badges do not count. Default: no limit.
	RateLimit int
	// PingBodyLimit is how many bytes of a ping's body are kept, at most [monitor.MaxBody]. Of a longer body, the first half of them
	// are its first bytes, and the others its last.
	// Default: 100,000.
	PingBodyLimit int64
	// Authorize says what the sender of a request without an X-Api-Key header may see and change, for example by a session of
	// the program. It must not read the body. Default: API keys only, and people sign in to the pages with those.
	//
	// If nobody is signed in, it returns [ErrSignedOut]: a page then leads to the sign-in, and a request to the management
	// interface needs an API key in its body, or gets 401. A right in no project is 403. [checks.ErrUnavailable] and the
	// errors of a context become 503, other errors 500.
	Authorize func(*http.Request) (Access, error)
	// AcceptLate is the maximum age of pings that carry their own time in the header Rollcall-At, because they waited in a
	// queue of the job: up to [pings.MaxQueued]. The field At of [pings.Signal] says what such a ping does. The header is an
	// RFC 3339 time, cut to microseconds. An older time, one more than [pings.MaxAhead] in the future, or one that cannot
	// be parsed gets 400, and the ping is not recorded. Default: 0, which ignores the header.
	AcceptLate time.Duration
	// Signer signs the addresses of badges. Default: with a secret that the database keeps, so that all servers on it
	// agree.
	Signer badges.Signer
	// Dashboard makes the pages for people: a *dashboard.Config of package server/dashboard. Default: none, and the root says in
	// a few words what runs there.
	Dashboard Pages
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted for the address
	// and the scheme of a ping. Default: none.
	TrustedProxies []netip.Prefix
	// ReportStarted makes the field started of a check true during a run. By default it is false in all responses.
	ReportStarted bool
	// FlipsObject makes the flips endpoint answer with an object, {"flips": […]}, as Healthchecks does. By default it
	// answers with a bare array.
	FlipsObject bool
	// ChannelKinds are the kinds of channels that those who own a project may create and change by the management interface, with
	// an API key of the scope admin or by Authorize; privileged ones are never among them (see [channels.Type]). A key of the installation may do so with all. Default: all.
	ChannelKinds []channels.Kind
	// NoLegacyAPI leaves out the paths /api/v1/ and /api/v2/ below BaseURL. They answer clients that have an older version
	// of the management interface fixed in their code.
	NoLegacyAPI bool
	// HSTS is the value of the header Strict-Transport-Security in all answers, by which browsers use only https for the host from
	// then on: a year, for the host alone, by default. "none" leaves the header out, for a program that sends its own. It has no
	// effect with an http URL. Requests to another host of PingBaseURL go by the scheme of that.
	HSTS string
	// Answered is called after each answer, for metrics; package server/metrics has one for Prometheus. It gets the route and the method
	// of the request, the status of the answer, and how long it took. The route is one of few, and never what the client sent: the path of an
	// endpoint with names for its parameters, as in "/api/v3/checks/:id"; "/ping", "/badge", "/unsubscribe", "/acknowledge" and "/pages"
	// for all pings, badges, links to unsubscribe and to acknowledge, and pages of the dashboard; "/", "/livez" and "/readyz"; or "other".
	// The method is "other" unless HTTP defines it. Many goroutines call it at once, and it must not block. Optional.
	Answered func(route, method string, status int, took time.Duration)
	// AccessLog logs each request with its method, route (see Answered), status, bytes and address. It leaves out the
	// path and the query, which may be secret.
	AccessLog bool
	// Logger receives failures and the access log. The group "rollcall" of each line has the component http. Default:
	// slog.Default().
	Logger *slog.Logger
}

// Pages makes the pages of a [Server] for people. A program needs no implementation but *dashboard.Config; the interface
// keeps the pages out of programs that do not show them.
type Pages interface {
	// Pages returns the handler of the pages and the URL below which it answers. config is that of the server, with
	// defaults in BaseURL, PingBaseURL, PingBodyLimit and Logger.
	Pages(mon *monitor.Monitor, config Config) (pages http.Handler, baseURL string, err error)
}

// Server holds the HTTP handlers. It is safe for concurrent use.
type Server struct {
	mon           *monitor.Monitor
	log           *slog.Logger
	base, ping    baseurl.URL
	strict        [2]string // Strict-Transport-Security of base and of ping, or ""
	acceptLate    time.Duration
	pingMethods   string // allowed at the ping endpoints
	bodyLimit     int64
	bodyLimitText string
	signer        badges.Signer
	signerSecret  *secret.Secret // signs if signer is zero
	proxies       origin.Proxies
	reportStarted bool
	flipsObject   bool
	channelKinds  []channels.Kind
	noLegacy      bool
	authorize     func(*http.Request) (Access, error) // nil without a program's sign-in
	pages         http.Handler                        // nil without a dashboard
	pagesHere     bool                                // they are below BaseURL
	crossOrigin   http.CrossOriginProtection
	rateLimit     int
	limiter       *limit.Requests[uuid.UUID] // by API key; nil without a limit
	bodyMemory    *semaphore.Weighted
	checkSeries   int // maxCheckSeries
	docs          *openapi.Docs
	handler       http.Handler       // of all requests
	router        *httprouter.Router // of the management interface
	misplaced     sync.Once
	answered      func(route, method string, status int, took time.Duration)
	accessLog     bool
	outageLog     limit.Lines   // requests that got 503
	faultLog      limit.Repeats // requests that got another 5xx
	lateLog       limit.Lines   // requests that passed the time for an answer
	createLog     limit.Lines   // pings that created no check
	// unknownCharsets has those of pings.
	unknownCharsets limit.Names
	draining        atomic.Bool
	unsubscribers   *secret.Secret             // signs the links to unsubscribe
	acknowledgers   *secret.Secret             // signs the links to acknowledge
	ackLimiter      *limit.Requests[uuid.UUID] // by check, for these links
}

// New returns a server for a monitor. It starts nothing. The error names the field of the configuration that is wrong.
func New(mon *monitor.Monitor, config *Config) (*Server, error) {
	if mon == nil {
		return nil, errors.New("server: no monitor")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Authorize = visible(c.Authorize)
	c.PingBodyLimit, c.Logger = cmp.Or(c.PingBodyLimit, defaultPingBodyLimit), cmp.Or(c.Logger, slog.Default())
	s := &Server{
		mon: mon, log: c.Logger.With(slog.Group("rollcall", "component", "http")), reportStarted: c.ReportStarted,
		signer: c.Signer, signerSecret: secret.New(mon.Installation().Secret, "secret_key"), unsubscribers: secret.New(mon.Installation().Secret, "unsubscribe_key"),
		acknowledgers: secret.New(mon.Installation().Secret, "acknowledge_key"), ackLimiter: limit.NewRequests[uuid.UUID](acksPerMinute, acksPerMinute, mon.Now),
		flipsObject: c.FlipsObject, noLegacy: c.NoLegacyAPI, answered: c.Answered, accessLog: c.AccessLog,
		authorize: c.Authorize, acceptLate: c.AcceptLate, channelKinds: c.ChannelKinds,
		bodyLimit: c.PingBodyLimit, bodyLimitText: strconv.FormatInt(c.PingBodyLimit, 10),
		bodyMemory: semaphore.NewWeighted(max(bodyMemory, 4*c.PingBodyLimit)), checkSeries: maxCheckSeries,
	}
	if s.pingMethods = "GET, HEAD, POST"; s.acceptLate > 0 {
		s.pingMethods += ", OPTIONS"
	}
	var err error
	if s.base, err = baseurl.Parse("BaseURL", cmp.Or(c.BaseURL, baseurl.Default)); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.ping, err = baseurl.Parse("PingBaseURL", cmp.Or(c.PingBaseURL, s.base.Text+"/ping")); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.strict = [2]string{s.base.Strict(c.HSTS), s.ping.Strict(c.HSTS)}
	if s.proxies, err = origin.New(c.TrustedProxies); err != nil {
		return nil, err
	}
	if s.rateLimit = c.RateLimit; s.rateLimit > 0 {
		s.limiter = limit.NewRequests[uuid.UUID](s.rateLimit, s.rateLimit, mon.Now)
	}
	s.docs = openapi.New(s.base.Text, s.ping.Text)
	if c.Dashboard != nil {
		c.BaseURL, c.PingBaseURL = s.base.Text, s.ping.Text
		var at string
		if s.pages, at, err = c.Dashboard.Pages(mon, c); err != nil {
			return nil, err
		}
		s.pagesHere = at == s.base.Text
	}
	s.router = s.newRouter()
	s.handler = s.newHandler()
	return s, nil
}

func (c *Config) validate() error {
	switch {
	case c.RateLimit < 0:
		return fmt.Errorf("server: RateLimit is too small: %d, the minimum is 0", c.RateLimit)
	case c.AcceptLate < 0:
		return fmt.Errorf("server: AcceptLate is too small: %v, the minimum is 0", c.AcceptLate)
	case c.AcceptLate > pings.MaxQueued:
		return fmt.Errorf("server: AcceptLate is too large: %v, the maximum is %v", c.AcceptLate, pings.MaxQueued)
	case c.HSTS != "" && c.HSTS != "none" && (!strings.HasPrefix(c.HSTS, "max-age=") || strings.ContainsFunc(c.HSTS, unicode.IsControl)):
		return fmt.Errorf("server: HSTS is no value of Strict-Transport-Security, such as max-age=31536000: %q", c.HSTS)
	case c.PingBodyLimit < 0:
		return fmt.Errorf("server: PingBodyLimit is too small: %d, the minimum is 0", c.PingBodyLimit)
	case c.PingBodyLimit > monitor.MaxBody:
		return fmt.Errorf("server: PingBodyLimit is too large: %d, the maximum is %d", c.PingBodyLimit, monitor.MaxBody)
	}
	return nil
}
