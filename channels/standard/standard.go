// Package standard assembles the notifiers of all kinds of channels, as the server uses them:
//
//	notifiers, err := standard.New(&standard.Config{
//		Email: &email.Config{Host: "smtp.example.org", From: "rollcall@example.org"},
//	})
//	mon, err := monitor.New(store, &monitor.Config{
//		Kinds:     standard.Kinds(),
//		Notifiers: notifiers,
//	})
//
// A program that needs only some of them imports their packages instead, such as channels/webhook and channels/email,
// and avoids the dependencies of the rest. A program with its own kind appends it to [Kinds] and adds its notifier to
// the map.
package standard

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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
	// Email is the mail server for channels of kind email. Default: none; deliveries fail and say so.
	Email *email.Config
	// Twilio is the account for channels of the kinds sms, whatsapp and call without their own. Default: none.
	Twilio *twilio.Config
	// WebPush is the key for channels of kind webpush. Default: none; deliveries fail and say so.
	WebPush *webpush.Config
	// EnableShell lets channels of kind shell run commands. Default: deliveries fail and say so.
	EnableShell bool
}

// Kinds returns all kinds of channels with their settings. Every call returns a new slice.
func Kinds() []channels.KindInfo {
	kinds := channels.Kinds()
	kinds = append(kinds, mqtt.Kind(), shell.Kind(), webpush.Kind())
	return append(kinds, services.Kinds()...)
}

// New returns a notifier for each of [Kinds] except group: alerts to a group go to its members. A nil config means the
// defaults. Errors are those of email.New, twilio.New and webpush.New.
func New(config *Config) (map[channels.Kind]channels.Notifier, error) {
	var c Config
	if config != nil {
		c = *config
	}
	networks := &outbound.Config{AllowPrivateNetworks: c.AllowPrivateNetworks}
	client := outbound.New(networks)
	notifiers := services.New(&services.Config{Client: client})
	notifiers[channels.Webhook] = webhook.New(&webhook.Config{Client: client})
	notifiers[mqtt.MQTT] = mqtt.New(&mqtt.Config{Dial: outbound.NewDialer(networks).DialContext})
	notifiers[shell.Shell] = unavailable("shell commands are not enabled on this server")
	if c.EnableShell {
		notifiers[shell.Shell] = shell.New(nil)
	}
	phones, err := c.phones(client)
	if err != nil {
		return nil, err
	}
	notifiers[channels.SMS], notifiers[channels.WhatsApp], notifiers[channels.Call] = phones, phones, phones
	if notifiers[webpush.WebPush], err = c.webPush(client); err != nil {
		return nil, err
	}
	if notifiers[channels.Email], err = c.email(); err != nil {
		return nil, err
	}
	return notifiers, nil
}

func (c *Config) phones(client *http.Client) (channels.Notifier, error) {
	var account twilio.Config
	if c.Twilio != nil {
		account = *c.Twilio
	}
	if account.Client == nil {
		account.Client = client
	}
	return twilio.New(&account)
}

func (c *Config) webPush(client *http.Client) (channels.Notifier, error) {
	if c.WebPush == nil {
		return unavailable("no key for Web Push is configured on this server"), nil
	}
	config := *c.WebPush
	if config.Client == nil {
		config.Client = client
	}
	return webpush.New(&config)
}

func (c *Config) email() (channels.Notifier, error) {
	if c.Email == nil {
		return unavailable("no mail server is configured on this server"), nil
	}
	n, err := email.New(*c.Email)
	if err != nil {
		return nil, fmt.Errorf("the mail server: %w", err)
	}
	return n, nil
}

// unavailable is a notifier that always fails, for the reason that it is made of. The error is not permanent, because the
// administrator can change the configuration.
type unavailable string

func (u unavailable) Notify(context.Context, channels.Channel, channels.Notification) error {
	return u.Configured()
}

// Configured says why the notifier fails. The monitor asks for it.
func (u unavailable) Configured() error { return errors.New(string(u)) }
