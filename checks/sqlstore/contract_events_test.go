package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// testHistory: transitions and pauses come page by page, newest first, each transition with the deliveries of its alert
// and the newest of its reminders.
func testHistory(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon)
	c := f.watched(t, ops, pager)
	other := f.watched(t, ops)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	f.ping(t, other.ID, pings.Signal{Kind: pings.Failure}, at(1))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, at(1))
	for _, q := range f.claimed(t, at(2)) {
		state := checks.DeliverySent
		if q.ChannelID == pager.ID {
			state = checks.DeliveryFailed
		}
		f.save(t, at(2), ended(q, state, "refused"))
	}
	f.ping(t, c.ID, pings.Signal{}, at(3))
	f.pause(t, c.ID, at(3))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, at(4))
	page := func(before time.Time, limit int) []checks.Event {
		t.Helper()
		all, err := f.Events(t.Context(), store.EventQuery{Checks: []uuid.UUID{c.ID}, Until: before, Limit: limit, Deliveries: true})
		must(t, err)
		slices.Reverse(all[c.ID])
		return all[c.ID]
	}
	all := page(time.Time{}, 10)
	var got []checks.Status
	for _, e := range all {
		got = append(got, e.To)
	}
	paused := checks.StatusPaused
	same(t, "statuses", got, []checks.Status{checks.StatusDown, paused, checks.StatusUp, checks.StatusDown})
	if len(all) < 4 || all[0].From != paused || all[0].Reason != flips.Failure || !all[0].At.Equal(at(4)) {
		t.Fatalf("history %+v", all)
	}
	for i, want := range []int{2, 0, 2, 2} {
		if n := len(all[i].Deliveries); n != want {
			t.Errorf("event %d has %d deliveries, want %d", i, n, want)
		}
	}
	same(t, "the delivery to pager", all[3].Deliveries, f.history(t, checks.DeliveryQuery{Check: c.ID})[4:])
	same(t, "first page", page(time.Time{}, 1), all[:1])
	same(t, "two at one instant", page(at(4), 1), all[1:3])
	same(t, "the same, and no more", page(at(4), 2), all[1:3])
	same(t, "older ones", page(at(3), 100), all[3:])
	same(t, "nothing", page(noon.Add(-time.Hour), 100), []checks.Event(nil))
	both := func(from, before time.Time, limit int) (found [2]int) {
		t.Helper()
		all, err := f.Events(t.Context(), store.EventQuery{Checks: []uuid.UUID{c.ID, other.ID}, From: from, Until: before, Limit: limit})
		must(t, err)
		return [2]int{len(all[c.ID]), len(all[other.ID])}
	}
	same(t, "the newest of two checks", both(time.Time{}, time.Time{}, 1), [2]int{1, 0})
	same(t, "two at one instant of two checks", both(time.Time{}, at(3), 1), [2]int{1, 1})
	same(t, "all of two checks", both(time.Time{}, time.Time{}, 9), [2]int{4, 1})
	same(t, "those since an instant", both(at(3), time.Time{}, 9), [2]int{3, 0})
	f.deleteCheck(t, c.ID)
	same(t, "history of a deleted check", page(time.Time{}, 10), []checks.Event(nil))
}

// testManyReminders: an event has the alert itself and as many of the newest reminders as fit.
func testManyReminders(t *testing.T, f fixture) {
	c := f.watched(t, f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon))
	f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Minute)}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	for i := range store.MaxEventDeliveries {
		f.settle(t, noon.Add(time.Duration(i+1)*time.Minute))
	}
	all, err := f.Events(t.Context(), store.EventQuery{Checks: []uuid.UUID{c.ID}, Limit: 1, Deliveries: true})
	must(t, err)
	got := all[c.ID][0].Deliveries
	if len(got) != store.MaxEventDeliveries {
		t.Fatalf("%d deliveries, want %d", len(got), store.MaxEventDeliveries)
	}
	for i, want := range map[int]int{0: store.MaxEventDeliveries, len(got) - 3: store.MaxEventDeliveries/2 + 2, len(got) - 2: 0, len(got) - 1: 0} {
		if got[i].Reminder != want {
			t.Errorf("delivery %d is reminder %d, want %d", i, got[i].Reminder, want)
		}
	}
}
