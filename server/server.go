// Package server is the HTTP side of Rollcall: the management interface of API-V3.md, the addresses that monitored
// jobs ping, and the status badges. It is a thin shell: it decodes requests, calls a [monitor.Monitor] and renders
// what that returns.
//
//	signer, err := badges.NewSigner(secret)
//	srv, err := server.New(mon, &server.Config{BaseURL: "https://rollcall.example.org", Signer: signer})
//	web := &http.Server{
//		Addr:              ":8000",
//		Handler:           srv.Handler(),
//		ReadHeaderTimeout: 10 * time.Second,
//		ReadTimeout:       time.Minute,
//		WriteTimeout:      time.Minute,
//		IdleTimeout:       2 * time.Minute,
//	}
//	err = web.ListenAndServe()
//
// A program that has a router of its own mounts [Server.API], [Server.Badges] and [Server.Pings] where the addresses
// in its Config say.
//
// The handlers set no time limits on slow clients: the [net/http.Server] around them does, as above, and [LimitConns]
// bounds its connections. They bound the memory that bodies take: a management body to 1 MB, or to 64 kB until its API
// key is known, a ping body to the larger of Config.PingBodyLimit and 10 kB, and all bodies together to 16 MB beside
// 16 kB each.
//
// Any number of servers can share a database. Each counts the requests of a key by itself for the rate limit.
//
// An access log is written when Config.AccessLog asks for it, and Config.Observer is told of each request, for metrics.
// What fails for another reason than the request is logged with Config.Logger, and the client is told no more than
// "internal error".
package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"
	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/openapi"
)

// Defaults of a [Config].
const (
	DefaultBaseURL       = "http://localhost:8000"
	DefaultPingBodyLimit = 100_000
)

// Config says how a [Server] is reached and what it allows. Only Signer is required.
type Config struct {
	// BaseURL is the {base_url} of API-V3.md: an http or https URL without query. With a path, that path stands
	// before every path that [Server.Handler] answers but those of pings. Default: [DefaultBaseURL].
	BaseURL string
	// PingBaseURL is the {ping_base_url}. Default: BaseURL + "/ping".
	PingBaseURL string
	// RateLimit is how many requests to the management interface each API key may make a minute, on average and
	// at once (section 8). 0 is any number. Pings and badges are not limited.
	RateLimit int
	// PingBodyLimit is how many bytes of the body of a ping are kept, at most [monitor.MaxBody]; the rest is cut off.
	// Default: [DefaultPingBodyLimit].
	PingBodyLimit int64
	// Signer signs the addresses of badges. Servers on one database need the same.
	Signer badges.Signer
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, for
	// the address and the scheme of pings. Default: none.
	TrustedProxies []netip.Prefix
	// ReportStarted makes the field started of a check true while a run is in progress. API-V3.md section 2.1 has
	// it false in all responses, which is the default.
	ReportStarted bool
	// Observer is told of the requests that were answered. Default: none.
	Observer Observer
	// AccessLog has each request logged: its method, route (see [Observer]), status, bytes and address, but neither its
	// path nor its query, which may be secret.
	AccessLog bool
	// Logger takes what goes wrong. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock of the rate limit. Default: time.Now.
	Now func() time.Time
}

// Server makes the HTTP handlers. They may be used by many goroutines at once.
type Server struct {
	mon           *monitor.Monitor
	log           *slog.Logger
	base, ping    baseURL
	bodyLimit     int64
	answers       pingAnswers
	signer        badges.Signer
	proxies       proxies
	reportStarted bool
	limiter       *limiter // nil without a limit
	bodyMemory    *semaphore.Weighted
	docs          *openapi.Docs
	router        *httprouter.Router // of the management interface
	observer      Observer
	accessLog     bool
	refusals      refusals // that got 503
	uncreated     refusals // pings that created no check
	draining      atomic.Bool
}

// New returns a server for a monitor. It starts nothing. The error says which value of the configuration is not
// acceptable.
func New(mon *monitor.Monitor, config *Config) (*Server, error) {
	if mon == nil {
		return nil, errors.New("server: no monitor")
	}
	var c Config
	if config != nil {
		c = *config
	}
	switch {
	case reflect.ValueOf(c.Signer).IsZero():
		return nil, errors.New("server: Signer is not set")
	case c.RateLimit < 0:
		return nil, fmt.Errorf("server: RateLimit is too small: %d, the minimum is 0", c.RateLimit)
	case c.PingBodyLimit < 0:
		return nil, fmt.Errorf("server: PingBodyLimit is too small: %d, the minimum is 0", c.PingBodyLimit)
	case c.PingBodyLimit > monitor.MaxBody:
		return nil, fmt.Errorf("server: PingBodyLimit is too large: %d, the maximum is %d", c.PingBodyLimit, monitor.MaxBody)
	}
	s := &Server{
		mon: mon, log: c.Logger, bodyLimit: c.PingBodyLimit, signer: c.Signer, reportStarted: c.ReportStarted,
		observer: c.Observer, accessLog: c.AccessLog,
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.bodyLimit == 0 {
		s.bodyLimit = DefaultPingBodyLimit
	}
	s.bodyMemory = semaphore.NewWeighted(max(bodyMemory, 4*s.bodyLimit))
	s.answers = newPingAnswers(s.bodyLimit)
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	var err error
	if s.base, err = parseBaseURL("BaseURL", c.BaseURL); err != nil {
		return nil, err
	}
	if c.PingBaseURL == "" {
		c.PingBaseURL = s.base.text + "/ping"
	}
	if s.ping, err = parseBaseURL("PingBaseURL", c.PingBaseURL); err != nil {
		return nil, err
	}
	s.docs = openapi.New(s.base.text, s.ping.text)
	if s.proxies, err = newProxies(c.TrustedProxies); err != nil {
		return nil, err
	}
	if c.RateLimit > 0 {
		s.limiter = newLimiter(c.RateLimit, c.Now)
	}
	s.router = s.newRouter()
	return s, nil
}

// baseURL is an address under which there is more.
type baseURL struct {
	text string // without a slash at the end
	host string // in lower case, with the port if the address has one
	path string // "" or "/…", without a slash at the end
}

func parseBaseURL(field, text string) (baseURL, error) {
	text = strings.TrimRight(text, "/")
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return baseURL{}, fmt.Errorf("server: %s is not a URL: %w", field, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return baseURL{}, fmt.Errorf("server: %s is not an http or https URL: %q", field, text)
	case u.Hostname() == "":
		return baseURL{}, fmt.Errorf("server: %s has no host: %q", field, text)
	case strings.ContainsAny(u.Host, `"'<>\^{|}`+"`"): // which net/url lets pass, and which no host has
		return baseURL{}, fmt.Errorf("server: %s has a host that is not valid: %q", field, u.Host)
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return baseURL{}, fmt.Errorf("server: %s must have neither a user, a query nor a fragment", field)
	case strings.ContainsFunc(u.EscapedPath(), unusualInPath) || strings.Contains(u.Path, "//"):
		return baseURL{}, fmt.Errorf("server: the path of %s may only have letters, digits and -._~ between single slashes: %q", field, u.Path)
	}
	return baseURL{text: text, host: strings.ToLower(u.Host), path: u.Path}, nil
}

// unusualInPath reports whether a character of a path has more than one way to be written.
func unusualInPath(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/-._~", r))
}
