package email

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"html/template"
	netmail "net/mail"
	"os"
	"strings"
	"time"

	mail "github.com/wneessen/go-mail"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// defaultTimeout bounds a delivery.
const defaultTimeout = 30 * time.Second

// A TLSMode is how a connection is encrypted.
type TLSMode string

const (
	// StartTLS requires STARTTLS on a plain connection, by default on port 587. It is the default mode.
	StartTLS TLSMode = "starttls"
	// ImplicitTLS encrypts from the start, by default on port 465.
	ImplicitTLS TLSMode = "implicit"
	// Opportunistic encrypts if the server offers STARTTLS, by default on port 25. An attacker on the network can
	// prevent that. A password is only sent encrypted or to localhost.
	Opportunistic TLSMode = "opportunistic"
	// NoTLS does not encrypt, by default on port 25. It does not allow a password.
	NoTLS TLSMode = "none"
)

// Config configures the notifier. Host and From are required. The zero value of any other field means its default.
type Config struct {
	// Host is the name or address of the SMTP server. It must match the server's certificate.
	Host string
	// Port is the TCP port. Default: the port of the TLS mode.
	Port int
	// TLS is how the connection is encrypted. Default: [StartTLS].
	TLS TLSMode
	// RootCAs are the trusted certificate authorities. Default: those of the system.
	RootCAs *x509.CertPool
	// Username and Password log in with PLAIN or LOGIN, or another mechanism if the server has neither. Default: no
	// login.
	Username, Password string
	// OAuth, unless nil, logs Username in with access tokens, by XOAUTH2, in place of Password. It needs [StartTLS] or
	// [ImplicitTLS].
	OAuth *OAuth
	// DKIM, unless nil, signs each message.
	DKIM *DKIM
	// Unsubscribe, unless nil, returns the URL at which an address can unsubscribe from a channel, or "" for none. A POST to
	// it must take the address off without asking, as RFC 8058 has it, and a GET must not.
	Unsubscribe func(ctx context.Context, c channels.Channel, address string) string
	// From is the sender, such as "Rollcall <rollcall@example.org>".
	From string
	// HELO is the name in the greeting to the server. Default: the name of the machine or, if that is not a full one with a
	// domain, which many servers refuse, the domain of From.
	HELO string
	// Timeout bounds a delivery. Default: 30 seconds.
	Timeout time.Duration
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// notifier delivers to channels of the kind. Each attempt has its own connection.
type notifier struct {
	config Config
	from   *netmail.Address
	page   *template.Template
	tokens *tokens
}

// New checks the configuration and returns the kind [channels.Email] with its notifier. It does not connect. With a nil
// config, there is no mail server, and the kind has no notifier.
func New(config *Config) (channels.Type, error) {
	t := kind()
	if config == nil {
		t.Missing = "no mail server is configured on this server"
		return t, nil
	}
	n, err := newNotifier(*config)
	if err != nil {
		return channels.Type{}, err
	}
	t.Notifier = n
	return t, nil
}

func newNotifier(config Config) (*notifier, error) {
	c, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil || hasControl(c.From) {
		return nil, fmt.Errorf("email: From is not an e-mail address: %q", c.From)
	}
	page, err := template.New("alert").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	if c.HELO == "" {
		if c.HELO, err = os.Hostname(); err != nil || !strings.Contains(c.HELO, ".") {
			c.HELO = domain
		}
	}
	if c.DKIM != nil {
		d := *c.DKIM
		d.Domain = cmp.Or(d.Domain, domain)
		if err := d.validate(); err != nil {
			return nil, err
		}
		c.DKIM = &d
	}
	e := &notifier{config: c, from: from, page: page, tokens: newTokens(c.OAuth)}
	if _, err := mail.NewClient(c.Host, e.options("", nil)...); err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	return e, nil
}

// withDefaults checks all but From, and sets the defaults.
func (c Config) withDefaults() (Config, error) {
	ports := map[TLSMode]int{StartTLS: 587, ImplicitTLS: 465, Opportunistic: 25, NoTLS: 25}
	if c.TLS == "" {
		c.TLS = StartTLS
	}
	switch {
	case c.Host == "":
		return c, errors.New("email: Host is missing")
	case hasControl(c.Host + c.HELO):
		return c, errors.New("email: Host or HELO contains a control character")
	case ports[c.TLS] == 0:
		return c, fmt.Errorf("email: TLS is not starttls, implicit, opportunistic or none: %q", c.TLS)
	case c.Port < 0 || c.Port > 65535:
		return c, fmt.Errorf("email: Port is not from 1 to 65535: %d", c.Port)
	case c.OAuth != nil && c.Password != "":
		return c, errors.New("email: OAuth and Password cannot be combined")
	case c.OAuth != nil && c.Username == "":
		return c, errors.New("email: OAuth needs a Username")
	case c.OAuth != nil && c.TLS != StartTLS && c.TLS != ImplicitTLS:
		return c, errors.New("email: OAuth needs TLS starttls or implicit")
	case c.OAuth == nil && (c.Username == "") != (c.Password == ""):
		return c, errors.New("email: Username and Password must be set together")
	case c.TLS == NoTLS && c.Password != "":
		return c, errors.New("email: a Password needs TLS")
	}
	if c.OAuth != nil {
		if err := c.OAuth.validate(); err != nil {
			return c, err
		}
	}
	if c.Port == 0 {
		c.Port = ports[c.TLS]
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Send sends a text to one address, for example a link to sign in. The package comment says what the mail server must do. It
// does not try again.
func Send(ctx context.Context, config *Config, to, subject, text string) error {
	if config == nil {
		return errors.New("email: no mail server is configured")
	}
	e, err := newNotifier(*config)
	if err != nil {
		return err
	}
	recipient, err := netmail.ParseAddress(to)
	if err != nil || hasControl(to) {
		return fmt.Errorf("email: not an e-mail address: %q", to)
	}
	msg := e.header(prose.Line(subject, maxText), []*netmail.Address{recipient})
	msg.SetMessageIDWithValue(e.identifier("message", rand.Text()))
	msg.SetBodyString(mail.TypeTextPlain, text)
	signed, err := e.write(msg)
	if err != nil {
		return fmt.Errorf("email: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	talk := conversation{notifier: e}
	defer talk.close()
	return talk.deliver(ctx, recipient, signed)
}

// Notify sends a message to each address of the setting "to" that is neither in the setting "unsubscribed" nor in n.Done.
// The package comment says which errors are permanent. It also reports a check that has recovered meanwhile (n.Over).
func (e *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	to, err := recipients(c.Settings)
	if err != nil {
		return channels.Permanent(err)
	}
	if len(to) == 0 {
		return channels.Permanent(errors.New("every address of the integration has unsubscribed"))
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	talk := conversation{notifier: e}
	defer talk.close()
	var names, problems []string
	byName := make(map[string]*netmail.Address, len(to))
	for _, a := range to {
		names = append(names, doneName(a))
		byName[doneName(a)] = a
	}
	err = channels.Each(n, names, func(name string) error {
		msg, err := e.message(ctx, c, n, to, byName[name])
		if err != nil {
			return channels.Permanent(fmt.Errorf("write the message: %w", err))
		}
		err = talk.deliver(ctx, byName[name], msg)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", byName[name].Address, err))
		}
		if err != nil && len(to) > 1 && talk.err == nil {
			return fmt.Errorf("%s: %w", byName[name].Address, err)
		}
		return err
	})
	if err == nil || talk.err != nil || errors.Is(err, channels.ErrNobody) {
		return err
	}
	text := strings.Join(problems, "; ")
	if len(to) > 1 && n.Recipient == "" {
		text = fmt.Sprintf("the mail server accepted the message for %d of %d addresses: %s", len(to)-len(problems), len(to), text)
	}
	return summary{err, prose.Line(text, maxProblems)}
}

// maxProblems is the maximum length of a summary, in characters.
const maxProblems = 300

// A summary is an error with a text about all addresses.
type summary struct {
	error
	text string
}

func (s summary) Error() string { return s.text }
func (s summary) Unwrap() error { return s.error }

// maxDoneName is the maximum length of a name for [channels.Partial], in bytes.
const maxDoneName = 200

// doneName is the name of an address in [channels.Notification].Done: the address, or a hash of a longer one.
func doneName(a *netmail.Address) string {
	if len(a.Address) <= maxDoneName {
		return a.Address
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(a.Address)))
}
