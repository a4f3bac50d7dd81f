// Package hold is the rule that holds deadlines back: no monitor judges one while a ping from before it may be in a spool,
// its own or that of another monitor on the database, or in the sockets of a process that did not run for a while.
package hold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// MissingAfter is how old the state of a spool may be before its monitor counts as missing. Monitors save it each second.
const MissingAfter = 3 * time.Second

// ErrHeld means that a deadline may not be judged yet.
var ErrHeld = errors.New("monitor: pings that wait in spools or sockets come first")

// Rule decides up to when a monitor may judge deadlines.
type Rule struct {
	Spool uuid.UUID     // the monitor's own spool, which does not hold it back, or the zero value
	Wait  time.Duration // how long deadlines wait for a monitor that is missing
}

// Until returns the instant before which all monitors have recorded their pings, at most now, as far as their states say.
// oldest is the time of the oldest ping that waits in the database, or the zero time; it counts while any monitor is
// there to record it.
func (r Rule) Until(states []store.SpoolState, oldest, now time.Time) time.Time {
	until, alone := now, true
	for _, s := range states {
		alone = alone && (s.SpoolID != r.Spool && r.gone(s, now))
	}
	if !alone && !oldest.IsZero() && oldest.Before(until) {
		until = oldest
	}
	for _, s := range r.others(states, now) {
		if s.SettledAt.Before(until) {
			until = s.SettledAt
		}
	}
	return until
}

// others returns the states of the other monitors. Of the runs with the same spool only the last one counts. One that has
// been missing for the time to wait does not count.
func (r Rule) others(states []store.SpoolState, now time.Time) map[uuid.UUID]store.SpoolState {
	last := make(map[uuid.UUID]store.SpoolState)
	for _, s := range states {
		if s.SpoolID != r.Spool && s.SeenAt.After(last[s.SpoolID].SeenAt) {
			last[s.SpoolID] = s
		}
	}
	maps.DeleteFunc(last, func(_ uuid.UUID, s store.SpoolState) bool { return r.gone(s, now) })
	return last
}

func (r Rule) gone(s store.SpoolState, now time.Time) bool {
	return !s.MissingSince.IsZero() && now.Sub(s.MissingSince) >= r.Wait
}

// emptied is how far the settled time of a monitor with an empty spool may be behind: by the pings that it is writing.
const emptied = 500 * time.Millisecond

// Merge returns how far pings out of spools can be merged. since is when this monitor last was without the database.
func (r Rule) Merge(states []store.SpoolState, since, now time.Time) Merge {
	m := Merge{UpTo: now, Complete: true, Present: true}
	for _, s := range r.others(states, now) {
		present := s.SeenAt.After(since) && now.Sub(s.SeenAt) <= MissingAfter
		m.Present = m.Present && present
		if present && s.SeenAt.Sub(s.SettledAt) <= emptied {
			continue
		}
		m.Complete = false
		if s.SettledAt.Before(m.UpTo) {
			m.UpTo = s.SettledAt
		}
	}
	return m
}

// Merge is how far pings out of spools can be merged.
type Merge struct {
	UpTo     time.Time // no other monitor holds a ping from before
	Complete bool      // no other monitor holds any ping
	Present  bool      // all others have the database
}

// Missing returns the states of monitors that have just gone missing, with the new MissingSince.
func (r Rule) Missing(states []store.SpoolState, now time.Time) (list []store.SpoolState) {
	for _, s := range states {
		if s.SpoolID != r.Spool && s.MissingSince.IsZero() && now.Sub(s.SeenAt) > MissingAfter {
			s.MissingSince = now
			list = append(list, s)
		}
	}
	return list
}

// Judge returns [ErrHeld] if a deadline may not be judged yet. The zero deadline and one after the instant at need no
// judgement.
type Judge func(deadline, at time.Time) error

// Judge returns how deadlines are judged in a transaction. It reads the states only if a deadline has passed.
func (r Rule) Judge(ctx context.Context, tx reader, now func() time.Time) Judge {
	var until time.Time
	return func(deadline, at time.Time) error {
		if deadline.IsZero() || at.Before(deadline) {
			return nil
		}
		if until.IsZero() {
			states, oldest, err := tx.Spools(ctx)
			if err != nil {
				return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
			}
			until = r.Until(states, oldest, now())
		}
		if until.Before(deadline) {
			return ErrHeld
		}
		return nil
	}
}

// reader is the part of a transaction that reads the states of spools.
type reader interface {
	Spools(ctx context.Context) (states []store.SpoolState, oldest time.Time, err error)
}
