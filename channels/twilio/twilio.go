// Package twilio sends notifications to phones through Twilio: text messages ([channels.SMS]), WhatsApp messages
// ([channels.WhatsApp]) and calls that read the alert ([channels.Call]).
//
// The account is the server's, from [Config], or the channel's own, from its settings:
//
//	types, err := twilio.New(&twilio.Config{AccountSID: "AC…", AuthToken: token, From: "+37129999999"})
//	monitor.Config{Channels: types}
//
// # Texts
//
// A text message says what happened, since when and why. It is cut at three segments, since each costs money: 459
// characters of the GSM alphabet, or 201 UTF-16 units if it has any other character. A WhatsApp message has room for
// everything that chats get, up to 1,600 bytes; with a template it fills its variables. A call reads what a text message
// says, twice, in English.
//
// # Delivery
//
// Twilio accepts a message or a call before it does anything about it. So Notify asks for its status for 16 seconds, and
// later attempts ask again in place of sending again: [channels.Partial] carries the identifier.
//
//   - delivered and read, and for calls completed, are a success. A voice mailbox completes a call, too.
//   - sent means that the carrier has the message. Not all carriers report more, so this is a success if nothing else is
//     known at the end of the attempt.
//   - failed, undelivered and canceled are permanent errors, with the error code of Twilio.
//   - busy and no-answer lead to another call after two minutes, three calls in all.
//   - anything else is not the end, and the delivery is retried.
//
// Twilio has no idempotency keys: if the answer to the first request is lost, the message is sent again.
package twilio

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// defaultBaseURL is the address of Twilio's API.
const defaultBaseURL = "https://api.twilio.com"

// Config configures the notifier. Without an account, it delivers only to channels that have their own.
type Config struct {
	// AccountSID is the account for channels without one.
	AccountSID string
	// AuthToken is the token of the account. It needs one, or an API key.
	AuthToken string
	// APIKey and APISecret are an API key of the account.
	APIKey, APISecret string
	// From is the sender of text messages: a phone number in international form, a short code, or a name. An account
	// needs at least one of From, MessagingServiceSID, WhatsAppFrom and CallFrom.
	From string
	// MessagingServiceSID is the messaging service that chooses the sender of text messages, and of WhatsApp messages
	// without WhatsAppFrom.
	MessagingServiceSID string
	// WhatsAppFrom is the phone number that sends WhatsApp messages, in international form.
	WhatsAppFrom string
	// WhatsAppContentSID is the content template of these messages, with {{1}} for what happened and {{2}} for since when
	// and why. Default: free text, which WhatsApp delivers only for 24 hours after the recipient has written.
	WhatsAppContentSID string
	// CallFrom is the phone number that calls, in international form. Default: From, if it is one.
	CallFrom string
	// BaseURL is the address of the API. Default: that of Twilio.
	BaseURL string
	// Client sends the requests. Default: outbound.New(nil).
	Client *http.Client
	// After returns a channel that receives once the duration is over. Default: [time.After].
	After func(time.Duration) <-chan time.Time
}

// noAccount is what is missing if neither the channel nor the server has an account, or the server's has no sender for the
// kind.
const noAccount = "neither the integration nor the server has a Twilio account with a sender for this kind"

// notifier delivers to channels of all kinds of the package.
type notifier struct {
	config Config
	base   *url.URL
}

// An account sends messages, from a number or through a messaging service.
type account struct {
	sid, user, secret string
	from, service     string
	template          string
	variables         string
}

// New returns the kinds [channels.SMS], [channels.WhatsApp] and [channels.Call] with their notifier. A nil config means no
// account: channels then need their own. The account must be complete, as [channels.Validate] requires of a channel, and
// the base URL valid.
func New(config *Config) ([]channels.Type, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	if c.Client == nil {
		c.Client = outbound.New(nil)
	}
	if c.After == nil {
		c.After = time.After
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.CallFrom == "" && isPhone(c.From) {
		c.CallFrom = c.From
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Hostname() == "" {
		return nil, errors.New("twilio: the base URL is not an http:// or https:// URL")
	}
	n := &notifier{config: c, base: base}
	types := kinds()
	account := []string{"account_sid", "auth_token", "from"} // which most channels have unless the server has one
	for i, t := range types {
		types[i].Notifier, types[i].Preview = n, n.preview
		for j := range t.Settings {
			t.Settings[j].Primary = c.AccountSID == "" && slices.Contains(account, t.Settings[j].Name)
		}
		types[i].Ready = func(_ context.Context, settings map[string]string) error {
			_, err := n.account(channels.Channel{Kind: t.Kind, Settings: settings})
			return err
		}
	}
	return types, nil
}

// kinds describes the kinds and their settings.
func kinds() []channels.Type { return []channels.Type{smsKind(), whatsAppKind(), callKind()} }

// validate checks the account by the rules of the kinds for which it has a sender, or else by those of text messages.
func (c *Config) validate() error {
	senders := map[channels.Kind]map[string]string{}
	if c.WhatsAppFrom != "" || c.WhatsAppContentSID != "" {
		senders[channels.WhatsApp] = map[string]string{"from": c.WhatsAppFrom, "content_sid": c.WhatsAppContentSID}
		if c.WhatsAppFrom == "" {
			senders[channels.WhatsApp]["messaging_service_sid"] = c.MessagingServiceSID
		}
	}
	if c.CallFrom != "" {
		senders[channels.Call] = map[string]string{"from": c.CallFrom}
	}
	if c.From != "" || c.MessagingServiceSID != "" || c.WhatsAppFrom == "" && c.CallFrom == "" {
		senders[channels.SMS] = map[string]string{"from": c.From, "messaging_service_sid": c.MessagingServiceSID}
	}
	for _, kind := range []channels.Kind{channels.SMS, channels.WhatsApp, channels.Call} {
		settings := senders[kind]
		if settings == nil {
			continue
		}
		// Validate requires a recipient; this one never gets a message.
		settings["to"] = "+10000000000"
		settings["account_sid"], settings["auth_token"] = c.AccountSID, c.AuthToken
		settings["api_key"], settings["api_secret"] = c.APIKey, c.APISecret
		if _, err := channels.Validate(kinds(), kind, settings, nil); err != nil {
			return err
		}
	}
	return nil
}

func isPhone(from string) bool { return len(from) > 0 && from[0] == '+' }

func (t *notifier) account(c channels.Channel) (account, error) {
	s := c.Settings
	own := account{
		sid: s["account_sid"], user: s["account_sid"], secret: s["auth_token"], from: s["from"], service: s["messaging_service_sid"],
		template: s["content_sid"], variables: s["content_variables"],
	}
	if own.sid != "" {
		if s["api_key"] != "" {
			own.user, own.secret = s["api_key"], s["api_secret"]
		}
		return own, nil
	}
	server := account{sid: t.config.AccountSID, user: t.config.AccountSID, secret: t.config.AuthToken}
	if t.config.APIKey != "" {
		server.user, server.secret = t.config.APIKey, t.config.APISecret
	}
	switch c.Kind {
	case channels.Call:
		server.from = t.config.CallFrom
	case channels.WhatsApp:
		server.from, server.template = t.config.WhatsAppFrom, t.config.WhatsAppContentSID
		if server.from == "" {
			server.service = t.config.MessagingServiceSID
		}
	default:
		server.from, server.service = t.config.From, t.config.MessagingServiceSID
	}
	if server.sid == "" || server.from == "" && server.service == "" {
		return account{}, &channels.NotConfiguredError{Kind: c.Kind, Missing: noAccount}
	}
	return server, nil
}

// Notify sends one message, or calls once. The error is permanent for a number that Twilio will never send to: it is
// invalid, not a mobile number, or its owner opted out. A 429 asks for a pause, of a minute if Twilio names none. The
// package comment says what each status of the message means. Without an account, the error is a
// [*channels.NotConfiguredError].
func (t *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	from, err := t.account(c)
	if err != nil {
		return err
	}
	o := order{notifier: t, account: from, call: c.Kind == channels.Call, past: past{n.Done}}
	var now state
	if o.sid = o.past.open(); o.sid == "" {
		if now, err = o.create(ctx, form(from, c, n)); err != nil {
			return err
		}
		o.past.add(o.sid)
	} else if now, err = o.fetch(ctx); err != nil {
		return channels.Partial(err, o.past.names...)
	}
	return o.follow(ctx, now)
}
