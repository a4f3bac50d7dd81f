package monitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// The number of events that a [HistoryQuery] with the Limit 0 returns, and the largest Limit.
const (
	DefaultEvents = 50
	MaxEvents     = 1000
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
	switch {
	case q.Limit < 0 || q.Limit > MaxEvents:
		return nil, &checks.FieldError{Field: "limit", Reason: fmt.Sprintf("must be 0 to %d: %d", MaxEvents, q.Limit)}
	case q.Limit == 0:
		q.Limit = DefaultEvents
	}
	now := m.Now()
	c, err := m.Check(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := m.events(ctx, id, store.HistoryQuery(q))
	if err != nil {
		return nil, err
	}
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		// The watcher may have recorded it after the check was read.
		recorded := slices.ContainsFunc(list, func(e Event) bool { return !e.At.Before(t.At) })
		if (q.Before.IsZero() || t.At.Before(q.Before)) && !recorded {
			list = slices.Insert(list, 0, Event{Transition: t})
		}
	}
	return list, nil
}

func (m *Monitor) events(ctx context.Context, id uuid.UUID, q store.HistoryQuery) ([]Event, error) {
	stored, err := m.store.History(ctx, id, q)
	list := make([]Event, len(stored))
	for i, e := range stored {
		list[i].Transition = e.Transition
		for _, d := range e.Deliveries {
			list[i].Deliveries = append(list[i].Deliveries, Delivery(d))
		}
	}
	return list, err
}
