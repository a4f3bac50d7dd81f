// Package courier sends alerts. It has one way, which an alert walks in three steps:
//
//   - claim.go: one transaction records the results of earlier attempts and claims deliveries that are due.
//   - send.go: a goroutine for each claimed delivery makes one attempt to send it.
//   - record.go: the end of the attempt becomes a result, which the next transaction records.
//
// The rules are pure functions in rules.go: what an attempt means, whose turn it is, what a newer alert supersedes. The courier meets
// the rest of the service only at the database: whatever raises an alert adds deliveries to the outbox, and may call [Courier.Wake].
//
// # Lines
//
// The pending deliveries about one check to one channel form a line, of which only the first can be claimed; a reminder that waits is
// behind all others. due_at of a claimed row is the end of its lease, and attempts tells one claim from the next. A result is written
// only under its claim, which one UPDATE checks, so a process that has lost its lease changes nothing, except that what it sent stays
// sent. Whatever adds a delivery locks its channel, so that no delivery outlives it.
//
// # The gate
//
// ask decides about governed alerts in one transaction, under a lock on the policies of their projects (LockPolicies). A transaction
// that changes a policy, a check or an integration ends with ReleaseHeld (package feed), which takes the same lock, so no release is
// missed, and adds the alerts that an integration has missed that gets those of a check that is down only now.
//
// A delivery that waits goes back as if nobody had claimed it, with due_at = held_until and the reason in held; it is kept back while the
// two are equal. It counts neither as late nor as waiting for its channel, and giving up counts from held_until. One that the channel
// does not want (notify) ends as skipped. A reminder that the gate drops leaves no row ([store.DeliveryResult], Forget). Steps count by
// the clock of the outage ([gate.Clock], the column clock of its flip), which stands in every wait, and reminders from when their line
// was notified last. What checks follow is read outside of the transaction (parents.go), because a parent's state changes at any time:
// the gate is asked again every 30 seconds.
//
// # What a recipient knows
//
// It is the last delivery in its line that it may have heard: it was sent, or it was tried, which attempts says as long as a row is not
// claimed. A recovery goes to those who know of an outage, also if they are not assigned any more, and ends as skipped for all others
// (Unheard). If it stands behind an alert that the gate keeps back, the alert ends as skipped (skipLine), also if it was tried: who has
// heard it hears the end. What waits is due at once when its check comes up or is paused.
//
// # Storms
//
// A storm is the last policy, and the only one that needs other alerts: storm.go asks [gate.Burst], which knows the alerts to a channel
// of the last window. That is in memory, because it only says how many messages there are: what waits stands in the outbox with its
// time. Before alerts leave together, their deliveries get the same batch: after a crash or a failed attempt they are claimed together,
// and the same message is sent with the same ID. A kind combines alerts if its type says so ([channels.Type], Combines).
//
// # Several recipients
//
// A notifier with several recipients marks an error with those that have the alert ([channels.Each]); the column done keeps them for the
// next attempt, and beside them those that the delivery was handed over to. Where anyone has the alert, each recipient for which it
// failed for now gets a separate delivery (divide, the columns recipient and origin), in a separate line. The delivery itself is then
// over, so later alerts go to the others at once; those recipients are Apart, and get further deliveries behind their first. A delivery
// whose recipients are all apart is superseded: nobody has heard it ([channels.ErrNobody]).
//
// # Incidents
//
// A [channels.IncidentNotifier] says what it has left open at its receiver. rollcall_incidents keeps that for each check and channel,
// written in the transaction that records the attempt. incidents.go looks at each open one every 30 seconds: it refreshes those of
// notifiers that ask for it, and closes those of checks that are not down, by a delivery with the column close, in the line, so that no
// alert overtakes it. A deleted check has no lines; its incidents outlive it and are closed directly.
//
// # The end
//
// When a monitor stops, pings are recorded, the watcher sweeps, incidents close, and only then the courier ends. It claims what was due
// at that time and nothing later, until [background.End] Due ends, and records until its Save ends.
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
func (c *Courier) addPaused(states map[uuid.UUID]channelState, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for channel, until := range c.paused {
		if now.Before(until) {
			states[channel] = channelState{paused: true}
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
