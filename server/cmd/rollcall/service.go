package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/channels/webpush"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/metrics"
	"github.com/rollcall-dev/rollcall/server/people"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// service is a running serve command. Parts that are turned off are nil.
type service struct {
	*serveCmd
	log     *slog.Logger
	systemd *systemd

	webListener, mailListener, metricsListener net.Listener

	spool *spool.Spool
	front *front

	database installation.Database
	document installation.Server // what commands know of this server

	mon    *monitor.Monitor
	people *people.People
	// sendMail sends a message to a person. It is nil without --mail-host.
	sendMail      func(ctx context.Context, to, subject, text string) error
	keyInDatabase sync.Once // logs that

	web     *server.Server
	pages   *dashboard.Dashboard
	mail    *smtpd.Server
	metrics *metrics.Metrics
}

// listen reads the certificate and opens the listeners.
func (s *service) listen() error {
	if err := s.SMTP.loadCertificate(); err != nil {
		return err
	}
	for _, l := range []struct {
		flag, address string
		into          *net.Listener
	}{
		{"--listen", s.Listen, &s.webListener}, {"--smtp-listen", s.SMTP.SMTPListen, &s.mailListener},
		{"--metrics-listen", s.Operate.MetricsListen, &s.metricsListener},
	} {
		if l.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", l.address)
		if err != nil {
			return fmt.Errorf("%s: cannot listen on %s: %w%s", l.flag, l.address, console.NetReason(err), listenAdvice(err))
		}
		*l.into = listener
	}
	return nil
}

// listenAdvice returns what to do if an address cannot be listened on.
func listenAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "; stop the program that listens there, or choose another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; give an address of this machine, or only :PORT for all of them"
	case errors.Is(err, syscall.EACCES):
		return "; choose a port of 1024 or more, or give the process CAP_NET_BIND_SERVICE"
	}
	return ""
}

func (s *service) close() {
	if s.spool != nil {
		s.spool.Close()
	}
	for _, listener := range []net.Listener{s.webListener, s.mailListener, s.metricsListener} {
		if listener != nil {
			listener.Close()
		}
	}
}

// setURLs sets the URLs that have no flag, and creates the metrics.
func (s *service) setURLs() {
	if s.BaseURL == "" {
		s.BaseURL = localURL(s.Listen, s.webListener.Addr())
	}
	if s.PingBaseURL == "" {
		s.PingBaseURL = s.BaseURL + "/ping"
	}
	if s.metricsListener != nil {
		s.metrics = metrics.New()
	}
}

// observer returns the observer of monitors.
func (s *service) observer() (o monitor.Observer) {
	if s.metrics != nil {
		o = s.metrics.Observer()
	}
	return o
}

// assemble creates the parts of the service.
func (s *service) assemble(ctx context.Context, store *sqlstore.Store) (err error) {
	if s.mon, err = s.newMonitor(ctx, store); err != nil {
		return err
	}
	if err = s.newPeople(); err != nil {
		return err
	}
	if s.web, err = s.newServer(ctx); err != nil {
		return err
	}
	if s.mailListener != nil {
		s.mail, err = s.SMTP.newServer(s.mon, s.log, s.BaseURL, s.metrics)
	}
	return err
}

// localURL returns the URL at which a client on the same machine reaches a server that listens on addr.
func localURL(listen string, addr net.Addr) console.Address {
	host, _, _ := net.SplitHostPort(listen)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return console.Address("http://" + net.JoinHostPort(host, port))
}

// newMonitor creates the monitor. It also starts a probe of the object storage, so that the log shows wrong settings early.
// The service starts without waiting for the probe.
func (s *service) newMonitor(ctx context.Context, store *sqlstore.Store) (*monitor.Monitor, error) {
	config := &monitor.Config{
		Logger: s.log, AlertLink: s.linkAlerts(), ListLink: s.linkLists(), CommitMargin: *s.CommitMargin,
		CreateRate: s.CreateRateLimit, DeliveredElsewhere: s.DeliveredElsewhere, MaxCreated: s.MaxCreatedChecks, SpoolWait: s.SpoolWait,
		Observer: s.observer(), AuditRetention: s.AuditRetention, StopTimeout: s.StopTimeout,
	}
	config.AckLink = func(ctx context.Context, c checks.Check) string { return s.web.AcknowledgeURL(ctx, c) } // alerts are sent once the server is there
	config.AckAllLink = func(ctx context.Context, project uuid.UUID, batch, last int64) string {
		return s.web.AcknowledgeAllURL(ctx, project, batch, last)
	}
	if s.spool != nil {
		config.Spool = s.spool
	}
	s.Notifiers.Unsubscribe = func(ctx context.Context, c channels.Channel, address string) string {
		return s.web.UnsubscribeURL(ctx, c, address) // alerts are sent once the server is there
	}
	s.Notifiers.Secret = func(ctx context.Context, name string) (string, error) { return s.mon.Installation().Secret(ctx, name) }
	if strings.HasPrefix(string(s.BaseURL), "https://") {
		s.Notifiers.Contact = string(s.BaseURL)
	}
	if err := s.Notifiers.Apply(config); err != nil {
		return nil, console.Usage(err)
	}
	bodies, err := s.S3.open()
	if err != nil {
		return nil, console.Usage(err)
	}
	if bodies != nil {
		config.Bodies, config.BodyThreshold = bodies, s.S3.Threshold
		go func() {
			if err := bodies.Probe(ctx); err != nil && ctx.Err() == nil {
				component(s.log, "bodies").Warn("object storage cannot be used; large bodies stay in the database until it can", "flag", "--s3-endpoint", "endpoint", s.S3.Endpoint, "bucket", s.S3.Bucket, "error", err)
			}
		}()
	}
	return monitor.New(store, config)
}

// linkAlerts returns what alerts link to: the pages of --alert-link, or else those of the dashboard.
func (s *service) linkAlerts() func(checks.Check, string) string {
	switch {
	case s.AlertLink != "":
		return s.AlertLink.expand
	case s.NoDashboard:
		return nil
	}
	return func(c checks.Check, _ string) string { return dashboard.CheckURL(string(s.BaseURL), c) }
}

// linkLists returns what messages about several checks link to: the dashboard, or nothing with --alert-link, which is about one.
func (s *service) linkLists() func(uuid.UUID, string) string {
	if s.AlertLink != "" || s.NoDashboard {
		return nil
	}
	return func(projectID uuid.UUID, _ string) string { return dashboard.ListURL(string(s.BaseURL), projectID) }
}

func (s *service) newServer(ctx context.Context) (*server.Server, error) {
	config, err := s.serverConfig()
	if err != nil {
		return nil, err
	}
	if !s.NoDashboard {
		if config.Dashboard, err = s.dashboardConfig(ctx, config.ChannelKinds); err != nil {
			return nil, err
		}
	}
	web, err := server.New(s.mon, config)
	if err != nil {
		return nil, console.Usage(err)
	}
	s.pages, _ = web.Pages().(*dashboard.Dashboard)
	return web, nil
}

// strictTransport has the header Strict-Transport-Security for the values of --hsts.
var strictTransport = map[string]string{
	"off": "none", "host": "max-age=31536000", "subdomains": "max-age=31536000; includeSubDomains", "preload": "max-age=31536000; includeSubDomains; preload",
}

// serverConfig returns the configuration of the server, without the dashboard.
func (s *service) serverConfig() (*server.Config, error) {
	config := &server.Config{
		BaseURL:        string(s.BaseURL),
		PingBaseURL:    string(s.PingBaseURL),
		RateLimit:      s.RateLimit,
		PingBodyLimit:  s.PingBodyLimit,
		AcceptLate:     s.AcceptLate,
		TrustedProxies: s.trustedNetworks(),
		ReportStarted:  s.ReportStarted,
		FlipsObject:    s.FlipsObject,
		NoLegacyAPI:    s.NoLegacyAPI,
		HSTS:           strictTransport[s.HSTS],
		AccessLog:      s.Operate.AccessLog,
		Logger:         s.log,
	}
	if s.metrics != nil {
		config.Answered = s.metrics.Answered
	}
	var err error
	if config.ChannelKinds, err = dashboardKinds(s.DashboardKinds, s.Notifiers.AllowPrivateNetworks); err != nil {
		return nil, console.Usage(err)
	}
	if s.SecretKey == "" {
		return config, nil
	}
	config.Signer, err = badges.NewSigner([]byte(s.SecretKey))
	return config, err
}

// dashboardConfig returns the configuration of the pages, on which people may make integrations of some kinds.
func (s *service) dashboardConfig(ctx context.Context, kinds []channels.Kind) (*dashboard.Config, error) {
	push, err := s.mon.Installation().Secret(ctx, installation.PushSecret)
	if err != nil {
		return nil, err
	}
	config := &dashboard.Config{PingEmailDomain: s.SMTP.PingEmailDomain, MaxStreams: s.Connections.streams(openFiles())}
	if config.Accounts, err = s.SignIn.accounts(ctx, s.people, s.KeySignIn, s.BaseURL, s.sendMail, s.log); err != nil {
		return nil, console.Usage(err)
	}
	if config.PushKey, err = webpush.PublicKey(push); err != nil {
		return nil, console.Usage(err)
	}
	config.Kinds = kinds
	return config, nil
}

// dashboardKinds returns the kinds of integrations that people may make on the pages, and keys of projects by the API; nil stands for all that are not
// privileged. If alerts may reach private networks, people must not choose their addresses unless the administrator says
// so: they would see parts of the answers.
func dashboardKinds(flag []string, private bool) ([]channels.Kind, error) {
	switch {
	case len(flag) == 0 && private:
		return []channels.Kind{channels.Email, channels.SMS, channels.WhatsApp, channels.Call, channels.Group}, nil
	case len(flag) == 0, len(flag) == 1 && flag[0] == "all":
		return nil, nil
	case len(flag) == 1 && flag[0] == "none":
		return []channels.Kind{}, nil
	}
	kinds := []channels.Kind{}
	for _, name := range flag {
		kind := channels.Kind(name)
		if !slices.ContainsFunc(standard.Kinds(), func(k channels.Type) bool { return k.Kind == kind }) {
			return nil, fmt.Errorf("--dashboard-kinds: the kind %q is unknown; rollcall channel kinds lists all", name)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// announce prints the addresses of the service.
func (s *service) announce(w io.Writer) {
	if s.mail != nil {
		fmt.Fprintf(w, "rollcall: accepting e-mail for %s on %s\n", s.SMTP.PingEmailDomain, s.mailListener.Addr())
	}
	if s.metrics != nil {
		fmt.Fprintf(w, "rollcall: metrics on http://%s/metrics\n", s.metricsListener.Addr())
	}
	s.announceWeb(w)
}

// status returns the addresses of the service in a line.
func (s *service) status() string {
	line := fmt.Sprintf("listening on http://%s", s.webListener.Addr())
	if s.mail != nil {
		line += fmt.Sprintf(", for e-mail on %s", s.mailListener.Addr())
	}
	return line
}

// announceWeb prints the address of the HTTP server, once.
func (s *service) announceWeb(w io.Writer) {
	if s.front == nil || !s.front.announced {
		fmt.Fprintf(w, "rollcall: listening on http://%s\n", s.webListener.Addr())
	}
	if s.front != nil {
		s.front.announced = true
	}
}

// serve runs the service until ctx ends. It then finishes the requests in progress, and after those what is due.
func (s *service) serve(ctx context.Context) error {
	if err := s.show(s.web); err != nil {
		return err
	}
	web, failed := s.front.server, s.front.failed
	var background sync.WaitGroup
	defer background.Wait()
	ctxBackground, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until no more pings arrive
	defer cancel()
	if err := s.startBackground(ctxBackground, &background); err != nil {
		return err
	}
	web.RegisterOnShutdown(s.web.Close) // open pages hold a request each
	if s.mail != nil {
		go func() { failed <- s.mail.Serve(s.mailListener) }()
	}
	s.systemd.ready(s.status(), s.front.problem)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // a second signal ends the process
	component(s.log, "serve").Info("stopping", "timeout", s.ShutdownTimeout)
	s.systemd.stopping("finishing requests", s.Operate.ShutdownDelay+s.ShutdownTimeout+s.StopTimeout)
	s.web.Drain()
	time.Sleep(s.Operate.ShutdownDelay)
	return s.shutdown(web)
}

// shutdown waits for requests and messages, and cuts off those that take longer than the shutdown timeout.
func (s *service) shutdown(web *http.Server) error {
	deadline, cancel := context.WithTimeout(context.Background(), s.ShutdownTimeout)
	defer cancel()
	var messages sync.WaitGroup
	defer messages.Wait()
	if s.mail != nil {
		messages.Go(func() {
			if err := s.mail.Shutdown(deadline); err != nil {
				component(s.log, "smtp").Warn("messages were cut off at the end of the shutdown timeout")
			}
		})
	}
	if err := web.Shutdown(deadline); err != nil {
		component(s.log, "http").Warn("requests were cut off at the end of the shutdown timeout", "timeout", s.ShutdownTimeout)
		return web.Close()
	}
	return nil
}

// startBackground starts the watcher, the heartbeats and the metrics server. They run until ctx ends.
func (s *service) startBackground(ctx context.Context, group *sync.WaitGroup) error {
	group.Go(func() {
		if err := s.mon.Run(ctx); err != nil {
			component(s.log, "serve").Warn("the next start or another server does the rest", "error", err)
		}
	})
	group.Go(func() { s.serveCommands(ctx) })
	group.Go(func() { s.people.Run(ctx) })
	pinger, err := s.Operate.pinger()
	if err != nil {
		return console.Usage(err)
	}
	if pinger != nil {
		group.Go(func() { _ = s.mon.Heartbeat(ctx, s.Operate.HeartbeatEvery, pinger) }) // fails only for invalid arguments
	}
	if s.metrics == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	web := newWeb(mux, component(s.log, "metrics"))
	listener, err := server.LimitConns(web, s.metricsListener, server.ConnLimits{Total: maxScrapers})
	if err != nil {
		return err
	}
	group.Go(func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			component(s.log, "metrics").Error("metrics cannot be served", "error", err) // the service itself keeps running
		}
	})
	group.Go(func() {
		<-ctx.Done()
		web.Close()
	})
	return nil
}
