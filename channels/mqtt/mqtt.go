// Package mqtt publishes notifications to a topic of an MQTT 5 broker, such as Mosquitto or EMQX:
//
//	monitor.Config{Channels: []channels.Type{mqtt.New(nil)}}
//
// Each notification is one message of QoS 1, on a connection for it alone. It counts as delivered when the broker
// acknowledges it. A broker that says that nobody has subscribed has lost the alert, which is an error that is retried;
// only a retained message waits for subscribers.
//
// # Payload
//
// The payload is the text of package message, or a JSON document. at and over are times of RFC 3339, over may be null, and
// down_for is in seconds:
//
//	{
//	  "id": "…", "status": "down", "title": "DOWN: nightly backup", "text": "Down since …",
//	  "at": "2026-03-15T04:00:00Z", "reason": "…", "cause": "…", "down_for": 0, "reminder": 0, "over": null, "test": false,
//	  "check": {"uuid": "…", "name": "nightly backup", "slug": "…", "tags": "…", "project": "…", "url": "…"}
//	}
//
// Fields may be added. The notification's ID is the same in every attempt.
package mqtt

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// timeout bounds a delivery.
const timeout = 30 * time.Second

// maxText bounds title and text, in bytes.
const maxText = 10_000

// Config configures the notifier. The zero value of a field means its default.
type Config struct {
	// Dial opens connections. Default: that of outbound.NewDialer(nil), which refuses private networks. Most brokers run in
	// one.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is the configuration for mqtts. Default: the roots of the system, TLS 1.2 and later.
	TLS *tls.Config
}

// New returns the kind "mqtt" with its notifier. A nil config means the defaults. A message takes at most
// 30 seconds. Errors of the connection and refusals by the broker are retried, but a topic that the broker
// calls invalid is permanent.
func New(config *Config) channels.Type {
	var n notifier
	if config != nil {
		n.config = *config
	}
	if n.config.Dial == nil {
		n.config.Dial = outbound.NewDialer(nil).DialContext
	}
	if n.config.TLS == nil {
		n.config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t := kind()
	t.Notifier = &n
	return t
}

type notifier struct{ config Config }

func (n *notifier) Notify(ctx context.Context, c channels.Channel, nt channels.Notification) error {
	settings, err := channels.Validate([]channels.Type{kind()}, kind().Kind, c.Settings, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = n.send(ctx, settings, nt)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	switch secure := strings.HasPrefix(settings["broker_url"], "mqtts:"); {
	case errors.Is(err, errNotMQTT) && !secure && !errors.Is(ctx.Err(), context.Canceled):
		err = fmt.Errorf("%w; if the port expects TLS, write mqtts:// in place of mqtt://", err)
	case notTLS:
		err = errors.New("the broker does not answer in TLS; if the port is without TLS, write mqtt:// in place of mqtts://")
	case err != nil && ctx.Err() != nil: // the deadline of the connection hides it
		err = ctx.Err()
	}
	return outbound.Redact(outbound.Clean(err), kind().Secrets(c)...)
}

func (n *notifier) send(ctx context.Context, settings map[string]string, nt channels.Notification) error {
	name := topic(settings["topic"], nt.Check)
	content, err := payload(settings, nt)
	if err != nil {
		return channels.Permanent(err)
	}
	conn, err := n.connect(ctx, settings["broker_url"])
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	return publish(conn, settings, name, content)
}

// connect opens a connection to the broker.
func (n *notifier) connect(ctx context.Context, broker string) (net.Conn, error) {
	u, err := url.Parse(broker)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"mqtt": "1883", "mqtts": "8883"}[u.Scheme]
	}
	conn, err := n.config.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil || u.Scheme != "mqtts" {
		return conn, err
	}
	config := n.config.TLS.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// topic replaces the placeholders. A check without a slug has its UUID in place of it: a retained message about one check
// must not replace that about another.
func topic(name string, c channels.Check) string {
	return strings.NewReplacer("$UUID", c.ID.String(), "$SLUG", cmp.Or(c.Slug, c.ID.String())).Replace(name)
}

// document is the payload that the package comment documents.
type document struct {
	ID       string          `json:"id"`
	Status   channels.Status `json:"status"`
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	At       time.Time       `json:"at"`
	Reason   string          `json:"reason"`
	Cause    string          `json:"cause"`
	DownFor  int64           `json:"down_for"`
	Reminder int             `json:"reminder"`
	Over     *time.Time      `json:"over"`
	Test     bool            `json:"test"`
	Check    check           `json:"check"`
}

type check struct {
	UUID    uuid.UUID `json:"uuid"`
	Name    string    `json:"name"`
	Slug    string    `json:"slug"`
	Tags    string    `json:"tags"`
	Project string    `json:"project"`
	URL     string    `json:"url"`
}

func payload(settings map[string]string, n channels.Notification) ([]byte, error) {
	title, text := message.Render(n, nil, maxText)
	if settings["payload"] == "text" {
		return []byte(title + "\n" + text), nil
	}
	d := document{
		ID: n.ID, Status: n.Status, Title: title, Text: text, At: n.At.UTC(), Reason: n.Reason, Cause: n.Cause,
		DownFor: int64(n.DownFor / time.Second), Reminder: n.Reminder, Test: n.Test,
		Check: check{n.Check.ID, n.Check.Name, n.Check.Slug, strings.Join(n.Check.Tags, " "), n.Check.Project, n.Check.URL},
	}
	if !n.Over.IsZero() {
		over := n.Over.UTC()
		d.Over = &over
	}
	return json.Marshal(d)
}
