package ingest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// merge records the pings out of all spools that wait in the database, in the order of their times. Only one goroutine uses
// it.
type merge struct {
	*transaction
	spool   *spool
	hold    hold.Rule
	timeout time.Duration
	limit   int // most pings of one transaction
	size    int // most pings of the next one: fewer after a failure, to find its cause
	stuck   map[uuid.UUID]*stuck
	now     func() time.Time
	log     *slog.Logger
}

// horizon returns how far pings can be merged, and the time of the oldest one in the database.
func (m *merge) horizon(ctx context.Context, tx store.IngestTx) (upTo hold.Merge, oldest time.Time, err error) {
	states, oldest, err := tx.Spools(ctx)
	if err != nil {
		return hold.Merge{}, time.Time{}, err
	}
	s := m.spool
	upTo = m.hold.Merge(states, instantOf(s.lostAt.Load()), m.now())
	upTo.UpTo = s.settled(upTo.UpTo)
	return upTo, oldest, nil
}

// next records the oldest pings that wait in the database. If that fails although the database is there, it tries fewer, down
// to one. One that panics is dropped. One that the database does not take waits, with the later ones of its check.
func (m *merge) next(ctx context.Context) (taken int, complete bool, err error) {
	for suspects := 0; suspects < maxFailed; {
		p := pass{merge: m, most: m.size}
		switch complete, err = p.attempt(ctx); {
		case err == nil:
			m.size = min(2*m.size, m.limit)
			return p.finish(ctx), complete, nil
		case store.Away(err) || ctx.Err() != nil:
			return 0, false, err
		case p.head == nil:
			if !m.probed(ctx) {
				return 0, false, err
			}
		case m.size > 1:
			m.size /= 2
		case errors.Is(err, store.ErrUnavailable):
			if !m.fails(ctx, p.head.check, err) {
				suspects++
			}
		default:
			p = pass{merge: m, most: 1, reason: err}
			if complete, err = p.attempt(ctx); err != nil {
				return 0, false, err
			}
			return p.finish(ctx), complete, nil
		}
	}
	return 0, false, err
}

// pass is one transaction of a merge.
type pass struct {
	*merge
	most   int   // pings to record
	reason error // why they are dropped instead, or nil

	upTo  time.Time
	list  []store.SpooledPing // that the pass records
	batch []*queued           // the same
	head  *queued             // the first of them
	aside []setAside          // that must wait
}

// attempt takes the oldest pings that wait in the database, in one transaction, and records them. It reports whether no other
// monitor holds one.
func (p *pass) attempt(ctx context.Context) (complete bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer func() { err = outage(ctx, err) }()
	defer recovered(&err)
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		p.list, p.batch, p.head, p.aside = nil, nil, nil, nil
		upTo, oldest, err := p.horizon(ctx, tx)
		if err != nil {
			return err
		}
		complete, p.upTo = upTo.Complete, p.whole(upTo.UpTo)
		p.spool.noteWaiting(oldest)
		if oldest.IsZero() || oldest.After(p.upTo) {
			return nil
		}
		if err := p.take(ctx, tx); err != nil {
			return err
		}
		return p.write(ctx, tx)
	})
	return complete, err
}

// write records the pings of the pass, or drops them for its reason, and puts back those that must wait.
func (p *pass) write(ctx context.Context, tx store.IngestTx) (err error) {
	p.batch = queuedOf(p.list, p.reason)
	done := len(p.batch)
	if done > 0 {
		p.head = p.batch[0]
	}
	if p.reason == nil {
		if done, err = p.applyAll(ctx, tx, p.batch); err != nil {
			return err
		}
	}
	p.batch = p.batch[:done]
	back, err := p.putBack()
	if err != nil {
		return err
	}
	return tx.AddSpooled(ctx, p.now(), append(back, p.list[done:]...))
}

// finish reports what a successful transaction has done, and returns how many pings it has taken.
func (p *pass) finish(ctx context.Context) (taken int) {
	recorded := 0
	for _, q := range p.batch {
		if q.err != nil {
			p.drop(ctx, q.check, q.at, q.err)
		} else {
			recorded++
		}
	}
	if recorded > 0 {
		p.events.PingsReplayed(recorded, 0)
		p.ended(true, nil)
	}
	return len(p.batch) + p.settle(recorded > 0)
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
		if at := instantOf(decoded.AtMicros); err == nil && at.Before(p.At) { // p.At is when it was to be tried again
			batch[i].at = at
		}
	}
	return batch
}

// drop counts a ping that is dropped. Pings of unknown checks are normal: during an outage, the server takes all.
func (m *merge) drop(ctx context.Context, check uuid.UUID, at time.Time, reason error) {
	m.spool.dropped.Add(1)
	m.events.PingsReplayed(0, 1)
	if !errors.Is(reason, checks.ErrNotFound) {
		m.log.ErrorContext(ctx, "a ping in the spool is dropped", "check", check, "received_at", at, "error", reason)
	}
}
