package monitor

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/history"
	"github.com/rollcall-dev/rollcall/flips"
)

// Audit returns entries of the audit log about the project and what is in it, newest first. The query's Project is ignored. A
// project without entries need not exist: entries outlive what they are about.
func (p *Project) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	q.Project = p.id
	list, err := p.mon.store.Audit(ctx, q)
	return list, p.about(err)
}

// EventQuery selects transitions and pauses. The zero value selects all.
type EventQuery struct {
	// Before selects earlier instants.
	Before time.Time
	// Limit bounds the number of events, except that those of one instant stay together. 0 is no bound.
	Limit int
}

// Event is a transition or a pause of a check, which has no Reason.
type Event struct {
	checks.Transition
	// Deliveries are those of the alert about the transition and of its reminders, newest first, at most 100. Of more, it
	// has those of the alert itself and the newest. It is empty for a pause, and if nobody was to be told.
	Deliveries []Delivery
}

// eventPage is the number of events that a query reads.
const eventPage = 100

// Events returns the transitions and pauses of a check, newest first, with the deliveries of their alerts. They include the
// transition of an overdue check that the watcher has not recorded yet. The monitor keeps events as long as flips: those of
// the current month and the two before it. A query reads 100 events, so that an iteration that ends early is cheap. After
// an error the iteration ends. Errors: *[checks.FieldError] for the limit, [checks.ErrNotFound].
func (p *Project) Events(ctx context.Context, id uuid.UUID, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := checks.ValidateLimit(q.Limit); err != nil {
			yield(Event{}, about("check", id, err))
			return
		}
		for left, bounded := q.Limit, q.Limit > 0; !bounded || left > 0; {
			page := history.Query{Before: q.Before, Limit: eventPage}
			if bounded {
				page.Limit = min(left, eventPage)
			}
			list, err := p.mon.history.Events(ctx, p.id, id, page)
			if err != nil {
				yield(Event{}, about("check", id, err))
				return
			}
			for _, e := range list {
				if !yield(Event{e.Transition, deliveriesOf(e.Deliveries)}, nil) {
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

// Flips returns the flips of a check in a window of time, newest first. They include the flip of an overdue check that the
// watcher has not recorded yet. The monitor keeps those of the current month and the two before it. Errors:
// [checks.ErrNotFound], and that of [checks.ValidateWindow].
func (p *Project) Flips(ctx context.Context, id uuid.UUID, window flips.Window) iter.Seq2[flips.Flip, error] {
	return ofCheck(ctx, id, func() ([]flips.Flip, error) {
		if err := checks.ValidateWindow(window); err != nil {
			return nil, err
		}
		return p.mon.history.Flips(ctx, p.id, id, window)
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

// Downtime returns how a check spent the time between two instants, exactly; see [flips.Downtime]. It knows pauses, and
// the change of an overdue check that the watcher has not recorded yet. The span begins no earlier than the check was
// created, and ends no later than now. Flips and pauses of the current month and the two before it are kept; the time
// before counts as unwatched, unless the check has had its status since then. Error: [checks.ErrNotFound].
func (p *Project) Downtime(ctx context.Context, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	times, err := p.mon.history.Downtime(ctx, p.id, id, from, to)
	return times, about("check", id, err)
}

// Stats returns what a check did on each UTC day from that of one instant to that of another, both included, at most 366 days: its runs and
// their durations, and the time up, down and unwatched, exactly. Days before the check was created and after the current
// one are left out, and the current day ends now. [checks.SumDays] adds days up; [flips.Times.Availability] is the share
// of the watched time in which the check was up.
//
// Totals are kept for as long as the check. They begin when the database was first used by a version of Rollcall that
// counts runs: earlier days have no runs. The times begin with the oldest flips that were kept then; earlier days are
// unwatched, unless the check has had its status since then. Errors: [checks.ErrNotFound], and that of [checks.ValidateDays].
func (p *Project) Stats(ctx context.Context, id uuid.UUID, from, to time.Time) ([]checks.DayStats, error) {
	if err := checks.ValidateDays(from, to); err != nil {
		return nil, about("check", id, err)
	}
	days, err := p.mon.history.Stats(ctx, p.id, id, from, to)
	return days, about("check", id, err)
}
