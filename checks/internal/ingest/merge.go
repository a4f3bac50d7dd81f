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
	"github.com/rollcall-dev/rollcall/pings"
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
func (m *merge) upTo(ctx context.Context, tx store.Tx) (upTo hold.Merge, oldest time.Time, err error) {
	states, oldest, err := tx.Spools(ctx)
	if err != nil {
		return hold.Merge{}, time.Time{}, err
	}
	s := m.spool
	upTo = m.hold.Merge(states, instantOf(s.lostAt.Load()), m.now())
	upTo.UpTo = s.settled(upTo.UpTo)
	return upTo, oldest, nil
}

// mergeBatch records the oldest pings that wait in the database. If that fails although the database is available, it tries
// one ping, and drops it if it fails alone.
func (m *merge) mergeBatch(ctx context.Context) (taken int, complete bool, err error) {
	taken, complete, err = m.take(ctx, m.limit, checks.Check.Replay)
	for _, apply := range []applying{checks.Check.Replay, refuse(err)} {
		if err == nil || errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			break
		}
		taken, complete, err = m.take(ctx, 1, apply)
	}
	return taken, complete, err
}

// refuse returns an applying that fails with an error.
func refuse(err error) applying {
	return func(c checks.Check, _ pings.Signal, _ time.Time) (checks.Check, pings.Ping, checks.Effects, error) {
		return c, pings.Ping{}, checks.Effects{}, err
	}
}

// take records the oldest pings that wait in the database, in one transaction and in the order of their times. It
// returns how many it has taken, and whether no other monitor holds one.
func (m *merge) take(ctx context.Context, limit int, apply applying) (taken int, complete bool, err error) {
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
		batch = queuedOf(list)
		locked, byID, err := lock(ctx, tx, batch)
		if err != nil {
			return err
		}
		judge := m.hold.Judge(ctx, tx, m.now)
		for i, p := range batch {
			if p.err == nil {
				_, p.err = m.apply(byID[p.check], p, apply, judge)
			}
			if errors.Is(p.err, hold.ErrHeld) {
				batch = batch[:i]
				if err := tx.AddSpooled(ctx, list[i:]); err != nil {
					return err
				}
				break
			}
			if errors.Is(p.err, store.ErrUnavailable) {
				return p.err
			}
		}
		return tx.SaveChecks(ctx, locked)
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
	m.observer.PingsReplayed(recorded, 0)
	return len(batch), complete, nil
}

// queuedOf returns pings out of the database as the writer has them.
func queuedOf(list []store.SpooledPing) []*queued {
	batch := make([]*queued, len(list))
	for i, p := range list {
		decoded, err := decode(p.Data)
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
