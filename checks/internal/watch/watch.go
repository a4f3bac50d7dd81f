// Package watch is the way of a missed deadline. A sweep takes the checks that are overdue in batches, each in one
// transaction with four steps:
//
//   - horizon: up to when may deadlines be judged? A ping from before may still be on its way into the database.
//   - LockDue: which checks have a deadline before that?
//   - judge: what has become of each? The state machine takes it down, at the instant of its deadline.
//   - SaveChecks: the state, the flip and the alerts in the outbox.
package watch

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// dueBatch bounds the checks that one transaction settles.
	dueBatch = 1000
	// Timeout bounds one transaction, so that a hanging connection cannot block the watcher for good.
	Timeout = time.Minute
)

// Config configures a [Watcher].
type Config struct {
	Store store.Watch
	Hold  hold.Rule
	// Margin is how long after its deadline a check is taken down.
	Margin time.Duration
	// Received returns the time, and the instant up to which this monitor has recorded the pings that it has received.
	Received func() (now, upTo time.Time)
	// Beat is a sign of life, before and after each transaction. ok reports a success.
	Beat func(ok bool)
	// Swept reports a transaction: its time and, for each check that it took down, how long that was after the deadline.
	Swept func(at time.Time, lags []time.Duration)
}

// Watcher takes down the checks whose deadline has passed. It is safe for concurrent use.
type Watcher struct {
	Config
	database database
}

// New returns a watcher.
func New(c Config) *Watcher { return &Watcher{Config: c} }

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
		upTo, err := w.horizon(ctx, tx, now, received)
		if err != nil || upTo.IsZero() {
			return err
		}
		locked, err := tx.LockDue(ctx, upTo, dueBatch)
		if err != nil || len(locked) == 0 {
			return err
		}
		found, lags = len(locked), judge(locked, now, upTo)
		// Save checks without changes too: that sets their next deadline, so that LockDue does not find them again.
		return tx.SaveChecks(ctx, locked)
	})
	w.Beat(err == nil)
	if err != nil {
		w.database.lost()
	} else {
		w.Swept(now, lags)
	}
	return found, len(lags), err
}

// horizon returns the instant up to which deadlines may be judged, or the zero time for none: up to the margin, the oldest
// ping that is not recorded, and what is held back for the spools of other monitors.
func (w *Watcher) horizon(ctx context.Context, tx store.WatchTx, now, received time.Time) (time.Time, error) {
	states, oldest, err := tx.Spools(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, s := range w.Hold.Missing(states, now) {
		if err := tx.SaveSpool(ctx, s); err != nil {
			return time.Time{}, err
		}
	}
	if len(states) > 0 && w.database.justBack(now) {
		return time.Time{}, nil
	}
	upTo := now.Add(-w.Margin)
	for _, limit := range []time.Time{received, w.Hold.Until(states, oldest, now)} {
		if limit.Before(upTo) {
			upTo = limit
		}
	}
	return upTo, nil
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
