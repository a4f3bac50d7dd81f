package main

import (
	"cmp"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// Time limits of an HTTP connection. They are far above what a job on a slow line needs.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute     // of a whole request with its body
	writeTimeout      = 2 * time.Minute // after the header: longer than it takes to read and to answer
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

const (
	// maxConnections is the default of --max-connections, or less if the process may not open twice as many files.
	maxConnections = 2048
	// maxScrapers bounds the connections to the metrics listener.
	maxScrapers = 64
)

const (
	// gcPercent is GOGC. The live memory is small and most of the rest is garbage from requests: with more of it pings get no faster,
	// and a server with many viewers at once takes over 200 MB.
	gcPercent = 200
	// memoryLimit is GOMEMLIMIT, in bytes. Above it, the collector runs more often.
	memoryLimit = 512 << 20
)

// setMemory configures the garbage collector. $GOGC and $GOMEMLIMIT take precedence.
func setMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

func newWeb(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(&webLog{log: log}, "", 0),
	}
}

// webLog receives the log of net/http, whose lines clients can cause: those that begin alike are logged together.
type webLog struct {
	log   *slog.Logger
	lines limit.Repeats
}

// Write logs a line.
func (l *webLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	kind, _, _ := strings.Cut(text, ":")
	if rest, ok := strings.CutPrefix(text, "http: "); ok {
		kind, _, _ = strings.Cut(rest, " ")
	}
	l.lines.Log(l.log, slog.LevelWarn, kind, "HTTP", "problem", text)
	return len(line), nil
}

// connFlags are the flags of serve that bound HTTP connections.
type connFlags struct {
	MaxConnections          *int `group:"Limits:" placeholder:"N" help:"Maximum number of open HTTP connections, at least 1 (default: half of the files that the process may open, at most 2048)."`
	MaxConnectionsPerClient *int `group:"Limits:" placeholder:"N" help:"Maximum number of open HTTP connections of one client: an IPv4 address or an IPv6 /64 network (default: half of --max-connections). Trusted proxies are exempt."`
}

func (f *connFlags) validate() error {
	return cmp.Or(
		console.AtLeast("--max-connections", f.total(2), 1),
		console.AtLeast("--max-connections-per-client", f.perClient(1), 1),
	)
}

// limits returns the bounds for a process that may open that many files.
func (f *connFlags) limits(files int, exempt []netip.Prefix) server.ConnLimits {
	total := f.total(files)
	return server.ConnLimits{Total: total, PerClient: f.perClient(total), Exempt: exempt}
}

// total returns the maximum of a process that may open that many files.
func (f *connFlags) total(files int) int {
	if f.MaxConnections != nil {
		return *f.MaxConnections
	}
	return max(1, min(maxConnections, files/2))
}

// perClient returns the maximum of one client.
func (f *connFlags) perClient(total int) int {
	if f.MaxConnectionsPerClient != nil {
		return *f.MaxConnectionsPerClient
	}
	return max(1, total/2)
}

// streams returns how many connections may be streams of open pages: a quarter, so that pings have the others.
func (f *connFlags) streams(files int) int { return max(1, f.total(files)/4) }

// limitConns bounds the connections of the HTTP server.
func (c *serveCmd) limitConns(web *http.Server, listener net.Listener) (net.Listener, error) {
	return server.LimitConns(web, listener, c.Connections.limits(openFiles(), c.trustedNetworks()))
}

func (c *serveCmd) trustedNetworks() []netip.Prefix {
	networks := make([]netip.Prefix, len(c.TrustedProxies))
	for i, p := range c.TrustedProxies {
		networks[i] = p.Prefix
	}
	return networks
}
