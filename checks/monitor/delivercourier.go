package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// courier delivers alerts. One goroutine records results and claims further deliveries, in one transaction. Another
// goroutine sends each alert.
type courier struct {
	m        *Monitor
	d        *delivery
	log      *slog.Logger
	sends    map[*send]bool      // claimed and not concluded
	lanes    map[uuid.UUID]*lane // by channel
	slots    chan struct{}       // a counting semaphore; capacity is the number of concurrent sends
	finished chan *send
	done     []result           // not recorded yet
	after    uuid.UUID          // the channel whose turn was last
	renewing bool               // renew the leases of unfinished sends
	halted   chan struct{}      // closed to keep further sends from beginning
	stopping bool               // unfinished sends were cancelled
	failing  map[uuid.UUID]bool // channels whose failure was logged
	sent     int
}

// ahead is the ratio of claimed alerts to concurrent sends, so that sending continues during a claim.
const ahead = 4

// lane is a channel with claimed alerts.
type lane struct {
	claimed int
	slots   chan struct{} // a counting semaphore; capacity is the number of concurrent sends to the channel
}

// send is a claimed alert.
type send struct {
	store.Alert
	lane  *lane
	began atomic.Pointer[time.Time] // when the attempt began
	open  string                    // what is open at the receiver after the attempt
	err   error
}

// took returns the duration of the attempt so far, 0 before it begins.
func (s *send) took() time.Duration {
	if began := s.began.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// notBegunError means that no attempt was made, because the channel is paused or the monitor stops.
type notBegunError struct{ due time.Time }

func (e *notBegunError) Error() string { return "not begun" }

func newCourier(m *Monitor) *courier {
	return &courier{
		m:        m,
		d:        m.delivery,
		log:      m.logger("courier"),
		sends:    make(map[*send]bool),
		lanes:    make(map[uuid.UUID]*lane),
		slots:    make(chan struct{}, m.delivery.Sends),
		finished: make(chan *send, ahead*m.delivery.Sends), // no goroutine blocks after the courier has stopped
		halted:   make(chan struct{}),
		failing:  make(map[uuid.UUID]bool),
	}
}

// run delivers until ctx ends or, with once, until no alert is due.
func (c *courier) run(ctx context.Context, once bool) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	poll := time.NewTicker(c.d.Every)
	defer poll.Stop()
	renew := time.NewTicker(max(c.d.Lease/3, time.Millisecond))
	defer renew.Stop()
	for failures := 0; ctx.Err() == nil; {
		again, err := c.turn(ctx, sending)
		switch {
		case err != nil && once:
			return cmp.Or(err, c.stop(ctx, cancel))
		case err != nil:
			failures++
			if ctx.Err() == nil {
				c.log.ErrorContext(ctx, "cannot deliver alerts", "error", err)
			}
			c.wait(ctx, background.Backoff(deliverWait, deliverWaitMost, failures))
			continue
		case again:
			continue
		case once && len(c.sends) == 0:
			return nil
		}
		failures = 0
		select {
		case s := <-c.finished:
			c.collect(ctx, s)
		case <-c.d.raised:
		case <-poll.C:
		case <-renew.C:
			c.renewing = true
		case <-ctx.Done():
		}
		c.collectAll(ctx)
	}
	return cmp.Or(ctx.Err(), c.stop(ctx, cancel))
}

// wait pauses after a failure of the database and collects sends meanwhile.
func (c *courier) wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case s := <-c.finished:
			c.collect(ctx, s)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// turn records results, claims as many deliveries as there is room for, and begins to send them. again reports whether
// more work is waiting. turn turns a panic into an error, because the delivery must go on.
func (c *courier) turn(ctx, sending context.Context) (again bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	now := c.m.Now()
	results := c.results(now)
	list, err := c.rooms(ctx, results, now)
	if err != nil || len(results)+len(list) == 0 {
		return false, err
	}
	claimed, err := c.exchange(ctx, results, list, now)
	if err != nil {
		return false, err
	}
	if err := c.dispatch(ctx, sending, claimed); err != nil {
		return false, err
	}
	return len(claimed) > 0 && c.room() > 0 || len(c.done) > 0, nil
}

// room returns how many more deliveries the courier may claim.
func (c *courier) room() int { return ahead*c.d.Sends - len(c.sends) }

// results returns the results to record and, when leases are due for renewal, those of unfinished sends. It does not
// renew the lease of a send whose notifier hangs long after the timeout.
func (c *courier) results(now time.Time) []result {
	results := c.done
	if !c.renewing {
		return results
	}
	for s := range c.sends {
		if s.took() < c.d.Timeout+c.d.Lease {
			results = append(results, result{QueuedDelivery: s.QueuedDelivery, to: DeliveryPending, due: now.Add(c.d.Lease)})
		}
	}
	return results
}

// giveBack returns deliveries to the outbox as if nobody had claimed them.
func (c *courier) giveBack(due time.Time, list ...store.QueuedDelivery) {
	for _, q := range list {
		c.done = append(c.done, result{QueuedDelivery: q, to: DeliveryPending, due: due, uncounted: true})
	}
}

// collectAll collects all finished sends.
func (c *courier) collectAll(ctx context.Context) {
	for {
		select {
		case s := <-c.finished:
			c.collect(ctx, s)
		default:
			return
		}
	}
}

// collect concludes a finished send, or gives it back if no attempt was made.
func (c *courier) collect(ctx context.Context, s *send) {
	delete(c.sends, s)
	if s.lane.claimed--; s.lane.claimed == 0 {
		delete(c.lanes, s.ChannelID)
	}
	if left, ok := errors.AsType[*notBegunError](s.err); ok {
		c.giveBack(left.due, s.QueuedDelivery)
		return
	}
	if c.stopping && s.err != nil {
		c.giveBack(c.m.Now(), s.QueuedDelivery)
		return
	}
	c.conclude(ctx, s)
}

// stop waits for unfinished sends, records their results, and gives back the rest.
func (c *courier) stop(ctx context.Context, cancel context.CancelFunc) error {
	close(c.halted)
	for _, wait := range []time.Duration{stopTime, returnTime} {
		timer := time.NewTimer(wait)
		for expired := false; len(c.sends) > 0 && !expired; {
			select {
			case s := <-c.finished:
				c.collect(ctx, s)
			case <-timer.C:
				expired = true
			}
		}
		timer.Stop()
		c.stopping = true
		cancel()
	}
	for s := range c.sends {
		c.giveBack(c.m.Now(), s.QueuedDelivery)
	}
	if len(c.done) == 0 {
		return nil
	}
	_, err := c.exchange(ctx, c.done, nil, c.m.Now())
	if err != nil {
		c.log.ErrorContext(ctx, "cannot record the results of alerts", "error", err)
	}
	return err
}
