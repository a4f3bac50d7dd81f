package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// judge returns the instant up to which the watcher may judge deadlines, and whether any monitor has a spool. It notes
// monitors that are missing.
func (m *Monitor) judge(ctx context.Context, tx store.Tx, now time.Time) (until time.Time, spools bool, err error) {
	states, err := tx.Spools(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	for _, s := range m.writer.hold.Missing(states, now) {
		if err := tx.SaveSpool(ctx, s); err != nil {
			return time.Time{}, false, err
		}
	}
	return m.writer.hold.Until(states, now), len(states) > 0, nil
}

// mayJudge returns [ErrUnavailable] if a change of a check would judge a deadline that must wait for pings in a spool.
func (m *Monitor) mayJudge(ctx context.Context, tx store.Tx, l *store.Locked, now time.Time) error {
	wake := l.Wake()
	err := m.writer.hold.Judge(ctx, tx, m.Now)(wake, now)
	if err == nil && !wake.IsZero() && !now.Before(wake) && m.writer.spooling.settled(now).Before(wake) {
		err = hold.ErrHeld
	}
	if errors.Is(err, hold.ErrHeld) {
		return fmt.Errorf("%w for changes of this check: %w", ErrUnavailable, err)
	}
	return err
}

// reconnected is how long the watcher has had the database again.
type reconnected struct {
	mu    sync.Mutex
	lost  bool
	since time.Time
}

// failed notes that the watcher could not reach the database.
func (r *reconnected) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
}

// recently reports whether the watcher reached the database again only now. Another monitor that has just started may not
// have said yet that it has a spool.
func (r *reconnected) recently(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		r.lost, r.since = false, now
	}
	age := now.Sub(r.since)
	return age >= 0 && age < hold.MissingAfter
}
