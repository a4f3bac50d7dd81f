package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/history"
	"github.com/rollcall-dev/rollcall/flips"
)

// The number of events that a [HistoryQuery] with the Limit 0 returns, and the largest Limit.
const (
	DefaultEvents = history.DefaultEvents
	MaxEvents     = history.MaxEvents
)

// HistoryQuery selects transitions and pauses. The zero value selects the newest.
type HistoryQuery struct {
	// Before selects earlier instants: pass that of the last event of a page to get the next page.
	Before time.Time
	// Limit bounds the number of events, up to [MaxEvents]. Default: [DefaultEvents].
	Limit int
}

// Event is a transition or a pause of a check, which has no Reason.
type Event struct {
	checks.Transition
	// Deliveries are those of the alert about the transition and of its reminders, newest first, at most 100. Of more, it
	// has those of the alert itself and the newest. It is empty for a pause, and if nobody was to be told.
	Deliveries []Delivery
}

// History returns the newest transitions and pauses of a check, newest first, with the deliveries of their alerts. They
// include the transition of an overdue check that the watcher has not recorded yet. It may return a few more than the
// limit, because events of one instant stay together. The monitor keeps events as long as flips (server/API.md section
// 8). The number of queries does not depend on that of events. Errors: *[checks.FieldError] for the limit,
// [checks.ErrNotFound].
func (m *Monitor) History(ctx context.Context, id uuid.UUID, q HistoryQuery) ([]Event, error) {
	stored, err := m.history.Events(ctx, id, history.Query(q))
	list := make([]Event, len(stored))
	for i, e := range stored {
		list[i] = Event{e.Transition, deliveriesOf(e.Deliveries)}
	}
	return list, err
}

// Flips returns the flips of a check in a window of time, newest first (server/API.md section 4.10). They include the
// flip of an overdue check that the watcher has not recorded yet. Error: [checks.ErrNotFound].
func (m *Monitor) Flips(ctx context.Context, id uuid.UUID, window flips.Window) ([]flips.Flip, error) {
	return m.history.Flips(ctx, id, window)
}

// Downtime returns how a check spent the time between two instants, exactly; see [flips.Downtime]. It knows pauses, and
// the change of an overdue check that the watcher has not recorded yet. The span begins no earlier than the check was
// created, and ends no later than now. Flips and pauses of the current month and the two before it are kept; the time
// before counts as unwatched, unless the check has had its status since then. Error: [checks.ErrNotFound].
func (m *Monitor) Downtime(ctx context.Context, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	return m.history.Downtime(ctx, id, from, to)
}

// Stats returns what a check did on each UTC day from that of one instant to that of another, both included: its runs and
// their durations, and the time up, down and unwatched, exactly. Days before the check was created and after the current
// one are left out, and the current day ends now. [checks.SumDays] adds days up; [flips.Times.Availability] is the share
// of the watched time in which the check was up.
//
// Totals are kept for as long as the check. They begin when the database was first used by a version of Rollcall that
// counts runs: earlier days have no runs. The times begin with the oldest flips that were kept then; earlier days are
// unwatched, unless the check has had its status since then. Error: [checks.ErrNotFound].
func (m *Monitor) Stats(ctx context.Context, id uuid.UUID, from, to time.Time) ([]checks.DayStats, error) {
	return m.history.Stats(ctx, id, from, to)
}

// Transitions returns, for each of the checks that has some, its transitions and pauses at or after an instant, by time.
// Those of one instant are in the order in which they happened. What the clock has done and nobody has recorded yet is not
// among them; see [checks.Check.Settle]. The number of queries does not depend on the number of checks.
func (m *Monitor) Transitions(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	return m.history.Transitions(ctx, ids, since)
}
