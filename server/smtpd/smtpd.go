// Package smtpd takes pings by e-mail: an SMTP listener for the addresses of checks. It is a thin shell: it reads
// messages, calls a [monitor.Monitor] and answers with what came of it.
//
//	srv, err := smtpd.New(mon, &smtpd.Config{Domain: "ping.example.org"})
//	listener, err := net.Listen("tcp", ":25")
//	err = srv.Serve(listener) // until srv.Shutdown
//
// # Addresses
//
// A check has two addresses, <uuid>@domain and <ping_key>+<slug>@domain. A recipient of any other form, a check that
// does not exist and a slug that several checks have are refused with 550 before the message is sent. The domain is
// compared without regard to case; what is before it must be written as it is.
//
// # What a message becomes
//
// Each check that is addressed gets one ping of the kind success, which the check's keywords may change (API-V3.md
// section 2.1.1; package email says what they are looked for in). The ping's body is the message as it came, its
// scheme is email, its user agent is "Email from" and the sender of the envelope, and its address is that of the client
// that delivered the message: a relay, where there is one.
//
// # What is promised
//
// A message is acknowledged with 250 only when all of its pings are durable. When one could not be stored, the answer
// is 451 for the message as a whole, as SMTP knows no other; a client that tries again then repeats the pings of the
// checks for which it went well. A check that is deleted while its message is on the way is passed over, unless it was
// the only one. A message that breaks off is no ping.
//
// Several servers may share a database, and an SMTP listener may share a process with other parts of Rollcall.
package smtpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/idna"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Defaults of a [Config].
const (
	DefaultMaxMessageBytes = 1_000_000
	DefaultMaxRecipients   = 100
	DefaultMaxConnections  = 200
	DefaultMaxPerClient    = 50
	DefaultReadTimeout     = 5 * time.Minute
	DefaultSessionTimeout  = 30 * time.Minute
)

const (
	// lookupTimeout and pingTimeout bound how long the database is waited for.
	lookupTimeout = 10 * time.Second
	pingTimeout   = 5 * time.Second
	// writeTimeout bounds how long a client may take to accept an answer.
	writeTimeout = time.Minute
	// lingerTimeout bounds how long a client may go on sending a message that is refused.
	lingerTimeout = time.Minute
	// maxAddress is the length of an address that can be one of ours, in bytes, with room for the form of a domain in
	// which it is longest.
	maxAddress = 1500
	// maxRefused is how many recipients of one connection may be refused before it is closed: it is trying addresses.
	maxRefused = 100
)

// Config says for which addresses a [Server] takes messages, and how much. The zero value of a field other than Domain
// stands for its default.
type Config struct {
	// Domain is what is after the @ of the addresses. An international name may be given in either form. Required.
	Domain string
	// TLS, when set, is offered to clients by STARTTLS. It is never required: many jobs cannot do it.
	TLS *tls.Config
	// MaxMessageBytes is how long a message may be, in bytes; a longer one is refused with 552.
	// Default: [DefaultMaxMessageBytes].
	MaxMessageBytes int64
	// MaxRecipients is how many recipients a message may have; further ones are refused with 452, after which a client
	// sends the message again to those. Default: [DefaultMaxRecipients].
	MaxRecipients int
	// MaxConnections and MaxPerClient are how many connections there may be at once, from all clients and from one IP
	// address (or one /64 of IPv6). Further ones are closed with 421. Each connection may hold one message in memory,
	// and parts of one that is being read. Defaults: [DefaultMaxConnections], [DefaultMaxPerClient].
	MaxConnections, MaxPerClient int
	// ReadTimeout is how long a client may take for a command, for a message after DATA and for a chunk after BDAT.
	// Default: [DefaultReadTimeout], as RFC 5321 section 4.5.3.2 asks for.
	ReadTimeout time.Duration
	// SessionTimeout is how long a connection may last. Default: [DefaultSessionTimeout].
	SessionTimeout time.Duration
	// Logger takes what goes wrong, and with level debug what clients do wrong. Default: slog.Default().
	Logger *slog.Logger
}

// Server is an SMTP server for pings. Its methods may be called by many goroutines at once.
type Server struct {
	mon     *monitor.Monitor
	log     *slog.Logger
	config  Config
	smtp    *smtp.Server
	parsing chan struct{} // held while a message is parsed, which takes several times its length of memory

	// ctx is that of all calls to the monitor. It ends when Shutdown cuts connections off.
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	clients   map[netip.Prefix]int // how many connections each has
	receiving int                  // messages that are on the way
	closing   bool
	drained   chan struct{} // closed when closing and nothing is left
}

// New returns a server. It starts nothing. The error says which value of the configuration is not acceptable.
func New(mon *monitor.Monitor, config *Config) (*Server, error) {
	if mon == nil {
		return nil, errors.New("smtpd: no monitor")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Server{
		mon: mon, log: c.Logger, config: c,
		parsing:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		listeners: make(map[net.Listener]bool),
		conns:     make(map[*conn]bool),
		clients:   make(map[netip.Prefix]int),
		drained:   make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(s.newSession))
	s.smtp.Domain = c.Domain
	s.smtp.TLSConfig = c.TLS
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.MaxRecipients = c.MaxRecipients
	// One more than is allowed: the library takes a message that just fits for one that is too long.
	s.smtp.MaxMessageBytes = c.MaxMessageBytes + 1
	// Jobs send lines of any length. A message that has only one is not worse than others.
	s.smtp.MaxLineLength = int(c.MaxMessageBytes) + 1000
	s.smtp.ReadTimeout = c.ReadTimeout
	s.smtp.WriteTimeout = min(writeTimeout, c.ReadTimeout)
	s.smtp.ErrorLog = libraryLog{s.log}
	return s, nil
}

// libraryLog takes what the SMTP library logs.
type libraryLog struct{ log *slog.Logger }

func (l libraryLog) Printf(format string, args ...any) {
	level := slog.LevelError
	if strings.HasPrefix(format, "error handling") { // a connection that broke
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "SMTP", "error", fmt.Sprintf(format, args...))
}

func (l libraryLog) Println(args ...any) { l.log.Error("SMTP", "error", fmt.Sprint(args...)) }

// complete fills in the defaults.
func (c *Config) complete() error {
	if len(c.Domain) < maxAddress {
		c.Domain = asciiDomain(c.Domain)
	}
	if c.Domain == "" || len(c.Domain) > 253 || strings.ContainsFunc(c.Domain, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("@<>", r) }) {
		return fmt.Errorf("smtpd: Domain is not the name of a domain: %q", c.Domain)
	}
	if c.MaxMessageBytes < 0 || c.MaxRecipients < 0 || c.MaxConnections < 0 || c.MaxPerClient < 0 || c.ReadTimeout < 0 || c.SessionTimeout < 0 {
		return errors.New("smtpd: a limit of the configuration is negative")
	}
	const maxMessage = 1 << 30 // of which clients may make the server keep many at once
	if c.MaxMessageBytes > maxMessage {
		return fmt.Errorf("smtpd: MaxMessageBytes is too large: %d, the maximum is %d", c.MaxMessageBytes, maxMessage)
	}
	setDefault(&c.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&c.MaxRecipients, DefaultMaxRecipients)
	setDefault(&c.MaxConnections, DefaultMaxConnections)
	setDefault(&c.MaxPerClient, DefaultMaxPerClient)
	setDefault(&c.ReadTimeout, DefaultReadTimeout)
	setDefault(&c.SessionTimeout, DefaultSessionTimeout)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

func setDefault[T int | int64 | time.Duration](value *T, standard T) {
	if *value == 0 {
		*value = standard
	}
}

// asciiDomain returns the form of a domain that is compared: in lower case, international names in their ASCII form.
func asciiDomain(domain string) string {
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
		return ascii
	}
	return strings.ToLower(domain)
}

// Serve takes connections from a listener until [Server.Shutdown], after which it returns nil, or until the listener
// fails. It closes the listener. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.listeners[l] = true
	s.mu.Unlock()

	err := s.smtp.Serve(&listener{l, s})

	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	if s.closing {
		return nil
	}
	return err
}

// Shutdown stops the server: it takes no more connections, closes those that wait for a command, and waits for the
// messages that are on the way. When ctx ends first, it closes the rest, waits until nothing of them runs any more and
// returns the error of ctx; their messages are not acknowledged.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.hangUp()
	}
	s.checkDrained()
	s.mu.Unlock()
	defer s.cancel()

	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	s.mu.Lock()
	for c := range s.conns {
		c.Conn.Close() // the library closes c itself when it finds out
	}
	s.mu.Unlock()
	<-s.drained
	return ctx.Err()
}

// checkDrained is called with the lock when something may have been the last.
func (s *Server) checkDrained() {
	if !s.closing || len(s.conns) > 0 || s.receiving > 0 {
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}
