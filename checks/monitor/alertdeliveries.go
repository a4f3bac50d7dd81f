package monitor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/courier"
	"github.com/rollcall-dev/rollcall/checks/internal/feed"
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

// deliveryPage is the number of deliveries that a query reads.
const deliveryPage = 100

// Deliveries returns the deliveries of the project that the query selects, newest first. The monitor keeps them as long as
// flips, for the current month and the two before it, and pending ones until they are final. A query reads 100 deliveries,
// so that an iteration that ends early is cheap. After an error the iteration ends. Error: *[checks.FieldError] for the
// state or the limit.
func (p *Project) Deliveries(ctx context.Context, q checks.DeliveryQuery) iter.Seq2[checks.Delivery, error] {
	return func(yield func(checks.Delivery, error) bool) {
		page, bounded := q, q.Limit != 0
		for first, left := true, q.Limit; first || !bounded || left > 0; first = false {
			page.Limit = deliveryPage
			if bounded {
				page.Limit = min(left, deliveryPage)
			}
			list, err := p.courier.List(ctx, p.id, page)
			if first {
				err = p.exists(ctx, len(list), err)
			}
			if err != nil {
				yield(checks.Delivery{}, p.about(err))
				return
			}
			for _, d := range list {
				if !yield(d, nil) {
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

// RetryDeliveries makes failed deliveries of the project pending again, each with one attempt counted if it had any, and returns how
// many. An alert may then arrive after later ones, and says when its outage ended; if a pause has ended it and a later one has been
// told, the delivery is skipped. If an identifier is not that of a failed delivery of the project, it changes nothing and returns
// [checks.ErrNotFound].
func (p *Project) RetryDeliveries(ctx context.Context, ids []int64) (retried int, err error) {
	retried, err = p.courier.Retry(ctx, p.id, ids)
	return retried, p.about(p.exists(ctx, retried, err))
}

// RetryFailed makes all failed deliveries of the project pending again, as RetryDeliveries does, and returns how many.
func (p *Project) RetryFailed(ctx context.Context) (retried int, err error) {
	retried, err = p.courier.RetryFailed(ctx, p.id)
	return retried, p.about(p.exists(ctx, retried, err))
}

// newCourier returns the courier of a monitor.
func (s *service) newCourier() (*courier.Courier, error) {
	c := &s.config
	config := courier.Config{
		Limits: courier.Limits(c.Delivery), Store: s.store, Types: c.Channels, Elsewhere: c.DeliveredElsewhere, OnAlert: c.OnAlert,
		Link: c.AlertLink, ListLink: c.ListLink, AckLink: c.AckLink, AckAllLink: c.AckAllLink, Now: s.now, Log: s.logger("courier"),
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
			s.feed.Publish(notes...)
			s.feed.Announce(ctx)
		},
		Attempted: func(kind channels.Kind, state checks.DeliveryState, took time.Duration) {
			s.pulse.attempt()
			c.Observer.Attempted(kind, state, took)
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
