package courier

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
)

const (
	// ahead is the ratio of claimed alerts to concurrent sends, so that sending continues during a claim.
	ahead = 4
	// When ctx ends, the loop cancels unfinished sends after stopTime, and then waits returnTime for their notifiers.
	stopTime, returnTime = 5 * time.Second, time.Second
	// outageWait is the first pause after the database has failed. It doubles up to outageWaitMost.
	outageWait, outageWaitMost = 250 * time.Millisecond, 10 * time.Second
)

// loop claims deliveries and records results, in one goroutine. Another goroutine sends each alert.
type loop struct {
	*Courier
	sends    map[*send]bool      // claimed and not finished
	lanes    map[uuid.UUID]*lane // by channel
	slots    chan struct{}       // a counting semaphore; capacity is the number of concurrent sends
	finished chan *send
	results  results            // not recorded yet
	after    uuid.UUID          // the channel whose turn was last
	renewing bool               // renew the leases of unfinished sends
	halted   chan struct{}      // closed to keep further sends from beginning
	stopping bool               // unfinished sends were cancelled
	failing  map[uuid.UUID]bool // channels whose failure was logged
	sent     int
}

// lane is a channel with claimed alerts.
type lane struct {
	claimed int
	slots   chan struct{} // a counting semaphore; capacity is the number of concurrent sends to the channel
}

func newLoop(c *Courier) *loop {
	return &loop{
		Courier:  c,
		sends:    make(map[*send]bool),
		lanes:    make(map[uuid.UUID]*lane),
		slots:    make(chan struct{}, c.Sends),
		finished: make(chan *send, ahead*c.Sends), // no goroutine blocks after the loop has ended
		halted:   make(chan struct{}),
		results:  make(results),
		failing:  make(map[uuid.UUID]bool),
	}
}

// run delivers until ctx ends or, with once, until no alert is due.
func (l *loop) run(ctx context.Context, once bool) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	poll := time.NewTicker(l.Every)
	defer poll.Stop()
	renew := time.NewTicker(max(l.Lease/3, time.Millisecond))
	defer renew.Stop()
	for failures := 0; ctx.Err() == nil; {
		again, err := l.turn(ctx, sending)
		switch {
		case err != nil && once:
			return cmp.Or(err, l.stop(ctx, cancel))
		case err != nil:
			failures++
			if ctx.Err() == nil {
				l.Log.ErrorContext(ctx, "cannot deliver alerts", "error", err)
			}
			l.wait(ctx, background.Backoff(outageWait, outageWaitMost, failures))
			continue
		case again:
			continue
		case once && len(l.sends) == 0:
			return nil
		}
		failures = 0
		select {
		case s := <-l.finished:
			l.record(ctx, s)
		case <-l.raised:
		case <-poll.C:
		case <-renew.C:
			l.renewing = true
		case <-ctx.Done():
		}
		l.recordFinished(ctx)
	}
	return cmp.Or(ctx.Err(), l.stop(ctx, cancel))
}

// turn claims deliveries and begins to send them. again reports whether more work is waiting. turn turns a panic into
// an error, because the delivery must go on.
func (l *loop) turn(ctx, sending context.Context) (again bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	claimed, again, err := l.claim(ctx, l.Now())
	if err != nil || len(claimed) == 0 {
		return again, err
	}
	err = l.begin(ctx, sending, claimed)
	return again || l.room() > 0 || len(l.results) > 0, err
}

// room returns how many more deliveries the loop may claim.
func (l *loop) room() int { return ahead*l.Sends - len(l.sends) }

// wait pauses after a failure of the database and records the ends of sends meanwhile.
func (l *loop) wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case s := <-l.finished:
			l.record(ctx, s)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// recordFinished records the ends of all finished sends.
func (l *loop) recordFinished(ctx context.Context) {
	for {
		select {
		case s := <-l.finished:
			l.record(ctx, s)
		default:
			return
		}
	}
}

// stop waits for unfinished sends, saves their results, and gives back the rest.
func (l *loop) stop(ctx context.Context, cancel context.CancelFunc) error {
	close(l.halted)
	for _, wait := range []time.Duration{stopTime, returnTime} {
		timer := time.NewTimer(wait)
		for expired := false; len(l.sends) > 0 && !expired; {
			select {
			case s := <-l.finished:
				l.record(ctx, s)
			case <-timer.C:
				expired = true
			}
		}
		timer.Stop()
		l.stopping = true
		cancel()
	}
	for s := range l.sends {
		l.giveBack(l.Now(), s.QueuedDelivery)
	}
	if len(l.results) == 0 {
		return nil
	}
	_, err := l.exchange(ctx, nil, l.Now())
	if err != nil {
		l.Log.ErrorContext(ctx, "cannot record the results of alerts", "error", err)
	}
	return err
}
