package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/flips"
)

// dueBatch is how many overdue checks are handled in one transaction.
const dueBatch = 1000

// Run watches the deadlines of all checks, delivers alerts if there are notifiers, moves large bodies to object storage
// if there is one, and removes what is kept no longer, until ctx ends. Alerts that are being sent then have 5 seconds
// left. What goes wrong is logged and tried again; the error is always that of ctx. Several servers on one database may
// each run this: they share the work.
func (m *Monitor) Run(ctx context.Context) error {
	m.vitals.started(m.clock())
	defer m.vitals.stopped()
	var background sync.WaitGroup
	defer background.Wait()
	if m.delivers() {
		background.Go(func() { m.deliver(ctx) })
	}
	prune := func(interval time.Duration, failure string, task func(ctx context.Context, pause func()) (int, error)) {
		background.Go(func() {
			m.every(ctx, interval, failure, func(ctx context.Context) (int, error) { return task(ctx, restful(ctx, interval/2)) })
		})
	}
	prune(max(m.prune/10, 1), "cannot remove old pings", m.store.PrunePings)
	prune(m.prune, "cannot remove old flips", m.pruneFlips)
	if m.bodies.store != nil {
		background.Go(func() {
			m.insist(ctx, m.bodies.every, "cannot move the bodies of pings to object storage", m.UploadBodies)
		})
		background.Go(func() { m.insist(ctx, m.bodies.every, "cannot remove objects", m.RemoveBodies) })
	}
	// At once: what has become overdue while nothing ran is overdue now.
	m.attempt(ctx, "cannot look for overdue checks", m.Sweep)
	m.every(ctx, m.watch, "cannot look for overdue checks", m.Sweep)
	return ctx.Err()
}

// every runs a task again and again until ctx ends.
func (m *Monitor) every(ctx context.Context, interval time.Duration, failure string, task func(context.Context) (int, error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.attempt(ctx, failure, task)
		}
	}
}

// attempt runs a task and logs what goes wrong, a panic included: watching must go on.
func (m *Monitor) attempt(ctx context.Context, failure string, task func(context.Context) (int, error)) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			m.log.ErrorContext(ctx, failure, "panic", r)
		}
	}()
	_, err := task(ctx)
	if err != nil && ctx.Err() == nil {
		m.log.ErrorContext(ctx, failure, "error", err)
	}
	return err == nil
}

// restFactor is how many times as long as a step of a task took it rests before the next.
const restFactor = 4

// restful returns what a task in the background calls between its steps. It rests in proportion to what the last step took,
// so that the pings that come meanwhile are held up by one step and not by the whole task. When it has rested for most in
// all, or ctx ends, the task gets no more rest: it must not fall behind.
func restful(ctx context.Context, most time.Duration) (pause func()) {
	begin := time.Now()
	return func() {
		end := time.Now()
		if rest := min(restFactor*end.Sub(begin), most); rest > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(rest):
			}
		}
		begin = time.Now()
		most -= begin.Sub(end)
	}
}

// Sweep takes down every check whose deadline passed [Config.CommitMargin] ago, each with a flip at the instant of its
// deadline, and returns how many. It also raises the alerts that the rules of checks have put off until then. [Monitor.Run]
// calls it every [Config.WatchEvery]; call it yourself only where Run does not run.
//
// Pings that this Monitor received and has not committed yet hold back all later deadlines: one of them may be the ping
// that was expected, received in time.
func (m *Monitor) Sweep(ctx context.Context) (down int, err error) {
	for {
		found, flipped, err := m.sweepBatch(ctx)
		down += flipped
		if err != nil || found < dueBatch {
			return down, err
		}
	}
}

func (m *Monitor) sweepBatch(ctx context.Context) (found, flipped int, err error) {
	now, upTo := m.writer.settled()
	if settled := now.Add(-m.margin); settled.Before(upTo) { // on other servers
		upTo = settled
	}
	m.vitals.turn(m.clock(), false)
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	var lags []time.Duration
	err = m.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		flipped, lags = 0, nil
		locked, err := tx.LockDue(ctx, upTo, dueBatch)
		if err != nil {
			return err
		}
		found = len(locked)
		for _, l := range locked {
			c, effects := l.Check.Settle(upTo)
			l.Apply(c, effects)
			flipped += len(effects.Transitions)
			for _, t := range effects.Transitions {
				lags = append(lags, now.Sub(t.At))
			}
		}
		if found == 0 {
			return nil
		}
		// Those that had nothing to settle get their deadline brought up to date, so that they are not found again.
		return tx.SaveChecks(ctx, locked)
	})
	m.vitals.turn(m.clock(), err == nil)
	if err == nil {
		m.observer.Swept(now, lags)
	}
	return found, flipped, err
}

// Prune removes pings beyond the newest that are listed, flips from before the current month and the two before it
// (API-V3.md section 8), and returns how many of both. Without Config.Notifiers, it fails the alerts that no server has
// tried for [DeliveryConfig].GiveUp, so that they are removed like others. [Monitor.Run] calls it all the time.
func (m *Monitor) Prune(ctx context.Context) (removed int, err error) {
	removed, err = m.store.PrunePings(ctx, nil)
	if err != nil {
		return removed, err
	}
	n, err := m.pruneFlips(ctx, nil)
	return removed + n, err
}

func (m *Monitor) pruneFlips(ctx context.Context, pause func()) (removed int, err error) {
	if !m.delivers() {
		if err := m.abandon(ctx); err != nil {
			return 0, err
		}
	}
	return m.store.PruneFlips(ctx, flips.RetentionBoundary(m.Now()), pause)
}
