package monitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
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

// MaxDeliveryError is the maximum length of [Delivery].Error in characters.
const MaxDeliveryError = courier.MaxError

// DeliveryState is the state of a delivery. It is the type of package store under the same name.
type DeliveryState = store.DeliveryState

// The states of a delivery. All but DeliveryPending are final.
const (
	DeliveryPending    DeliveryState = store.DeliveryPending    // to be sent, being sent, or to be sent again
	DeliverySent       DeliveryState = store.DeliverySent       // the receiver has accepted it
	DeliveryFailed     DeliveryState = store.DeliveryFailed     // it was given up
	DeliverySuperseded DeliveryState = store.DeliverySuperseded // it was late, and a newer alert replaced it
	DeliverySkipped    DeliveryState = store.DeliverySkipped    // the channel does not want alerts about that status
)

// Delivery is an entry of the history of deliveries.
type Delivery struct {
	// ID identifies the delivery within its database.
	ID int64
	// CheckID and CheckName are those of the check that the alert is about.
	CheckID   uuid.UUID
	CheckName string
	// ChannelID, ChannelName and ChannelKind are those of the channel that it goes to.
	ChannelID   uuid.UUID
	ChannelName string
	ChannelKind channels.Kind
	// Status is the status that the alert reports.
	Status channels.Status
	// Reason says why the status changed. It is "" if the flip was pruned.
	Reason flips.Reason
	// Close says why the delivery closes an incident at its receiver without an alert, such as "the check was paused". It is
	// "" for an alert.
	Close string
	// Reminder is 0 for the alert itself and counts the reminders from 1.
	Reminder int
	// State is the state of the delivery.
	State DeliveryState
	// Attempts counts the attempts to send it, including one in progress.
	Attempts int
	// CreatedAt is when the alert was raised, in UTC.
	CreatedAt time.Time
	// Due is when a pending delivery can be claimed next. It is the zero time in a final state.
	Due time.Time
	// FinishedAt is when the delivery reached its final state, or the zero time.
	FinishedAt time.Time
	// Error is the error of the last attempt, at most [MaxDeliveryError] characters.
	Error string
}

// DeliveryQuery selects deliveries. The zero value of a field other than Project selects all.
type DeliveryQuery struct {
	// Project is the project that the deliveries belong to.
	Project uuid.UUID
	// IDs selects the deliveries with these identifiers.
	IDs []int64
	// Check and Channel select the deliveries of one check and to one channel.
	Check, Channel uuid.UUID
	// State selects the deliveries in one state.
	State DeliveryState
	// Before selects lower identifiers: pass the last one of a page to get the next page.
	Before int64
	// Limit bounds the number of deliveries. Default: [DefaultDeliveries].
	Limit int
}

// DefaultDeliveries is the number of deliveries that a [DeliveryQuery] with the Limit 0 returns.
const DefaultDeliveries = courier.DefaultList

// Deliveries returns deliveries of a project, newest first. The monitor keeps them as long as flips (server/API.md
// section 8), and pending ones until they are final. Errors: *[checks.FieldError] for the state or the limit,
// [checks.ErrNotFound] for the project.
func (m *Monitor) Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error) {
	list, err := m.courier.List(ctx, store.DeliveryQuery(q))
	return deliveriesOf(list), m.admin.Exists(ctx, q.Project, len(list), err)
}

func deliveriesOf(stored []store.Delivery) []Delivery {
	list := make([]Delivery, len(stored))
	for i, d := range stored {
		list[i] = Delivery(d)
	}
	return list
}

// RetryDeliveries makes failed deliveries of a project pending again, with no attempts counted, and returns how many.
// If an identifier is not that of a failed delivery of the project, it changes nothing and returns
// [checks.ErrNotFound].
func (m *Monitor) RetryDeliveries(ctx context.Context, projectID uuid.UUID, ids ...int64) (int, error) {
	retried, err := m.courier.Retry(ctx, projectID, ids)
	return retried, m.admin.Exists(ctx, projectID, retried, err)
}

// RetryFailedDeliveries makes all failed deliveries of a project pending again, with no attempts counted, and returns
// how many. Error: [checks.ErrNotFound].
func (m *Monitor) RetryFailedDeliveries(ctx context.Context, projectID uuid.UUID) (int, error) {
	retried, err := m.courier.RetryFailed(ctx, projectID)
	return retried, m.admin.Exists(ctx, projectID, retried, err)
}

// Deliver sends all alerts that are due and returns how many it sent. [Monitor.Run] does the same; call Deliver only in
// a program that does not call Run. When ctx ends, unfinished sends have 5 seconds left, and other servers can send the
// rest at once.
//
// Without a notifier in Config.Channels, Deliver sends nothing to channels, and without Config.OnAlert nothing to that: another
// server may have them. See [Monitor.Prune].
//
// The error is that of ctx, [ErrUnavailable] or another error of the store.
func (m *Monitor) Deliver(ctx context.Context) (sent int, err error) { return m.courier.Deliver(ctx) }

// KeepIncidents looks at the incidents that [channels.IncidentNotifier]s keep open. It reports again what such a notifier
// wants refreshed, and closes the incidents of checks that are not down, unless an alert is about to do that: quiet hours
// held that alert back, it was given up, or the check was paused, deleted or taken from the channel. It returns how many
// incidents it handled. [Monitor.Run] does the same; call KeepIncidents only in a program that does not call Run, and
// [Monitor.Deliver] after it.
//
// The error is that of ctx, [ErrUnavailable] or another error of the store. Errors of notifiers are logged, and tried
// again.
func (m *Monitor) KeepIncidents(ctx context.Context) (handled int, err error) {
	return m.courier.KeepIncidents(ctx)
}

// Configured returns nil if this monitor can send alerts to channels of a kind. Otherwise the error says why not, for
// users: a *[channels.NotConfiguredError]. Another monitor on the database may be able to send them.
func (m *Monitor) Configured(kind channels.Kind) error { return m.courier.Configured(kind) }

// TestChannel sends a test alert to a channel of a project, or to each member of a group. It neither records nor
// retries the attempt. The error is that of the notifier, with the text that [Delivery].Error would have; a
// *[channels.NotConfiguredError] if the kind has no notifier; or [checks.ErrNotFound]. TestChannel also closes the incident that
// the test has opened at an [channels.IncidentNotifier].
func (m *Monitor) TestChannel(ctx context.Context, projectID, channelID uuid.UUID) error {
	project, err := m.Project(ctx, projectID)
	if err != nil {
		return err
	}
	available, err := m.store.Channels(ctx, projectID)
	if err != nil {
		return err
	}
	return m.courier.Try(ctx, project, available, channelID)
}

// TryChannel does what [Monitor.TestChannel] does for a channel that need not be stored: with the project, kind, name and
// settings of c. For a stored channel that is to change, c has its identifier. Errors: also those of [channels.Validate] and
// [channels.ResolveGroup]; nothing is sent then.
func (m *Monitor) TryChannel(ctx context.Context, c channels.Channel) error {
	project, err := m.Project(ctx, c.ProjectID)
	if err != nil {
		return err
	}
	available, err := m.store.Channels(ctx, c.ProjectID)
	if err != nil {
		return err
	}
	if c.ID == uuid.Nil {
		c.ID = uuid.New()
	}
	if c.Settings, err = m.admin.ValidSettings(available, c, c.Settings); err != nil {
		return err
	}
	available = slices.DeleteFunc(available, func(old channels.Channel) bool { return old.ID == c.ID })
	return m.courier.Try(ctx, project, append(available, c), c.ID)
}

// newCourier returns the courier of a monitor.
func (m *Monitor) newCourier(c *Config) (*courier.Courier, error) {
	config := courier.Config{
		Limits: courier.Limits(c.Delivery), Store: m.store, Types: c.Channels, Elsewhere: c.DeliveredElsewhere, OnAlert: c.OnAlert,
		Link: c.AlertLink, Now: m.Now, Log: m.logger("courier"),
		Changed: func(ctx context.Context, changed []courier.Change) {
			if slices.Contains(changed, courier.Change{}) {
				m.feed.PublishAll()
				return
			}
			notes := make([]feed.Note, len(changed))
			for i, c := range changed {
				// A result may change the mark of the channel, too.
				notes[i] = feed.Note{Project: c.Project, Check: c.Check, Kinds: feed.Deliveries | feed.Channels}
			}
			m.feed.Publish(ctx, notes...)
		},
		Attempted: func(kind channels.Kind, state DeliveryState, took time.Duration) {
			m.vitals.Tried()
			outcomes := map[DeliveryState]Outcome{DeliverySent: OutcomeSent, DeliveryPending: OutcomeRetry, DeliveryFailed: OutcomeFailed}
			m.observer.Attempted(kind, outcomes[state], took)
		},
	}
	if m.bodies.Storage != nil {
		config.Body = m.bodies.Read
	}
	d, err := courier.New(config)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return d, nil
}
