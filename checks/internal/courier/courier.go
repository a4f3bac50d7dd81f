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
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Courier sends the alerts of a database. It is safe for concurrent use.
type Courier struct {
	Config
	notifiers  map[channels.Kind]channels.Notifier // includes OnAlert
	combines   map[channels.Kind]bool              // kinds that send one message about several checks
	toChannels bool                                // there are notifiers besides OnAlert
	raised     chan struct{}                       // signals that this process has raised an alert
	oldest     atomic.Pointer[time.Time]           // see OldestDue

	mu       sync.Mutex
	paused   map[uuid.UUID]time.Time // the end of the pause that a channel asked for
	left     map[uuid.UUID]bool      // channels that are left to another process, as far as is known
	bursts   map[traffic]*gate.Burst // the last alerts to channels whose kind combines them
	troubles map[uuid.UUID]*trouble  // by channel
	troubled atomic.Bool             // there are troubles
	// unreported and bodiless pace the log lines about open incidents, and about alerts without the body of a ping.
	unreported, bodiless pacer
}

// New returns a courier. It starts nothing.
func New(config Config) (*Courier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Courier{
		Config: config, notifiers: make(map[channels.Kind]channels.Notifier, len(config.Types)+1), combines: make(map[channels.Kind]bool),
		raised: make(chan struct{}, 1), paused: make(map[uuid.UUID]time.Time), left: make(map[uuid.UUID]bool),
		bursts: make(map[traffic]*gate.Burst), troubles: make(map[uuid.UUID]*trouble),
	}
	c.Limits.setDefaults()
	for _, t := range config.Types {
		delete(c.notifiers, t.Kind) // the last type of a kind counts
		if t.Notifier != nil {
			c.notifiers[t.Kind] = t.Notifier
		}
		_, keeps := t.Notifier.(channels.IncidentNotifier)
		c.combines[t.Kind] = t.Combines && !keeps
	}
	c.toChannels = len(c.notifiers) > 0
	if config.OnAlert != nil {
		c.notifiers[channels.Function] = channels.NotifierFunc(
			func(ctx context.Context, _ channels.Channel, n channels.Notification) error {
				return config.OnAlert(ctx, n)
			})
	}
	return c, nil
}

// Delivers reports whether there are notifiers or OnAlert.
func (c *Courier) Delivers() bool { return len(c.notifiers) > 0 }

// Serves reports whether the courier sends to a channel. It leaves alerts to other channels to another server.
func (c *Courier) Serves(channel uuid.UUID) bool {
	if channel == store.OnAlert.ID {
		return c.notifiers[channels.Function] != nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.toChannels && !c.left[channel]
}

// leave leaves the alerts to a channel to another process from now on. The kind of a channel never changes.
func (c *Courier) leave(channel uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[channel] = true
}

// Configured returns nil if the courier can send to channels of a kind.
func (c *Courier) Configured(kind channels.Kind) error {
	if kind == channels.Group || c.notifiers[kind] != nil { // the members of a group get its alerts
		return nil
	}
	e := &channels.NotConfiguredError{Kind: kind}
	for _, t := range c.Types {
		if t.Kind == kind {
			e.Missing = t.Missing
		}
	}
	return e
}

// passes reports whether to log a line.
func (c *Courier) passes(p *pacer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.pass(c.Now())
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

// addPaused marks the paused channels.
func (c *Courier) addPaused(lanes map[uuid.UUID]laneState, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for channel, until := range c.paused {
		if now.Before(until) {
			lanes[channel] = laneState{paused: true}
		} else {
			delete(c.paused, channel)
		}
	}
}

// OldestDue returns when the oldest alert became due that waits although its channel is not slow, or the zero time. It is as
// of the last claim.
func (c *Courier) OldestDue() time.Time {
	if at := c.oldest.Load(); at != nil {
		return *at
	}
	return time.Time{}
}
