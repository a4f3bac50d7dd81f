package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// DeliveryConfig changes how alerts are delivered. The zero value of a field stands for its default.
type DeliveryConfig struct {
	// Every is how often [Monitor.Run] looks for alerts that another process has raised or that are to be sent again.
	// Those of its own process it sends at once. Default: 1 second.
	Every time.Duration
	// Sends is how many alerts are sent at the same time at most, and SendsPerChannel how many of those to one
	// integration. Up to four times as many are claimed, so that there is always one to send. Defaults: 512 and 16.
	Sends, SendsPerChannel int
	// Timeout is how long one attempt may take. Default: 30 seconds.
	Timeout time.Duration
	// RetryFirst is how long after its first failure an alert is sent again. The pause doubles with each further
	// failure until it is RetryMost; each is cut by up to a half at random. Defaults: 1 second and 10 minutes.
	RetryFirst, RetryMost time.Duration
	// GiveUp is how long after it was raised an alert is given up that could not be sent in at least 5 attempts.
	// Default: 24 hours.
	GiveUp time.Duration
	// Lease is for how long an alert is left to the process that is sending it, which renews the lease all the time.
	// It is how long an alert waits when that process dies. Default: 15 seconds.
	Lease time.Duration
}

const (
	// giveUpAttempts is how often an alert is tried at least before it is given up.
	giveUpAttempts = 5
	// staleAfter is how old an alert that has failed must be for newer ones to stand for it.
	staleAfter = 10 * time.Minute
	// maxRetryAfter bounds the pause that a receiver can ask for.
	maxRetryAfter = time.Hour
	// stopTime is how long alerts that are being sent may take when the monitor is told to stop, and returnTime how
	// long after that their notifiers may take to return.
	stopTime, returnTime = 5 * time.Second, time.Second
	// After a failure of the database waiting doubles from the first of these to the second.
	deliverWait, deliverWaitMost = 250 * time.Millisecond, 10 * time.Second
)

// MaxDeliveryError is the length of [Delivery].Error in characters.
const MaxDeliveryError = 500

// delivery is what a monitor has for the delivery of alerts.
type delivery struct {
	DeliveryConfig
	notifiers map[channels.Kind]channels.Notifier
	baseURL   string
	raised    chan struct{} // has an item when this process has raised an alert

	mu     sync.Mutex
	paused map[uuid.UUID]time.Time // until when integrations want to be left alone
}

func newDelivery(c *Config) (*delivery, error) {
	d := c.Delivery
	for _, n := range []int64{int64(d.Every), int64(d.Sends), int64(d.SendsPerChannel), int64(d.Timeout),
		int64(d.RetryFirst), int64(d.RetryMost), int64(d.GiveUp), int64(d.Lease)} {
		if n < 0 {
			return nil, errors.New("monitor: a limit or interval of the delivery's configuration is negative")
		}
	}
	for kind, n := range c.Notifiers {
		if n == nil {
			return nil, fmt.Errorf("monitor: the notifier of the kind %q is nil", kind)
		}
	}
	return &delivery{
		DeliveryConfig: DeliveryConfig{
			Every:           orDefault(d.Every, time.Second),
			Sends:           orDefault(d.Sends, 512),
			SendsPerChannel: orDefault(d.SendsPerChannel, 16),
			Timeout:         orDefault(d.Timeout, 30*time.Second),
			RetryFirst:      orDefault(d.RetryFirst, time.Second),
			RetryMost:       orDefault(d.RetryMost, 10*time.Minute),
			GiveUp:          orDefault(d.GiveUp, 24*time.Hour),
			Lease:           orDefault(d.Lease, 15*time.Second),
		},
		notifiers: c.Notifiers,
		baseURL:   c.APIBaseURL,
		raised:    make(chan struct{}, 1),
		paused:    make(map[uuid.UUID]time.Time),
	}, nil
}

// wake tells the courier that there is something to send.
func (d *delivery) wake() {
	select {
	case d.raised <- struct{}{}:
	default: // it has been told already
	}
}

// pause leaves an integration alone until an instant.
func (d *delivery) pause(channel uuid.UUID, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until.After(d.paused[channel]) {
		d.paused[channel] = until
	}
}

// pausedUntil reports whether an integration wants to be left alone, and until when.
func (d *delivery) pausedUntil(channel uuid.UUID, now time.Time) (until time.Time, paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until = d.paused[channel]
	return until, now.Before(until)
}

// addPaused makes the integrations that want to be left alone count as busy.
func (d *delivery) addPaused(busy map[uuid.UUID]int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for channel, until := range d.paused {
		if now.Before(until) {
			busy[channel] = ahead * d.SendsPerChannel
		} else {
			delete(d.paused, channel)
		}
	}
}

// Deliver sends the alerts that are due until none is left that can be sent now, and returns how many were sent.
// [Monitor.Run] does this all the time; call it yourself only where Run does not run. When ctx ends, alerts that are
// being sent have 5 seconds left, and what was not sent is left to others at once. Without any of [Config].Notifiers
// nothing is sent. The error is that of ctx, or [ErrUnavailable] and others of the store.
func (m *Monitor) Deliver(ctx context.Context) (sent int, err error) {
	if len(m.delivery.notifiers) == 0 {
		return 0, nil
	}
	c := newCourier(m)
	err = c.run(ctx, true)
	return c.sent, err
}

// deliver sends alerts until ctx ends.
func (m *Monitor) deliver(ctx context.Context) { _ = newCourier(m).run(ctx, false) }

// signalling is a store that tells when alerts were committed through it.
type signalling struct {
	Store
	delivery *delivery
}

// Update runs fn in a transaction.
func (s signalling) Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
	var tx *signallingTx
	err := s.Store.Update(ctx, func(ctx context.Context, inner Tx) error {
		tx = &signallingTx{Tx: inner}
		return fn(ctx, tx)
	})
	if err == nil && tx.raised {
		s.delivery.wake()
	}
	return err
}

type signallingTx struct {
	Tx
	raised bool
}

// SaveStates notes whether there are alerts among what is saved.
func (t *signallingTx) SaveStates(ctx context.Context, locked []*Locked) error {
	for _, l := range locked {
		t.raised = t.raised || len(l.Alerts) > 0
	}
	return t.Tx.SaveStates(ctx, locked)
}
