// Package sms sends notifications as text messages to phones, by the Messages
// API of Twilio.
//
// The account is either the server's, from [Config], or the channel's own, from
// its settings:
//
//	notifier, err := sms.New(&sms.Config{AccountSID: "AC…", AuthToken: token, From: "+37129999999"})
//	monitor.Config{Notifiers: map[channels.Kind]channels.Notifier{channels.SMS: notifier}}
//
// A message says what happened, since when and why. It is cut after three
// segments, since each is paid for: 459 characters of the GSM alphabet, or 201
// UTF-16 units if it has any other character.
//
// Twilio knows no idempotency keys: a message whose acknowledgement was lost is
// sent again.
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

// DefaultBaseURL is where the API of Twilio is.
const DefaultBaseURL = "https://api.twilio.com"

// pause is how long to wait after a 429 that does not say it.
const pause = time.Minute

// Config configures a [Notifier]. Without an account, only channels that have one
// of their own are delivered to.
type Config struct {
	// AccountSID and AuthToken are the account for channels without one.
	AccountSID string
	AuthToken  string
	// From is the sender of these channels' messages: a phone number in
	// international form, a short code, or a name. Either it or
	// MessagingServiceSID is needed with an account.
	From string
	// MessagingServiceSID is the messaging service that chooses the sender.
	MessagingServiceSID string
	// BaseURL is where the API is. Default: [DefaultBaseURL].
	BaseURL string
	// Client makes the requests. Default: outbound.New(nil).
	Client *http.Client
}

// ErrNoAccount is the error of a channel that has no account while the server
// has none either.
var ErrNoAccount = errors.New("neither the integration nor the server has a Twilio account")

// Notifier delivers to channels of kind [channels.SMS].
type Notifier struct {
	account account
	base    *url.URL
	client  *http.Client
}

var _ channels.Notifier = (*Notifier)(nil)

// account is who sends.
type account struct {
	sid, token, from, service string
}

// New returns a notifier; a nil config means no account. It fails if the account
// is not whole, by the rules that channels.Validate has for channels, or if the
// base URL is none.
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
	// The number stands in for one of a channel, which the rules need.
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

// Notify sends one message. It returns an error marked by [channels.Permanent]
// for a number that Twilio will never send to: it is invalid, is no mobile number,
// or its owner has stopped messages. A 429 asks for a pause, of a minute if Twilio
// does not say. Without an account, the error is [ErrNoAccount].
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

// classify marks the error of an answer by what Twilio says in its body.
func classify(status int, body []byte, err error) error {
	var problem struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(body, &problem) == nil && isHopeless(problem.Code) {
		err = fmt.Errorf("no message can be sent to this number (error %d of Twilio): %w", problem.Code, err)
		return channels.Permanent(err)
	}
	if _, found := channels.RetryDelay(err); !found && status == http.StatusTooManyRequests {
		return channels.RetryAfter(err, pause)
	}
	return err
}

// isHopeless reports whether an error code of Twilio is about the receiver, so
// that the same message fails again tomorrow.
func isHopeless(code int) bool {
	return slices.Contains([]int{
		21211, // the number is invalid
		21214, // the number cannot be reached
		21217, // the number does not appear to be valid
		21610, // the receiver has stopped messages
		21614, // the number is not that of a mobile phone
	}, code)
}

// Text returns the message for a notification, of at most three segments: its
// title, since when, and why.
func Text(n channels.Notification) string {
	return fit(message.Title(n) + "\n" + message.Short(n))
}
