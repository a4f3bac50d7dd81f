package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
)

// work is the background work of a monitor.
type work struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// Start watches the deadlines of all checks, delivers alerts if there are notifiers or OnAlert, moves large bodies to object
// storage if there is one, and prunes logs and flips, until [Monitor.Stop] or the end of ctx. It returns at once, logs errors
// and tries again. A monitor that has been started already returns an error. Several monitors on one database may each be
// started; they share the work.
func (m *Monitor) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.work != nil {
		return errors.New("monitor: it has been started already")
	}
	ctx, stop := context.WithCancel(ctx)
	w := &work{stop, make(chan struct{})}
	m.work = w
	m.vitals.Started()
	go func() {
		m.run(ctx)
		stop()
		m.mu.Lock()
		m.work = nil
		m.mu.Unlock()
		close(w.ended)
	}()
	return nil
}

// Stop ends what [Monitor.Start] has started and waits until it has finished, and until the pings that have been taken are
// recorded. Unfinished sends have 5 seconds left. Then the store may be closed, unless there are other calls. Stop does
// nothing else if the monitor was not started. If ctx ends before, Stop returns an error with that of ctx, and the work
// ends later.
func (m *Monitor) Stop(ctx context.Context) error {
	m.mu.Lock()
	w := m.work
	m.mu.Unlock()
	if w != nil {
		w.stop()
		select {
		case <-w.ended:
		case <-ctx.Done():
			return fmt.Errorf("monitor: it has not stopped yet: %w", ctx.Err())
		}
	}
	if err := m.ingest.Wait(ctx); err != nil {
		return fmt.Errorf("monitor: not all pings are recorded yet: %w", err)
	}
	return nil
}

// Run is [Monitor.Start], and [Monitor.Stop] when ctx ends. It returns only the error of Start; the result suits an
// errgroup.
func (m *Monitor) Run(ctx context.Context) error {
	if err := m.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return m.Stop(context.WithoutCancel(ctx))
}

// run does the background work until ctx ends.
func (m *Monitor) run(ctx context.Context) {
	defer m.feed.Announce(ctx) // the process may end now
	defer m.vitals.Stopped()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { m.courier.Run(ctx) })
	prune := func(every time.Duration, failure string, task func(ctx context.Context, pause func()) (int, error)) {
		tasks.Go(func() {
			background.Every(ctx, m.logger("pruner"), every, failure, func(ctx context.Context) (int, error) {
				return task(ctx, background.Paced(ctx, every/2))
			})
		})
	}
	prune(max(m.config.PruneEvery/10, 1), "cannot remove old pings", m.history.PrunePings)
	prune(m.config.PruneEvery, "cannot prune flips, records and the audit log", m.pruneFlips)
	if m.config.Bodies != nil {
		log, every := m.logger("bodies"), m.config.BodyEvery
		tasks.Go(func() {
			background.Insist(ctx, log, every, "cannot move the bodies of pings to object storage", m.bodies.Upload)
		})
		tasks.Go(func() { background.Insist(ctx, log, every, "cannot remove objects", m.bodies.Remove) })
	}
	tasks.Go(func() { m.ingest.Run(ctx) })
	// Sweep at once: checks may have become overdue while no server ran.
	background.Attempt(ctx, m.logger("watcher"), "cannot look for overdue checks", m.watcher.Sweep)
	background.Every(ctx, m.logger("watcher"), m.config.WatchEvery, "cannot look for overdue checks", m.watcher.Sweep)
}

// Tick does one round of what [Monitor.Start] does all the time, for tests and for programs with a clock of their own: it
// records the pings in the spool, takes down overdue checks, sends all alerts that are due, refreshes and closes incidents,
// prunes and moves bodies. It ends with the first
// error.
//
// A check whose deadline passed Config.CommitMargin ago goes down, with a flip at the instant of the deadline. Tick leaves
// deadlines after the oldest uncommitted ping alone, because that may have been received in time.
func (m *Monitor) Tick(ctx context.Context) error {
	type step struct {
		name string
		do   background.Task
	}
	steps := []step{{"replay", m.ingest.Replay}, {"sweep", m.watcher.Sweep}, {"deliver", m.courier.Deliver}}
	round := background.RoundOf(ctx)
	if !round.AlertsOnly {
		steps = append(steps, step{"incidents", m.courier.KeepIncidents}, step{"deliver", m.courier.Deliver}, step{"prune", m.prune})
		if m.config.Bodies != nil {
			steps = append(steps, step{"upload", m.bodies.Upload}, step{"remove", m.bodies.Remove})
		}
	}
	for _, s := range steps {
		n, err := s.do(ctx)
		if round.Done != nil {
			round.Done(s.name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune removes old pings and flips at once. It also fails alerts that no server has tried within [DeliveryConfig].GiveUp,
// so that they can be pruned: those to channels if this monitor has no notifiers, and those to OnAlert if it has none.
func (m *Monitor) prune(ctx context.Context) (removed int, err error) {
	removed, err = m.store.PrunePings(ctx, nil)
	if err != nil {
		return removed, err
	}
	n, err := m.pruneFlips(ctx, nil)
	return removed + n, err
}

// pruneFlips also removes records that have ended, such as sessions, and old entries of the audit log.
func (m *Monitor) pruneFlips(ctx context.Context, pause func()) (removed int, err error) {
	if err := m.courier.Abandon(ctx); err != nil {
		return 0, err
	}
	removed, err = m.history.PruneFlips(ctx, pause)
	if err != nil {
		return removed, err
	}
	now, audited := m.Now(), time.Time{} // nothing is as old as the zero time
	if m.config.AuditRetention > 0 {
		audited = now.Add(-m.config.AuditRetention)
	}
	n, err := m.store.PruneRecords(ctx, now, audited, pause)
	return removed + n, err
}
