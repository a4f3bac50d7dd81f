package smtpd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

// Answers to clients. The texts say what a person needs who reads them in a bounce.
var (
	errRelay       = answer(550, 5, 7, 1, "This server takes messages for the addresses of checks only")
	errNoCheck     = answer(550, 5, 1, 1, "There is no check with this address")
	errAmbiguous   = answer(550, 5, 1, 4, "Several checks have this slug, use the address with the UUID")
	errTooMany     = answer(421, 4, 7, 0, "Too many recipients that do not exist")
	errNested      = answer(503, 5, 5, 1, "The last message has not been sent, use RSET first")
	errAborted     = answer(421, 4, 3, 0, "A message was given up, start a new connection")
	errTooLarge    = answer(552, 5, 3, 4, "The message is too large")
	errBroken      = answer(451, 4, 4, 2, "The message broke off")
	errUnavailable = answer(451, 4, 3, 0, "The message could not be stored, try again later")
)

func answer(code, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// session is what a client has said so far. With BDAT, Data runs beside the other methods.
type session struct {
	server *Server
	conn   *conn
	secure bool // by TLS

	mu        sync.Mutex
	open      bool // MAIL was accepted
	from      string
	checks    []uuid.UUID
	receiving bool // Data is running
	aborted   bool // a message has been given up between two chunks
}

func (s *Server) newSession(c *smtp.Conn) (smtp.Session, error) {
	raw := c.Conn()
	secure, ok := raw.(*tls.Conn)
	if ok {
		raw = secure.NetConn()
	}
	return &session{server: s, conn: raw.(*conn), secure: ok}, nil
}

func (s *session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.from, s.checks = false, "", nil
	if s.receiving {
		s.abort()
	}
}

// abort is called with the lock when a message is given up between two chunks. The library could take the end of its
// Data for that of the next message, so there must be none.
func (s *session) abort() {
	s.aborted = true
	s.conn.hangUp()
}

func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, opts *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted {
		return errAborted
	}
	if s.open {
		return errNested
	}
	if opts.Size > s.server.config.MaxMessageBytes {
		return errTooLarge
	}
	s.open, s.from = true, from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) (err error) {
	defer s.recoverPanic(&err)
	id, refusal := s.server.find(to)
	if refusal != nil {
		if !refusal.Temporary() && s.conn.refused.Add(1) > maxRefused {
			s.conn.hangUp()
			return errTooMany
		}
		return refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.checks, id) { // by two addresses it is still one ping
		s.checks = append(s.checks, id)
	}
	return nil
}

// find returns the check that has an address.
func (s *Server) find(to string) (uuid.UUID, *smtp.SMTPError) {
	at := strings.LastIndexByte(to, '@')
	// Long names of domains are not even looked at: to bring one into its ASCII form takes the square of its length.
	if at < 0 || len(to) > maxAddress || asciiDomain(to[at+1:]) != s.config.Domain {
		return uuid.Nil, errRelay
	}
	ctx, cancel := context.WithTimeout(s.ctx, lookupTimeout)
	defer cancel()
	id, err := FindCheck(ctx, s.mon, to[:at])
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, checks.ErrNotFound):
		return uuid.Nil, errNoCheck
	case errors.Is(err, checks.ErrAmbiguousSlug):
		return uuid.Nil, errAmbiguous
	}
	s.log.Error("a recipient could not be looked up", "error", err)
	return uuid.Nil, errUnavailable
}

// Data receives a message and pings the checks that it is for.
func (s *session) Data(r io.Reader) (err error) {
	s.conn.begin()
	defer s.conn.done()
	defer s.recoverPanic(&err)
	limit := s.server.config.MaxMessageBytes
	body, err := s.read(r, limit+1)
	switch {
	case errors.Is(err, smtp.ErrTooLongLine), errors.Is(err, smtp.ErrDataTooLarge), int64(len(body)) > limit:
		s.conn.lingers.Store(true) // The library hangs up on a line that is too long.
		return errTooLarge
	case err != nil:
		return errBroken
	case s.conn.broken.Load():
		return errBroken // of a chunk that breaks off, the library passes on the start as if it were whole
	}
	s.mu.Lock()
	from, list := s.from, s.checks
	s.mu.Unlock()
	signal := pings.Signal{
		Kind: pings.Success, Scheme: "email", UserAgent: "Email from " + from, Body: body,
		Mail: s.server.parse(body),
	}
	if from == "" {
		signal.UserAgent += "<>" // as the envelope of a bounce or an automatic reply has it
	}
	if s.conn.addr.IsValid() {
		signal.RemoteAddr = s.conn.addr.String()
	}
	if err := s.server.ping(list, signal); err != nil {
		return err
	}
	return nil
}

// read reads the message, up to a limit.
func (s *session) read(r io.Reader, limit int64) ([]byte, error) {
	s.mu.Lock()
	s.receiving = true
	s.mu.Unlock()
	_, chunks := r.(*io.PipeReader) // as the library does it for BDAT
	if !chunks && !s.secure {
		s.conn.data.start()
	}
	body, err := io.ReadAll(io.LimitReader(r, limit))
	if !chunks && !s.secure {
		body = s.conn.data.finish(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receiving = false
	if errors.Is(err, smtp.ErrDataReset) {
		s.abort() // Reset may come after this, or may have been before
	}
	return body, err
}

// parse reads the text of a message, of as many messages at once as there are processors.
func (s *Server) parse(raw []byte) *pings.Mail {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	return email.Parse(raw).Mail()
}

// ping records the signal for all checks, in one commit where possible.
func (s *Server) ping(list []uuid.UUID, signal pings.Signal) *smtp.SMTPError {
	ctx, cancel := context.WithTimeout(s.ctx, pingTimeout)
	defer cancel()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, id := range list {
		wg.Go(func() { _, errs[i] = s.mon.Ping(ctx, id, signal) })
	}
	wg.Wait()
	gone := 0
	for _, err := range errs {
		switch {
		case errors.Is(err, checks.ErrNotFound): // it was deleted since RCPT
			gone++
		case err != nil:
			s.log.Error("a message could not be stored", "recipients", len(list), "error", err)
			return errUnavailable
		}
	}
	if gone == len(list) {
		return errNoCheck
	}
	return nil
}

// recoverPanic turns a panic into an answer, so that one message cannot take the process along.
func (s *session) recoverPanic(err *error) {
	if r := recover(); r != nil {
		s.server.log.Error("panic while a message was handled", "panic", r, "stack", string(debug.Stack()))
		*err = errUnavailable
	}
}
