package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/store"
)

// missingAfter is how old the state of a spool may be before its monitor counts as missing. Replay saves it each second.
const missingAfter = 3 * time.Second

// holding holds deadlines back for the pings that other monitors may have in their spools.
type holding struct {
	spool uuid.UUID // of this monitor, or the zero value
	wait  time.Duration
}

// judging returns errHeld if a deadline, unless it is zero or after the instant at, may not be judged yet.
type judging func(deadline, at time.Time) error

// byItself judges all deadlines.
func byItself(_, _ time.Time) error { return nil }

// until returns the instant before which all monitors have recorded their pings, at most now, as far as their states say.
// Of the runs with the same spool only the last one counts. One that has been missing for the time to wait does not count.
func (h holding) until(states []store.SpoolState, now time.Time) time.Time {
	last := make(map[uuid.UUID]store.SpoolState)
	for _, s := range states {
		if s.SpoolID != h.spool && s.SeenAt.After(last[s.SpoolID].SeenAt) {
			last[s.SpoolID] = s
		}
	}
	until := now
	for _, s := range last {
		gone := !s.MissingSince.IsZero() && now.Sub(s.MissingSince) >= h.wait
		if !gone && s.SettledAt.Before(until) {
			until = s.SettledAt
		}
	}
	return until
}

// missing returns the states of monitors that have just gone missing, with the new MissingSince.
func (h holding) missing(states []store.SpoolState, now time.Time) (list []store.SpoolState) {
	for _, s := range states {
		if s.SpoolID != h.spool && s.MissingSince.IsZero() && now.Sub(s.SeenAt) > missingAfter {
			s.MissingSince = now
			list = append(list, s)
		}
	}
	return list
}

// in returns how deadlines are judged in a transaction. It reads the states only if a deadline has passed.
func (h holding) in(ctx context.Context, tx store.Tx, now func() time.Time) judging {
	var until time.Time
	return func(deadline, at time.Time) error {
		if deadline.IsZero() || at.Before(deadline) {
			return nil
		}
		if until.IsZero() {
			states, err := tx.Spools(ctx)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			until = h.until(states, now())
		}
		if until.Before(deadline) {
			return errHeld
		}
		return nil
	}
}

// judge returns the instant up to which the watcher may judge deadlines, and whether any monitor has a spool. It notes
// monitors that are missing.
func (h holding) judge(ctx context.Context, tx store.Tx, now time.Time) (until time.Time, spools bool, err error) {
	states, err := tx.Spools(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	for _, s := range h.missing(states, now) {
		if err := tx.SaveSpool(ctx, s); err != nil {
			return time.Time{}, false, err
		}
	}
	return h.until(states, now), len(states) > 0, nil
}

// mayJudge returns [ErrUnavailable] if a change of a check would judge a deadline that must wait for pings in a spool.
func (m *Monitor) mayJudge(ctx context.Context, tx store.Tx, l *store.Locked, now time.Time) error {
	wake := l.Wake()
	err := m.writer.hold.in(ctx, tx, m.Now)(wake, now)
	if err == nil && !wake.IsZero() && !now.Before(wake) && m.writer.spooling.settled(now).Before(wake) {
		err = errHeld
	}
	if errors.Is(err, errHeld) {
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
	return age >= 0 && age < missingAfter
}
