package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// transaction commits a batch in one transaction of the store.
type transaction struct {
	store     store.Ingest
	timeout   time.Duration
	maxStored int64 // bytes of a body
	events    Events
	// ended is called after each transaction with its outcome, which is whether it recorded a ping, or its error.
	ended func(recorded bool, err error)
	// judge returns how deadlines are judged in a transaction, and finish is its last step.
	judge  func(ctx context.Context, tx store.IngestTx) hold.Judge
	finish func(ctx context.Context, tx store.IngestTx, batch []*queued) error
}

// commit records a batch and reports it to the events. It uses no caller's context: a caller that gives up must not
// cancel the pings of others.
func (t *transaction) commit(batch []*queued) error {
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	begin := time.Now()
	if err := t.record(ctx, batch); err != nil {
		err = outage(ctx, err)
		t.ended(false, err)
		return err
	}
	kinds := make(map[pings.Kind]int)
	for _, p := range batch {
		if p.err == nil {
			kinds[p.ping.Kind]++
		}
	}
	t.ended(len(kinds) > 0, nil)
	t.events.PingsWritten(kinds, time.Since(begin))
	return nil
}

var errPanic = errors.New("monitor: panic while recording pings")

// outage returns the error of a transaction as a [store.ErrUnavailable], unless it is a panic. The database is unavailable if the
// transaction took too long. If it refuses the data, the ping may be at fault or a constraint that somebody has added: the ping must
// not be lost.
func outage(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, errPanic):
		return err
	case errors.Is(err, store.ErrRefused): // which may be a checks.ErrExists
		return fmt.Errorf("%w: %v", store.ErrPartly, err)
	case ctx.Err() != nil && errors.Is(err, store.ErrPartly):
		return fmt.Errorf("%w: it took too long: %v", store.ErrUnavailable, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: it took too long: %w", store.ErrUnavailable, err)
	case errors.Is(err, store.ErrUnavailable):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrPartly, err)
}

// record applies a batch to its checks. It turns a panic into an error, so that a bad check crashes neither the process nor
// the other pings.
func (t *transaction) record(ctx context.Context, batch []*queued) (err error) {
	defer recovered(&err)
	return t.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		judge := t.judge(ctx, tx)
		locked, byID, err := lock(ctx, tx, batch)
		if err != nil {
			return err
		}
		for _, p := range batch {
			apply := checks.Check.Ping
			if p.again {
				apply = checks.Check.Replay
			}
			if p.ping, p.err = t.apply(byID[p.check], p, apply, judge); errors.Is(p.err, store.ErrUnavailable) {
				return p.err
			}
		}
		if err := tx.SaveChecks(ctx, locked); err != nil {
			return err
		}
		return t.finish(ctx, tx, batch)
	})
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}

// lock locks the checks of a batch, each once.
func lock(ctx context.Context, tx store.IngestTx, batch []*queued) (locked []*store.Locked, byID map[uuid.UUID]*store.Locked, err error) {
	ids := make([]uuid.UUID, 0, len(batch))
	byID = make(map[uuid.UUID]*store.Locked, len(batch))
	for _, p := range batch {
		if _, seen := byID[p.check]; !seen {
			byID[p.check] = nil
			ids = append(ids, p.check)
		}
	}
	locked, err = tx.LockChecks(ctx, ids)
	for _, l := range locked {
		byID[l.ID] = l
	}
	return locked, byID, err
}

// applying is checks.Check.Ping or checks.Check.Replay.
type applying func(checks.Check, pings.Signal, time.Time) (checks.Check, pings.Ping, checks.Effects, error)

// apply applies a ping to its locked check, which is nil if there is none. The error is hold.ErrHeld if the check has a
// deadline before the ping that may not be judged yet.
func (t *transaction) apply(l *store.Locked, p *queued, apply applying, judge hold.Judge) (pings.Ping, error) {
	switch {
	case p.slug != slugTarget{}:
		return pings.Ping{}, hold.ErrHeld
	case l == nil:
		return pings.Ping{}, checks.ErrNotFound
	}
	judged := p.at
	if since := p.signal.WaitedSince; !since.IsZero() && since.Before(judged) {
		judged = since
	}
	if err := judge(l.Wake(), judged); err != nil {
		return pings.Ping{}, err
	}
	c, ping, effects, err := apply(l.Check, p.signal, p.at)
	if err != nil {
		return pings.Ping{}, err
	}
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
	if int64(len(ping.Body)) > t.maxStored {
		l.Uploads = append(l.Uploads, ping.N)
	}
	return ping, nil
}
