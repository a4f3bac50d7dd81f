package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// History returns the newest flips and pauses of a check with their deliveries, newest first.
func (s *Store) History(ctx context.Context, checkID uuid.UUID, q store.HistoryQuery) (list []store.Event, err error) {
	err = s.view(ctx, func() {
		c := s.checks[checkID]
		if c == nil {
			return
		}
		var numbers []int64 // of the flips in list, 0 for a pause
		list, numbers = c.events(q)
		for _, d := range s.deliveries {
			if d.check != c {
				continue
			}
			if i := slices.Index(numbers, d.flip); i >= 0 && d.flip != 0 {
				list[i].Deliveries = append(list[i].Deliveries, s.history(d))
			}
		}
	})
	for i := range list {
		list[i].Deliveries = newestDeliveries(list[i].Deliveries)
	}
	return list, err
}

// events returns the newest flips and pauses of the check, newest first, and the numbers of the flips.
func (c *check) events(q store.HistoryQuery) (list []store.Event, numbers []int64) {
	for _, e := range slices.Backward(c.allEvents()) {
		if !q.Before.IsZero() && !e.At.Before(q.Before) {
			continue
		}
		if len(list) >= q.Limit && !e.At.Equal(list[len(list)-1].At) {
			break
		}
		list, numbers = append(list, store.Event{Transition: e.Transition}), append(numbers, e.number)
	}
	return list, numbers
}

// event is a flip with its number, or a pause without one.
type event struct {
	checks.Transition
	number int64
}

// allEvents returns the flips and the pauses of the check, by time.
func (c *check) allEvents() []event {
	var flips, pauses []event
	for _, f := range c.flips {
		flips = append(flips, event{f.transition(), f.number})
	}
	for _, p := range c.pauses {
		pauses = append(pauses, event{p, 0})
	}
	for _, list := range [][]event{flips, pauses} {
		slices.SortStableFunc(list, func(a, b event) int { return a.At.Compare(b.At) })
	}
	return store.MergePauses(flips, pauses, func(e event) checks.Transition { return e.Transition })
}

// newestDeliveries returns up to MaxEventDeliveries, those of the alert itself before reminders, and sorts them.
func newestDeliveries(list []store.Delivery) []store.Delivery {
	byID := func(a, b store.Delivery) int { return cmp.Compare(b.ID, a.ID) }
	slices.SortFunc(list, func(a, b store.Delivery) int {
		return cmp.Or(cmp.Compare(min(a.Reminder, 1), min(b.Reminder, 1)), byID(a, b))
	})
	list = list[:min(len(list), store.MaxEventDeliveries)]
	slices.SortFunc(list, byID)
	return list
}
