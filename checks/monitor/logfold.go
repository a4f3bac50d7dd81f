package monitor

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

const (
	// foldBatch bounds the checks that one transaction folds. On SQLite all pings wait for it.
	foldBatch = 20
	// maxFolds bounds the months of one check that are folded at once, after a long outage.
	maxFolds = 120
)

// fold saves, for each check, the times up and down of the months before an instant whose flips are about to be pruned.
// Several servers may do so at once: all save the same.
func (p *pruner) fold(ctx context.Context, before time.Time, pause func()) error {
	if p.folded.Load() == before.Unix() {
		return nil // for this month, it is done
	}
	after, month := uuid.Nil, before.AddDate(0, -1, 0)
	for {
		ids, err := p.store.Unfolded(ctx, month, after, foldBatch)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			p.folded.Store(before.Unix())
			return nil
		}
		if err := p.foldChecks(ctx, ids, before); err != nil {
			return err
		}
		after = ids[len(ids)-1]
		if pause != nil {
			pause()
		}
	}
}

// foldChecks reads the flips of checks, and saves their times in one transaction. A check that cannot be read is left
// out, because the flips of all others wait for it.
func (p *pruner) foldChecks(ctx context.Context, ids []uuid.UUID, before time.Time) error {
	folds := make(map[uuid.UUID][]store.Fold, len(ids))
	for _, id := range ids {
		var err error
		if folds[id], err = p.foldsOf(ctx, id, before); err != nil {
			if store.Away(err) || ctx.Err() != nil {
				return err
			}
			if !errors.Is(err, checks.ErrNotFound) {
				p.logger("pruner").ErrorContext(ctx, "cannot keep the times of a check", "check", id, "error", err)
			}
			delete(folds, id)
		}
	}
	return p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		var changed []*store.Locked
		for _, l := range locked {
			if l.Folds = folds[l.ID]; len(l.Folds) > 0 {
				changed = append(changed, l)
			}
		}
		return tx.SaveChecks(ctx, changed)
	})
}

// foldsOf reads a check and returns the months before an instant that are not folded yet.
func (p *pruner) foldsOf(ctx context.Context, id uuid.UUID, before time.Time) ([]store.Fold, error) {
	c, err := p.anyCheck(ctx, id)
	if err != nil {
		return nil, err
	}
	// Read the flips first: as long as a month is not folded, nobody prunes its flips.
	history, err := p.transitionsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	months, err := p.store.Months(ctx, id, time.Time{}, before)
	if err != nil {
		return nil, err
	}
	_, effects := c.Settle(before) // for a deadline that no watcher has seen yet
	// As with flips: nobody prunes windows that a month to fold may need.
	maintenance, err := p.maintenance(ctx, c, later(c.CreatedAt, foldedUntil(months), before.AddDate(0, -maxFolds, 0)), before)
	return foldsOf(c, append(history, effects.Transitions...), months, maintenance, before), err
}

// foldsOf returns the months before an instant that are not folded yet, and for which the transitions of the check say
// something. The last month before the instant is always among them.
func foldsOf(c checks.Check, history []checks.Transition, months []store.Month, maintenance []flips.Span, before time.Time) []store.Fold {
	last := before.AddDate(0, -1, 0)
	start := foldedUntil(months)
	complete := start
	switch {
	case !start.IsZero() && !start.Before(before):
		return nil
	case !start.IsZero():
	case len(history) > 0: // of an earlier status than the oldest transition tells, nobody knows when it began
		start, complete = store.MonthStart(history[0].At), history[0].At
	default:
		start = store.MonthStart(later(c.StoredSince, c.CreatedAt))
	}
	start = later(earlier(start, last), before.AddDate(0, -maxFolds, 0))
	list, pauses := statusesOf(c, history, complete)
	var folds []store.Fold
	for ; start.Before(before); start = start.AddDate(0, 1, 0) {
		end := start.AddDate(0, 1, 0)
		folds = append(folds, store.Fold{Start: start, Days: flips.SplitMaintained(list, days(start, end.Add(-1)), pauses, maintenance)})
	}
	return folds
}

// days returns the bounds of the days in UTC from the one of from to the one of to, for [flips.Split]: each midnight, and the
// midnight after the last day. If from is after to, there are no bounds.
func days(from, to time.Time) (list []time.Time) {
	if from.After(to) {
		return nil
	}
	for at := from.UTC().Truncate(24 * time.Hour); ; at = at.AddDate(0, 0, 1) {
		if list = append(list, at); at.After(to) {
			return list
		}
	}
}
