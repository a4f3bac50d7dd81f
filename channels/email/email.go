package email

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"html/template"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	mail "github.com/wneessen/go-mail"

	"github.com/rollcall-dev/rollcall/channels"
)

// DefaultTimeout is how long a delivery may take in all.
const DefaultTimeout = 30 * time.Second

// A TLSMode says how a connection is encrypted.
type TLSMode string

const (
	// StartTLS requires that a plain connection becomes encrypted. It is the
	// default, with port 587.
	StartTLS TLSMode = "starttls"
	// ImplicitTLS encrypts from the start, by default on port 465.
	ImplicitTLS TLSMode = "implicit"
	// Opportunistic encrypts if the server offers it, by default on port 25. An
	// attacker on the way can prevent that. A password is only sent encrypted, or
	// to localhost.
	Opportunistic TLSMode = "opportunistic"
	// NoTLS does not encrypt, by default on port 25. No password can be used.
	NoTLS TLSMode = "none"
)

// Config configures a [Notifier]. Host and From are required; the zero value of
// another field stands for its default.
type Config struct {
	// Host is the name or address of the SMTP server. The certificate of the
	// server must be for it.
	Host string
	// Port is the TCP port. Default: that of the TLS mode.
	Port int
	// TLS is how the connection is encrypted. Default: [StartTLS].
	TLS TLSMode
	// RootCAs are the certificate authorities that are trusted. Default: those
	// of the system.
	RootCAs *x509.CertPool
	// Username and Password are for AUTH, by PLAIN or LOGIN, or another mechanism
	// if the server has neither. Default: no authentication.
	Username, Password string
	// From is the sender, such as "Rollcall <rollcall@example.org>".
	From string
	// HELO is the name by which the program greets the server. Default: the name
	// of the machine.
	HELO string
	// Timeout bounds a delivery. Default: [DefaultTimeout].
	Timeout time.Duration
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// A Notifier delivers to channels of the kind [channels.Email]. [New] makes one.
// Several goroutines can use it at once; each delivery has a connection of its
// own.
type Notifier struct {
	config Config
	from   *netmail.Address
	page   *template.Template
	memory memory
}

var _ channels.Notifier = (*Notifier)(nil)

// New checks the configuration and returns a notifier. It does not connect.
func New(config Config) (*Notifier, error) {
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
	e := &Notifier{config: c, from: from, page: page}
	if _, err := mail.NewClient(c.Host, e.options(nil)...); err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	return e, nil
}

// withDefaults checks what does not need a look at the address of the sender.
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
	case (c.Username == "") != (c.Password == ""):
		return c, errors.New("email: of Username and Password one is missing")
	case c.TLS == NoTLS && c.Password != "":
		return c, errors.New("email: a Password needs TLS")
	}
	if c.Port == 0 {
		c.Port = ports[c.TLS]
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Notify sends a message to the addresses of the setting "to". The package
// comment says which errors are permanent. A message about a change that n.Over
// has ended is sent all the same.
func (e *Notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	to, err := recipients(c.Settings["to"])
	if err != nil {
		return channels.Permanent(err)
	}
	msg, err := e.message(c, n, to)
	if err != nil {
		return channels.Permanent(fmt.Errorf("write the message: %w", err))
	}
	results := e.memory.take(n.ID)
	left := slices.DeleteFunc(slices.Clone(to), func(a *netmail.Address) bool {
		_, done := results[a.Address]
		return done
	})
	again := make(map[string]error)
	if len(left) > 0 {
		again, err = e.send(ctx, msg, left, results)
	}
	if err != nil || len(again) > 0 {
		e.memory.keep(n.ID, results)
	}
	if err != nil {
		return err
	}
	return summary(to, results, again)
}

// summary returns what has become of all addresses: any that is to be tried
// again makes the alert one to be tried again.
func summary(to []*netmail.Address, results, again map[string]error) error {
	var list []string
	for _, a := range to {
		if err := cmp.Or(again[a.Address], results[a.Address]); err != nil {
			list = append(list, fmt.Sprintf("%s: %v", a.Address, err))
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := clean(errors.New(strings.Join(list, "; ")))
	if len(to) > 1 {
		err = fmt.Errorf("the mail server took the message for %d of %d addresses: %w", len(to)-len(list), len(to), err)
	}
	if len(again) > 0 {
		return err
	}
	return channels.Permanent(err)
}

// recipients reads the setting, and drops what is there twice.
func recipients(setting string) ([]*netmail.Address, error) {
	list, err := netmail.ParseAddressList(setting)
	if err != nil || len(list) == 0 || hasControl(setting) {
		return nil, errors.New("the setting to is not a list of e-mail addresses")
	}
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(a *netmail.Address) bool {
		twice := seen[strings.ToLower(a.Address)]
		seen[strings.ToLower(a.Address)] = true
		return twice
	}), nil
}
