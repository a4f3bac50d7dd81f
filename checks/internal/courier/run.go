package courier

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// finishTime is how long unfinished sends of [Courier.Deliver] have left when it ends early. It then waits
	// returnTime for notifiers that it has cancelled.
	finishTime, returnTime = 5 * time.Second, 500 * time.Millisecond
	// outageWait is the first pause after the database has failed. It doubles up to outageWaitMost.
	outageWait, outageWaitMost = 250 * time.Millisecond, 10 * time.Second
	// forgetEvery is how often a loop looks for channels that were deleted.
	forgetEvery = 10 * time.Minute
)

// Run sends alerts and keeps incidents until ctx ends. It then sends those that are due by then, until end.Due ends.
func (c *Courier) Run(ctx context.Context, end background.End) {
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
		_ = newLoop(c, end).run(ctx, false)
	}
}

// Deliver sends the alerts that are due and returns how many it sent.
func (c *Courier) Deliver(ctx context.Context) (sent int, err error) {
	if !c.Delivers() {
		return 0, nil
	}
	l := newLoop(c, background.End{Due: ctx, Save: context.WithoutCancel(ctx), Return: returnTime})
	err = l.run(context.WithoutCancel(ctx), true)
	return l.sent, err
}

// run delivers until ctx ends, and then, or with once from the beginning, until no alert is due.
func (l *loop) run(ctx context.Context, once bool) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	poll := time.NewTicker(l.Every)
	defer poll.Stop()
	renew := time.NewTicker(max(l.Lease/3, time.Millisecond))
	defer renew.Stop()
	wake, grace := ctx, time.Duration(0) // what ends a pause, and how long unfinished sends have left
	if once {
		grace = finishTime
	}
	for failures := 0; l.end.Due.Err() == nil; {
		if l.asOf.IsZero() && ctx.Err() != nil {
			l.asOf, wake = l.Now(), l.end.Due
		}
		again, err := l.turn(l.end.Due, sending)
		switch {
		case err != nil && once:
			return cmp.Or(err, l.stop(ctx, cancel, grace))
		case err != nil:
			failures++
			if l.end.Due.Err() == nil {
				l.Log.ErrorContext(ctx, "cannot deliver alerts", "error", err)
			}
			l.wait(wake, background.Backoff(outageWait, outageWaitMost, failures))
			continue
		case again:
			continue
		case (once || !l.asOf.IsZero()) && len(l.sends) == 0:
			return nil
		}
		failures = 0
		select {
		case s := <-l.finished:
			l.record(ctx, s)
		case <-l.raised:
		case <-poll.C:
			l.forget(ctx, l.Now())
		case <-renew.C:
			l.renewing = true
		case <-wake.Done():
		}
		l.recordFinished(ctx)
	}
	return cmp.Or(l.end.Due.Err(), l.stop(ctx, cancel, grace))
}

// turn claims deliveries and begins to send them. again reports whether more work is waiting. turn turns a panic into
// an error, because the delivery must go on.
func (l *loop) turn(ctx, sending context.Context) (again bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	claimed, again, err := l.claim(ctx, cmp.Or(l.asOf, l.Now()))
	if err != nil || len(claimed) == 0 {
		return again, err
	}
	err = l.begin(ctx, sending, claimed)
	return again || len(l.sends) < l.Sends || len(l.results) > 0, err
}

// forget drops what is known of channels that were deleted, here or by another process.
func (l *loop) forget(ctx context.Context, now time.Time) {
	if now.Sub(l.looked) < forgetEvery {
		return
	}
	l.looked = now
	l.mu.Lock()
	ids := slices.AppendSeq(slices.Collect(maps.Keys(l.left)), maps.Keys(l.troubles))
	l.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	there, err := l.Store.Channels(ctx, store.ChannelFilter{IDs: ids})
	if err != nil {
		return // the database is away, which others say
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if id != store.OnAlert.ID && !slices.ContainsFunc(there, func(c channels.Channel) bool { return c.ID == id }) {
			delete(l.left, id)
			delete(l.troubles, id)
		}
	}
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
	runtime.Gosched() // those that are about to finish share the next transaction
	for {
		select {
		case s := <-l.finished:
			l.record(ctx, s)
		default:
			return
		}
	}
}

// stop waits for unfinished sends, at first for grace without cancelling them, saves their results, and gives back the rest.
func (l *loop) stop(ctx context.Context, cancel context.CancelFunc, grace time.Duration) error {
	close(l.halted)
	for _, wait := range []time.Duration{grace, l.end.Return} {
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
		l.giveBack(l.Now(), s.deliveries()...)
	}
	if len(l.results) == 0 {
		return nil
	}
	_, err := l.exchange(nil, l.Now())
	if err != nil {
		l.Log.ErrorContext(ctx, "cannot record the results of alerts", "error", err)
	}
	return err
}
