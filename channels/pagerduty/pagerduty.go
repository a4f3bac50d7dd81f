// Package pagerduty sends notifications to PagerDuty through its Events API v2. A check that goes down triggers an
// alert, and the same check coming up resolves it. A reminder triggers it again, which PagerDuty adds to the log of the
// alert.
//
//	monitor.Config{
//		Kinds:     append(channels.Kinds(), pagerduty.Kind()),
//		Notifiers: map[channels.Kind]channels.Notifier{pagerduty.PagerDuty: pagerduty.New(nil)},
//	}
//
// The incident of the notification is the deduplication key, so a retry makes no second alert. A test triggers an alert
// of severity info, which the user resolves in PagerDuty.
package pagerduty

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// PagerDuty is the kind of the package.
const PagerDuty channels.Kind = "pagerduty"

// Limits of the API, in characters for PagerDuty and in bytes here, which is stricter.
const (
	maxSummary  = 1024
	maxDedupKey = 255
)

// Kind describes the kind and its settings: routing_key, severity and region.
func Kind() channels.KindInfo {
	return channels.KindInfo{
		Kind: PagerDuty, Title: "PagerDuty", Category: channels.OnCall,
		Doc: "Triggers an alert in PagerDuty when a check goes down, and resolves it when the check goes up again.",
		Settings: []channels.Setting{
			{
				Name:     "routing_key",
				Doc:      "The integration key of an Events API v2 integration, 32 letters and digits.",
				Required: true,
				Secret:   true,
				Check:    checkKey,
			},
			{
				Name:    "severity",
				Doc:     "The severity of the alert: critical, error, warning or info.",
				Default: "critical", Options: []string{"critical", "error", "warning", "info"}, KeepsSecrets: true,
				Check: checkOneOf("is not critical, error, warning or info", "critical", "error", "warning", "info"),
			},
			{
				Name:    "region",
				Doc:     "The service region of the PagerDuty account: us or eu.",
				Default: "us", Options: []string{"us", "eu"}, KeepsSecrets: true,
				Check: checkOneOf("is not us or eu", "us", "eu"),
			},
		},
	}
}

func checkKey(value string) error {
	if len(value) != 32 {
		return errors.New("is not an integration key, which has 32 letters and digits")
	}
	for _, r := range []byte(value) {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			return errors.New("is not an integration key, which has 32 letters and digits")
		}
	}
	return nil
}

func checkOneOf(reason string, values ...string) func(string) error {
	return func(value string) error {
		for _, v := range values {
			if v == value {
				return nil
			}
		}
		return errors.New(reason)
	}
}

// Config configures a [Notifier].
type Config struct {
	// Client sends the requests. Default: outbound.New(nil).
	Client *http.Client
}

// Notifier delivers to channels of kind [PagerDuty].
type Notifier struct {
	client *http.Client
}

var _ channels.Notifier = (*Notifier)(nil)

// New returns a notifier. A nil config means the defaults.
func New(config *Config) *Notifier {
	if config == nil || config.Client == nil {
		return &Notifier{client: outbound.New(nil)}
	}
	return &Notifier{client: config.Client}
}

// Notify sends one event. A 400 is permanent: PagerDuty will never accept this event or this key. Other failures are
// retried. No error contains the routing key.
func (s *Notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	body, err := json.Marshal(newEvent(c.Settings, n))
	if err != nil {
		return channels.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint(c.Settings["region"]), bytes.NewReader(body))
	if err != nil {
		return outbound.Clean(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, _, err := outbound.Exchange(s.client, req, c.Settings["routing_key"])
	if res != nil && res.StatusCode == http.StatusBadRequest {
		return channels.Permanent(err)
	}
	return err
}

func endpoint(region string) string {
	if region == "eu" {
		return "https://events.eu.pagerduty.com/v2/enqueue"
	}
	return "https://events.pagerduty.com/v2/enqueue"
}

// event is the body of a request.
type event struct {
	RoutingKey string   `json:"routing_key"`
	Action     string   `json:"event_action"`
	DedupKey   string   `json:"dedup_key"`
	Payload    *payload `json:"payload,omitempty"`
	Client     string   `json:"client,omitempty"`
	ClientURL  string   `json:"client_url,omitempty"`
	Links      []link   `json:"links,omitempty"`
}

type payload struct {
	Summary   string         `json:"summary"`
	Source    string         `json:"source"`
	Severity  string         `json:"severity"`
	Timestamp string         `json:"timestamp,omitempty"`
	Component string         `json:"component,omitempty"`
	Group     string         `json:"group,omitempty"`
	Class     string         `json:"class,omitempty"`
	Details   map[string]any `json:"custom_details,omitempty"`
}

type link struct {
	HRef string `json:"href"`
	Text string `json:"text"`
}

func newEvent(settings map[string]string, n channels.Notification) event {
	e := event{RoutingKey: settings["routing_key"], Action: "trigger", DedupKey: dedupKey(n)}
	if n.Status == channels.Up {
		e.Action = "resolve" // PagerDuty ignores all other fields
		return e
	}
	severity := settings["severity"]
	switch {
	case n.Test:
		severity = "info"
	case severity == "":
		severity = "critical"
	}
	name := message.Name(n.Check)
	e.Client, e.ClientURL = "Rollcall", n.Check.URL
	if n.Check.URL != "" {
		e.Links = []link{{HRef: n.Check.URL, Text: "The check in the API of Rollcall"}}
	}
	e.Payload = &payload{
		Summary:   message.Cut(message.Title(n)+". "+message.Short(n), maxSummary),
		Source:    name,
		Severity:  severity,
		Timestamp: n.At.UTC().Format(time.RFC3339),
		Component: n.Check.Slug,
		Group:     n.Check.Project,
		Class:     "dead man's switch",
		Details:   details(n),
	}
	return e
}

// dedupKey returns the deduplication key of the alert: the incident, or else the UUID of the check.
func dedupKey(n channels.Notification) string {
	key := n.Incident
	if key == "" {
		key = n.Check.ID.String()
	}
	return message.Cut(key, maxDedupKey)
}

func details(n channels.Notification) map[string]any {
	list := map[string]any{"text": message.Text(n)}
	for name, value := range map[string]string{
		"check": n.Check.Name, "uuid": n.Check.ID.String(), "slug": n.Check.Slug, "tags": strings.Join(n.Check.Tags, " "),
		"project": n.Check.Project, "expected": n.Check.Timing, "reason": n.Reason, "last_ping_kind": n.Ping.Kind,
	} {
		if value != "" {
			list[name] = value
		}
	}
	if !n.Ping.At.IsZero() {
		list["last_ping"] = n.Ping.At.UTC().Format(time.RFC3339)
	}
	if n.Ping.ExitStatus != nil {
		list["exit_status"] = *n.Ping.ExitStatus
	}
	if n.Reminder > 0 {
		list["reminder"] = n.Reminder
	}
	return list
}
