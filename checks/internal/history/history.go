// Package history says what has happened to a check: its flips, transitions and alerts, and what it did on each day. It
// also keeps what old flips say when they are pruned.
package history

import (
	"cmp"
	"context"
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
	lease store.Setting
	// folded is the instant up to which fold has done its work, in seconds since 1970.
	folded atomic.Int64
}

// check returns a check of a project, or of any project if that is zero.
func (h *History) check(ctx context.Context, projectID, id uuid.UUID) (checks.Check, error) {
	list, err := h.Store.Checks(ctx, store.CheckFilter{ID: &id})
	if err == nil && (len(list) == 0 || projectID != uuid.Nil && list[0].ProjectID != projectID) {
		err = checks.ErrNotFound
	}
	if err != nil {
		return checks.Check{}, err
	}
	return list[0], nil
}

// Query selects events; see monitor.EventQuery.
type Query struct {
	Before time.Time
	Limit  int
}

// Events returns the newest transitions and pauses of a check, newest first, with the deliveries of their alerts and with
// the transition that nobody has recorded yet.
func (h *History) Events(ctx context.Context, projectID, id uuid.UUID, q Query) ([]store.Event, error) {
	now := h.Now()
	c, err := h.check(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	all, err := h.Store.Events(ctx, store.EventQuery{Checks: []uuid.UUID{id}, Until: q.Before, Limit: q.Limit, Deliveries: true})
	if err != nil {
		return nil, err
	}
	list := all[id]
	slices.Reverse(list)
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

// CheckEvent is an event of one of several checks.
type CheckEvent struct {
	CheckID uuid.UUID
	checks.Transition
}

// Newest returns the newest transitions and pauses of checks before an instant, newest first, with those that nobody has
// recorded yet. It looks at spans that grow, so that it reads little of a long history.
func (h *History) Newest(ctx context.Context, list []checks.Check, q Query) (newest []CheckEvent, err error) {
	now := h.Now()
	until := q.Before
	if until.IsZero() {
		until = now.Add(24 * time.Hour) // a clock was set back
	}
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	oldest := flips.RetentionBoundary(now)
	all := map[uuid.UUID][]store.Event{}
	for span := 48 * time.Hour; len(ids) > 0; span *= 4 {
		from := until.Add(-span)
		if all, err = h.Store.Events(ctx, store.EventQuery{Checks: ids, From: from, Until: until, Limit: q.Limit}); err != nil {
			return nil, err
		}
		found := 0
		for _, events := range all {
			found += len(events)
		}
		if found >= q.Limit || from.Before(oldest) {
			break
		}
	}
	for _, c := range list {
		_, effects := c.Settle(now)
		for _, t := range effects.Transitions {
			recorded := slices.ContainsFunc(all[c.ID], func(e store.Event) bool { return !e.At.Before(t.At) })
			if t.At.Before(until) && !recorded {
				newest = append(newest, CheckEvent{c.ID, t})
			}
		}
		for _, e := range slices.Backward(all[c.ID]) {
			newest = append(newest, CheckEvent{c.ID, e.Transition})
		}
	}
	slices.SortStableFunc(newest, func(a, b CheckEvent) int { return b.At.Compare(a.At) })
	return newest, nil
}

// Flips returns the flips of a check in a window of time, newest first, with the flip that nobody has recorded yet.
func (h *History) Flips(ctx context.Context, projectID, id uuid.UUID, window flips.Window) ([]flips.Flip, error) {
	now := h.Now()
	c, err := h.check(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	from, until := window.Bounds(now)
	all, err := h.Store.Events(ctx, store.EventQuery{Checks: []uuid.UUID{id}, From: from, Until: until})
	if err != nil {
		return nil, err
	}
	events := slices.DeleteFunc(all[id], func(e store.Event) bool { return e.ID == 0 })
	// By the order of commits: instants can be out of order after a clock was set back.
	slices.SortFunc(events, func(a, b store.Event) int { return cmp.Compare(b.ID, a.ID) })
	stored := make([]flips.Flip, len(events))
	for i, e := range events {
		stored[i] = e.Flip()
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

// Transitions returns, for each of the checks that has some, its transitions and pauses from an instant on, by time.
func (h *History) Transitions(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	all, err := h.Store.Events(ctx, store.EventQuery{Checks: ids, From: since})
	lists := make(map[uuid.UUID][]checks.Transition, len(all))
	for id, events := range all {
		lists[id] = make([]checks.Transition, len(events))
		for i, e := range events {
			lists[id][i] = e.Transition
		}
	}
	return lists, err
}

// transitions returns all transitions and pauses of a check.
func (h *History) transitions(ctx context.Context, id uuid.UUID) ([]checks.Transition, error) {
	all, err := h.Transitions(ctx, []uuid.UUID{id}, time.Time{})
	return all[id], err
}

// timedPings is the number of newest pings of a check among which LastDurations looks for one with a duration.
const timedPings = 5

// LastDurations returns the duration of the last finished run of each check of a project, if several other pings have not
// followed it.
func (h *History) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	all, err := h.Store.Pings(ctx, store.PingQuery{Project: projectID, Limit: timedPings, Timed: true})
	durations := make(map[uuid.UUID]time.Duration, len(all))
	for id, log := range all {
		durations[id] = *log[0].Duration
	}
	return durations, err
}

// Downtime returns how a check spent the time between two instants; see package monitor.
func (h *History) Downtime(ctx context.Context, projectID, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	now := h.Now()
	c, err := h.check(ctx, projectID, id)
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
