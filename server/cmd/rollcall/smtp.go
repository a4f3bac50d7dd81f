package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/metrics"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// smtpFlags are the flags of serve about pings by e-mail.
type smtpFlags struct {
	SMTPListen      string `name:"smtp-listen" group:"E-mail:" placeholder:"HOST:PORT" help:"Address to listen on for pings by e-mail. Off by default."`
	PingEmailDomain string `name:"ping-email-domain" group:"E-mail:" placeholder:"DOMAIN" help:"Domain of the e-mail addresses of checks (default: the host of the base URL)."`
	SMTPTLSCert     string `name:"smtp-tls-cert" group:"E-mail:" completion:"file" placeholder:"FILE" help:"Certificate chain in PEM for STARTTLS. The server reloads a changed file within 10 seconds."`
	SMTPTLSKey      string `name:"smtp-tls-key" group:"E-mail:" completion:"file" placeholder:"FILE" help:"Private key of the certificate in PEM."`

	tls *tls.Config // nil without a certificate
}

// validate checks the flags without using the network or files.
func (f *smtpFlags) validate() error {
	switch {
	case (f.SMTPTLSCert == "") != (f.SMTPTLSKey == ""):
		return errors.New("--smtp-tls-cert and --smtp-tls-key must be given together")
	case f.SMTPListen == "" && f.SMTPTLSCert != "":
		return errors.New("--smtp-tls-cert: has no effect without --smtp-listen")
	case f.SMTPListen != "":
		return validListen("--smtp-listen", f.SMTPListen)
	}
	return nil
}

// loadCertificate reads the certificate, if there is one.
func (f *smtpFlags) loadCertificate() error {
	if f.SMTPTLSCert == "" {
		return nil
	}
	pair := &keyPair{certFile: f.SMTPTLSCert, keyFile: f.SMTPTLSKey}
	if err := pair.load(); err != nil {
		return fmt.Errorf("--smtp-tls-cert: %w", err)
	}
	f.tls = &tls.Config{GetCertificate: pair.get}
	return nil
}

// newServer returns the SMTP server. Its domain defaults to the host of the base URL. The metrics may be nil.
func (f *smtpFlags) newServer(mon *monitor.Monitor, log *slog.Logger, base console.Address, counts *metrics.Metrics) (*smtpd.Server, error) {
	f.PingEmailDomain = cmp.Or(f.PingEmailDomain, mailDomain(base))
	config := &smtpd.Config{Domain: f.PingEmailDomain, TLS: f.tls, Logger: log}
	if counts != nil {
		config.Refused = counts.MailRefused
	}
	server, err := smtpd.New(mon, config)
	if err != nil {
		return nil, console.Usagef("--ping-email-domain: %w", err)
	}
	return server, nil
}

// mailDomain returns the host of a URL as the domain of an e-mail address.
func mailDomain(base console.Address) string {
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

// reloadEvery is how often a handshake may check the certificate's files for changes.
const reloadEvery = 10 * time.Second

// maxKeyFile bounds what is read of a certificate's files in bytes, and keyWait how long that may take.
const maxKeyFile, keyWait = 1 << 20, 2 * time.Second

// keyPair is a certificate whose files may change while the server runs.
type keyPair struct {
	certFile, keyFile string

	mu      sync.Mutex
	cert    *tls.Certificate
	changed [2]time.Time // modification times of the loaded files
	looked  time.Time    // when the files were last checked for changes
}

func (p *keyPair) load() error {
	changed, err := p.modified()
	if err != nil {
		return err
	}
	var pair [2][]byte
	for i, name := range []string{p.certFile, p.keyFile} {
		pair[i], err = console.ReadStart(name, maxKeyFile, keyWait, func() (*os.File, error) { return os.Open(name) })
		if err != nil {
			return err
		}
	}
	cert, err := tls.X509KeyPair(pair[0], pair[1])
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

// get returns the certificate for a handshake. It keeps the old certificate until both new files are in place.
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
