package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strings"
	"sync/atomic"
	"time"

	mail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// quitTimeout bounds QUIT after the last message is delivered.
const quitTimeout = 2 * time.Second

// A conversation is the connection of one attempt. It opens with the first message, and again after it was lost.
type conversation struct {
	notifier *notifier
	client   *smtp.Client
	conn     *listening
	hangUp   func()
	// err is why no more messages can be sent: the server cannot be reached, or refuses the login or the sender.
	err error
}

// deliver sends a message to one address. The error is permanent if the server refuses the address or the message for
// good.
func (c *conversation) deliver(ctx context.Context, to *netmail.Address, msg []byte) error {
	if c.err == nil && c.client == nil {
		c.err = c.open(ctx)
	}
	if c.err != nil {
		return c.err
	}
	if err := c.client.Mail(path(c.notifier.from)); err != nil {
		c.err = explain(ctx, fmt.Errorf("the mail server refuses the sender: %w", err))
		return c.err
	}
	err := c.client.Rcpt(path(to))
	if err == nil {
		err = c.data(msg)
	}
	switch {
	case err == nil:
		return nil
	case !isReply(err):
		return c.lose(ctx, err)
	}
	if lost := c.client.Reset(); lost != nil {
		_ = c.lose(ctx, lost)
	}
	if isRefusal(err) {
		return channels.Permanent(err)
	}
	return err
}

// lose gives up a connection that was lost while a message was sent, maybe because of its address: the next message opens
// another one, unless the time is over.
func (c *conversation) lose(ctx context.Context, err error) error {
	err = explain(ctx, err)
	if ctx.Err() != nil {
		c.err = err
	}
	c.hangUp()
	c.client, c.hangUp = nil, nil
	return err
}

func (c *conversation) data(msg []byte) error {
	w, err := c.client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(msg); err != nil {
		return err // w.Close would send the final dot and deliver part of the message
	}
	return w.Close()
}

// open connects and logs in.
func (c *conversation) open(ctx context.Context) error {
	var token string
	if tokens := c.notifier.tokens; tokens != nil {
		var err error
		if token, err = tokens.get(ctx); err != nil {
			return err
		}
	}
	// Once connected, the library ignores the context, and it leaves failed connections open.
	options := c.notifier.options(token, func(conn *listening) {
		c.conn = conn
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		c.hangUp = func() {
			stop()
			_ = conn.Close()
		}
	})
	dialer, err := mail.NewClient(c.notifier.config.Host, options...)
	if err != nil {
		return clean(err)
	}
	if c.client, err = dialer.DialToSMTPClientWithContext(ctx); err != nil {
		if token != "" && isReply(err) {
			c.notifier.tokens.forget(token)
		}
		if advice := c.advice(ctx, err); advice != "" {
			return errors.New(advice)
		}
		return explain(ctx, fmt.Errorf("connect to the mail server: %w", outbound.Redact(err, token)))
	}
	return nil
}

// advice says what to change if the server and the configuration do not agree on the encryption, or "".
func (c *conversation) advice(ctx context.Context, err error) string {
	mode, port := c.notifier.config.TLS, c.notifier.config.Port
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	silent := errors.Is(ctx.Err(), context.DeadlineExceeded) && c.conn != nil && !c.conn.heard.Load()
	switch {
	case notTLS && mode == ImplicitTLS:
		return fmt.Sprintf("the mail server does not begin with TLS on port %d: set --mail-tls to starttls, or --mail-port to 465", port)
	case silent && mode != ImplicitTLS:
		return fmt.Sprintf("the mail server accepts connections on port %d and says nothing, as one does that expects TLS at once: "+
			"set --mail-tls to implicit, or --mail-port to 587", port)
	case strings.Contains(err.Error(), "does not support STARTTLS"): // the library has no value for it
		return fmt.Sprintf("the mail server offers no encryption (STARTTLS) on port %d: set --mail-tls to implicit with --mail-port 465, "+
			"or to opportunistic or none to send without encryption", port)
	}
	return ""
}

// listening is a connection that notes whether the server has said anything.
type listening struct {
	net.Conn
	heard atomic.Bool
}

func (l *listening) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.heard.Store(true)
	}
	return n, err
}

// close ends the conversation. All messages are delivered, whatever the server says to QUIT.
func (c *conversation) close() {
	if c.client != nil && c.err == nil {
		_ = c.client.UpdateDeadline(quitTimeout)
		_ = c.client.Quit()
	}
	if c.hangUp != nil {
		c.hangUp()
	}
}

// explain returns the error of a connection that ctx may have closed.
func explain(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("the mail server did not answer in time: %w", cause)
	}
	return clean(err)
}

// path returns an address in the form of SMTP commands.
func path(a *netmail.Address) string { return (&netmail.Address{Address: a.Address}).String() }

// options returns the options of the library. It logs in with token if there is one, and passes the connection to
// connected.
func (e *notifier) options(token string, connected func(*listening)) []mail.Option {
	c := e.config
	tlsConfig := &tls.Config{ServerName: c.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}
	policy := map[TLSMode]mail.TLSPolicy{
		StartTLS: mail.TLSMandatory, ImplicitTLS: mail.NoTLS, Opportunistic: mail.TLSOpportunistic, NoTLS: mail.NoTLS,
	}
	options := []mail.Option{ // the context of an attempt ends before the timeout, and says why
		mail.WithPort(c.Port), mail.WithTimeout(2 * c.Timeout), mail.WithTLSPolicy(policy[c.TLS]),
		mail.WithTLSConfig(tlsConfig),
		mail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			var dialer net.Dialer
			dialed, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			conn := &listening{Conn: dialed}
			connected(conn)
			if c.TLS != ImplicitTLS {
				return conn, nil
			}
			secure := tls.Client(conn, tlsConfig)
			return secure, secure.HandshakeContext(ctx)
		}),
	}
	options = append(options, mail.WithHELO(c.HELO))
	switch {
	case token != "":
		options = append(options, mail.WithUsername(c.Username), mail.WithPassword(token), mail.WithSMTPAuth(mail.SMTPAuthXOAUTH2))
	case c.Password != "":
		options = append(options, mail.WithUsername(c.Username), mail.WithPassword(c.Password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return options
}

func isReply(err error) bool {
	_, found := errors.AsType[*textproto.Error](err)
	return found
}

// isRefusal reports whether a reply is final: 5xx, except the codes for a missing login, missing encryption or an
// unknown command, which are about the configuration and not about an address.
func isRefusal(err error) bool {
	reply, found := errors.AsType[*textproto.Error](err)
	if !found || reply.Code < 500 || reply.Code > 599 {
		return false
	}
	switch reply.Code {
	case 500, 501, 502, 503, 504, 530, 534, 535, 538:
		return false
	}
	return true
}

// clean limits the length of the server's text in err.
func clean(err error) error { return outbound.Clean(err) }
