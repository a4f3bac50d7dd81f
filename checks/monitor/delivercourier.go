package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// courier delivers alerts. One goroutine does all that concerns the database: it records what has become of the alerts
// that were sent meanwhile and claims others in the same transaction. Each alert is sent by a goroutine of its own.
type courier struct {
	m        *Monitor
	d        *delivery
	sends    map[*send]bool      // claimed and not concluded
	lanes    map[uuid.UUID]*lane // by the integration that they go to
	slots    chan struct{}       // has an item for each that is being sent
	finished chan *send
	done     []DeliveryResult // to be recorded
	after    uuid.UUID
	renewing bool               // the leases of what is under way are to be renewed
	halted   chan struct{}      // closed when nothing is to be begun any more
	stopping bool               // what is under way was told to stop
	failing  map[uuid.UUID]bool // integrations whose failure has been logged
	sent     int
}

// ahead is how many times more alerts are claimed than are sent at once, so that there are some to send while the next
// are being claimed.
const ahead = 4

// lane is an integration that alerts are under way to.
type lane struct {
	claimed int
	slots   chan struct{} // has an item for each that is being sent
}

// send is an alert that was claimed to be sent.
type send struct {
	Alert
	lane  *lane
	began atomic.Pointer[time.Time] // when it began to be sent
	err   error
}

// took is how long the attempt to send has taken by now.
func (s *send) took() time.Duration {
	if began := s.began.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
}

// notBegunError says that an alert was not sent: the integration wants to be left alone, or the monitor is to stop.
type notBegunError struct{ due time.Time }

func (e *notBegunError) Error() string { return "not begun" }

func newCourier(m *Monitor) *courier {
	return &courier{
		m:        m,
		d:        m.delivery,
		sends:    make(map[*send]bool),
		lanes:    make(map[uuid.UUID]*lane),
		slots:    make(chan struct{}, m.delivery.Sends),
		finished: make(chan *send, ahead*m.delivery.Sends), // so that no goroutine waits for one that has stopped
		halted:   make(chan struct{}),
		failing:  make(map[uuid.UUID]bool),
	}
}

// run delivers until ctx ends, or with once until nothing is left to be done.
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
			c.m.log.ErrorContext(ctx, "cannot deliver alerts", "error", err)
			c.rest(ctx, backoff(deliverWait, deliverWaitMost, failures))
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

// rest lets time pass after a failure of the database.
func (c *courier) rest(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
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

// turn records what there is to record, claims what there is room for and begins to send that. again tells that there
// is more to do at once. A panic is an error: the delivery must go on.
func (c *courier) turn(ctx, sending context.Context) (again bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	now := c.m.Now()
	results := c.results(now)
	if len(results) == 0 {
		if c.room() <= 0 {
			return false, nil
		}
		if due, err := c.m.store.DeliveryDue(ctx, now); err != nil || !due {
			return false, err
		}
	}
	batch, err := c.exchange(ctx, results, DeliveryClaim{Now: now, Limit: c.room()})
	if err != nil {
		return false, err
	}
	if err := c.dispatch(ctx, sending, batch.Claimed); err != nil {
		return false, err
	}
	return batch.More && len(batch.Claimed) > 0 && c.room() > 0 || len(c.done) > 0, nil
}

// room is how many alerts may be claimed.
func (c *courier) room() int { return ahead*c.d.Sends - len(c.sends) }

// results returns what is to be recorded, with the leases that are to be renewed. One that a notifier holds for far
// longer than it may is not renewed any more.
func (c *courier) results(now time.Time) []DeliveryResult {
	results := c.done
	if !c.renewing {
		return results
	}
	for s := range c.sends {
		if s.took() < c.d.Timeout+c.d.Lease {
			results = append(results, DeliveryResult{
				QueuedDelivery: s.QueuedDelivery, State: DeliveryPending, Due: now.Add(c.d.Lease),
			})
		}
	}
	return results
}

// exchange records results and makes a claim. It is not cut short when the monitor is told to stop: what was claimed
// would be lost to all until the lease ends.
func (c *courier) exchange(ctx context.Context, results []DeliveryResult, claim DeliveryClaim) (DeliveryBatch, error) {
	claim.Until, claim.Stale = claim.Now.Add(c.d.Lease), claim.Now.Add(-staleAfter)
	claim.PerChannel, claim.After = ahead*c.d.SendsPerChannel, c.after
	claim.Busy = make(map[uuid.UUID]int, len(c.lanes))
	for channel, l := range c.lanes {
		claim.Busy[channel] = l.claimed
	}
	c.d.addPaused(claim.Busy, claim.Now)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	batch, err := c.m.store.ExchangeDeliveries(ctx, results, claim)
	if err != nil {
		return DeliveryBatch{}, err
	}
	c.done, c.renewing, c.after = nil, false, batch.After
	return batch, nil
}

// dispatch begins to send what was claimed.
func (c *courier) dispatch(ctx, sending context.Context, claimed []QueuedDelivery) error {
	if len(claimed) == 0 {
		return nil
	}
	alerts, err := c.m.store.Alerts(ctx, claimed)
	if err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		alerts, err = c.readEach(ctx, claimed), nil
	}
	if err != nil {
		c.giveBack(c.m.Now(), claimed...)
		return err
	}
	for _, a := range alerts {
		switch notifier := c.d.notifiers[a.Channel.Kind]; {
		case a.Channel.Kind == channels.Group:
			c.done = append(c.done, DeliveryResult{
				QueuedDelivery: a.QueuedDelivery, State: DeliverySent, Members: channels.GroupMembers(a.Channel),
			})
		case notifier == nil:
			c.conclude(ctx, &send{Alert: a, err: channels.Permanent(&NotConfiguredError{a.Channel.Kind})})
		default:
			c.start(sending, notifier, a)
		}
	}
	return nil
}

// readEach reads alerts one by one, so that one that cannot be read holds up no other. It fails as if it could not be
// sent.
func (c *courier) readEach(ctx context.Context, claimed []QueuedDelivery) (alerts []Alert) {
	for _, q := range claimed {
		list, err := c.m.store.Alerts(ctx, []QueuedDelivery{q})
		if err != nil {
			c.conclude(ctx, &send{Alert: Alert{QueuedDelivery: q}, err: fmt.Errorf("the alert cannot be read: %w", err)})
		}
		alerts = append(alerts, list...)
	}
	return alerts
}

// start sends an alert as soon as not too many others are being sent.
func (c *courier) start(ctx context.Context, notifier channels.Notifier, a Alert) {
	l := c.lanes[a.ChannelID]
	if l == nil {
		l = &lane{slots: make(chan struct{}, c.d.SendsPerChannel)}
		c.lanes[a.ChannelID] = l
	}
	l.claimed++
	s := &send{Alert: a, lane: l}
	c.sends[s] = true
	go func() {
		s.err = c.await(ctx, s, notifier)
		c.finished <- s
	}()
}

// await waits for the turn of an alert and sends it. A pause that its receiver asks for holds from then on, before
// anything else is sent there.
func (c *courier) await(ctx context.Context, s *send, notifier channels.Notifier) error {
	for _, slots := range []chan struct{}{s.lane.slots, c.slots} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-c.halted:
			return &notBegunError{c.m.Now()}
		}
	}
	if until, paused := c.d.pausedUntil(s.ChannelID, c.m.Now()); paused {
		return &notBegunError{until}
	}
	select {
	case <-c.halted:
		return &notBegunError{c.m.Now()}
	default:
	}
	s.began.Store(new(time.Now()))
	err := c.m.send(ctx, notifier, s.Alert)
	if after, found := channels.RetryDelay(err); found && after > 0 {
		c.d.pause(s.ChannelID, c.m.Now().Add(min(after, maxRetryAfter)))
	}
	return err
}

// giveBack leaves deliveries to whoever comes next, as if they had not been claimed.
func (c *courier) giveBack(due time.Time, list ...QueuedDelivery) {
	for _, q := range list {
		c.done = append(c.done, DeliveryResult{QueuedDelivery: q, State: DeliveryPending, Due: due, Uncounted: true})
	}
}

// collectAll takes note of all that has been sent by now.
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

// stop lets what is under way come to an end, records it, and gives back the rest.
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
	_, err := c.exchange(ctx, c.done, DeliveryClaim{Now: c.m.Now()})
	if err != nil {
		c.m.log.ErrorContext(ctx, "cannot record what has become of alerts", "error", err)
	}
	return err
}
