// Package sms sends notifications as text messages to phones, through the Messages API of Twilio.
//
// The account is the server's, from [Config], or the channel's own, from its settings:
//
//	notifier, err := sms.New(&sms.Config{AccountSID: "AC…", AuthToken: token, From: "+37129999999"})
//	monitor.Config{Notifiers: map[channels.Kind]channels.Notifier{channels.SMS: notifier}}
//
// A message says what happened, since when and why. It is cut at three segments, since each costs money: 459 characters
// of the GSM alphabet, or 201 UTF-16 units if it has any other character.
//
// Twilio has no idempotency keys: if an acknowledgement is lost, the message is sent again.
package sms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// DefaultBaseURL is the address of Twilio's API.
const DefaultBaseURL = "https://api.twilio.com"

// pause is how long to wait after a 429 without a Retry-After.
const pause = time.Minute

// Config configures a [Notifier]. Without an account, it delivers only to channels that have their own.
type Config struct {
	// AccountSID and AuthToken are the account for channels without one.
	AccountSID string
	AuthToken  string
	// From is the sender for these channels: a phone number in international form, a short code, or a name. An account
	// needs it or MessagingServiceSID.
	From string
	// MessagingServiceSID is the messaging service that chooses the sender.
	MessagingServiceSID string
	// BaseURL is the address of the API. Default: [DefaultBaseURL].
	BaseURL string
	// Client sends the requests. Default: outbound.New(nil).
	Client *http.Client
}

// ErrNoAccount means that neither the channel nor the server has an account.
var ErrNoAccount = errors.New("neither the integration nor the server has a Twilio account")

// Notifier delivers to channels of kind [channels.SMS].
type Notifier struct {
	account account
	base    *url.URL
	client  *http.Client
}

var _ channels.Notifier = (*Notifier)(nil)

// An account sends messages, from a number or through a messaging service.
type account struct {
	sid, token, from, service string
}

// New returns a notifier. A nil config means no account. The account must be complete, as [channels.Validate] requires
// of a channel, and the base URL valid.
func New(config *Config) (*Notifier, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.Client == nil {
		c.Client = outbound.New(nil)
	}
	// Validate requires a recipient; this one never gets a message.
	_, err := channels.Validate(channels.Kinds(), channels.SMS, map[string]string{
		"to": "+10000000000", "account_sid": c.AccountSID, "auth_token": c.AuthToken,
		"from": c.From, "messaging_service_sid": c.MessagingServiceSID,
	})
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Hostname() == "" {
		return nil, errors.New("sms: the base URL is not an http:// or https:// URL")
	}
	return &Notifier{
		account: account{c.AccountSID, c.AuthToken, c.From, c.MessagingServiceSID},
		base:    base,
		client:  c.Client,
	}, nil
}

// Notify sends one message. The error is permanent for a number that Twilio will never send to: it is invalid, not a
// mobile number, or its owner opted out. A 429 asks for a pause, of a minute if Twilio names none. Without an account,
// the error is [ErrNoAccount].
func (s *Notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	from := s.account
	if c.Settings["account_sid"] != "" {
		from = account{
			sid: c.Settings["account_sid"], token: c.Settings["auth_token"],
			from: c.Settings["from"], service: c.Settings["messaging_service_sid"],
		}
	}
	if from.sid == "" {
		return ErrNoAccount
	}
	return s.send(ctx, from, c.Settings["to"], Text(n))
}

func (s *Notifier) send(ctx context.Context, from account, to, text string) error {
	form := url.Values{"To": {to}, "Body": {text}}
	if from.service != "" {
		form.Set("MessagingServiceSid", from.service)
	} else {
		form.Set("From", from.from)
	}
	address := s.base.JoinPath("2010-04-01", "Accounts", from.sid, "Messages.json").String()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return outbound.Clean(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(from.sid, from.token)
	res, body, err := outbound.Exchange(s.client, req, from.token)
	if res == nil || err == nil {
		return err
	}
	return classify(res.StatusCode, body, err)
}

// classify marks an error by the code in Twilio's answer.
func classify(status int, body []byte, err error) error {
	var problem struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(body, &problem) == nil && isHopeless(problem.Code) {
		err = fmt.Errorf("cannot send to this number (Twilio error %d): %w", problem.Code, err)
		return channels.Permanent(err)
	}
	if _, found := channels.RetryDelay(err); !found && status == http.StatusTooManyRequests {
		return channels.RetryAfter(err, pause)
	}
	return err
}

// isHopeless reports whether an error code of Twilio is about the recipient, so that a retry would fail too.
func isHopeless(code int) bool {
	return slices.Contains([]int{
		21211, // the number is invalid
		21214, // the number cannot be reached
		21217, // the number does not appear to be valid
		21610, // the recipient opted out
		21614, // the number is not a mobile number
	}, code)
}

// Text returns the message for a notification, at most three segments: its title, since when, and why.
func Text(n channels.Notification) string {
	return fit(message.Title(n) + "\n" + message.Short(n))
}
