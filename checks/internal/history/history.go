// Package history says what has happened to a check: its flips, transitions and alerts, and what it did on each day. It
// also keeps what old flips say when they are pruned.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// History reads and prunes the history of checks.
type History struct {
	Store store.History
	Now   func() time.Time
	Log   *slog.Logger
	// Holder identifies this monitor among those that prune.
	Holder uuid.UUID

	// lease is that of the monitor that prunes the log, as far as this one knows. Only PrunePings uses it.
	lease store.Lease
	// folded is the instant up to which fold has done its work, in seconds since 1970.
	folded atomic.Int64
}

func (h *History) check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	list, err := h.Store.Checks(ctx, store.CheckFilter{ID: &id})
	if err == nil && len(list) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return checks.Check{}, err
	}
	return list[0], nil
}

// The number of events that a query with the Limit 0 returns, and the largest Limit.
const (
	DefaultEvents = 50
	MaxEvents     = 1000
)

// Events returns the newest transitions and pauses of a check, newest first, with the deliveries of their alerts and with
// the transition that nobody has recorded yet.
func (h *History) Events(ctx context.Context, id uuid.UUID, q store.HistoryQuery) ([]store.Event, error) {
	if q.Limit < 0 || q.Limit > MaxEvents {
		return nil, &checks.FieldError{Field: "limit", Reason: fmt.Sprintf("must be 0 to %d: %d", MaxEvents, q.Limit)}
	}
	q.Limit = cmp.Or(q.Limit, DefaultEvents)
	now := h.Now()
	c, err := h.check(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := h.Store.History(ctx, id, q)
	if err != nil {
		return nil, err
	}
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		// The watcher may have recorded it after the check was read.
		recorded := slices.ContainsFunc(list, func(e store.Event) bool { return !e.At.Before(t.At) })
		if (q.Before.IsZero() || t.At.Before(q.Before)) && !recorded {
			list = slices.Insert(list, 0, store.Event{Transition: t})
		}
	}
	return list, nil
}

// Flips returns the flips of a check in a window of time, newest first, with the flip that nobody has recorded yet.
func (h *History) Flips(ctx context.Context, id uuid.UUID, window flips.Window) ([]flips.Flip, error) {
	now := h.Now()
	c, err := h.check(ctx, id)
	if err != nil {
		return nil, err
	}
	from, until := window.Bounds(now)
	stored, err := h.Store.Flips(ctx, id, from, until)
	if err != nil && !errors.Is(err, checks.ErrNotFound) {
		return nil, err
	}
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		flip := t.Flip()
		// The watcher may have recorded it after the check was read.
		if window.Contains(flip.At, now) && !slices.Contains(stored, flip) {
			stored = slices.Insert(stored, 0, flip)
		}
	}
	return stored, nil
}

// transitions returns all transitions and pauses of a check.
func (h *History) transitions(ctx context.Context, id uuid.UUID) ([]checks.Transition, error) {
	all, err := h.Store.Transitions(ctx, []uuid.UUID{id}, time.Time{})
	return all[id], err
}

// Downtime returns how a check spent the time between two instants; see package monitor.
func (h *History) Downtime(ctx context.Context, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	now := h.Now()
	c, err := h.check(ctx, id)
	if err != nil {
		return flips.Times{}, err
	}
	history, err := h.transitions(ctx, id)
	if err != nil {
		return flips.Times{}, err
	}
	_, effects := c.Settle(now)
	history = append(history, effects.Transitions...) // twice if the watcher has recorded them meanwhile, which is harmless
	list, pauses := statusesOf(c, history, flips.RetentionBoundary(now))
	return flips.Downtime(list, later(from, c.CreatedAt), earlier(to, now), pauses...), nil
}
