package mqtt_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/mqtt"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// server is the address of a broker.
type server struct{ addr string }

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

func outage() channels.Notification {
	return channels.Notification{
		ID:     "n-1",
		Check:  channels.Check{ID: id, Name: "nightly", Slug: "backup"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "no ping in time",
	}
}

func TestPrivateNetwork(t *testing.T) {
	down := outage()
	s := server{addr: "localhost:1"}
	err := mqtt.New(nil).Notifier.Notify(t.Context(), channels.Channel{Settings: s.settings()}, down)
	if !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
}

// scripted is a broker that sends the answers, one after each packet that it gets, and then closes the connection or,
// if it hangs, waits.
func scripted(t *testing.T, hangs func(), answers ...[]byte) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 64<<10)
		for _, answer := range answers {
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
		if hangs != nil {
			_, _ = conn.Read(buffer)
			hangs()
			_, _ = conn.Read(buffer) // until the client closes
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return &server{addr: listener.Addr().String()}
}

// TestAnswers has answers of MQTT 5.0, sections 3.2 (CONNACK, 0x20), 3.4 (PUBACK, 0x40), 3.12 (PINGRESP, 0xd0) and 3.14
// (DISCONNECT, 0xe0): https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html.
func TestAnswers(t *testing.T) {
	connected := []byte{0x20, 3, 0, 0, 0}
	down := outage()
	const none = "<nil>"
	tests := []struct {
		name      string
		retain    string
		answers   [][]byte
		want      string
		permanent bool
	}{
		{"success", "no", [][]byte{connected, {0x40, 2, 0, 1}}, none, false},
		{"something else first", "no", [][]byte{connected, {0xd0, 0, 0x40, 2, 0, 1}}, none, false},
		{"nobody has subscribed", "no", [][]byte{connected, {0x40, 3, 0, 1, 0x10}}, "nobody has subscribed to the topic", false},
		{"nobody yet", "yes", [][]byte{connected, {0x40, 3, 0, 1, 0x10}}, none, false},
		{"invalid topic", "no", [][]byte{connected, {0x40, 3, 0, 1, 0x90}},
			"the broker refuses the message: 0x90 The Topic Name is not malformed, but is not accepted by this Client or Server.", true},
		{"quota", "no", [][]byte{connected, {0x40, 8, 0, 1, 0x97, 4, 0x1f, 0, 1, 'x'}}, "the broker refuses the message: 0x97 x", false},
		{"another message", "no", [][]byte{connected, {0x40, 2, 0, 2}}, "the broker acknowledges another message", false},
		{"disconnected", "no", [][]byte{connected, {0xe0, 1, 0x8b}}, "the broker refuses the connection: 0x8b ", false},
		{"MQTT 3.1.1", "no", [][]byte{{0x20, 2, 0, 1}}, "the broker does not answer in MQTT 5: ", false},
		{"no QoS 1", "no", [][]byte{{0x20, 5, 0, 0, 2, 0x24, 0}}, "the broker does not acknowledge messages (QoS 1)", false},
		{"no retained messages", "yes", [][]byte{{0x20, 5, 0, 0, 2, 0x25, 0}}, "the broker does not retain messages", false},
		{"no such packet", "no", [][]byte{{0x00, 0}}, "the broker does not answer in MQTT 5: ", false},
		{"another packet", "no", [][]byte{{0xd0, 0}}, "the broker does not answer in MQTT 5", false},
		{"HTTP", "no", [][]byte{[]byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, "the broker does not answer in MQTT 5: ", false},
		{"closed", "no", nil, "", false},
		{"closed before the acknowledgement", "no", [][]byte{connected}, "the broker does not acknowledge the message: ", false},
		{"long packet", "no", [][]byte{{0x20, 0xff, 0xff, 0xff, 0x7f, 0}}, "the broker does not answer in MQTT 5: the packet is too long", false},
		{"malformed length", "no", [][]byte{{0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
			"the broker does not answer in MQTT 5: the packet is malformed", false},
		{"endless", "no", [][]byte{connected, bytes.Repeat([]byte{0xd0, 0}, 64<<10)}, "the broker does not acknowledge the message: ", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted(t, nil, tt.answers...)
			err := notify(t.Context(), s.settings("retain", tt.retain), down)
			got := fmt.Sprint(err)
			if !strings.HasPrefix(got, tt.want) || (tt.want == none) != (err == nil) || channels.IsPermanent(err) != tt.permanent {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestSlow ends the context while the broker hangs.
func TestSlow(t *testing.T) {
	down := outage()
	for _, answers := range [][][]byte{nil, {{0x20, 3, 0, 0, 0}}} {
		ctx, cancel := context.WithCancel(t.Context())
		s := scripted(t, cancel, answers...)
		if err := notify(ctx, s.settings(), down); !errors.Is(err, context.Canceled) || channels.IsPermanent(err) {
			t.Error(err)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"broker_url", "", "mqtt: broker_url is missing"},
		{"broker_url", "%zz", "mqtt: broker_url is not a URL"},
		{"broker_url", "http://h", "mqtt: broker_url is not an mqtt:// or mqtts:// URL"},
		{"broker_url", "mqtt://", "mqtt: broker_url has no host"},
		{"broker_url", "mqtt://u:p@h", "mqtt: broker_url contains credentials"},
		{"broker_url", "mqtt://h/t", "mqtt: broker_url has a path, a query or a fragment"},
		{"topic", "a/+", "mqtt: topic contains a wildcard, + or #"},
		{"topic", "$SYS/a", "mqtt: topic begins with $, which is for the broker"},
		{"topic", "a\nb", "mqtt: topic contains a control character"},
		{"topic", strings.Repeat("x", 1001), "mqtt: topic is too long, the maximum is 1000 bytes"},
		{"username", "", "mqtt: username is missing, password needs it"},
		{"payload", "xml", "mqtt: payload is not json or text"},
		{"retain", "maybe", "mqtt: retain is not yes or no"},
	} {
		s := server{addr: "h"}
		_, err := channels.Validate([]channels.Type{mqtt.New(nil)}, "mqtt", s.settings(tt.name, tt.value), nil)
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWrongPort says what to change if one side speaks TLS and the other does not.
func TestWrongPort(t *testing.T) {
	listen := func(answer func(net.Conn)) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = conn.Close() })
				go answer(conn)
			}
		}()
		return listener.Addr().String()
	}
	down := outage()
	const noTLS, tlsWanted = "the broker does not answer in TLS; if the port is without TLS, write mqtt://", "if the port expects TLS, write mqtts://"
	for name, tt := range map[string]struct {
		scheme string
		answer func(net.Conn)
		want   string
	}{
		"silent": {"mqtt", func(net.Conn) {}, tlsWanted},
		"TLS":    {"mqtt", func(c net.Conn) { _ = tls.Server(c, &tls.Config{}).Handshake(); _ = c.Close() }, tlsWanted},
		"plain":  {"mqtts", func(c net.Conn) { _, _ = c.Write([]byte("\x20\x02\x00\x00\x00")) }, noTLS},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := notify(ctx, map[string]string{"broker_url": tt.scheme + "://" + listen(tt.answer), "topic": "x"}, down)
		cancel()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
