// Package smtpd receives pings by e-mail, at the addresses of checks. It is a thin shell: it reads messages over SMTP,
// calls a [monitor.Monitor] and replies with the result.
//
//	srv, err := smtpd.New(mon, &smtpd.Config{Domain: "ping.example.org"})
//	listener, err := net.Listen("tcp", ":25")
//	err = srv.Serve(listener) // until srv.Shutdown
//
// # Addresses
//
// A check has two addresses, <uuid>@domain and <ping_key>+<slug>@domain. The server refuses any other recipient with
// 550 before the message is sent: another form, an unknown check, or a slug that several checks have. Case is ignored.
//
// # Clients
//
// Nothing but the recipient matters, so the server takes what devices send: a greeting without a name, a sender that is no
// address, unknown parameters, and blanks where none should be.
//
// # Pings
//
// Each addressed check gets one ping of kind success, which the keywords of the check may change (section 2.1.1 of the
// [API]; package email documents the text to search). A bounce, an automatic reply or a read receipt is no word of the job:
// [pings.FromMail] makes it an ignored ping. The body of the ping is the unchanged message, without the middle of a long one;
// its scheme is email, its user agent is "Email from" and the sender of the envelope. Its address is that of the client, which
// may be a relay.
//
// # Guarantees
//
// The server acknowledges a message with 250 only if all its pings are durable. If it cannot store one, it replies 451
// for the whole message, because SMTP has no reply for a part; a client that retries then repeats the other pings. The
// server skips checks that were deleted meanwhile, unless all were. An incomplete message is not a ping.
//
// Several servers may share a database, and a process may run an SMTP listener next to other parts of Rollcall.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
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
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

const (
	// lookupTimeout and pingTimeout bound waits for the database.
	lookupTimeout = 10 * time.Second
	pingTimeout   = 5 * time.Second
	// writeTimeout bounds how long a client may take to read a reply.
	writeTimeout = time.Minute
	// lingerTimeout and maxLinger bound how long a client may go on sending a refused message, and how many bytes.
	lingerTimeout, maxLinger = time.Minute, 32 << 20
	// maxAddress is the maximum length of an address in bytes, with room for the longest form of a domain.
	maxAddress = 1500
	// maxRefused is the number of refused recipients after which the server closes a connection, because the client is
	// guessing addresses.
	maxRefused = 100
)

// Config configures a [Server]. The zero value of any field but Domain means its default.
type Config struct {
	// Domain is the domain of the addresses. An international name may be in either form. Required.
	Domain string
	// TLS, unless nil, enables STARTTLS. Clients need not use it, because many jobs cannot.
	TLS *tls.Config
	// MaxMessageBytes is how many bytes of a message are kept, and searched for keywords: the first and the last half of a longer
	// one. Default: 1 MB.
	MaxMessageBytes int64
	// MaxReceivedBytes is the maximum length of a message. A longer one is refused with 552, and the connection ends. Default: 64 MB,
	// but at least MaxMessageBytes.
	MaxReceivedBytes int64
	// MaxRecipients is the maximum number of recipients. Further ones are refused with 452, and the client sends them
	// the message again. Default: 100.
	MaxRecipients int
	// MaxConnections and MaxPerClient bound the simultaneous connections, in all and from one IP address (or one /64 of
	// IPv6). Further ones are closed with 421. Each connection may hold one complete message and one partly read message
	// in memory. Defaults: 200 and 50.
	MaxConnections, MaxPerClient int
	// ReadTimeout is how long a client may take for a command, for a message after DATA and for a chunk after BDAT.
	// Default: 5 minutes, as RFC 5321 section 4.5.3.2 recommends.
	ReadTimeout time.Duration
	// SessionTimeout bounds a connection. Default: 30 minutes.
	SessionTimeout time.Duration
	// Logger logs failures, refused mail and unknown character sets, and at level debug the mistakes of clients. The group
	// "rollcall" of each line has the component smtp. Default: slog.Default().
	Logger *slog.Logger
	// Refused is called for each recipient and each message that the server refuses for good, with the code of the reply: 550 or 552.
	// It must return at once. Optional.
	Refused func(code int)
}

// Server is an SMTP server for pings. It is safe for concurrent use.
type Server struct {
	mon               *monitor.Monitor
	log               *slog.Logger
	config            Config
	smtp              *smtp.Server
	refused, failures limit.Lines
	faults            limit.Repeats
	unknown           limit.Names   // character sets
	parsing           chan struct{} // counting semaphore; parsing takes several times the length of a message in memory

	// ctx is the context of all calls to the monitor. It ends when Shutdown cuts off connections.
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]bool
	conns     map[*conn]bool
	clients   map[netip.Prefix]int // number of connections
	receiving int                  // messages being received
	closing   bool
	drained   chan struct{} // closed once closing is set and no connection or message is left
}

// New returns a server and starts nothing. The error says which value of the configuration is invalid.
func New(mon *monitor.Monitor, config *Config) (*Server, error) {
	if mon == nil {
		return nil, errors.New("smtpd: the monitor is nil")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Server{
		mon: mon, log: c.Logger.With(slog.Group("rollcall", "component", "smtp")), config: c,
		parsing:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		listeners: make(map[net.Listener]bool),
		conns:     make(map[*conn]bool),
		clients:   make(map[netip.Prefix]int),
		drained:   make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.smtp = smtp.NewServer(smtp.BackendFunc(s.newSession))
	s.smtp.Domain = c.Domain
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.MaxRecipients = c.MaxRecipients
	// One more than allowed: the library refuses a message of exactly the maximum.
	s.smtp.MaxMessageBytes = c.MaxReceivedBytes + 1
	// Jobs send lines of any length, so a message may be one line.
	s.smtp.MaxLineLength = int(c.MaxReceivedBytes) + 1000
	s.smtp.ReadTimeout = c.ReadTimeout
	s.smtp.WriteTimeout = min(writeTimeout, c.ReadTimeout)
	s.smtp.ErrorLog = libraryLog{s}
	return s, nil
}

// libraryLog receives the log of the SMTP library.
type libraryLog struct{ *Server }

func (l libraryLog) Printf(format string, args ...any) {
	if strings.HasPrefix(format, "error handling") { // broken connections
		l.log.Debug("SMTP", "error", fmt.Sprintf(format, args...))
		return
	}
	l.faults.Log(l.log, slog.LevelError, format, "SMTP", "error", fmt.Sprintf(format, args...))
}

func (l libraryLog) Println(args ...any) { l.Printf("%s", fmt.Sprint(args...)) }

// complete checks the configuration and sets the defaults.
func (c *Config) complete() error {
	if len(c.Domain) < maxAddress {
		c.Domain = asciiDomain(c.Domain)
	}
	if c.Domain == "" || len(c.Domain) > 253 || strings.ContainsFunc(c.Domain, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("@<>", r) }) {
		return fmt.Errorf("smtpd: Domain is not a domain name: %q", c.Domain)
	}
	if c.MaxMessageBytes < 0 || c.MaxReceivedBytes < 0 || c.MaxRecipients < 0 || c.MaxConnections < 0 || c.MaxPerClient < 0 || c.ReadTimeout < 0 || c.SessionTimeout < 0 {
		return errors.New("smtpd: limits and timeouts must not be negative")
	}
	const maxMessage = 1 << 30 // the server holds many messages in memory at once
	if most := max(c.MaxMessageBytes, c.MaxReceivedBytes); most > maxMessage {
		return fmt.Errorf("smtpd: MaxMessageBytes or MaxReceivedBytes is too large: %d, the maximum is %d", most, maxMessage)
	}
	setDefault(&c.MaxMessageBytes, 1_000_000)
	setDefault(&c.MaxReceivedBytes, max(64_000_000, c.MaxMessageBytes))
	setDefault(&c.MaxRecipients, 100)
	setDefault(&c.MaxConnections, 200)
	setDefault(&c.MaxPerClient, 50)
	setDefault(&c.ReadTimeout, 5*time.Minute)
	setDefault(&c.SessionTimeout, 30*time.Minute)
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

// asciiDomain returns the form of a domain for comparison: lower case, international names in ASCII.
func asciiDomain(domain string) string {
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
		return ascii
	}
	return strings.ToLower(domain)
}

// Serve accepts connections until [Server.Shutdown], and then returns nil, or until the listener fails. It closes the
// listener. It may be called for several listeners.
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

// Shutdown stops the server. It accepts no more connections, closes idle ones, and waits for messages being received.
// If ctx ends first, it closes the rest without acknowledging their messages, waits for them to stop, and returns the
// error of ctx.
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
		c.Conn.Close() // the library closes c itself when it notices
	}
	s.mu.Unlock()
	<-s.drained
	return ctx.Err()
}

// checkDrained closes drained if the server is closing and nothing is left. The caller holds the lock.
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
