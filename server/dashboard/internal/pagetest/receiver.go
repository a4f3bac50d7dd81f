package pagetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Receiver is a notifier that remembers what it got, and fails while it has an error.
type Receiver struct {
	mu  sync.Mutex
	got []channels.Notification
	to  []channels.Channel
	err error
}

// ErrEcho makes a receiver fail with an error that repeats all settings.
var ErrEcho = errors.New("echo")

// Notify implements [channels.Notifier].
func (r *Receiver) Notify(_ context.Context, c channels.Channel, n channels.Notification) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.err, ErrEcho) {
		return channels.Permanent(fmt.Errorf("refused %v", c.Settings))
	}
	if r.err != nil {
		return r.err
	}
	r.got, r.to = append(r.got, n), append(r.to, c)
	return nil
}

// Fail makes the receiver fail from now on, unless the error is nil.
func (r *Receiver) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Count returns how many alerts it got.
func (r *Receiver) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// Last returns the last alert, and where it went.
func (r *Receiver) Last() (channels.Channel, channels.Notification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to[len(r.to)-1], r.got[len(r.got)-1]
}

// Pager is a kind that only the test's program knows.
func Pager() channels.Type {
	return channels.Type{
		Kind: "pager", Title: "House pager", Category: "Our own", Doc: "Beeps in the house.",
		Settings: []channels.Setting{
			{Name: "server_url", Doc: "Where the house is.", Required: true},
			{Name: "token", Doc: "Opens the house.", Required: true, Secret: true},
			{Name: "pin", Doc: "Four characters.", Secret: true, Check: func(value string) error {
				if len(value) != 4 {
					return fmt.Errorf("is not four characters: %s", value) // a bad check that repeats the secret
				}
				return nil
			}},
			{Name: "note", Doc: "A line.", Lines: true, KeepsSecrets: true},
			{Name: "loud", Doc: "How loud.", Options: []string{"low", "high"}, Default: "low", KeepsSecrets: true},
		},
	}
}

// WithReceiver returns a site whose monitor sends pager, email and webhook alerts to a receiver.
func WithReceiver(t *testing.T, configure ...func(*Config)) (*Site, *Receiver) {
	t.Helper()
	r := &Receiver{}
	own := Pager()
	own.Notifier = r
	types := slices.DeleteFunc(standard.Kinds(), func(t channels.Type) bool { return t.Privileged })
	for i := range types {
		if types[i].Kind == channels.Email || types[i].Kind == channels.Webhook {
			types[i].Notifier = r
		}
	}
	s := New(t, append([]func(*Config){func(c *Config) {
		c.Monitor = monitor.Config{
			Channels: append(types, own, channels.Type{
				Kind: "command", Title: "Command", Privileged: true, Settings: []channels.Setting{{Name: "line", Required: true}}, Notifier: r,
			}),
			DeliveredElsewhere: true,
			Delivery:           monitor.DeliveryConfig{GiveUp: time.Hour},
			Logger:             slog.New(slog.DiscardHandler),
		}
	}}, configure...)...)
	return s, r
}

// WebhooksBy returns the kinds of integrations, with a notifier of webhooks.
func WebhooksBy(notifier channels.Notifier) []channels.Type {
	types := standard.Kinds()
	for i := range types {
		if types[i].Kind == channels.Webhook {
			types[i].Notifier = notifier
		}
	}
	return types
}
