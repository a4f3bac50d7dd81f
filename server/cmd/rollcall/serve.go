package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server"
)

type serveCmd struct {
	Listen         string  `default:"127.0.0.1:8000" group:"Addresses:" placeholder:"HOST:PORT" help:"Address to listen on. Without HOST all of the machine's, and with port 0 one that is free."`
	BaseURL        address `group:"Addresses:" placeholder:"URL" help:"URL under which clients reach the service (default http://localhost:8000, with the host and port of --listen if that is changed)."`
	PingBaseURL    address `group:"Addresses:" placeholder:"URL" help:"URL under which jobs reach the ping endpoints (default: the base URL and /ping)."`
	TrustedProxies []proxy `group:"Addresses:" placeholder:"CIDR" help:"Networks of the proxies whose X-Forwarded-For and X-Forwarded-Proto are believed. None by default."`

	RateLimit     int   `default:"100" group:"Limits:" placeholder:"N" help:"Requests a minute that each API key may make; 0 is any number. Pings are not limited."`
	PingBodyLimit int64 `default:"100000" group:"Limits:" placeholder:"BYTES" help:"How much of a ping's body is stored, 1 to 8388608; the rest is cut off."`

	Connections connFlags `embed:""`

	SecretKey     string `secret:"" group:"Behaviour:" placeholder:"TEXT" help:"Signs the addresses of badges, 16 characters at least. Made and kept in the database when not given."`
	ReportStarted bool   `group:"Behaviour:" help:"Let the field started of a check be true while a run is in progress. It is always false otherwise."`

	S3   s3Flags   `embed:"" prefix:"s3-"`
	SMTP smtpFlags `embed:""`

	Notifiers notifierFlags `embed:""`
	Operate   operateFlags  `embed:""`

	LogFormat       string        `default:"text" enum:"text,json" group:"Operation:" placeholder:"text|json" help:"Format of the log, which goes to standard error."`
	LogLevel        string        `default:"info" enum:"debug,info,warn,error" group:"Operation:" placeholder:"LEVEL" help:"Least level that is logged: debug, info, warn or error."`
	ShutdownTimeout time.Duration `default:"10s" group:"Operation:" placeholder:"DURATION" help:"How long requests may take to finish after SIGTERM or SIGINT. A second signal ends the process at once."`
}

func (serveCmd) Help() string {
	return `The first start, on an empty database, creates the project "default" and prints its keys with a curl command to try, once.

Several servers may share one PostgreSQL database, and they may share one SQLite file on one machine. Administration
commands work meanwhile and take effect within 5 seconds.

Examples:

    rollcall serve
    rollcall serve --listen :8000 --base-url https://rollcall.example.org --trusted-proxies 10.0.0.0/8
    ROLLCALL_DATABASE_FILE=/run/secrets/database rollcall serve`
}

// Validate checks what needs neither the network nor the database. Kong calls it.
func (c *serveCmd) Validate() error {
	_, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return errors.New("--listen: must be of the form HOST:PORT")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--listen: the port must be 0 to 65535: %q", port)
	}
	switch {
	case c.RateLimit < 0:
		return fmt.Errorf("--rate-limit: is too small: %d, the minimum is 0", c.RateLimit)
	case c.PingBodyLimit < 1:
		return fmt.Errorf("--ping-body-limit: is too small: %d, the minimum is 1", c.PingBodyLimit)
	case c.PingBodyLimit > monitor.MaxBody:
		return fmt.Errorf("--ping-body-limit: is too large: %d, the maximum is %d", c.PingBodyLimit, monitor.MaxBody)
	case c.SecretKey != "" && len(c.SecretKey) < badges.MinSecret:
		return fmt.Errorf("--secret-key: is too short: %d bytes, the minimum is %d", len(c.SecretKey), badges.MinSecret)
	case c.ShutdownTimeout < 0:
		return fmt.Errorf("--shutdown-timeout: is too small: %v, the minimum is 0s", c.ShutdownTimeout)
	}
	if err := c.Connections.validate(); err != nil {
		return err
	}
	if err := c.SMTP.validate(); err != nil {
		return err
	}
	if err := c.Notifiers.validate(); err != nil {
		return err
	}
	if err := c.Operate.validate(); err != nil {
		return err
	}
	_, err = c.S3.open()
	return err
}

func (c *serveCmd) Run(ctx context.Context, a *app) error {
	d, err := parseDatabase(a.database)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// First, so that nothing is made and no key is shown when the port is taken.
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", c.Listen, listenReason(err))
	}
	defer listener.Close()
	mail, err := c.SMTP.listen()
	if err != nil {
		return err
	}
	defer mail.close()
	gauges, err := c.Operate.listen()
	if err != nil {
		return err
	}
	defer gauges.close()
	err = d.withStore(ctx, true, func(store *sqlstore.Store) error {
		if err := store.Migrate(ctx); err != nil {
			return err
		}
		log := c.logger(a.stderr)
		if files := d.exposed(); len(files) > 0 {
			log.Warn("other users of this machine can read or write the database", "fix", shellCommand(append([]string{"chmod", "600"}, files...)...))
		}
		c.fillURLs(listener.Addr())
		mon, err := c.newMonitor(ctx, store, log, gauges)
		if err != nil {
			return err
		}
		srv, err := c.handler(ctx, mon, log, gauges)
		if err != nil {
			return err
		}
		if err := mail.prepare(mon, log, c.BaseURL); err != nil {
			return err
		}
		if err := c.greet(ctx, mon, a.stdout); err != nil {
			return err
		}
		log.Info("started", "version", version(), "database", d.String(), "base_url", c.BaseURL, "ping_base_url", c.PingBaseURL)
		mail.announce(a.stdout)
		gauges.announce(a.stdout)
		fmt.Fprintf(a.stdout, "rollcall: listening on http://%s\n", listener.Addr())
		return c.serve(ctx, mon, log, listener, srv, mail, gauges)
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // told to stop before it had started
	}
	return err
}

// listenReason returns why an address cannot be listened on, without the address.
func listenReason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err
}

func (c *serveCmd) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // one of the enum, all of which it knows
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// fillURLs fills in the base URLs that were not given.
func (c *serveCmd) fillURLs(addr net.Addr) {
	if c.BaseURL == "" {
		c.BaseURL = localURL(c.Listen, addr)
	}
	if c.PingBaseURL == "" {
		c.PingBaseURL = c.BaseURL + "/ping"
	}
}

// handler makes the server of HTTP handlers.
func (c *serveCmd) handler(ctx context.Context, mon *monitor.Monitor, log *slog.Logger, g *gauges) (*server.Server, error) {
	secret := c.SecretKey
	if secret == "" {
		var err error
		if secret, err = mon.Secret(ctx, "secret_key"); err != nil {
			return nil, err
		}
	}
	signer, err := badges.NewSigner([]byte(secret))
	if err != nil {
		return nil, err
	}
	config := &server.Config{
		BaseURL:        string(c.BaseURL),
		PingBaseURL:    string(c.PingBaseURL),
		RateLimit:      c.RateLimit,
		PingBodyLimit:  c.PingBodyLimit,
		Signer:         signer,
		TrustedProxies: c.trustedNetworks(),
		ReportStarted:  c.ReportStarted,
		AccessLog:      c.Operate.AccessLog,
		Logger:         log,
	}
	if g != nil {
		config.Observer = g
	}
	srv, err := server.New(mon, config)
	if err != nil {
		return nil, usageError{err}
	}
	return srv, nil
}

// localURL returns the URL of a server that listens on an address, as a client on the same machine would write it.
func localURL(listen string, addr net.Addr) address {
	host, _, _ := net.SplitHostPort(listen)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return address("http://" + net.JoinHostPort(host, port))
}

// serve answers requests and watches deadlines until ctx ends, and then for as long as requests take to finish.
func (c *serveCmd) serve(ctx context.Context, mon *monitor.Monitor, log *slog.Logger, listener net.Listener, srv *server.Server, mail *mailer, g *gauges) error {
	setMemory()
	web := newWeb(srv.Handler(), log)
	limited, err := c.limitConns(web, listener)
	if err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { _ = mon.Run(watching) }) // its error is always that of the context
	defer watcher.Wait()
	defer cancel()
	if err := c.operate(watching, mon, log, g, &watcher); err != nil {
		return err
	}

	failed := make(chan error, 1)
	go func() { failed <- web.Serve(limited) }()
	mail.start()
	select {
	case err := <-failed:
		return err
	case err := <-mail.failed():
		return err
	case <-ctx.Done():
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // a second signal ends the process
	log.Info("stopping", "timeout", c.ShutdownTimeout)
	srv.Drain()
	time.Sleep(c.Operate.ShutdownDelay)
	deadline, cancelShutdown := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancelShutdown()
	var messages sync.WaitGroup
	messages.Go(func() { mail.shutdown(deadline, log) })
	defer messages.Wait()
	if err := web.Shutdown(deadline); err != nil {
		log.Warn("requests were cut off at the end of the shutdown timeout", "timeout", c.ShutdownTimeout)
		return web.Close()
	}
	return nil
}
