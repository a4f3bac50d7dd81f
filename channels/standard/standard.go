// Package standard lists all kinds of channels of Rollcall with their notifiers, as the server uses them:
//
//	types, err := standard.New(&standard.Config{
//		Email: &email.Config{Host: "smtp.example.org", From: "rollcall@example.org"},
//	})
//	mon, err := monitor.New(store, &monitor.Config{Channels: types})
//
// A program that needs only some of them imports their packages instead, such as channels/webhook and channels/email,
// and avoids the dependencies of the rest. A program with its own kind appends it to the list.
package standard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/mqtt"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
	"github.com/rollcall-dev/rollcall/channels/shell"
	"github.com/rollcall-dev/rollcall/channels/twilio"
	"github.com/rollcall-dev/rollcall/channels/webhook"
	"github.com/rollcall-dev/rollcall/channels/webpush"
)

// Config configures the notifiers. The zero value of a field means its default.
type Config struct {
	// AllowPrivateNetworks lets webhooks and other requests reach loopback, private and link-local addresses. Default:
	// such addresses are refused. The mail server may always have one, since the administrator chooses it.
	AllowPrivateNetworks bool
	// Proxy returns the proxy for an alert over HTTP, like Proxy of [outbound.Config], which says what it means for private
	// networks. Mail and MQTT use none. Default: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Email is the mail server for channels of kind email. Default: none, and no e-mail.
	Email *email.Config
	// Twilio is the account for channels of the kinds sms, whatsapp and call without their own. Default: none.
	Twilio *twilio.Config
	// WebPush is the key for channels of kind webpush. Default: none, and no Web Push.
	WebPush *webpush.Config
	// EnableShell lets channels of kind shell run commands. Default: none runs.
	EnableShell bool
}

// Kinds returns the kinds of [New] without notifiers, for a program that stores channels and leaves their alerts to another
// one. Every call returns a new slice.
func Kinds() []channels.Type {
	types, err := New(nil)
	if err != nil {
		panic(err) // no configuration cannot be wrong
	}
	for i := range types {
		types[i].Notifier, types[i].Ready = nil, nil
	}
	return types
}

// New returns all kinds of channels, ready for Config.Channels of a monitor. A kind whose notifier needs configuration that
// is absent has none, and says in Missing what it needs. A nil config means the defaults. Errors are those of email.New,
// twilio.New and webpush.New.
func New(config *Config) ([]channels.Type, error) {
	var c Config
	if config != nil {
		c = *config
	}
	networks := &outbound.Config{AllowPrivateNetworks: c.AllowPrivateNetworks}
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: c.AllowPrivateNetworks, Proxy: c.Proxy})
	mail, err := email.New(c.Email)
	if err != nil {
		return nil, fmt.Errorf("the mail server: %w", err)
	}
	phones, err := c.phones(client)
	if err != nil {
		return nil, err
	}
	push, err := c.webPush(client)
	if err != nil {
		return nil, err
	}
	broker := mqtt.New(&mqtt.Config{Dial: outbound.NewDialer(networks).DialContext})
	broker.Ready = outbound.Ready(outbound.New(networks), broker.Settings)
	command := shell.New(nil)
	if !c.EnableShell {
		command.Notifier, command.Missing = nil, "shell commands are not enabled on this server"
	}
	return slices.Concat(
		[]channels.Type{mail, webhook.New(&webhook.Config{Client: client})}, phones,
		[]channels.Type{channels.GroupType(), broker, command, push},
		services.New(&services.Config{Client: client}),
	), nil
}

func (c *Config) phones(client *http.Client) ([]channels.Type, error) {
	var account twilio.Config
	if c.Twilio != nil {
		account = *c.Twilio
	}
	if account.Client == nil {
		account.Client = client
	}
	return twilio.New(&account)
}

func (c *Config) webPush(client *http.Client) (channels.Type, error) {
	if c.WebPush == nil {
		return webpush.New(nil)
	}
	config := *c.WebPush
	if config.Client == nil {
		config.Client = client
	}
	return webpush.New(&config)
}
