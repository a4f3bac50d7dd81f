package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// spool is the state of a run with a spool.
type spool struct {
	store.SpoolState
	recorded int64
}

// Spools returns the states of all spools that are not closed, and the time of the oldest ping that waits.
func (t *transaction) Spools(context.Context) (list []store.SpoolState, oldest time.Time, _ error) {
	for _, s := range t.s.spools {
		if s.SettledAt.Before(store.SpoolClosed) {
			list = append(list, s.SpoolState)
		}
	}
	if waiting := t.spooled(); len(waiting) > 0 {
		oldest = waiting[0].At
	}
	return list, oldest, nil
}

// spooledPing is a ping out of a spool that waits.
type spooledPing struct {
	store.SpooledPing
	id int64
}

// spooled returns the pings that wait, in their order.
func (t *transaction) spooled() []spooledPing {
	return slices.SortedFunc(maps.Values(t.s.spooled), func(a, b spooledPing) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.id, b.id))
	})
}

// AddSpooled adds pings out of a spool.
func (t *transaction) AddSpooled(_ context.Context, list []store.SpooledPing) error {
	for _, p := range list {
		p.At = checks.Instant(p.At)
		t.s.lastSpooled++
		put(t, t.s.spooled, t.s.lastSpooled, spooledPing{p, t.s.lastSpooled})
	}
	return nil
}

// TakeSpooled removes and returns the oldest pings.
func (t *transaction) TakeSpooled(_ context.Context, upTo time.Time, limit, maxBytes int) (list []store.SpooledPing, _ error) {
	for _, p := range t.spooled() {
		if maxBytes -= len(p.Data); p.At.After(upTo) || len(list) == limit || maxBytes < 0 && len(list) > 0 {
			break
		}
		drop(t, t.s.spooled, p.id)
		list = append(list, p.SpooledPing)
	}
	return list, nil
}

// SaveSpool adds or replaces the state of a spool.
func (t *transaction) SaveSpool(_ context.Context, s store.SpoolState) error {
	s.SettledAt, s.SeenAt, s.MissingSince = checks.Instant(s.SettledAt), checks.Instant(s.SeenAt), checks.Instant(s.MissingSince)
	put(t, t.s.spools, s.ID, spool{s, t.s.spools[s.ID].recorded})
	return nil
}

// PruneSpools removes old states.
func (t *transaction) PruneSpools(_ context.Context, before, closedBefore time.Time) error {
	for id, s := range t.s.spools {
		if s.SeenAt.Before(before) || s.SettledAt.Equal(store.SpoolClosed) && s.SeenAt.Before(closedBefore) {
			drop(t, t.s.spools, id)
		}
	}
	return nil
}

// LockRecorded returns the number of the last ping of a run that the store has.
func (t *transaction) LockRecorded(_ context.Context, run uuid.UUID) (int64, error) {
	return t.s.spools[run].recorded, nil
}

// SetRecorded sets the number of the last ping of a run that the store has.
func (t *transaction) SetRecorded(_ context.Context, run uuid.UUID, number int64, now time.Time) error {
	s, found := t.s.spools[run]
	if !found {
		s.SpoolState = store.SpoolState{ID: run, SettledAt: store.SpoolClosed, SeenAt: checks.Instant(now)}
	}
	s.recorded = number
	put(t, t.s.spools, run, s)
	return nil
}
