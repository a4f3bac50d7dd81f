// Package brokertest has the tests of package mqtt with a broker.
package brokertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/mqtt"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// server is a broker in this process. User me with the password right may publish below alerts.
type server struct {
	addr string
	got  chan packets.Packet
}

// start runs a broker at an address until the test ends or until stop is called.
func (s *server) start(t *testing.T, addr string, config *tls.Config) (stop func()) {
	t.Helper()
	b := broker.New(&broker.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	rules := &auth.Options{Ledger: &auth.Ledger{
		Auth: auth.AuthRules{{Username: "me", Password: "right", Allow: true}},
		ACL: auth.ACLRules{{Username: "me", Filters: auth.Filters{"alerts/#": auth.ReadWrite, "#": auth.Deny}},
			{Client: broker.InlineClientId, Filters: auth.Filters{"#": auth.ReadWrite}}},
	}}
	if err := b.AddHook(new(auth.Hook), rules); err != nil {
		t.Fatal(err)
	}
	tcp := listeners.NewTCP(listeners.Config{ID: "t", Address: addr, TLSConfig: config})
	if err := b.AddListener(tcp); err != nil {
		t.Fatal(err)
	}
	if err := b.Serve(); err != nil {
		t.Fatal(err)
	}
	s.addr = tcp.Address()
	err := b.Subscribe("#", 1, func(_ *broker.Client, _ packets.Subscription, p packets.Packet) {
		s.got <- p
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { b.Close() })
	t.Cleanup(stop)
	return stop
}

// next returns the next message. The broker may acknowledge a message before it passes it on.
func (s *server) next(t *testing.T) packets.Packet {
	t.Helper()
	select {
	case p := <-s.got:
		return p
	case <-time.After(2 * time.Minute): // only a failure takes so long
		t.Fatal("the broker has no message")
		return packets.Packet{}
	}
}

func newServer() *server { return &server{got: make(chan packets.Packet, 10)} }

func notify(ctx context.Context, settings map[string]string, n channels.Notification) error {
	dialer := outbound.NewDialer(&outbound.Config{AllowPrivateNetworks: true})
	return mqtt.New(&mqtt.Config{Dial: dialer.DialContext}).Notifier.Notify(ctx, channels.Channel{Kind: "mqtt", Settings: settings}, n)
}

func (s *server) settings(more ...string) map[string]string {
	settings := map[string]string{"broker_url": "mqtt://" + s.addr, "topic": "alerts/$SLUG", "username": "me", "password": "right"}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return settings
}

var id = uuid.MustParse("b0e3a1c2-8a71-4f0a-9a32-5f7c1d2e3f40")

func outage() (down, reminder, up channels.Notification) {
	down = channels.Notification{
		ID:     "n-1",
		Check:  channels.Check{ID: id, Name: `nightly "ž" 😀`, Slug: "backup", Tags: []string{"a", "b"}, Project: "Ops", URL: "https://h/c/1"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "no ping in time", Cause: "disk full",
	}
	reminder, up = down, down
	reminder.ID, reminder.Reminder = "n-2", 1
	up.ID, up.Status, up.DownFor, up.Reason = "n-3", channels.Up, time.Hour, "success"
	return down, reminder, up
}

// TestOutage sends the alerts of an outage, also while the broker is away.
func TestOutage(t *testing.T) {
	s := newServer()
	stop := s.start(t, "127.0.0.1:0", nil)
	down, reminder, up := outage()
	for _, n := range []channels.Notification{down, reminder, up} {
		if err := notify(t.Context(), s.settings(), n); err != nil {
			t.Fatal(err)
		}
		title, text := message.Render(n, nil, 0)
		want := map[string]any{
			"id": n.ID, "status": string(n.Status), "title": title, "text": text, "at": "2026-03-15T04:00:00Z", "reason": n.Reason, "cause": n.Cause,
			"down_for": n.DownFor.Seconds(), "reminder": float64(n.Reminder), "over": nil, "test": false,
			"check": map[string]any{"uuid": id.String(), "name": n.Check.Name, "slug": "backup", "tags": "a b", "project": "Ops",
				"url": "https://h/c/1"},
		}
		var got map[string]any
		p := s.next(t)
		if err := json.Unmarshal(p.Payload, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || p.TopicName != "alerts/backup" || p.FixedHeader.Qos != 1 || p.FixedHeader.Retain {
			t.Error(diff, p)
		}
	}

	stop()
	if err := notify(t.Context(), s.settings(), down); err == nil || channels.IsPermanent(err) {
		t.Errorf("the broker is away: %v", err)
	}
	s.start(t, s.addr, nil)
	if err := notify(t.Context(), s.settings(), down); err != nil {
		t.Errorf("the broker is back: %v", err)
	}
	s.next(t)
}

func TestRefusals(t *testing.T) {
	s := newServer()
	s.start(t, "127.0.0.1:0", nil)
	down, _, _ := outage()
	tests := []struct {
		name     string
		settings map[string]string
		n        channels.Notification
		want     string
	}{
		{"wrong password", s.settings("password", "wr0ng"), down, "the broker refuses the connection: 0x86 bad username or password"},
		{"no credentials", s.settings("username", "", "password", ""), down, "the broker refuses the connection: 0x86 bad username or password"},
		{"not allowed", s.settings("topic", "other"), down, "the broker refuses the message: 0x87 not authorized"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := notify(t.Context(), tt.settings, tt.n)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" || channels.IsPermanent(err) {
				t.Error(diff)
			}
		})
	}
	if err := notify(t.Context(), s.settings("topic", "alerts/last"), down); err != nil {
		t.Fatal(err)
	}
	if p := s.next(t); p.TopicName != "alerts/last" {
		t.Errorf("the broker has a message to %s", p.TopicName)
	}
}

// TestNoSlug publishes about a check without a slug to a topic that no other check shares.
func TestNoSlug(t *testing.T) {
	s := newServer()
	s.start(t, "127.0.0.1:0", nil)
	down, _, _ := outage()
	down.Check.Slug = ""
	if err := notify(t.Context(), s.settings("retain", "yes"), down); err != nil {
		t.Fatal(err)
	}
	if p := s.next(t); p.TopicName != "alerts/"+down.Check.ID.String() {
		t.Errorf("the topic is %s", p.TopicName)
	}
}

// TestRetain checks that messages are retained, and sends text.
func TestRetain(t *testing.T) {
	s := newServer()
	s.start(t, "127.0.0.1:0", nil)
	down, _, up := outage()
	settings := s.settings("topic", "alerts/$UUID", "payload", "text", "retain", "yes")
	for _, n := range []channels.Notification{down, up} {
		if err := notify(t.Context(), settings, n); err != nil {
			t.Fatal(err)
		}
		title, text := message.Render(n, nil, 0)
		p := s.next(t)
		if p.TopicName != "alerts/"+id.String() || string(p.Payload) != title+"\n"+text || !p.FixedHeader.Retain {
			t.Errorf("%s %s", p.TopicName, p.Payload)
		}
	}
}

func TestTLS(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	s := newServer()
	s.start(t, "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	settings := s.settings("broker_url", "mqtts://"+s.addr)
	down, _, _ := outage()
	if err := notify(t.Context(), settings, down); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	dialer := outbound.NewDialer(&outbound.Config{AllowPrivateNetworks: true})
	notifier := mqtt.New(&mqtt.Config{Dial: dialer.DialContext, TLS: &tls.Config{RootCAs: roots}}).Notifier
	if err := notifier.Notify(t.Context(), channels.Channel{Settings: settings}, down); err != nil {
		t.Fatal(err)
	}
	s.next(t)
}
