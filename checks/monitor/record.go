package monitor

import (
	"context"

	"github.com/google/uuid"
)

// Recorder is what a [Store] may be besides, to record pings faster than by Update, LockChecks and SaveStates.
type Recorder interface {
	// Record hands those of the checks with these identifiers that exist to fn, in no particular order and without
	// their Channels, and saves what fn has done to them as SaveStates does. When Record returns nil, that is durable.
	// It may run fn again, with the checks as they are then, and keeps only what the last run has done; so fn must
	// have no other effect that counts, and must not use the store. The checks are fn's only until Record returns.
	Record(ctx context.Context, ids []uuid.UUID, fn func(locked []*Locked) error) error
}

// record saves what fn does to checks, in the way that the store does it best.
func record(ctx context.Context, store Store, ids []uuid.UUID, fn func(locked []*Locked) error) error {
	if r, ok := store.(Recorder); ok {
		return r.Record(ctx, ids, fn)
	}
	return store.Update(ctx, func(ctx context.Context, tx Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		if err := fn(locked); err != nil {
			return err
		}
		return tx.SaveStates(ctx, locked)
	})
}

// Record saves what fn does to checks, and tells when alerts are among it.
func (s signalling) Record(ctx context.Context, ids []uuid.UUID, fn func(locked []*Locked) error) error {
	raised := false
	err := record(ctx, s.Store, ids, func(locked []*Locked) error {
		raised = false
		err := fn(locked)
		for _, l := range locked {
			raised = raised || len(l.Transitions) > 0 || len(l.Alerts) > 0
		}
		return err
	})
	if err == nil && raised {
		s.delivery.wake()
	}
	return err
}
