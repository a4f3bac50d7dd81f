package monitor

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// EventQuery selects transitions and pauses. The zero value selects all.
type EventQuery struct {
	// Before selects earlier instants.
	Before time.Time
	// Limit bounds the number of events, except that those of one instant stay together. 0 is no bound.
	Limit int
}

// eventPage is the number of events that a query reads.
const eventPage = 100

// Events returns the transitions and pauses of a check, newest first, with the deliveries of their alerts. They include the
// transition of an overdue check that the watcher has not recorded yet. The monitor keeps events as long as flips: those of
// the current month and the two before it. A query reads 100 events, so that an iteration that ends early is cheap. After
// an error the iteration ends. Errors: *[checks.FieldError] for the limit, [checks.ErrNotFound].
func (p *Project) Events(ctx context.Context, id uuid.UUID, q EventQuery) iter.Seq2[checks.Event, error] {
	return func(yield func(checks.Event, error) bool) {
		if err := checks.ValidateLimit(q.Limit); err != nil {
			yield(checks.Event{}, about("check", id, err))
			return
		}
		for left, bounded := q.Limit, q.Limit > 0; !bounded || left > 0; {
			page := EventQuery{Before: q.Before, Limit: eventPage}
			if bounded {
				page.Limit = min(left, eventPage)
			}
			list, err := p.events(ctx, id, page)
			if err != nil {
				yield(checks.Event{}, about("check", id, err))
				return
			}
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			if len(list) < page.Limit {
				return
			}
			left -= len(list)
			q.Before = list[len(list)-1].At
		}
	}
}

// events reads one page.
func (p *Project) events(ctx context.Context, id uuid.UUID, q EventQuery) ([]checks.Event, error) {
	now := p.now()
	c, err := p.check(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := p.store.Events(ctx, store.EventQuery{Checks: []uuid.UUID{id}, Until: q.Before, Limit: q.Limit, Deliveries: true})
	if err != nil {
		return nil, err
	}
	list := all[id]
	slices.Reverse(list)
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		// The watcher may have recorded it after the check was read.
		recorded := slices.ContainsFunc(list, func(e checks.Event) bool { return !e.At.Before(t.At) })
		if (q.Before.IsZero() || t.At.Before(q.Before)) && !recorded {
			list = slices.Insert(list, 0, checks.Event{CheckID: id, Transition: t})
		}
	}
	return list, nil
}

// Events returns the newest transitions and pauses of checks that the query selects, newest first, those that nobody has
// recorded yet included, without deliveries. The query has a Limit; all events at the instant of the last one are among them.
func (s *Projects) Events(ctx context.Context, list []checks.Check, q EventQuery) (newest []checks.Event, err error) {
	// It looks at spans that grow, so that it reads little of a long history.
	now := s.now()
	until := q.Before
	if until.IsZero() {
		until = now.Add(24 * time.Hour) // a clock was set back
	}
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	q.Limit = max(q.Limit, 1)
	oldest := flips.RetentionBoundary(now)
	all := map[uuid.UUID][]checks.Event{}
	for span := 48 * time.Hour; len(ids) > 0; span *= 4 {
		from := until.Add(-span)
		if all, err = s.store.Events(ctx, store.EventQuery{Checks: ids, From: from, Until: until, Limit: q.Limit}); err != nil {
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
			recorded := slices.ContainsFunc(all[c.ID], func(e checks.Event) bool { return !e.At.Before(t.At) })
			if t.At.Before(until) && !recorded {
				newest = append(newest, checks.Event{CheckID: c.ID, Transition: t})
			}
		}
		slices.Reverse(all[c.ID])
		newest = append(newest, all[c.ID]...)
	}
	slices.SortStableFunc(newest, func(a, b checks.Event) int { return b.At.Compare(a.At) })
	return newest, nil
}

// Flips returns the flips of a check in a range of time, newest first. They include the flip of an overdue check that the
// watcher has not recorded yet. The monitor keeps those of the current month and the two before it. Errors:
// [checks.ErrNotFound], and that of [checks.ValidateRange].
func (p *Project) Flips(ctx context.Context, id uuid.UUID, in flips.Range) iter.Seq2[flips.Flip, error] {
	return ofCheck(ctx, id, func() ([]flips.Flip, error) {
		if err := checks.ValidateRange(in); err != nil {
			return nil, err
		}
		now := p.now()
		c, err := p.check(ctx, id)
		if err != nil {
			return nil, err
		}
		from, until := in.Bounds(now)
		all, err := p.store.Events(ctx, store.EventQuery{Checks: []uuid.UUID{id}, From: from, Until: until})
		if err != nil {
			return nil, err
		}
		events := slices.DeleteFunc(all[id], func(e checks.Event) bool { return e.ID == 0 })
		// By the order of commits: instants can be out of order after a clock was set back.
		slices.SortFunc(events, func(a, b checks.Event) int { return cmp.Compare(b.ID, a.ID) })
		stored := make([]flips.Flip, len(events))
		for i, e := range events {
			stored[i] = e.Flip()
		}
		_, effects := c.Settle(now)
		for _, t := range effects.Transitions {
			flip := t.Flip()
			// The watcher may have recorded it after the check was read.
			if in.Contains(flip.At, now) && !slices.Contains(stored, flip) {
				stored = slices.Insert(stored, 0, flip)
			}
		}
		return stored, nil
	})
}

// ofCheck yields what read returns about a check, until the context ends.
func ofCheck[T any](ctx context.Context, id uuid.UUID, read func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list, err := read()
		for i := 0; i < len(list) && err == nil; i++ {
			if err = ctx.Err(); err == nil && !yield(list[i], nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), about("check", id, err))
		}
	}
}

// Downtime returns how a check spent the time between two instants, exactly; see [flips.SplitMaintained]. It knows pauses, maintenance, and
// the change of an overdue check that the watcher has not recorded yet. The span begins no earlier than the check was
// created, and ends no later than now. Flips and pauses of the current month and the two before it are kept; the time
// before counts as unwatched, unless the check has had its status since then. Error: [checks.ErrNotFound].
func (p *Project) Downtime(ctx context.Context, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	now := p.now()
	c, err := p.check(ctx, id)
	if err != nil {
		return flips.Times{}, about("check", id, err)
	}
	history, err := p.transitionsOf(ctx, id)
	if err != nil {
		return flips.Times{}, about("check", id, err)
	}
	_, effects := c.Settle(now)
	history = append(history, effects.Transitions...) // twice if the watcher has recorded them meanwhile, which is harmless
	list, pauses := statusesOf(c, history, flips.RetentionBoundary(now))
	from, to = later(from, c.CreatedAt), earlier(to, now)
	maintenance, err := p.maintenance(ctx, c, from, to)
	return flips.SplitMaintained(list, []time.Time{from, to}, pauses, maintenance)[0], about("check", id, err)
}

// Transitions returns, for each of the checks that has some, its transitions and pauses at or after an instant, by time.
// Those of one instant are in the order in which they happened. What the clock has done and nobody has recorded yet is not
// among them; see [checks.Check.Settle].
func (s *Projects) Transitions(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	return s.transitions(ctx, ids, since)
}

// transitions returns, for each of the checks that has some, its transitions and pauses from an instant on, by time.
func (s *service) transitions(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	all, err := s.store.Events(ctx, store.EventQuery{Checks: ids, From: since})
	lists := make(map[uuid.UUID][]checks.Transition, len(all))
	for id, events := range all {
		lists[id] = make([]checks.Transition, len(events))
		for i, e := range events {
			lists[id][i] = e.Transition
		}
	}
	return lists, err
}

// transitionsOf returns all transitions and pauses of a check.
func (s *service) transitionsOf(ctx context.Context, id uuid.UUID) ([]checks.Transition, error) {
	all, err := s.transitions(ctx, []uuid.UUID{id}, time.Time{})
	return all[id], err
}
