// Package courier sends alerts. It has one way, which an alert walks in three steps:
//
//   - claim.go: one transaction records the results of earlier attempts and claims deliveries that are due.
//   - send.go: a goroutine for each claimed delivery makes one attempt to send it.
//   - record.go: the end of the attempt becomes a result, which the next transaction records.
//
// The rules are pure functions in rules.go. The courier meets the rest of the service only at the database: whatever
// raises an alert adds deliveries to the outbox, and may call [Courier.Wake].
package courier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// Limits bounds the delivery. Package monitor documents the fields, which its DeliveryConfig has in the same order.
type Limits struct {
	Every                  time.Duration
	Sends, SendsPerChannel int
	Timeout                time.Duration
	RetryFirst, RetryMost  time.Duration
	GiveUp                 time.Duration
	Lease                  time.Duration
}

// Config configures a [Courier]. Only OnAlert, Notifiers, Link and Body may be nil.
type Config struct {
	// Limits has a default for each field that is 0.
	Limits
	Store store.Store
	// Kinds lists the kinds of channels. Notifiers send to those of the kinds that this process can send to.
	Kinds     []channels.KindInfo
	Notifiers map[channels.Kind]channels.Notifier
	// OnAlert gets the alerts to [store.OnAlert].
	OnAlert func(ctx context.Context, n channels.Notification) error
	// Link returns the address of a page about a check.
	Link func(c checks.Check, project string) string
	// Body reads the body of a ping from object storage.
	Body func(ctx context.Context, p pings.Ping) ([]byte, error)
	Now  func() time.Time
	Log  *slog.Logger
	// Changed is told which deliveries have changed, after the commit.
	Changed func(ctx context.Context, changed []Change)
	// Attempted is told the end of each attempt: sent, failed, or pending if it will be retried.
	Attempted func(kind channels.Kind, state store.DeliveryState, took time.Duration)
}

// Change is a change of deliveries about a check. The zero value stands for any check.
type Change struct{ Project, Check uuid.UUID }

// Courier sends the alerts of a database. It is safe for concurrent use.
type Courier struct {
	Config
	notifiers  map[channels.Kind]channels.Notifier // includes OnAlert
	toChannels bool                                // there are notifiers besides OnAlert
	raised     chan struct{}                       // signals that this process has raised an alert

	mu     sync.Mutex
	paused map[uuid.UUID]time.Time // the end of the pause that a channel asked for
}

// New returns a courier. It starts nothing.
func New(config Config) (*Courier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Courier{
		Config: config, notifiers: make(map[channels.Kind]channels.Notifier, len(config.Notifiers)+1),
		toChannels: len(config.Notifiers) > 0, raised: make(chan struct{}, 1), paused: make(map[uuid.UUID]time.Time),
	}
	c.Limits.setDefaults()
	maps.Copy(c.notifiers, config.Notifiers)
	if config.OnAlert != nil {
		c.notifiers[channels.Function] = channels.NotifierFunc(
			func(ctx context.Context, _ channels.Channel, n channels.Notification) error {
				return config.OnAlert(ctx, n)
			})
	}
	return c, nil
}

func (c *Config) validate() error {
	for _, n := range []int64{int64(c.Every), int64(c.Sends), int64(c.SendsPerChannel), int64(c.Timeout),
		int64(c.RetryFirst), int64(c.RetryMost), int64(c.GiveUp), int64(c.Lease)} {
		if n < 0 {
			return errors.New("a limit or an interval of DeliveryConfig is negative")
		}
	}
	lists := func(kind channels.Kind) bool {
		return slices.ContainsFunc(c.Kinds, func(k channels.KindInfo) bool { return k.Kind == kind })
	}
	if lists(channels.Function) {
		return fmt.Errorf("Config.Kinds lists the kind %q, which stands for Config.OnAlert", channels.Function)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Notifiers)) {
		if c.Notifiers[kind] == nil {
			return fmt.Errorf("the notifier of the kind %q is nil", kind)
		}
		if !lists(kind) {
			return fmt.Errorf("Config.Notifiers has the kind %q, which Config.Kinds does not list", kind)
		}
	}
	return nil
}

func (l *Limits) setDefaults() {
	l.Every, l.Timeout, l.Lease = cmp.Or(l.Every, time.Second), cmp.Or(l.Timeout, 30*time.Second), cmp.Or(l.Lease, 15*time.Second)
	l.Sends, l.SendsPerChannel = cmp.Or(l.Sends, 512), cmp.Or(l.SendsPerChannel, 16)
	l.RetryFirst, l.RetryMost = cmp.Or(l.RetryFirst, time.Second), cmp.Or(l.RetryMost, 10*time.Minute)
	l.GiveUp = cmp.Or(l.GiveUp, 24*time.Hour)
}

// Run sends alerts and keeps incidents until ctx ends. Unfinished sends then have 5 seconds left.
func (c *Courier) Run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	if c.toChannels {
		work.Go(func() {
			background.Insist(ctx, c.Log, incidentEvery, "cannot look at open incidents", c.KeepIncidents)
		})
	}
	if c.Delivers() {
		_ = newLoop(c).run(ctx, false)
	}
}

// Deliver sends the alerts that are due and returns how many it sent.
func (c *Courier) Deliver(ctx context.Context) (sent int, err error) {
	if !c.Delivers() {
		return 0, nil
	}
	l := newLoop(c)
	err = l.run(ctx, true)
	return l.sent, err
}

// Delivers reports whether there are notifiers or OnAlert.
func (c *Courier) Delivers() bool { return len(c.notifiers) > 0 }

// Serves reports whether the courier sends to a channel. It leaves alerts to other channels to another server.
func (c *Courier) Serves(channel uuid.UUID) bool {
	if channel == store.OnAlert.ID {
		return c.notifiers[channels.Function] != nil
	}
	return c.toChannels
}

// Configured returns nil if the courier can send to channels of a kind.
func (c *Courier) Configured(kind channels.Kind) error {
	notifier := c.notifiers[kind]
	switch n, asks := notifier.(interface{ Configured() error }); {
	case kind == channels.Group: // its members get the alerts
		return nil
	case notifier == nil:
		return &NotConfiguredError{kind}
	case asks:
		return n.Configured()
	}
	return nil
}

// NotConfiguredError means that there is no notifier for a kind of channel.
type NotConfiguredError struct {
	Kind channels.Kind
}

func (e *NotConfiguredError) Error() string {
	return fmt.Sprintf("integrations of the kind %q are not configured on this server", e.Kind)
}

// Wake makes the loop look for deliveries at once.
func (c *Courier) Wake() {
	select {
	case c.raised <- struct{}{}:
	default: // a signal is pending already
	}
}

// pause keeps all loops from sending to a channel until an instant.
func (c *Courier) pause(channel uuid.UUID, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.paused[channel]) {
		c.paused[channel] = until
	}
}

// pausedUntil returns the end of the last pause of a channel.
func (c *Courier) pausedUntil(channel uuid.UUID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused[channel]
}

// addPaused counts paused channels as busy with n deliveries.
func (c *Courier) addPaused(busy map[uuid.UUID]int, n int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for channel, until := range c.paused {
		if now.Before(until) {
			busy[channel] = n
		} else {
			delete(c.paused, channel)
		}
	}
}
