package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// sharedMargin is the commit margin on PostgreSQL, where other servers may share the database.
const sharedMargin = 2 * time.Second

type serveCmd struct {
	Listen         string          `default:"127.0.0.1:8000" group:"Addresses:" placeholder:"HOST:PORT" help:"Address to listen on. Without HOST, the server listens on all addresses; port 0 picks a free port."`
	BaseURL        console.Address `group:"Addresses:" placeholder:"URL" help:"URL of the service for its clients (default http://localhost:8000, or the host and port of --listen)."`
	PingBaseURL    console.Address `group:"Addresses:" placeholder:"URL" help:"URL of the ping endpoints for jobs (default: the base URL + /ping)."`
	TrustedProxies []proxy         `group:"Addresses:" placeholder:"CIDR" help:"Networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted, such as 10.0.0.0/8. None by default."`

	HSTS string `name:"hsts" default:"host" enum:"off,host,subdomains,preload" group:"Addresses:" placeholder:"off|host|subdomains|preload" help:"Whether browsers use only https for a year, if the URLs are https: for their host alone, for its subdomains too, or also before the first visit, by the lists of browsers. off leaves that to the proxy."`

	RateLimit        int   `default:"100" group:"Limits:" placeholder:"N" help:"API requests a minute for each key, and ten times as many pages of the dashboard; 0 is no limit. Pings are not limited."`
	CreateRateLimit  int   `default:"60" group:"Limits:" placeholder:"N" help:"Checks a minute that the pings of a project may create with ?create=1; 0 is no limit."`
	MaxCreatedChecks int   `default:"1000" group:"Limits:" placeholder:"N" help:"Once a project has this many checks, its pings create no more; 0 is no limit."`
	PingBodyLimit    int64 `default:"100000" group:"Limits:" placeholder:"BYTES" help:"Maximum stored length of a ping's body, 1 to 8388608. Of a longer one, the first and the last half are kept."`

	AcceptLate time.Duration `default:"0s" group:"Limits:" placeholder:"DURATION" help:"Maximum age of pings that carry their own time in the header Rollcall-At, up to 744h. By default the header is ignored."`

	Connections connFlags `embed:""`

	SecretKey   string `secret:"" group:"Behaviour:" placeholder:"TEXT" help:"Key that signs the URLs of badges, at least 16 characters (default: a random key in the database)."`
	NoDashboard bool   `group:"Behaviour:" help:"Do not serve the dashboard."`
	KeySignIn   bool   `name:"key-signin" default:"true" group:"Behaviour:" help:"Let people sign in to the dashboard with API keys, too. --key-signin=false leaves their accounts."`

	DashboardKinds []string `group:"Behaviour:" completion:"kind" placeholder:"KIND" help:"Kinds of integrations that people may create in the dashboard, and admin keys of a project by the API, separated by commas; or all, which leaves out shell; or none. Default: all, but with --allow-private-networks only email, sms, whatsapp, call and group, because others send to addresses that people choose."`

	AlertLink linkTemplate `group:"Behaviour:" placeholder:"URL" help:"Page that alerts about a check link to, with the placeholders $$UUID, $$UNIQUE_KEY, $$SLUG, $$NAME and $$PROJECT after the host. Default: the page of the check in the dashboard; none with --no-dashboard."`

	DeliveredElsewhere bool `group:"Behaviour:" help:"Leave alerts to other servers on the same database if this one lacks the flags for them, such as --mail-host. Without it, integrations that need these flags cannot be created or changed on the pages."`

	ReportStarted bool `group:"Behaviour:" help:"Set the field started of a check to true during a run. Without it, the field is always false, as the API specifies."`
	FlipsObject   bool `group:"Behaviour:" help:"Return flips as an object, as Healthchecks does, instead of the bare array that the API specifies."`
	NoLegacyAPI   bool `name:"no-legacy-api" group:"Behaviour:" help:"Do not serve /api/v1/ and /api/v2/, which exist for clients built for older versions of the API."`

	S3   s3Flags   `embed:"" prefix:"s3-"`
	SMTP smtpFlags `embed:""`

	Notifiers installation.NotifierFlags `embed:""`
	Operate   operateFlags               `embed:""`
	SignIn    signInFlags                `embed:""`

	CommitMargin *time.Duration `group:"Operation:" placeholder:"DURATION" help:"How long a check stays up after its deadline, so that another server on the database can commit a ping that it received in time: 0s to 1m (default: 2s on PostgreSQL, 0s on SQLite). A single server needs none."`

	Spool     string        `group:"Operation:" completion:"directory" placeholder:"DIR" help:"Directory in which pings wait while the database is unavailable; see the manual. It must survive a restart, and belongs to one server. Default: none; pings get a 503."`
	SpoolSize int64         `default:"1073741824" group:"Operation:" placeholder:"BYTES" help:"Maximum size of the pings in the spool, at least 1048576. Pings beyond it get a 503."`
	SpoolWait time.Duration `default:"1m" group:"Operation:" placeholder:"DURATION" help:"How long deadlines are held back for a server with a spool that has gone missing, up to 24h. Use the same value on all servers, also on those without a spool."`

	AuditRetention time.Duration `default:"8760h" group:"Operation:" placeholder:"DURATION" help:"How long the audit log keeps who changed what. 0s writes none, and keeps what is there."`

	LogFormat       string        `default:"text" enum:"text,json" group:"Operation:" placeholder:"text|json" help:"Format of the log on standard error."`
	LogLevel        string        `default:"info" enum:"debug,info,warn,error" group:"Operation:" placeholder:"LEVEL" help:"Lowest level to log: debug, info, warn or error."`
	ShutdownTimeout time.Duration `default:"10s" group:"Operation:" placeholder:"DURATION" help:"How long requests may take to finish after SIGTERM or SIGINT. A second signal ends the process at once."`
	StopTimeout     time.Duration `default:"5s" group:"Operation:" placeholder:"DURATION" help:"How long the server may take after that to send the alerts that are due, and to upload bodies. What is left waits for the next start or for another server."`
}

func (serveCmd) Help() string {
	return `On an empty database, serve creates the project "default" and prints its keys with a curl command to try. It cannot print
them again.

Several servers can share a PostgreSQL database or, on one machine, an SQLite file. Administration commands work while
the service runs, and take effect within 5 seconds.

Examples:

    rollcall serve
    rollcall serve --listen :8000 --base-url https://rollcall.example.org --trusted-proxies 10.0.0.0/8
    ROLLCALL_DATABASE_FILE=/run/secrets/database rollcall serve`
}

// maxSpoolWait is the maximum of monitor.Config.SpoolWait.
const maxSpoolWait = 24 * time.Hour

// Validate checks the flags without using the network or the database. Kong calls it.
func (c *serveCmd) Validate() error {
	switch {
	case c.PingBodyLimit > monitor.MaxBody:
		return fmt.Errorf("--ping-body-limit: is too large: %d, the maximum is %d", c.PingBodyLimit, monitor.MaxBody)
	case c.SecretKey != "" && len(c.SecretKey) < badges.MinSecret:
		return fmt.Errorf("--secret-key: is too short: %d bytes, the minimum is %d", len(c.SecretKey), badges.MinSecret)
	case c.AcceptLate > pings.MaxQueued:
		return fmt.Errorf("--accept-late: is too large: %v, the maximum is %v", c.AcceptLate, pings.MaxQueued)
	case c.SpoolWait > maxSpoolWait:
		return fmt.Errorf("--spool-wait: is too large: %v, the maximum is %v", c.SpoolWait, maxSpoolWait)
	case c.CommitMargin != nil && *c.CommitMargin > checks.MinPeriod:
		return fmt.Errorf("--commit-margin: is too large: %v, the maximum is %v", *c.CommitMargin, checks.MinPeriod)
	}
	_, err := c.S3.open()
	return cmp.Or(
		validListen("--listen", c.Listen),
		console.AtLeast("--rate-limit", c.RateLimit, 0),
		console.AtLeast("--create-rate-limit", c.CreateRateLimit, 0),
		console.AtLeast("--max-created-checks", c.MaxCreatedChecks, 0),
		console.AtLeast("--ping-body-limit", c.PingBodyLimit, 1),
		console.AtLeast("--accept-late", c.AcceptLate, 0),
		console.AtLeast("--commit-margin", c.margin(installation.Database{}), 0),
		console.AtLeast("--spool-size", c.SpoolSize, 1<<20),
		console.AtLeast("--spool-wait", c.SpoolWait, time.Second),
		console.AtLeast("--audit-retention", c.AuditRetention, 0),
		console.AtLeast("--shutdown-timeout", c.ShutdownTimeout, 0),
		console.AtLeast("--stop-timeout", c.StopTimeout, time.Millisecond),
		c.Connections.validate(), c.SMTP.validate(), c.Notifiers.Check(), c.Operate.validate(), c.SignIn.validate(c.TrustedProxies), err,
	)
}

// validListen checks the value of a flag for an address to listen on.
func validListen(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		host, port := "127.0.0.1", "8000"
		if _, err := strconv.ParseUint(value, 10, 16); err == nil {
			port = value
		} else if value != "" && !strings.Contains(value, ":") {
			host = value
		}
		return fmt.Errorf("%s: must be of the form HOST:PORT: write %s, or :%s for all addresses", flag, net.JoinHostPort(host, port), port)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s: the port must be 0 to 65535: %q", flag, port)
	}
	return nil
}

func (c *serveCmd) Run(ctx context.Context, a *app) error {
	d, err := installation.ParseDatabase(a.database)
	if err != nil {
		return err
	}
	c.CommitMargin = new(c.margin(d))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := c.logger(a.stderr)
	for _, note := range a.notes {
		component(log, "serve").Warn("unknown variable in the environment", "problem", note)
	}
	c.SignIn.warn(log, c.TrustedProxies)
	s := &service{serveCmd: c, log: log, systemd: newSystemd(log), database: d}
	defer s.systemd.close()
	// Listen first: if a port is in use, serve must not leave a new database whose keys nobody has seen.
	defer s.close()
	if err := s.listen(); err != nil {
		return err
	}
	s.systemd.starting(ctx, "opening the database "+d.String())
	if err := s.openSpool(); err != nil {
		return fmt.Errorf("--spool: %w", err)
	}
	s.setURLs()
	if err := s.Operate.validateHeartbeat(s.webListener.Addr(), s.BaseURL, s.PingBaseURL); err != nil {
		return err
	}
	begin := func(store *sqlstore.Store) error {
		if err := s.assemble(ctx, store); err != nil {
			return err
		}
		if err := s.register(ctx); err != nil {
			return err
		}
		return c.greet(ctx, s, a.stdout)
	}
	err = d.WithOpen(ctx, s.awaitDatabase(d, a.stdout, begin), func(*sqlstore.Store) error {
		if files := d.Exposed(); len(files) > 0 {
			component(s.log, "serve").Warn("other users of this machine can read or write the database", "fix", console.ShellCommand(append([]string{"chmod", "600"}, files...)...))
		}
		component(s.log, "serve").Info("started", "version", console.Version(console.BuildInfo()), "zoneinfo", schedule.Zoneinfo().String(), "database", d.String(), "base_url", c.BaseURL, "ping_base_url", c.PingBaseURL)
		s.announce(a.stdout)
		return s.serve(ctx)
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // a signal arrived during the start
	}
	return err
}

// margin returns the commit margin on a database.
func (c *serveCmd) margin(d installation.Database) time.Duration {
	switch {
	case c.CommitMargin != nil:
		return *c.CommitMargin
	case d.URL != "":
		return sharedMargin
	}
	return 0
}

// maxLogged bounds a value of a log line in bytes. The stack of a panic is shorter.
const maxLogged = 8 << 10

// cutLogged cuts a value of a log line, which may quote what a client or a receiver has sent.
func cutLogged(_ []string, a slog.Attr) slog.Attr {
	err, failed := a.Value.Any().(error)
	switch {
	case failed:
		if text := err.Error(); len(text) > maxLogged {
			a.Value = slog.StringValue(prose.Brief(text, maxLogged))
		}
	case a.Value.Kind() == slog.KindString:
		a.Value = slog.StringValue(prose.Brief(a.Value.String(), maxLogged))
	}
	return a
}

// component returns a logger whose lines name the part of the server that wrote them.
func component(log *slog.Logger, name string) *slog.Logger {
	return log.With(slog.Group("rollcall", "component", name))
}

func (c *serveCmd) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // cannot fail for the levels of the enum
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: cutLogged}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
