package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// smtpFlags are the flags of serve for pings by e-mail.
type smtpFlags struct {
	SMTPListen      string `name:"smtp-listen" group:"E-mail:" placeholder:"HOST:PORT" help:"Address to listen on for pings by e-mail. Off when empty."`
	PingEmailDomain string `name:"ping-email-domain" group:"E-mail:" placeholder:"DOMAIN" help:"What is after the @ of the addresses of checks (default: the host of the base URL)."`
	SMTPTLSCert     string `name:"smtp-tls-cert" group:"E-mail:" placeholder:"FILE" help:"Certificate chain in PEM that is offered by STARTTLS. It is read again when the file changes."`
	SMTPTLSKey      string `name:"smtp-tls-key" group:"E-mail:" placeholder:"FILE" help:"Key of the certificate in PEM."`
}

// validate checks what needs neither the network nor a file.
func (f *smtpFlags) validate() error {
	if (f.SMTPTLSCert == "") != (f.SMTPTLSKey == "") {
		return errors.New("--smtp-tls-cert and --smtp-tls-key: both or neither must be given")
	}
	if f.SMTPListen == "" {
		if f.SMTPTLSCert != "" {
			return errors.New("--smtp-tls-cert: has no effect without --smtp-listen")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(f.SMTPListen)
	if err != nil {
		return errors.New("--smtp-listen: must be of the form HOST:PORT")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--smtp-listen: the port must be 0 to 65535: %q", port)
	}
	return nil
}

// mailer is the SMTP side of a server. A nil one is off.
type mailer struct {
	listener net.Listener
	config   smtpd.Config
	server   *smtpd.Server
	stopped  chan error // what Serve has returned
}

// listen takes the address and reads the certificate. The caller closes the mailer.
func (f *smtpFlags) listen() (*mailer, error) {
	if f.SMTPListen == "" {
		return nil, nil
	}
	m := &mailer{config: smtpd.Config{Domain: f.PingEmailDomain}, stopped: make(chan error, 1)}
	if f.SMTPTLSCert != "" {
		pair := &keyPair{certFile: f.SMTPTLSCert, keyFile: f.SMTPTLSKey}
		if err := pair.load(); err != nil {
			return nil, fmt.Errorf("--smtp-tls-cert: %w", err)
		}
		m.config.TLS = &tls.Config{GetCertificate: pair.get}
	}
	var err error
	if m.listener, err = net.Listen("tcp", f.SMTPListen); err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", f.SMTPListen, listenReason(err))
	}
	return m, nil
}

func (m *mailer) close() {
	if m != nil {
		m.listener.Close()
	}
}

// prepare makes the server, for the host of the base URL where no domain is given.
func (m *mailer) prepare(mon *monitor.Monitor, log *slog.Logger, base address) (err error) {
	if m == nil {
		return nil
	}
	if m.config.Domain == "" {
		m.config.Domain = mailDomain(base)
	}
	m.config.Logger = log
	if m.server, err = smtpd.New(mon, &m.config); err != nil {
		return usagef("--ping-email-domain: %w", err)
	}
	return nil
}

// announce says where messages are taken.
func (m *mailer) announce(stdout io.Writer) {
	if m != nil {
		fmt.Fprintf(stdout, "rollcall: taking e-mail for %s on %s\n", m.config.Domain, m.listener.Addr())
	}
}

// start begins to take messages.
func (m *mailer) start() {
	if m != nil {
		go func() { m.stopped <- m.server.Serve(m.listener) }()
	}
}

// failed yields an error when messages can be taken no longer.
func (m *mailer) failed() <-chan error {
	if m == nil {
		return nil
	}
	return m.stopped
}

// shutdown waits for the messages that are on the way until ctx ends, and then cuts them off.
func (m *mailer) shutdown(ctx context.Context, log *slog.Logger) {
	if m == nil {
		return
	}
	if err := m.server.Shutdown(ctx); err != nil {
		log.Warn("messages were cut off at the end of the shutdown timeout")
	}
}

// mailDomain returns the host of a URL as the domain of an e-mail address.
func mailDomain(base address) string {
	u, err := url.Parse(string(base))
	if err != nil {
		return ""
	}
	host := u.Hostname()
	switch ip, err := netip.ParseAddr(host); {
	case err != nil:
		return host
	case ip.Is6():
		return "[IPv6:" + host + "]"
	}
	return "[" + host + "]"
}

// reloadEvery is how often at most the files of a certificate are looked at.
const reloadEvery = 10 * time.Second

// keyPair is a certificate whose files may be renewed while the server runs.
type keyPair struct {
	certFile, keyFile string

	mu      sync.Mutex
	cert    *tls.Certificate
	changed [2]time.Time // when the files were changed that are loaded
	looked  time.Time
}

func (p *keyPair) load() error {
	changed, err := p.modified()
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		return err
	}
	p.cert, p.changed, p.looked = &cert, changed, time.Now()
	return nil
}

func (p *keyPair) modified() (times [2]time.Time, err error) {
	for i, name := range []string{p.certFile, p.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return times, err
		}
		times[i] = info.ModTime()
	}
	return times, nil
}

// get returns the certificate for a handshake. While new files cannot be read, because only one of them has been
// replaced for example, the old certificate stays.
func (p *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.looked) >= reloadEvery {
		p.looked = time.Now()
		if changed, err := p.modified(); err == nil && changed != p.changed {
			_ = p.load()
		}
	}
	return p.cert, nil
}
