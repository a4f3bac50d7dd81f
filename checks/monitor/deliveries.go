package monitor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// DeliveryConfig configures the delivery of alerts. The zero value of a field selects its default.
type DeliveryConfig struct {
	// Every is how often [Monitor.Start] looks for retries and for alerts that another process has raised. It sends
	// alerts that this process has raised at once. Default: 1 second.
	Every time.Duration
	// Sends bounds the alerts that this process sends at once, and SendsPerChannel those to one channel. A project gets an
	// equal part, and never more than it leaves free. A channel begins with one alert at a time, and with one more after
	// each attempt. Channels whose attempts take 2 seconds or longer together get a quarter. So receivers that hang do not
	// delay the alerts of others. Defaults: 2048 and 16.
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

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery. All but DeliveryPending are final.
const (
	DeliveryPending    = DeliveryState(store.DeliveryPending)    // to be sent, being sent, or to be sent again
	DeliverySent       = DeliveryState(store.DeliverySent)       // the receiver has accepted it
	DeliveryFailed     = DeliveryState(store.DeliveryFailed)     // it was given up
	DeliverySuperseded = DeliveryState(store.DeliverySuperseded) // it was late, and a newer alert replaced it
	DeliverySkipped    = DeliveryState(store.DeliverySkipped)    // the channel does not want alerts about that status
)

// Delivery is an entry of the history of deliveries.
type Delivery struct {
	// ID identifies the delivery within its database.
	ID int64
	// CheckID and CheckName are those of the check that the alert is about: its ID and its [checks.Check.DisplayName].
	CheckID   uuid.UUID
	CheckName string
	// ChannelID, ChannelName and ChannelKind are those of the channel that it goes to.
	ChannelID   uuid.UUID
	ChannelName string
	ChannelKind channels.Kind
	// Recipient is the one of several recipients of the channel that the delivery is for alone, because an earlier attempt to
	// send to it failed, or "". A long one is a hash.
	Recipient string
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
	// Error is the error of the last attempt, at most 500 characters.
	Error string
	// InPart says that some of the recipients have the alert already, or deliveries of their own.
	InPart bool
}

// DeliveryQuery selects deliveries. The zero value of a field selects all.
type DeliveryQuery struct {
	// IDs selects the deliveries with these identifiers.
	IDs []int64
	// Check and Channel select the deliveries of one check and to one channel.
	Check, Channel uuid.UUID
	// State selects the deliveries in one state.
	State DeliveryState
	// Before selects lower identifiers.
	Before int64
	// Limit bounds the number of deliveries.
	Limit int
}

// deliveryPage is the number of deliveries that a query reads.
const deliveryPage = 100

// Deliveries returns the deliveries of the project that the query selects, newest first. The monitor keeps them as long as
// flips, for the current month and the two before it, and pending ones until they are final. A query reads 100 deliveries,
// so that an iteration that ends early is cheap. After an error the iteration ends. Error: *[checks.FieldError] for the
// state or the limit.
func (p *Project) Deliveries(ctx context.Context, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		page := store.DeliveryQuery{Project: p.id, IDs: q.IDs, Check: q.Check, Channel: q.Channel, State: store.DeliveryState(q.State), Before: q.Before}
		for first, left := true, q.Limit; first || q.Limit == 0 || left > 0; first = false {
			page.Limit = deliveryPage
			if q.Limit != 0 {
				page.Limit = min(left, deliveryPage)
			}
			list, err := p.courier.List(ctx, page)
			if first {
				err = p.admin.Exists(ctx, p.id, len(list), err)
			}
			if err != nil {
				yield(Delivery{}, p.about(err))
				return
			}
			for _, d := range list {
				if !yield(deliveryOf(d), nil) {
					return
				}
			}
			if len(list) < page.Limit {
				return
			}
			left -= len(list)
			page.Before = list[len(list)-1].ID
		}
	}
}

func deliveryOf(d store.Delivery) Delivery {
	return Delivery{
		ID: d.ID, CheckID: d.CheckID, CheckName: d.CheckName, ChannelID: d.ChannelID, ChannelName: d.ChannelName, ChannelKind: d.ChannelKind,
		Recipient: d.Recipient, Status: d.Status, Reason: d.Reason, Close: d.Close, Reminder: d.Reminder, State: DeliveryState(d.State),
		Attempts: d.Attempts, CreatedAt: d.CreatedAt, Due: d.Due, FinishedAt: d.FinishedAt, Error: d.Error,
	}
}

func deliveriesOf(stored []store.Delivery) []Delivery {
	list := make([]Delivery, len(stored))
	for i, d := range stored {
		list[i] = deliveryOf(d)
	}
	return list
}

// RetryDeliveries makes failed deliveries of the project pending again, with no attempts counted, and returns how many. If
// an identifier is not that of a failed delivery of the project, it changes nothing and returns [checks.ErrNotFound].
func (p *Project) RetryDeliveries(ctx context.Context, ids []int64) (retried int, err error) {
	retried, err = p.courier.Retry(ctx, p.id, ids)
	return retried, p.about(p.admin.Exists(ctx, p.id, retried, err))
}

// RetryFailed makes all failed deliveries of the project pending again, with no attempts counted, and returns how many.
func (p *Project) RetryFailed(ctx context.Context) (retried int, err error) {
	retried, err = p.courier.RetryFailed(ctx, p.id)
	return retried, p.about(p.admin.Exists(ctx, p.id, retried, err))
}

// newCourier returns the courier of a monitor.
func (s *service) newCourier() (*courier.Courier, error) {
	c := &s.config
	config := courier.Config{
		Limits: courier.Limits(c.Delivery), Store: s.store, Types: c.Channels, Elsewhere: c.DeliveredElsewhere, OnAlert: c.OnAlert,
		Link: c.AlertLink, Now: s.now, Log: s.logger("courier"),
		Changed: func(ctx context.Context, changed []courier.Change) {
			if slices.Contains(changed, courier.Change{}) {
				s.feed.PublishAll()
				return
			}
			notes := make([]feed.Note, len(changed))
			for i, c := range changed {
				// A result may change the mark of the channel, too.
				notes[i] = feed.Note{Project: c.Project, Check: c.Check, Kinds: checks.ChangedDeliveries | checks.ChangedChannels}
			}
			s.feed.Publish(ctx, notes...)
		},
		Attempted: func(kind channels.Kind, state store.DeliveryState, took time.Duration) {
			s.pulse.attempt()
			c.Observer.Attempted(kind, DeliveryState(state), took)
		},
	}
	if c.Bodies != nil {
		config.Body = s.bodies.read
	}
	d, err := courier.New(config)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return d, nil
}
