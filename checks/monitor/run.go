package monitor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// dueBatch bounds the checks that one transaction of the watcher settles.
const dueBatch = 1000

// Run watches the deadlines of all checks, delivers alerts if there are notifiers or OnAlert, moves large bodies to object
// storage if there is one, and prunes logs and flips. It logs errors and tries again. When ctx ends, unfinished sends
// have 5 seconds left, and Run returns nil. It returns no other value; the result suits an errgroup. Several servers on
// one database may each call Run; they share the work.
func (m *Monitor) Run(ctx context.Context) error {
	m.vitals.started(m.clock())
	defer m.feed.Announce(ctx) // the process may end now
	defer m.vitals.stopped()
	var work sync.WaitGroup
	defer work.Wait()
	if m.delivers() {
		work.Go(func() { m.deliver(ctx) })
	}
	if m.delivery.toOthers {
		work.Go(func() {
			background.Insist(ctx, m.logger("incidents"), incidentEvery, "cannot look at open incidents", m.KeepIncidents)
		})
	}
	prune := func(interval time.Duration, failure string, task func(ctx context.Context, pause func()) (int, error)) {
		work.Go(func() {
			background.Every(ctx, m.logger("pruner"), interval, failure, func(ctx context.Context) (int, error) { return task(ctx, background.Paced(ctx, interval/2)) })
		})
	}
	prune(max(m.prune/10, 1), "cannot remove old pings", m.prunePings)
	prune(m.prune, "cannot remove old flips", m.pruneFlips)
	if m.bodies.store != nil {
		work.Go(func() {
			background.Insist(ctx, m.logger("bodies"), m.bodies.every, "cannot move the bodies of pings to object storage", m.UploadBodies)
		})
		work.Go(func() {
			background.Insist(ctx, m.logger("bodies"), m.bodies.every, "cannot remove objects", m.RemoveBodies)
		})
	}
	if m.writer.spooling != nil {
		work.Go(func() { m.replayAll(ctx) })
	}
	// Sweep at once: checks may have become overdue while no server ran.
	background.Attempt(ctx, m.logger("watcher"), "cannot look for overdue checks", m.Sweep)
	background.Every(ctx, m.logger("watcher"), m.watch, "cannot look for overdue checks", m.Sweep)
	return nil
}

// logger returns the logger of a component. The group tells its lines from those of the program around the monitor.
func (m *Monitor) logger(component string) *slog.Logger {
	return m.log.With(slog.Group("rollcall", "component", component))
}

// Sweep takes down every check whose deadline passed [Config.CommitMargin] ago, each with a flip at the instant of its
// deadline, and returns how many. It also raises the alerts that alert rules have delayed until now. [Monitor.Run]
// calls it every [Config.WatchEvery]; call it only in a program that does not call Run.
//
// While this Monitor has uncommitted pings, Sweep leaves deadlines after the oldest of them alone: one of the pings may
// have been received in time. The same holds for pings that may be in the spool of any monitor.
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
	if settled := now.Add(-m.margin); settled.Before(upTo) { // for pings of other servers
		upTo = settled
	}
	m.vitals.turn(m.clock(), false)
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	var lags []time.Duration
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		flipped, lags, found = 0, nil, 0
		upTo, err := m.judgeUpTo(ctx, tx, now, upTo)
		if err != nil || upTo.IsZero() {
			return err
		}
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
		// Save checks without changes too: that sets their next deadline, so that LockDue does not find them again.
		return tx.SaveChecks(ctx, locked)
	})
	m.vitals.turn(m.clock(), err == nil)
	if err != nil {
		m.reconnected.failed()
	} else {
		m.observer.Swept(now, lags)
	}
	return found, flipped, err
}

// judgeUpTo returns the instant up to which a sweep may judge deadlines, no later than upTo, or the zero time for none.
func (m *Monitor) judgeUpTo(ctx context.Context, tx store.Tx, now, upTo time.Time) (time.Time, error) {
	held, spools, err := m.judge(ctx, tx, now)
	switch {
	case err != nil, spools && m.reconnected.recently(now):
		return time.Time{}, err
	case held.Before(upTo):
		return held, nil
	}
	return upTo, nil
}

// Prune removes old pings and flips and returns how many. It keeps the newest pings of a check, up to the plan's limit,
// and the flips of the current and the two previous months (server/API.md section 8); what flips say for [Monitor.Stats] is
// kept for older months. It also fails alerts that no
// server has tried within [DeliveryConfig].GiveUp, so that they can be pruned: those to channels if this monitor has no
// notifiers, and those to OnAlert if it has none. [Monitor.Run] does the same in small steps.
func (m *Monitor) Prune(ctx context.Context) (removed int, err error) {
	removed, err = m.store.PrunePings(ctx, nil)
	if err != nil {
		return removed, err
	}
	n, err := m.pruneFlips(ctx, nil)
	return removed + n, err
}

const (
	// pruneTask is the lease of the server that prunes the log. One is enough: it goes round the log of all.
	pruneTask = "prune pings"
	// pruneLease is how long another server waits before it takes over. The lease is renewed when half of it is over.
	pruneLease = time.Minute
)

// prunePings removes old pings, unless another server does.
func (m *Monitor) prunePings(ctx context.Context, pause func()) (int, error) {
	now := m.Now()
	mine := m.pruner.Holder == m.run
	if left := m.pruner.Until.Sub(now); left <= 0 || mine && left < pruneLease/2 {
		lease, err := m.store.Lease(ctx, pruneTask, now, store.Lease{Holder: m.run, Until: now.Add(pruneLease)})
		if err != nil {
			return 0, err
		}
		m.pruner, mine = lease, lease.Holder == m.run
	}
	if !mine {
		return 0, nil
	}
	return m.store.PrunePings(ctx, pause)
}

func (m *Monitor) pruneFlips(ctx context.Context, pause func()) (removed int, err error) {
	if err := m.abandon(ctx); err != nil {
		return 0, err
	}
	before := flips.RetentionBoundary(m.Now())
	if err := m.fold(ctx, before, pause); err != nil {
		return 0, err
	}
	return m.store.PruneFlips(ctx, before, pause)
}
