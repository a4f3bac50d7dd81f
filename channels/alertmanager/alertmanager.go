// Package alertmanager sends notifications to a Prometheus Alertmanager, through version 2 of its API.
//
//	monitor.Config{
//		Kinds:     append(channels.Kinds(), alertmanager.Kind()),
//		Notifiers: map[channels.Kind]channels.Notifier{alertmanager.Alertmanager: alertmanager.New(nil)},
//	}
//
// # The alert
//
// A check that is down is an alert with the labels
//
//	alertname   RollcallCheckDown, unless the setting labels has another
//	check       the name of the check, or else its slug or its UUID
//	uuid, slug  of the check
//	project     the name of the project
//	tag_<tag>   "true", for every tag; _ replaces characters that are invalid in label names
//
// and those of the setting labels. Its annotations are summary and description; generatorURL is the address of the
// check.
//
// # How long it lasts
//
// Prometheus repeats its alerts every minute or so, and Alertmanager resolves an alert that is not repeated. Rollcall
// reports a change once, so the alert ends a year after the check went down. When the check comes up, the same alert is
// sent with an end in the past, which resolves it. That end is at least a minute ago: an Alertmanager with a slow clock
// would take a later one for the future and keep the year. A test ends after five minutes.
//
// Alertmanager identifies an alert by its labels. If someone changes the name or the tags of a check that is down, or
// the labels of its channel, the recovery does not resolve the alert. Silence it then, or restart Alertmanager, which
// does not store alerts. The next reminder reports the checks that are still down to the restarted Alertmanager.
package alertmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// Alertmanager is the kind of the package.
const Alertmanager channels.Kind = "alertmanager"

const (
	// lifetime is how long an unresolved alert lasts.
	lifetime = 365 * 24 * time.Hour
	// testLifetime is how long a test alert lasts.
	testLifetime = 5 * time.Minute
	// skew is how far the clock of an Alertmanager may lag behind.
	skew = time.Minute
	// maxURLs is the maximum number of cluster members of a channel.
	maxURLs = 10
)

// Config configures a [Notifier].
type Config struct {
	// Client sends the requests. An Alertmanager is usually in a private network, which the client must allow. Default:
	// outbound.New(nil), which refuses private networks.
	Client *http.Client
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Notifier delivers to channels of kind [Alertmanager].
type Notifier struct {
	client *http.Client
	now    func() time.Time
}

var _ channels.Notifier = (*Notifier)(nil)

// New returns a notifier. A nil config means the defaults.
func New(config *Config) *Notifier {
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
	return &Notifier{client: c.Client, now: c.Now}
}

// Notify sends the alert to all members of the cluster, one after the other. Members share their notification log but
// not their alerts, so each member needs the alert. Notify succeeds if one member accepts it; otherwise it returns all
// errors, none of them permanent. No error contains the password or the token.
func (s *Notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	body, err := json.Marshal([]alert{newAlert(c.Settings, n, s.now())})
	if err != nil {
		return channels.Permanent(err)
	}
	var failures []error
	accepted := false
	for i, base := range splitURLs(c.Settings["url"]) {
		err := s.post(ctx, base, c.Settings, body)
		accepted = accepted || err == nil
		if err != nil {
			failures = append(failures, fmt.Errorf("member %d: %w", i+1, err))
		}
	}
	switch {
	case accepted:
		return nil
	case len(failures) == 0:
		return errors.New("the integration has no url")
	case len(failures) == 1:
		return errors.Unwrap(failures[0])
	}
	return errors.Join(failures...)
}

func (s *Notifier) post(ctx context.Context, base string, settings map[string]string, body []byte) error {
	address, err := url.Parse(base)
	if err != nil {
		return outbound.Clean(err)
	}
	address = address.JoinPath("api/v2/alerts")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(body))
	if err != nil {
		return outbound.Clean(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token := settings["token"]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else if user := settings["username"]; user != "" {
		req.SetBasicAuth(user, settings["password"])
	}
	_, _, err = outbound.Exchange(s.client, req, settings["token"], settings["password"])
	return err
}

// alert is the postableAlert of the API.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func newAlert(settings map[string]string, n channels.Notification, now time.Time) alert {
	a := alert{
		Labels:       labels(settings, n.Check),
		Annotations:  map[string]string{"summary": message.Title(n), "description": message.Text(n)},
		StartsAt:     n.At.UTC(),
		GeneratorURL: n.Check.URL,
	}
	switch {
	case n.Status == channels.Up:
		a.EndsAt = n.At.UTC()
		if latest := now.UTC().Add(-skew); a.EndsAt.After(latest) {
			a.EndsAt = latest
		}
		a.StartsAt = n.At.UTC().Add(-n.DownFor)
		if !a.StartsAt.Before(a.EndsAt) {
			a.StartsAt = a.EndsAt.Add(-time.Second)
		}
	case n.Test:
		a.EndsAt = now.UTC().Add(testLifetime)
	default:
		a.EndsAt = a.StartsAt.Add(lifetime)
	}
	return a
}

// labels returns the labels that identify the alert. Alertmanager treats an empty value as missing.
func labels(settings map[string]string, c channels.Check) map[string]string {
	list := map[string]string{
		"alertname": "RollcallCheckDown",
		"check":     message.Name(c),
		"uuid":      c.ID.String(),
	}
	for name, value := range map[string]string{"slug": c.Slug, "project": c.Project} {
		if value != "" {
			list[name] = value
		}
	}
	for tag := range strings.FieldsSeq(strings.Join(c.Tags, " ")) {
		list[tagLabel(tag)] = "true"
	}
	extra, _ := parseLabels(settings["labels"]) // Kind has validated them
	maps.Copy(list, extra)
	return list
}

// tagLabel returns the name of the label for a tag.
func tagLabel(tag string) string {
	return "tag_" + regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(tag, "_")
}

func splitURLs(list string) []string {
	var urls []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			urls = append(urls, item)
		}
	}
	return urls
}
