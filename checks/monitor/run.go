package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
)

// Run watches the deadlines of all checks, delivers alerts if there are notifiers or OnAlert, moves large bodies to object
// storage if there is one, and prunes logs and flips. It logs errors and tries again. When ctx ends, unfinished sends
// have 5 seconds left, and Run returns nil. It returns no other value; the result suits an errgroup. Several servers on
// one database may each call Run; they share the work.
func (m *Monitor) Run(ctx context.Context) error {
	m.vitals.Started()
	defer m.feed.Announce(ctx) // the process may end now
	defer m.vitals.Stopped()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { m.courier.Run(ctx) })
	prune := func(every time.Duration, failure string, task func(ctx context.Context, pause func()) (int, error)) {
		work.Go(func() {
			background.Every(ctx, m.logger("pruner"), every, failure, func(ctx context.Context) (int, error) {
				return task(ctx, background.Paced(ctx, every/2))
			})
		})
	}
	prune(max(m.config.PruneEvery/10, 1), "cannot remove old pings", m.history.PrunePings)
	prune(m.config.PruneEvery, "cannot remove old flips", m.pruneFlips)
	if m.config.Bodies != nil {
		log, every := m.logger("bodies"), m.config.BodyEvery
		work.Go(func() {
			background.Insist(ctx, log, every, "cannot move the bodies of pings to object storage", m.UploadBodies)
		})
		work.Go(func() { background.Insist(ctx, log, every, "cannot remove objects", m.RemoveBodies) })
	}
	work.Go(func() { m.ingest.Run(ctx) })
	// Sweep at once: checks may have become overdue while no server ran.
	background.Attempt(ctx, m.logger("watcher"), "cannot look for overdue checks", m.Sweep)
	background.Every(ctx, m.logger("watcher"), m.config.WatchEvery, "cannot look for overdue checks", m.Sweep)
	return nil
}

// Sweep takes down every check whose deadline passed [Config.CommitMargin] ago, each with a flip at the instant of its
// deadline, and returns how many. It also raises the alerts that alert rules have delayed until now. [Monitor.Run]
// calls it every [Config.WatchEvery]; call it only in a program that does not call Run.
//
// While this Monitor has uncommitted pings, Sweep leaves deadlines after the oldest of them alone: one of the pings may
// have been received in time. The same holds for pings that may be in the spool of any monitor.
func (m *Monitor) Sweep(ctx context.Context) (down int, err error) { return m.watcher.Sweep(ctx) }

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

func (m *Monitor) pruneFlips(ctx context.Context, pause func()) (removed int, err error) {
	if err := m.courier.Abandon(ctx); err != nil {
		return 0, err
	}
	return m.history.PruneFlips(ctx, pause)
}
