// Package watch is the way of a missed deadline. A turn looks when the next deadline is due. If it may be judged now, a sweep
// takes the checks that are overdue in batches, each in one transaction with four steps:
//
//   - horizon: up to when may deadlines be judged? A ping from before may still be on its way into the database.
//   - LockDue: which checks have a deadline before that?
//   - judge: what has become of each? The state machine takes it down, at the instant of its deadline.
//   - SaveChecks: the state, the flip and the alerts in the outbox.
package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// dueBatch bounds the checks that one transaction settles.
	dueBatch = 1000
	// rest is the time from a sweep to the next look, so that deadlines that are close together share a sweep.
	rest = 50 * time.Millisecond
	// Timeout bounds one transaction, so that a hanging connection cannot block the watcher for good.
	Timeout = time.Minute
	// Failure names errors in the log.
	Failure = "cannot look for overdue checks"
)

// Config configures a [Watcher].
type Config struct {
	Store store.Watch
	Hold  hold.Rule
	Log   *slog.Logger
	// Every is the longest time between two looks for the next deadline: a transaction may have moved it.
	Every time.Duration
	// Margin is how long after its deadline a check is taken down.
	Margin time.Duration
	// Received returns the time, and the instant up to which this monitor has recorded the pings that it has received, or that
	// may wait for it in sockets.
	Received func() (now, upTo time.Time)
	// Beat is a sign of life, before and after each look and each transaction. ok reports a success.
	Beat func(ok bool)
	// Swept reports a look or a transaction: its time and, for each check that it took down, how long that was after the
	// deadline.
	Swept func(at time.Time, lags []time.Duration)
}

// Watcher takes down the checks whose deadline has passed. It is safe for concurrent use.
type Watcher struct {
	Config
	database database
}

// New returns a watcher.
func New(c Config) *Watcher { return &Watcher{Config: c} }

// Run sweeps whenever a deadline may be judged, until ctx ends. It sleeps until then by the monotonic clock, and for at most
// Every: the system's clock may be set, and the machine suspended.
func (w *Watcher) Run(ctx context.Context) {
	ticker := time.NewTicker(w.Every) // not a timer, so that it wakes the process together with other tickers
	defer ticker.Stop()
	for ctx.Err() == nil {
		pause := w.Every
		background.Attempt(ctx, w.Log, Failure, func(ctx context.Context) (down int, err error) {
			due, err := w.look(ctx)
			if err == nil && due <= 0 {
				down, err = w.Sweep(ctx)
				due = rest
			}
			if err == nil {
				pause = due
			}
			return down, err
		})
		var due <-chan time.Time
		if pause < w.Every {
			due = time.After(pause)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-due:
		}
	}
}

// look returns how long it takes until a sweep has something to do, or less than nothing if it has now. It is cheaper than
// a sweep: it only reads.
func (w *Watcher) look(ctx context.Context) (time.Duration, error) {
	now, received := w.Received()
	w.Beat(false)
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	next, states, oldest, err := w.Store.Outlook(ctx)
	w.ended(now, nil, err)
	switch {
	case err != nil || len(w.Hold.Missing(states, now)) > 0: // a sweep saves since when they are missing
		return 0, err
	case next.IsZero():
		return w.Every, nil
	}
	return next.Sub(w.horizon(states, oldest, now, received)), nil
}

// Sweep takes down every check that is overdue, raises the alerts that are due now, and returns how many checks went down.
func (w *Watcher) Sweep(ctx context.Context) (down int, err error) {
	for {
		found, flipped, err := w.sweepBatch(ctx)
		down += flipped
		if err != nil || found < dueBatch {
			return down, err
		}
	}
}

func (w *Watcher) sweepBatch(ctx context.Context) (found, flipped int, err error) {
	now, received := w.Received()
	w.Beat(false)
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var lags []time.Duration
	err = w.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		found, lags = 0, nil
		states, oldest, err := tx.Spools(ctx)
		if err != nil {
			return err
		}
		for _, s := range w.Hold.Missing(states, now) {
			if err := tx.SaveSpool(ctx, s); err != nil {
				return err
			}
		}
		upTo := w.horizon(states, oldest, now, received)
		if upTo.IsZero() {
			return nil
		}
		locked, err := tx.LockDue(ctx, upTo, dueBatch)
		if err != nil || len(locked) == 0 {
			return err
		}
		found, lags = len(locked), judge(locked, now, upTo)
		// Save checks without changes too: that sets their next deadline, so that LockDue does not find them again.
		return tx.SaveChecks(ctx, locked)
	})
	w.ended(now, lags, err)
	return found, len(lags), err
}

// ended records the end of a look or a transaction.
func (w *Watcher) ended(now time.Time, lags []time.Duration, err error) {
	w.Beat(err == nil)
	if err != nil {
		w.database.lost()
	} else {
		w.Swept(now, lags)
	}
}

// horizon returns the instant up to which deadlines may be judged, or the zero time for none: up to the margin, the oldest
// ping that is not recorded, and what is held back for the spools of other monitors.
func (w *Watcher) horizon(states []store.SpoolState, oldest, now, received time.Time) time.Time {
	if len(states) > 0 && w.database.justBack(now) {
		return time.Time{}
	}
	upTo := now.Add(-w.Margin)
	for _, limit := range []time.Time{received, w.Hold.Until(states, oldest, now)} {
		if limit.Before(upTo) {
			upTo = limit
		}
	}
	return upTo
}

// judge applies the time to checks, and returns for each transition how long ago it was.
func judge(locked []*store.Locked, now, upTo time.Time) (lags []time.Duration) {
	for _, l := range locked {
		c, effects := l.Check.Settle(upTo)
		l.Apply(c, effects)
		for _, t := range effects.Transitions {
			lags = append(lags, now.Sub(t.At))
		}
	}
	return lags
}

// database is how long the watcher has had the database again.
type database struct {
	mu   sync.Mutex
	away bool
	back time.Time
}

// lost notes that the watcher could not reach the database.
func (d *database) lost() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = true
}

// justBack reports whether the watcher has reached the database again only now. Another monitor that has just started
// may not have said yet that it has a spool.
func (d *database) justBack(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		d.away, d.back = false, now
	}
	age := now.Sub(d.back)
	return age >= 0 && age < hold.MissingAfter
}
