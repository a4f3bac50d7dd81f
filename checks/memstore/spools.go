package memstore

import (
	"context"
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

// Spools returns the states of all spools that are not closed.
func (t *transaction) Spools(context.Context) (list []store.SpoolState, _ error) {
	for _, s := range t.s.spools {
		if s.SettledAt.Before(store.SpoolClosed) {
			list = append(list, s.SpoolState)
		}
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
