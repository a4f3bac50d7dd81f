package smtpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

// Replies to clients. People read the texts in bounces.
var (
	errRelay       = answer(550, 5, 7, 1, "This server accepts messages only for the addresses of checks")
	errNoCheck     = answer(550, 5, 1, 1, "There is no check with this address")
	errAmbiguous   = answer(550, 5, 1, 4, "Several checks have this slug, use the address with the UUID")
	errTooMany     = answer(421, 4, 7, 0, "Too many unknown recipients")
	errNested      = answer(503, 5, 5, 1, "A message is in progress, use RSET first")
	errAborted     = answer(421, 4, 3, 0, "A message was aborted, start a new connection")
	errTooLarge    = answer(552, 5, 3, 4, "The message is too large")
	errBroken      = answer(451, 4, 4, 2, "The message is incomplete")
	errUnavailable = answer(451, 4, 3, 0, "The message could not be stored, try again later")
)

func answer(code, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// maxLogged is how many bytes of a text of a client a log line has.
const maxLogged = 200

// session is the state of a conversation. With BDAT, Data runs concurrently with the other methods.
type session struct {
	server *Server
	conn   *conn

	mu        sync.Mutex
	open      bool // MAIL was accepted
	from      string
	checks    []recipient
	receiving bool // Data is running
	aborted   bool // the client aborted a message between two chunks
}

func (s *Server) newSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{server: s, conn: c.Conn().(*conn)}, nil
}

func (s *session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.from, s.checks = false, "", nil
	s.conn.hasRecipients.Store(false)
	if s.receiving {
		s.abort()
	}
}

// abort ends the connection after the client aborted a message between two chunks. There must be no next message: the
// library could take the end of the aborted Data for the end of the next one. The caller holds the lock.
func (s *session) abort() {
	s.aborted = true
	s.conn.hangUp()
}

func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted {
		return errAborted
	}
	if s.open {
		return errNested
	}
	if s.conn.size > s.server.config.MaxReceivedBytes {
		return s.server.refuse(s.conn, errTooLarge, "", s.conn.size)
	}
	s.open, s.from = true, cmp.Or(s.conn.sender, from)
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) (err error) {
	defer s.recoverPanic(&err)
	found, refusal := s.server.find(to)
	if refusal != nil {
		refusal = s.server.refuse(s.conn, refusal, to, 0)
		if !refusal.Temporary() && s.conn.refused.Add(1) > maxRefused {
			s.conn.hangUp()
			return errTooMany
		}
		return refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.checks, found) { // both addresses of a check together are one ping
		s.checks = append(s.checks, found)
	}
	s.conn.hasRecipients.Store(true)
	return nil
}

// find returns the check with the address to: its UUID or, if the database is unavailable and pings go to the spool, what the
// address says.
func (s *Server) find(to string) (recipient, *smtp.SMTPError) {
	at := strings.LastIndexByte(to, '@')
	// Refuse long domains first: converting one to ASCII takes time quadratic in its length.
	if at < 0 || len(to) > maxAddress || asciiDomain(to[at+1:]) != s.config.Domain {
		return recipient{}, errRelay
	}
	address, ok := parseRecipient(to[:at])
	if !ok {
		return recipient{}, errNoCheck
	}
	spool, spools := s.mon.Spooled()
	if spool.Pings > 0 {
		return address, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, lookupTimeout)
	defer cancel()
	id, err := FindCheck(ctx, s.mon, to[:at])
	switch {
	case err == nil:
		return recipient{id: id}, nil
	case errors.Is(err, checks.ErrNotFound):
		return recipient{}, errNoCheck
	case errors.Is(err, checks.ErrAmbiguousSlug):
		return recipient{}, errAmbiguous
	case spools: // any other error is an outage
		return address, nil
	}
	s.logFailure("cannot look up a recipient", err)
	return recipient{}, errUnavailable
}

// logFailure logs why a client must try again later.
func (s *Server) logFailure(what string, err error) {
	if unlogged, ok := s.failures.Pass(s.mon.Now()); ok {
		s.log.Error(what, "error", err, "unlogged", unlogged)
	}
}

// Data receives a message and pings its checks.
func (s *session) Data(r io.Reader) (err error) {
	s.conn.begin()
	defer s.conn.done()
	defer s.recoverPanic(&err)
	limit := s.server.config.MaxReceivedBytes
	body, cut, err := s.read(r, limit+1)
	switch {
	case errors.Is(err, smtp.ErrTooLongLine), errors.Is(err, smtp.ErrDataTooLarge), int64(len(body))+cut > limit:
		s.conn.lingers.Store(true)
		if _, chunks := r.(*io.PipeReader); !chunks { // whose length is bounded
			s.conn.over.Store(true) // the library would read the rest, however long
		}
		return s.server.refuse(s.conn, errTooLarge, "", 0)
	case err != nil:
		return errBroken
	case s.conn.broken.Load():
		return errBroken // the library delivers a truncated chunk as if it were complete
	}
	s.mu.Lock()
	from, list := s.from, s.checks
	s.mu.Unlock()
	signal := pings.FromMail(from, body, s.server.parse(body))
	signal.BodyCut = cut
	if s.conn.addr.IsValid() {
		signal.RemoteAddr = s.conn.addr.String()
	}
	if err := s.server.ping(list, signal); err != nil {
		return s.server.refuse(s.conn, err, "", 0)
	}
	s.conn.delivered()
	return nil
}

// refuse reports mail that is refused for good, and returns the reply.
func (s *Server) refuse(c *conn, reply *smtp.SMTPError, to string, size int64) *smtp.SMTPError {
	if reply.Temporary() {
		return reply
	}
	if s.config.Refused != nil {
		s.config.Refused(reply.Code)
	}
	if unlogged, ok := s.refused.Pass(s.mon.Now()); ok {
		args := []any{"code", reply.Code, "reason", reply.Message, "remote_addr", c.addr.String(), "unlogged", unlogged}
		if to != "" {
			args = append(args, "recipient", redactKey(to))
		}
		if size > 0 {
			args = append(args, "size", size)
		}
		s.log.Warn("mail was refused", args...)
	}
	return reply
}

// read reads the message, up to a limit. It returns what to keep of it, and how many bytes it has cut out of the middle.
func (s *session) read(r io.Reader, limit int64) (body []byte, cut int64, err error) {
	s.mu.Lock()
	s.receiving = true
	s.mu.Unlock()
	_, chunks := r.(*io.PipeReader) // the library uses a pipe for BDAT only
	if !chunks {
		s.conn.data.start()
	}
	ends := pings.NewEnds(int(s.server.config.MaxMessageBytes))
	_, err = io.Copy(ends, io.LimitReader(r, limit))
	body, cut = ends.Body()
	if !chunks {
		body = s.conn.data.finish(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receiving = false
	if errors.Is(err, smtp.ErrDataReset) {
		s.abort() // Reset also aborts, but may have run before receiving was set
	}
	return body, cut, err
}

// parse returns the text of a message. It parses at most one message per processor at a time.
func (s *Server) parse(raw []byte) *pings.Mail {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	message := email.Parse(raw)
	if name := message.Unknown; name != "" && s.unknown.Pass(name[:min(len(name), maxLogged)]) {
		s.log.Warn("a message is in an unknown character set, and was read as Windows-1252 where it is not UTF-8", "charset", name[:min(len(name), maxLogged)])
	}
	return message.Mail()
}

// ping records the signal for all checks, in one commit if possible.
func (s *Server) ping(list []recipient, signal pings.Signal) *smtp.SMTPError {
	ctx, cancel := context.WithTimeout(s.ctx, pingTimeout)
	defer cancel()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, r := range list {
		wg.Go(func() {
			if r.slug != "" {
				_, _, errs[i] = s.mon.PingSlug(ctx, r.key, r.slug, false, signal)
			} else {
				_, errs[i] = s.mon.Ping(ctx, r.id, signal)
			}
		})
	}
	wg.Wait()
	gone := 0
	for _, err := range errs {
		switch {
		case errors.Is(err, checks.ErrNotFound): // deleted since RCPT
			gone++
		case err != nil:
			s.logFailure("cannot store a message", err)
			return errUnavailable
		}
	}
	if gone == len(list) {
		return errNoCheck
	}
	return nil
}

// recoverPanic turns a panic into a reply, so that one message cannot crash the process.
func (s *session) recoverPanic(err *error) {
	if r := recover(); r != nil {
		s.server.faults.Log(s.server.log, slog.LevelError, fmt.Sprint(r), "panic while handling a message", "panic", r, "stack", string(debug.Stack()))
		*err = errUnavailable
	}
}
