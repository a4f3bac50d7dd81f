package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// DeliveryConfig configures the delivery of alerts. The zero value of a field selects its default.
type DeliveryConfig struct {
	// Every is how often [Monitor.Run] looks for retries and for alerts that another process has raised. It sends
	// alerts that this process has raised at once. Default: 1 second.
	Every time.Duration
	// Sends bounds the number of concurrent sends, and SendsPerChannel those to one channel. The monitor claims up to
	// four times as many alerts. Defaults: 512 and 16.
	Sends, SendsPerChannel int
	// Timeout bounds one attempt. Default: 30 seconds.
	Timeout time.Duration
	// RetryFirst is the pause after the first failed attempt. The pause doubles with each further failure up to
	// RetryMost. Jitter shortens each by up to a half. Defaults: 1 second and 10 minutes.
	RetryFirst, RetryMost time.Duration
	// GiveUp is the age at which the monitor gives up an alert after at least 5 attempts. It also bounds how long an
	// alert waits if no server has a notifier, or OnAlert for an alert to that. Default: 24 hours.
	GiveUp time.Duration
	// Lease is how long a claimed alert belongs to a process, which renews the lease while it sends. If the process
	// dies, another can send the alert after this time. Default: 15 seconds.
	Lease time.Duration
}

const (
	// giveUpAttempts is the minimum number of attempts before an alert is given up.
	giveUpAttempts = 5
	// staleAfter is the age from which newer alerts may supersede one whose attempts have failed.
	staleAfter = 10 * time.Minute
	// maxRetryAfter bounds the pause that a receiver can ask for.
	maxRetryAfter = time.Hour
	// When the monitor stops, it cancels unfinished sends after stopTime, and then waits returnTime for their
	// notifiers.
	stopTime, returnTime = 5 * time.Second, time.Second
	// deliverWait is the first pause after the database has failed. It doubles up to deliverWaitMost.
	deliverWait, deliverWaitMost = 250 * time.Millisecond, 10 * time.Second
)

// MaxDeliveryError is the maximum length of [Delivery].Error in characters.
const MaxDeliveryError = 500

// delivery is the part of a monitor that delivers alerts.
type delivery struct {
	DeliveryConfig
	notifiers map[channels.Kind]channels.Notifier // includes OnAlert
	toOthers  bool                                // there are notifiers besides OnAlert
	link      func(c checks.Check, project string) string
	raised    chan struct{} // signals that this process has raised an alert

	mu     sync.Mutex
	paused map[uuid.UUID]time.Time // the end of the pause that a channel asked for
	asked  time.Time               // when the monitor last asked for alerts to OnAlert
}

func newDelivery(c *Config) (*delivery, error) {
	d := c.Delivery
	for _, n := range []int64{int64(d.Every), int64(d.Sends), int64(d.SendsPerChannel), int64(d.Timeout),
		int64(d.RetryFirst), int64(d.RetryMost), int64(d.GiveUp), int64(d.Lease)} {
		if n < 0 {
			return nil, errors.New("monitor: a limit or an interval of DeliveryConfig is negative")
		}
	}
	lists := func(kind channels.Kind) bool {
		return slices.ContainsFunc(c.Kinds, func(k channels.KindInfo) bool { return k.Kind == kind })
	}
	if lists(channels.Function) {
		return nil, fmt.Errorf("monitor: Config.Kinds lists the kind %q, which stands for Config.OnAlert", channels.Function)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Notifiers)) {
		if c.Notifiers[kind] == nil {
			return nil, fmt.Errorf("monitor: the notifier of the kind %q is nil", kind)
		}
		if !lists(kind) {
			return nil, fmt.Errorf("monitor: Config.Notifiers has the kind %q, which Config.Kinds does not list", kind)
		}
	}
	notifiers := make(map[channels.Kind]channels.Notifier, len(c.Notifiers)+1)
	maps.Copy(notifiers, c.Notifiers)
	if c.OnAlert != nil {
		notifiers[channels.Function] = channels.NotifierFunc(
			func(ctx context.Context, _ channels.Channel, n channels.Notification) error { return c.OnAlert(ctx, n) })
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
		notifiers: notifiers,
		toOthers:  len(c.Notifiers) > 0,
		link:      c.AlertLink,
		raised:    make(chan struct{}, 1),
		paused:    make(map[uuid.UUID]time.Time),
	}, nil
}

// serves reports whether the monitor delivers to a channel. It leaves alerts to the others to another server.
func (d *delivery) serves(channel uuid.UUID) bool {
	if channel == store.OnAlert.ID {
		return d.notifiers[channels.Function] != nil
	}
	return d.toOthers
}

// ask returns until when the store must queue alerts for OnAlert, and whether it is time to say so: at the first
// transaction, and long before alerts would be missed.
func (d *delivery) ask(now time.Time) (until time.Time, due bool) {
	if !d.serves(store.OnAlert.ID) {
		return time.Time{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Add(d.GiveUp), d.asked.IsZero() || now.Before(d.asked) || now.Sub(d.asked) >= d.GiveUp/2
}

// wake tells the courier to look for deliveries.
func (d *delivery) wake() {
	select {
	case d.raised <- struct{}{}:
	default: // a signal is pending already
	}
}

// pause keeps the courier from sending to a channel until an instant.
func (d *delivery) pause(channel uuid.UUID, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until.After(d.paused[channel]) {
		d.paused[channel] = until
	}
}

// pausedUntil reports whether a channel is paused, and until when.
func (d *delivery) pausedUntil(channel uuid.UUID, now time.Time) (until time.Time, paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until = d.paused[channel]
	return until, now.Before(until)
}

// addPaused counts paused channels as busy with n deliveries.
func (d *delivery) addPaused(busy map[uuid.UUID]int, n int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for channel, until := range d.paused {
		if now.Before(until) {
			busy[channel] = n
		} else {
			delete(d.paused, channel)
		}
	}
}

// Deliver sends all alerts that are due and returns how many it sent. [Monitor.Run] does the same; call Deliver only in
// a program that does not call Run. When ctx ends, unfinished sends have 5 seconds left, and other servers can send the
// rest at once.
//
// Without Config.Notifiers, Deliver sends nothing to channels, and without Config.OnAlert nothing to that: another
// server may have them. See [Monitor.Prune].
//
// The error is that of ctx, [ErrUnavailable] or another error of the store.
func (m *Monitor) Deliver(ctx context.Context) (sent int, err error) {
	if !m.delivers() {
		return 0, nil
	}
	c := newCourier(m)
	err = c.run(ctx, true)
	return c.sent, err
}

// delivers reports whether the monitor has notifiers or OnAlert.
func (m *Monitor) delivers() bool { return len(m.delivery.notifiers) > 0 }

// deliver sends alerts until ctx ends.
func (m *Monitor) deliver(ctx context.Context) { _ = newCourier(m).run(ctx, false) }

// abandonChannels bounds the channels of one transaction of abandon, and abandonLines the lines of each.
const abandonChannels, abandonLines = 20, 10

// abandon fails the deliveries that this monitor leaves to others and that have been due for GiveUp without any server
// claiming them.
func (m *Monitor) abandon(ctx context.Context) error {
	if m.delivery.toOthers && m.delivery.serves(store.OnAlert.ID) {
		return nil
	}
	for {
		if failed, err := m.abandonSome(ctx); err != nil || failed == 0 {
			return err
		}
	}
}

func (m *Monitor) abandonSome(ctx context.Context) (failed int, err error) {
	now := m.Now()
	late := now.Add(-m.delivery.GiveUp)
	due, err := m.store.DueChannels(ctx, late, uuid.Nil, abandonChannels) // store.OnAlert has the lowest ID
	due = slices.DeleteFunc(due, m.delivery.serves)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	// The claim only finds the lines: its lease has already ended.
	claim := store.DeliveryClaim{Now: late, Until: late}
	for _, channel := range due {
		claim.Room = append(claim.Room, store.ChannelRoom{Channel: channel, N: abandonLines})
	}
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		claimed, err := tx.ClaimDeliveries(ctx, claim)
		if err != nil {
			return err
		}
		lines, err := tx.LockLines(ctx, deliveryIDs(claimed))
		if err != nil {
			return err
		}
		changes := store.DeliveryChanges{Now: now, Marks: make(map[uuid.UUID]store.ChannelMark)}
		for _, line := range lines {
			line[0].Attempts-- // the claim was no attempt
			for _, w := range line {
				if w.Due.After(late) {
					continue
				}
				w.State, w.Error = DeliveryFailed, fmt.Sprintf("not sent within %v: no server has a notifier", m.delivery.GiveUp)
				if w.ChannelID == store.OnAlert.ID {
					w.Error = fmt.Sprintf("not sent within %v: no server has OnAlert", m.delivery.GiveUp)
				}
				changes.Deliveries = append(changes.Deliveries, w.QueuedDelivery)
				changes.Marks[w.ChannelID] = store.ChannelMark{FailedAt: now, Error: w.Error}
			}
		}
		failed = len(changes.Deliveries)
		return tx.SaveDeliveries(ctx, changes)
	})
	if err != nil {
		return 0, err
	}
	if failed > 0 {
		m.feed.PublishAll() // claims do not say which checks they are about, and this is rare
	}
	return failed, nil
}
