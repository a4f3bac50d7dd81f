package courier

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
)

const (
	// When ctx ends, the loop cancels unfinished sends after stopTime, and then waits returnTime for their notifiers.
	stopTime, returnTime = 5 * time.Second, time.Second
	// outageWait is the first pause after the database has failed. It doubles up to outageWaitMost.
	outageWait, outageWaitMost = 250 * time.Millisecond, 10 * time.Second
)

// Run sends alerts and keeps incidents until ctx ends. Unfinished sends then have 5 seconds left.
func (c *Courier) Run(ctx context.Context) {
	background.Attempt(ctx, c.Log, "cannot look for channels that nobody delivers to", c.warn)
	var work sync.WaitGroup
	defer work.Wait()
	if c.toChannels {
		work.Go(func() {
			const failure = "cannot look at open incidents"
			background.Attempt(ctx, c.Log, failure, c.KeepIncidents) // some may have waited while no server ran
			background.Insist(ctx, c.Log, incidentEvery, failure, c.KeepIncidents)
		})
	}
	if c.Delivers() {
		_ = newLoop(c).run(ctx, false)
	}
}

// Deliver sends the alerts that are due and returns how many it sent.
func (c *Courier) Deliver(ctx context.Context) (sent int, err error) {
	if !c.Delivers() {
		return 0, nil
	}
	l := newLoop(c)
	err = l.run(ctx, true)
	return l.sent, err
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
	return again || len(l.sends) < l.Sends || len(l.results) > 0, err
}

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
