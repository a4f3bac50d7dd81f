package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"time"

	mail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// quitTimeout bounds QUIT after the message is delivered.
const quitTimeout = 2 * time.Second

// send holds one conversation with the server. It adds final results to results: nil for an address that got the
// message, or the server's refusal. It returns the errors of addresses to retry. err applies to all addresses that are
// not in results.
func (e *Notifier) send(
	ctx context.Context, msg *mail.Msg, to []*netmail.Address, results map[string]error,
) (retry map[string]error, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	hangUp := func() {}
	defer func() { hangUp() }()
	// Once connected, the library ignores the context, and it leaves failed connections open.
	options := e.options(func(conn net.Conn) {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		hangUp = func() {
			stop()
			_ = conn.Close()
		}
	})
	retry, err = e.converse(ctx, options, msg, to, results)
	if cause := ctx.Err(); err != nil && cause != nil {
		return nil, fmt.Errorf("the mail server did not answer in time: %w", cause)
	}
	return retry, clean(err)
}

func (e *Notifier) converse(
	ctx context.Context, options []mail.Option, msg *mail.Msg, to []*netmail.Address, results map[string]error,
) (map[string]error, error) {
	dialer, err := mail.NewClient(e.config.Host, options...)
	if err != nil {
		return nil, err
	}
	client, err := dialer.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the mail server: %w", err)
	}
	if err := client.Mail(path(e.from)); err != nil {
		return nil, fmt.Errorf("the mail server refuses the sender: %w", err)
	}
	retry := make(map[string]error)
	var accepted []*netmail.Address
	for _, a := range to {
		switch err := client.Rcpt(path(a)); {
		case err == nil:
			accepted = append(accepted, a)
		case isRefusal(err):
			results[a.Address] = err
		case isReply(err):
			retry[a.Address] = err
		default:
			return nil, err // the connection is lost
		}
	}
	if len(accepted) > 0 {
		err := data(client, msg)
		if err != nil && !isReply(err) {
			return nil, err
		}
		for _, a := range accepted {
			if err == nil || isRefusal(err) {
				results[a.Address] = err
			} else {
				retry[a.Address] = err
			}
		}
	}
	// The message is delivered, whatever the server says to QUIT.
	_ = client.UpdateDeadline(quitTimeout)
	_ = client.Quit()
	return retry, nil
}

func data(client *smtp.Client, msg *mail.Msg) error {
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := msg.WriteTo(w); err != nil {
		return err // w.Close would send the final dot and deliver part of the message
	}
	return w.Close()
}

// path returns an address in the form of SMTP commands.
func path(a *netmail.Address) string { return (&netmail.Address{Address: a.Address}).String() }

// options returns the options of the library. It passes the connection to connected.
func (e *Notifier) options(connected func(net.Conn)) []mail.Option {
	c := e.config
	tlsConfig := &tls.Config{ServerName: c.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}
	policy := map[TLSMode]mail.TLSPolicy{
		StartTLS: mail.TLSMandatory, ImplicitTLS: mail.NoTLS, Opportunistic: mail.TLSOpportunistic, NoTLS: mail.NoTLS,
	}
	options := []mail.Option{
		mail.WithPort(c.Port), mail.WithTimeout(c.Timeout), mail.WithTLSPolicy(policy[c.TLS]),
		mail.WithTLSConfig(tlsConfig),
		mail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			connected(conn)
			if c.TLS != ImplicitTLS {
				return conn, nil
			}
			secure := tls.Client(conn, tlsConfig)
			return secure, secure.HandshakeContext(ctx)
		}),
	}
	if c.HELO != "" {
		options = append(options, mail.WithHELO(c.HELO))
	}
	if c.Password != "" {
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
