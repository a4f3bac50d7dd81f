// Package shoutrrr sends notifications to chats and push services: Slack,
// Discord, Telegram, Matrix, Microsoft Teams, ntfy, Pushover and a dozen others.
// Each is a kind of channel with settings of its own, which [Kinds] documents.
//
//	monitor.Config{
//		Kinds:     append(channels.Kinds(), shoutrrr.Kinds()...),
//		Notifiers: shoutrrr.New(nil),
//	}
//
// # How they are sent
//
// Every request goes through the client of [Config], by default one of package
// outbound, so none reaches a private network unless the client allows it, and
// answers are limited. Discord, Gotify, Mattermost, ntfy, Pushover and Rocket.Chat
// are sent by the library github.com/nicholas-fedor/shoutrrr. It cannot be given a
// client for its other services, and cannot end their requests when a context
// ends; these are sent by the package itself, and so have what the library lacks:
// one message for a request that is repeated (Matrix), the end of an alert
// (Opsgenie), threads (Google Chat).
//
// # What is sent
//
// The title and the text of package message. Where a service gives characters a
// meaning, those that users have written are escaped, so that a check named
// <!channel> or @everyone calls nobody.
//
// # Errors
//
// Errors are those of package outbound: 410 is permanent, 429 asks for the pause
// that the service names, all else is to be tried again. Services that answer 200
// and say in the text that they refuse are errors too. No error contains a secret
// setting. A Telegram channel with several chats is special: see [Kinds].
package shoutrrr

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// Config configures the notifiers.
type Config struct {
	// Client makes the requests. Gotify, Mattermost, Signal and others often run
	// in a private network, which the client has to allow. Default:
	// outbound.New(nil), which does not.
	Client *http.Client
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Kinds documents the kinds of the package, in alphabetical order. Every call
// returns a new slice.
//
// A channel of kind telegram may name several chats. A chat that refuses the
// message for good, because it does not exist or has removed the bot, does not
// keep it from the others; the error is permanent then, so that the others do not
// get the message again and again.
func Kinds() []channels.KindInfo {
	list := services()
	kinds := make([]channels.KindInfo, len(list))
	for i, s := range list {
		kinds[i] = s.info
	}
	return kinds
}

// New returns a notifier for each of [Kinds]; a nil config means the defaults.
func New(config *Config) map[channels.Kind]channels.Notifier {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Client == nil {
		c.Client = outbound.New(nil)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	notifiers := make(map[channels.Kind]channels.Notifier)
	for _, s := range services() {
		notifiers[s.info.Kind] = &notifier{service: s, client: c.Client, now: c.Now}
	}
	return notifiers
}

// A service is one row of the table that drives the package.
type service struct {
	info channels.KindInfo
	// escape takes the meaning from what users have written. Nil where the
	// service takes plain text.
	escape func(string) string
	// limit is how many bytes the text may have. It is well below what services
	// count in characters. 0 means maxText.
	limit int
	// send sends one message.
	send func(ctx context.Context, m *delivery) error
}

// maxText is how many bytes of text are sent where the service takes as many.
const maxText = 3500

// services lists all kinds, in alphabetical order.
func services() []service {
	list := slices.Concat(libraryServices(), chatServices(), groupwareServices(), pushServices(), eventServices())
	slices.SortFunc(list, func(a, b service) int { return strings.Compare(string(a.info.Kind), string(b.info.Kind)) })
	return list
}

// notifier delivers to the channels of one kind.
type notifier struct {
	service service
	client  *http.Client
	now     func() time.Time
}

var _ channels.Notifier = (*notifier)(nil)

func (s *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	for _, setting := range s.service.info.Settings {
		if setting.Required && c.Settings[setting.Name] == "" { // A channel that was stored unchecked.
			return &channels.SettingError{Kind: s.service.info.Kind, Setting: setting.Name, Reason: "is missing"}
		}
	}
	if n.ID == "" { // Services that drop what they have seen would drop all but the first.
		n.ID = uuid.NewString()
	}
	title, text := message.Render(n, s.service.escape)
	limit := s.service.limit
	if limit == 0 {
		limit = maxText
	}
	m := &delivery{
		client:   s.client,
		now:      s.now,
		settings: c.Settings,
		n:        n,
		title:    title,
		text:     message.Cut(text, limit-min(limit, len(title)+1)),
		secrets:  s.service.info.Secrets(c),
	}
	return outbound.Redact(s.service.send(ctx, m), m.secrets...) // An answer of 200 can tell one too.
}

// A delivery is one notification on its way to one channel.
type delivery struct {
	client   *http.Client
	now      func() time.Time
	settings map[string]string
	n        channels.Notification
	// title and text are what package message has made of n, escaped and cut.
	title, text string
	// secrets are what no error may show.
	secrets []string
}

// full returns title and text, for services without titles.
func (m *delivery) full() string { return m.title + "\n" + m.text }

// good reports whether the news is good.
func (m *delivery) good() bool { return m.n.Status == channels.Up }
