// Package services sends notifications to chats, push services, on-call services and issue trackers: Slack, Telegram,
// Matrix, Microsoft Teams, ntfy, PagerDuty, Alertmanager, GitHub and many others. Each is a kind of channel with its own
// settings.
//
//	monitor.Config{Channels: services.New(nil)}
//
// # Requests
//
// Every request goes through the client of [Config], by default one of package outbound. That client keeps requests out
// of private networks and limits answers.
//
// # Content
//
// A message is the title and the text of package message. It ends with the output of the last ping, as far as the
// service has room, and the address of the check. Text from users is escaped for services with markup, so a
// check named <!channel> or @everyone mentions nobody.
//
// # Errors
//
// Errors are those of package outbound: 410 is permanent, 429 asks for the pause that the service names, anything else
// is retried. An error is also permanent if the service's own code says that the recipient or the webhook is gone. An
// answer counts as success only if it is what the service answers to a message that it has accepted. No error contains a
// secret setting.
//
// # Incidents
//
// On-call services and issue trackers keep an incident until it is closed; their notifiers are
// [channels.IncidentNotifier]. Its key is the UUID of the check, and the same for every outage.
//
// # Recipients
//
// A channel may have several recipients, such as the chats of Telegram. A retry leaves out those that have the message.
// A recipient that refuses it for good does not keep the others from it.
package services

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// Config configures the notifiers.
type Config struct {
	// Client sends the requests. Gotify, Mattermost, Signal and others often run in a private network, which the client
	// must allow. Default: outbound.New(nil), which refuses private networks.
	Client *http.Client
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// New returns the kinds of the package in alphabetical order with their notifiers: a [channels.IncidentNotifier] where the
// service keeps incidents. A nil config means the defaults.
func New(config *Config) []channels.Type {
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
	var types []channels.Type
	for _, s := range services() {
		n := &notifier{service: s, client: c.Client, now: c.Now}
		t := s.info
		t.Combines = !s.incidents && !s.each
		t.Notifier, t.Ready = n, outbound.Ready(c.Client, t.Settings)
		if s.incidents {
			t.Notifier = incidentNotifier{n}
		}
		types = append(types, t)
	}
	return types
}

// A service describes one kind: its settings and how to send.
type service struct {
	info channels.Type
	// escape escapes text from users. It is nil for a service of plain text.
	escape func(string) string
	// limit bounds title and text in bytes, well below the limit of the service in characters. 0 means maxText.
	limit int
	// incidents is true if the service keeps an incident open until it is closed.
	incidents bool
	// each is true if the service, or a program behind it, tells checks apart by the request. Otherwise, and without incidents, one
	// message may be about several checks.
	each bool
	// refresh is how often such a service must get an incident again that stays open, or 0 for never.
	refresh time.Duration
	// send sends one message. For a service that keeps incidents it reads and sets m.open.
	send func(ctx context.Context, m *delivery) error
}

// maxText is the default limit of a service, in bytes.
const maxText = 3500

// services returns all services in alphabetical order of their kinds.
func services() []service {
	return []service{
		alertmanagerService(),
		appriseService(),
		barkService(),
		dingtalkService(),
		discordService(),
		githubService(),
		gitlabService(),
		goalertService(),
		googlechatService(),
		gotifyService(),
		homeassistantService(),
		iftttService(),
		ilertService(),
		incidentioService(),
		joinService(),
		jsmService(),
		larkService(),
		lineService(),
		matrixService(),
		mattermostService(),
		nextcloudtalkService(),
		notifiarrService(),
		ntfyService(),
		opsgenieService(),
		pagerdutyService(),
		pushbulletService(),
		pushoverService(),
		rocketchatService(),
		signalService(),
		slackService(),
		snsService(),
		splunkoncallService(),
		teamsService(),
		telegramService(),
		webexService(),
		wecomService(),
		zulipService(),
	}
}

// notifier delivers to the channels of one kind.
type notifier struct {
	service service
	client  *http.Client
	now     func() time.Time
}

var _ channels.Notifier = (*notifier)(nil)

func (s *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	_, err := s.notify(ctx, c, n, "")
	return err
}

func (s *notifier) notify(
	ctx context.Context, c channels.Channel, n channels.Notification, open string,
) (nowOpen string, err error) {
	for _, setting := range s.service.info.Settings {
		if setting.Required && c.Settings[setting.Name] == "" { // the channel was stored without Validate
			return open, &channels.SettingError{Kind: s.service.info.Kind, Setting: setting.Name, Reason: "is missing"}
		}
	}
	if n.ID == "" { // services that drop duplicates would drop all but the first
		n.ID = uuid.NewString()
	}
	title, text := message.Render(n, s.service.escape, cmp.Or(s.service.limit, maxText))
	m := &delivery{
		client:   s.client,
		now:      s.now,
		settings: c.Settings,
		n:        n,
		open:     open,
		title:    title,
		text:     text,
		secrets:  s.service.info.Secrets(c),
	}
	err = s.service.send(ctx, m)
	return m.open, outbound.Redact(err, m.secrets...) // an answer of 200 can contain a secret too
}

// incidentNotifier is a notifier of a service that keeps incidents.
type incidentNotifier struct{ *notifier }

var _ channels.IncidentNotifier = incidentNotifier{}

func (s incidentNotifier) NotifyIncident(
	ctx context.Context, c channels.Channel, n channels.Notification, open string,
) (nowOpen string, err error) {
	return s.notify(ctx, c, n, open)
}

// Refresh returns 0 for services that keep an incident until it is closed.
func (s incidentNotifier) Refresh() time.Duration { return s.service.refresh }

// A delivery is one attempt to send a notification to a channel.
type delivery struct {
	client   *http.Client
	now      func() time.Time
	settings map[string]string
	n        channels.Notification
	// open is what is open at a service that keeps incidents; see channels.IncidentNotifier.
	open string
	// title and text are rendered by package message, escaped and cut.
	title, text string
	// secrets are redacted in errors.
	secrets []string
}

// titleAndText returns the message for services without titles.
func (m *delivery) titleAndText() string { return m.title + "\n" + m.text }

func (m *delivery) isUp() bool { return m.n.Status == channels.Up }

// pageLabel says what the page is about that a button opens.
func (m *delivery) pageLabel() string {
	if len(m.n.Combined) > 0 {
		return "The checks"
	}
	return "The check"
}

// hasPage reports whether the check has a page that a link can open.
func (m *delivery) hasPage() bool {
	return strings.HasPrefix(m.n.Check.URL, "https://") || strings.HasPrefix(m.n.Check.URL, "http://")
}
