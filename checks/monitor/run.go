package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// work is the background work of a monitor.
type work struct {
	stop, cut context.CancelFunc // begin the end, and end the delivery of what is due
	begun     <-chan struct{}    // closed when the end begins
	ended     chan struct{}
	err       error // what was left, once ended is closed
	stopped   bool  // Stop was called; the lock guards it
}

// Start watches the deadlines of all checks, delivers alerts if there are notifiers or OnAlert, moves large bodies to object
// storage if there is one, and prunes logs and flips, until [Monitor.Stop] or the end of ctx. It returns at once, logs errors
// and tries again. A monitor that runs already returns an error. Several monitors on one database may each be started; they
// share the work.
//
// The end of ctx ends the work as Stop does. Call Stop all the same: it waits for that, and delivers what jobs have raised
// since.
func (m *Monitor) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.work != nil && !m.work.over() {
		return errors.New("monitor: it has been started already")
	}
	m.begin(ctx, m.config.StopTimeout)
	if m.store.Newer() {
		m.logger("watcher").WarnContext(ctx, store.ErrNewer.Error()+"; pings are taken as long as this version can record them")
	}
	if why := m.store.Slowed(); why != "" {
		m.logger("health").WarnContext(ctx, why)
	}
	return nil
}

// begin begins the work, which may take atMost after the end of ctx. The caller holds the lock.
func (m *Monitor) begin(ctx context.Context, atMost time.Duration) {
	ctx, stop := context.WithCancel(ctx)
	end, cut, release := background.EndOf(ctx, atMost)
	w := &work{stop: stop, cut: cut, begun: ctx.Done(), ended: make(chan struct{})}
	m.work = w
	m.pulse.started()
	m.jobs.keeper.open()
	go func() {
		defer close(w.ended)
		defer release()
		defer stop()
		w.err = m.run(ctx, end)
	}()
}

// ending reports whether the end of the work has begun, and over whether it has ended.
func (w *work) ending() bool { return closed(w.begun) }
func (w *work) over() bool   { return closed(w.ended) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Stop delivers what is due, ends what [Monitor.Start] has started, and waits until it has finished. Then the store may be
// closed, unless there are other calls. A program that runs for a moment, such as a command or a function in a cloud, thus
// sends the alerts that it has raised:
//
//   - Stop waits until the pings that were taken are recorded, takes down overdue checks, sends the alerts that are due,
//     closes the incidents of checks that are not down, and uploads bodies. It does not wait for retries that are due later.
//   - Stop takes at most Config.StopTimeout, 5 seconds by default. Then it cancels what is unfinished and gives it back, as
//     if it had not been tried. If ctx ends while Stop waits, it does so at once. A ctx that was cancelled before the call,
//     such as by the signal that ends the program, does not shorten Stop. Only a notifier or a BodyStore that does not
//     return when its context ends makes Stop take up to 5 seconds longer; the work ends later then.
//   - The error is a *[StopError], which has the number of alerts that remain.
//
// If the monitor was not started, Stop only waits for the pings. A further Stop returns the error of the first.
func (m *Monitor) Stop(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		ctx = context.WithoutCancel(ctx)
	}
	within, cancel := context.WithTimeout(ctx, m.config.StopTimeout)
	defer cancel()
	w := m.stopping(within)
	if w == nil {
		lost := m.record(within)
		return m.left(ctx, 0, lost, within.Err())
	}
	w.stop()
	select {
	case <-w.ended:
	case <-within.Done():
		w.cut()
		select {
		case <-w.ended:
		case <-time.After(returnTime):
			return m.left(ctx, -1, 0, errors.New("the work has not ended yet"))
		}
	}
	if left, ok := errors.AsType[*StopError](w.err); ok && ctx.Err() != nil {
		return &StopError{left.Alerts, left.Pings, ctx.Err()}
	}
	return w.err
}

// stopping returns the work that Stop ends, or nil if there was none. If the context of Start has ended, it is new work,
// which delivers what has become due since. ctx has a deadline.
func (m *Monitor) stopping(ctx context.Context) *work {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.work
	if w == nil {
		return nil
	}
	if w.ending() && !w.stopped {
		m.mu.Unlock()
		select {
		case <-w.ended:
		case <-ctx.Done():
		}
		m.mu.Lock()
		if m.work == w && w.over() {
			ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
			cancel()
			deadline, _ := ctx.Deadline()
			m.begin(ended, max(time.Until(deadline), time.Second))
		}
	}
	m.work.stopped = true
	return m.work
}

// returnTime is how long Stop waits for code that does not return when its context ends.
const returnTime = 5 * time.Second

// left returns the error of Stop if alerts or pings are left, and why.
func (m *Monitor) left(ctx context.Context, alerts, pings int, err error) error {
	switch {
	case alerts == 0 && pings == 0:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("StopTimeout has passed, %v: %w", m.config.StopTimeout, context.DeadlineExceeded)
	}
	return &StopError{alerts, pings, err}
}

// Run is [Monitor.Start], and [Monitor.Stop] when ctx ends. The error is that of either; the result suits an errgroup.
func (m *Monitor) Run(ctx context.Context) error {
	if err := m.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return m.Stop(context.WithoutCancel(ctx))
}

// run does the background work until ctx ends, and then finishes what is due.
func (m *Monitor) run(ctx context.Context, end background.End) error {
	defer m.feed.Announce(ctx) // the process may end now
	defer m.pulse.stopped()
	// Pings are recorded before the replay ends, and alerts are raised before the courier ends.
	replaying, recorded := context.WithCancel(context.WithoutCancel(ctx))
	delivering, raised := context.WithCancel(context.WithoutCancel(ctx))
	var replays, deliveries, upkeep sync.WaitGroup
	deliveries.Go(func() { m.courier.Run(delivering, end) })
	replays.Go(func() { m.ingest.Run(replaying, end) })
	upkeep.Go(func() { m.gaps.Run(ctx) })
	all := m.tasks()
	for _, t := range all {
		upkeep.Go(func() { t.loop(ctx) })
	}
	m.watcher.Run(ctx)

	unrecorded := m.record(end.Due)
	recorded()
	replays.Wait()
	all.attempt(end.Due, sweep)
	background.Attempt(end.Due, m.logger("courier"), "cannot close incidents", m.courier.CloseIncidents)
	now, until := m.ingest.Received()
	if until.Before(now) {
		until = until.Add(-time.Microsecond) // a ping that arrived later may raise an alert
	}
	raised()
	all.attempt(end.Due, upload)
	deliveries.Wait()
	upkeep.Wait()
	n, err := m.courier.Remaining(end.Save, until)
	if err != nil {
		n = -1
	}
	return m.left(context.Background(), n, unrecorded, cmp.Or(err, end.Due.Err()))
}

// record waits until the pings that were taken are recorded, and returns how many are not when ctx ends.
func (m *Monitor) record(ctx context.Context) (left int) {
	m.jobs.keeper.drain(ctx)
	return m.jobs.keeper.left(m.ingest.Wait(ctx))
}

// Tick does one round of what [Monitor.Start] does all the time, for tests and for programs with a clock of their own: it
// records the pings in the spool, takes down overdue checks, sends all alerts that are due, refreshes and closes incidents,
// prunes and moves bodies. It ends with the first
// error.
//
// A check whose deadline passed Config.CommitMargin ago goes down, with a flip at the instant of the deadline. Tick leaves
// deadlines after the oldest uncommitted ping alone, because that may have been received in time.
func (m *Monitor) Tick(ctx context.Context) error {
	round := background.RoundOf(ctx)
	for _, t := range m.tasks() {
		if round.AlertsOnly && t.upkeep {
			continue
		}
		n, err := t.do(ctx, nil)
		if round.Done != nil {
			round.Done(t.name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
