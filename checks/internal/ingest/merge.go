package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// merge records the pings out of all spools that wait in the database, in the order of their times.
type merge struct {
	*transaction
	spool   *spool
	hold    hold.Rule
	timeout time.Duration
	limit   int // most pings of one transaction
	now     func() time.Time
	log     *slog.Logger
}

// upTo returns how far pings can be merged, and the time of the oldest one in the database.
func (m *merge) upTo(ctx context.Context, tx store.IngestTx) (upTo hold.Merge, oldest time.Time, err error) {
	states, oldest, err := tx.Spools(ctx)
	if err != nil {
		return hold.Merge{}, time.Time{}, err
	}
	s := m.spool
	upTo = m.hold.Merge(states, instantOf(s.lostAt.Load()), m.now())
	upTo.UpTo = s.settled(upTo.UpTo)
	return upTo, oldest, nil
}

// next records the oldest pings that wait in the database. If that fails although the database is available, it tries one
// ping, and drops it if it fails alone.
func (m *merge) next(ctx context.Context) (taken int, complete bool, err error) {
	taken, complete, err = m.attempt(ctx, m.limit, nil)
	for _, drop := range []bool{false, true} {
		if err == nil || errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			break
		}
		var reason error
		if drop {
			reason = err
		}
		taken, complete, err = m.attempt(ctx, 1, reason)
	}
	return taken, complete, err
}

// attempt takes the oldest pings that wait in the database, in one transaction, and records them, or drops them for a
// reason. It returns how many it has taken, and whether no other monitor holds one.
func (m *merge) attempt(ctx context.Context, limit int, reason error) (taken int, complete bool, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	var batch []*queued
	err = m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		batch = nil
		upTo, oldest, err := m.upTo(ctx, tx)
		if err != nil {
			return err
		}
		complete = upTo.Complete
		m.spool.noteWaiting(oldest)
		if oldest.IsZero() || oldest.After(upTo.UpTo) {
			return nil
		}
		list, err := tx.TakeSpooled(ctx, upTo.UpTo, limit, MaxBody)
		if err != nil {
			return err
		}
		batch = queuedOf(list, reason)
		if reason != nil {
			return nil
		}
		recorded, err := m.applyAll(ctx, tx, batch)
		batch = batch[:recorded]
		if err != nil {
			return err
		}
		return tx.AddSpooled(ctx, m.now(), list[recorded:])
	})
	if err != nil {
		return 0, false, unavailable(ctx, err)
	}
	recorded := 0
	for _, p := range batch {
		if p.err != nil {
			m.drop(ctx, p.check, p.at, p.err)
		} else {
			recorded++
		}
	}
	if recorded > 0 {
		m.observer.PingsReplayed(recorded, 0)
	}
	return len(batch), complete, nil
}

// applyAll applies pings to their checks, up to one that must wait, and returns how many.
func (m *merge) applyAll(ctx context.Context, tx store.IngestTx, batch []*queued) (n int, err error) {
	locked, byID, err := lock(ctx, tx, batch)
	if err != nil {
		return 0, err
	}
	judge := m.hold.Judge(ctx, tx, m.now)
	for _, p := range batch {
		if p.err == nil {
			_, p.err = m.apply(byID[p.check], p, checks.Check.Replay, judge)
		}
		if errors.Is(p.err, hold.ErrHeld) {
			break
		}
		if errors.Is(p.err, store.ErrUnavailable) {
			return n, p.err
		}
		n++
	}
	return n, tx.SaveChecks(ctx, locked)
}

// queuedOf returns pings out of the database. reason is the error of all, or nil.
func queuedOf(list []store.SpooledPing, reason error) []*queued {
	batch := make([]*queued, len(list))
	for i, p := range list {
		decoded, err := decode(p.Data)
		if reason != nil {
			err = reason
		}
		batch[i] = &queued{check: decoded.Check, signal: decoded.Signal, at: p.At, err: err}
	}
	return batch
}

// drop counts a ping that is dropped. Pings of unknown checks are normal: during an outage, the server takes all.
func (m *merge) drop(ctx context.Context, check uuid.UUID, at time.Time, reason error) {
	m.spool.dropped.Add(1)
	m.observer.PingsReplayed(0, 1)
	if !errors.Is(reason, checks.ErrNotFound) {
		m.log.ErrorContext(ctx, "a ping in the spool is dropped", "check", check, "received_at", at, "error", reason)
	}
}

// unavailable returns the error of a transaction, as store.ErrUnavailable if it took too long.
func unavailable(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
