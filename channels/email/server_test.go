package email_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
)

// server is a mail server that keeps what it receives.
type server struct {
	config email.Config // to reach it
	smtp   *smtp.Server

	mu sync.Mutex
	// replies are the server's replies to an address, to "mail" and to "data". The server sends them in order and
	// repeats the last one. It closes the connection in place of a reply net.ErrClosed to an address.
	replies  map[string][]error
	messages []message
	logins   []string
	greeting string
	// tokens are the access tokens with which XOAUTH2 logs in. With any, the server has no other mechanism.
	tokens []string
}

// message is what one transaction delivered.
type message struct {
	From string
	To   []string
	Data string
}

const password = "p4ssword"

// start runs a server for a test. Without TLS in the mode it offers none.
func start(t *testing.T, mode email.TLSMode) *server {
	t.Helper()
	web := httptest.NewUnstartedServer(nil) // for its certificate for 127.0.0.1
	web.StartTLS()
	cert, roots := web.TLS.Certificates[0], x509.NewCertPool()
	roots.AddCert(web.Certificate())
	web.Close()

	s := &server{replies: make(map[string][]error)}
	s.smtp = smtp.NewServer(s)
	s.smtp.Domain = "mx.example.org"
	s.smtp.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	switch mode {
	case email.StartTLS:
		s.smtp.TLSConfig = config
	case email.ImplicitTLS:
		listener = tls.NewListener(listener, config)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.smtp.Serve(listener) })
	t.Cleanup(func() { _ = s.smtp.Close(); serving.Wait() })
	s.config = email.Config{
		Host: "127.0.0.1", Port: port, TLS: mode, RootCAs: roots, HELO: "rollcall.example.org",
		From: "Rollcall <rollcall@example.org>",
	}
	return s
}

func (s *server) notifier(t *testing.T, change func(*email.Config)) channels.Notifier {
	t.Helper()
	config := s.config
	config.Timeout = 2 * time.Minute // only a failure takes so long
	if change != nil {
		change(&config)
	}
	n, err := email.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	return n.Notifier
}

func (s *server) say(to string, replies ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[to] = replies
}

func (s *server) reply(to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.replies[to]
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		s.replies[to] = list[1:]
	}
	return list[0]
}

// got returns the messages since the last call.
func (s *server) got() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.messages
	s.messages = nil
	return list
}

func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	s.greeting = c.Hostname()
	s.mu.Unlock()
	return &session{server: s, conn: c}, s.reply("connect")
}

type session struct {
	server *server
	conn   *smtp.Conn
	message
}

func (s *session) Reset()        { s.message = message{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.From = from
	return s.server.reply("mail")
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.server.reply(to); err != nil {
		if errors.Is(err, net.ErrClosed) {
			_ = s.conn.Conn().Close()
		}
		return err
	}
	s.To = append(s.To, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.server.reply("data"); err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.message.Data = string(data)
	s.server.messages = append(s.server.messages, s.message)
	return nil
}

func (s *session) AuthMechanisms() []string {
	s.server.mu.Lock()
	tokens := s.server.tokens
	s.server.mu.Unlock()
	if tokens != nil {
		return []string{"XOAUTH2"}
	}
	if s.server.reply("login") != nil {
		return []string{"LOGIN"}
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(mechanism string) (sasl.Server, error) {
	check := func(username, given string) error {
		if username != "rollcall" || given != password {
			return errors.New("wrong password")
		}
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		s.server.logins = append(s.server.logins, mechanism)
		return nil
	}
	if mechanism == "XOAUTH2" {
		return &xoauth2{server: s.server}, nil
	}
	if mechanism == "LOGIN" {
		return &login{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, username, password string) error { return check(username, password) }), nil
}

// login is the server's side of AUTH LOGIN.
type login struct {
	check    func(username, password string) error
	step     int
	username string
}

func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.username = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.username, string(response))
}

func refuse(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
}

// xoauth2 is the server's side of AUTH XOAUTH2. After a refusal it sends a challenge, which the client answers with an
// empty line, and then the error:
// https://learn.microsoft.com/en-us/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth
type xoauth2 struct {
	server  *server
	refused bool
}

func (x *xoauth2) Next(response []byte) (challenge []byte, done bool, err error) {
	if x.refused {
		return nil, true, refuse(535, "5.7.3 Authentication unsuccessful")
	}
	if response == nil {
		return []byte{}, false, nil
	}
	user, rest, _ := strings.Cut(string(response), "\x01auth=Bearer ")
	token, end, _ := strings.Cut(rest, "\x01")
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if user != "user=rollcall@example.org" || end != "\x01" || !slices.Contains(x.server.tokens, token) {
		x.refused = true
		return []byte(`{"status":"400","schemes":"Bearer"}`), false, nil
	}
	x.server.logins = append(x.server.logins, "XOAUTH2 "+token)
	return nil, true, nil
}
