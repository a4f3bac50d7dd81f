package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// held returns a claimed delivery as the gate keeps it back until an instant.
func held(q store.QueuedDelivery, until time.Time) store.DeliveryResult {
	r := resultsOf(q)[0]
	r.Held, r.HeldBy, r.HeldUntil, r.Due = gate.ByMaintenance, "two  words", until, until
	r.Attempts--
	return r
}

// testDeliveryHeld keeps a delivery back: it is due at the end, counts as waiting only from then on, and what comes of it knows why.
func testDeliveryHeld(t *testing.T, f fixture) {
	ops, member := f.addChannel(t, "ops", noon), f.addChannel(t, "member", noon.Add(time.Second))
	c := f.watched(t, ops)
	f.flip(t, c, noon, 2) // the second waits behind the first
	end := noon.Add(time.Hour)
	f.exchange(t, noon, 0, held(f.claimed(t, noon)[0], end))
	waits := func(what string, now time.Time, want map[uuid.UUID]store.Waiting) {
		t.Helper()
		got, err := f.Waiting(t.Context(), f.project.ID, now.Add(-time.Minute))
		must(t, err)
		same(t, what, got, want)
	}
	if claimed := f.claimed(t, end.Add(-time.Microsecond)); len(claimed) != 0 {
		t.Fatalf("claimed while kept back: %+v", claimed)
	}
	waits("while kept back", end, nil)
	d := f.history(t, checks.DeliveryQuery{})[1]
	if d.Held != gate.ByMaintenance || d.HeldBy != "two  words" || !d.Due.Equal(end) || d.Attempts != 0 {
		t.Errorf("kept back: %+v", d)
	}
	q := f.claimed(t, end)[0]
	if q.Held != d.Held || q.HeldBy != d.HeldBy || !q.HeldUntil.Equal(end) || q.Attempts != 1 {
		t.Errorf("claimed at the end: %+v", q)
	}
	if d := f.history(t, checks.DeliveryQuery{})[1]; d.Held != "" {
		t.Errorf("while it is sent: %+v", d)
	}
	q.Error, q.Due = "away", end.Add(time.Hour)
	r := resultsOf(q)[0]
	r.Handovers = []store.Handover{{Recipient: "a", Due: end, Error: "away"}}
	f.exchange(t, end, 0, r)
	waits("a minute after the end", end.Add(2*time.Minute), map[uuid.UUID]store.Waiting{
		ops.ID: {Alerts: 3, Attempts: 1, Oldest: instantOf(noon.Add(time.Second)), Newest: end, Error: "away"},
	})
	r = sent(f.claimed(t, end.Add(time.Hour))[0])[0]
	r.Copies = []uuid.UUID{member.ID}
	f.exchange(t, end.Add(time.Hour), 0, r)
	for _, q := range f.claimed(t, end.Add(2*time.Hour)) {
		if got := q.HeldUntil.Equal(end) && q.Held == gate.ByMaintenance; got != (q.ChannelID == member.ID || q.Recipient != "") {
			t.Errorf("copied: %+v", q)
		}
	}
}

// instantOf returns an instant as the database keeps it.
func instantOf(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// testDeliveryReleased changes a policy: what is kept back in that project is due. A lease goes on, and a courier that knows the
// policies before the change comes first or sees the change.
func testDeliveryReleased(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	other := f
	other.project = f.addProject(t, newProject("other"))
	pager := other.addChannel(t, "pager", noon)
	for range 2 {
		f.flip(t, f.watched(t, ops), noon, 1)
	}
	other.flip(t, other.watched(t, pager), noon, 1)
	end, now := noon.Add(time.Hour), noon.Add(time.Minute)
	claimed := f.claimed(t, noon)
	f.exchange(t, noon, 0, held(claimed[0], end))
	other.exchange(t, noon, 0, held(other.claimed(t, noon)[0], end))
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.ReleaseHeld(ctx, f.project.ID, now) })
	again := append(f.claimed(t, now.Add(-time.Microsecond)), other.claimed(t, now)...)
	if len(again) != 1 || again[0].ID != claimed[1].ID || again[0].Attempts != 2 { // its lease has ended
		t.Fatalf("due before: %+v", again)
	}
	again = f.claimed(t, now)
	if len(again) != 1 || again[0].ID != claimed[0].ID || !again[0].HeldUntil.Equal(now) {
		t.Fatalf("released: %+v", again)
	}

	done := make(chan error, 1)
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		if err := tx.LockPolicies(ctx, []uuid.UUID{f.project.ID, other.project.ID}); err != nil {
			return err
		}
		go func() {
			done <- f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.ReleaseHeld(ctx, f.project.ID, now) })
		}()
		select {
		case err := <-done:
			t.Errorf("released while a courier knows the policies: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		return tx.RecordResults(ctx, now, []store.DeliveryResult{held(again[0], end)})
	})
	must(t, <-done)
	if again = f.claimed(t, now); len(again) != 1 {
		t.Errorf("released after the courier: %+v", again)
	}
}

// testDeliveryGoverned reads alerts with and without policies, and recoveries after alerts that were sent and dropped.
func testDeliveryGoverned(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c := f.watched(t, ops)
	governed := func(what string, at time.Time, want bool) store.QueuedDelivery {
		t.Helper()
		claimed := f.claimed(t, at)
		if alerts := f.alerts(t, claimed); len(alerts) != 1 || alerts[0].Governed != want || alerts[0].Unheard {
			t.Fatalf("%s: %+v", what, alerts)
		}
		return claimed[0]
	}
	window := func(start, end time.Time) {
		w := store.Window{Window: gate.Window{ID: uuid.New(), Kind: gate.Snooze, Start: start, End: end}, ProjectID: f.project.ID}
		f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveWindow(ctx, w, end) })
	}
	f.flip(t, c, noon, 4)
	f.exchange(t, noon, 0, sent(governed("no window", noon, false))...)
	window(noon.Add(-time.Hour), noon)
	up := governed("ended before", noon.Add(time.Second), false)
	window(noon.Add(-time.Hour), noon.Add(time.Hour))
	f.exchange(t, noon.Add(time.Second), 0, sent(up)...)
	down := governed("a window", noon.Add(2*time.Second), true)
	r := held(ended(down, checks.DeliverySkipped, "maintenance"), time.Time{})
	r.Due, r.Attempts = time.Time{}, 0
	f.exchange(t, noon.Add(2*time.Second), 0, r)
	if d := f.history(t, checks.DeliveryQuery{State: checks.DeliverySkipped})[0]; d.Held != gate.ByMaintenance || d.Error != "maintenance" {
		t.Errorf("dropped: %+v", d)
	}
	claimed := f.claimed(t, noon.Add(time.Minute))
	if alerts := f.alerts(t, claimed); len(alerts) != 1 || !alerts[0].Governed || !alerts[0].Unheard || !alerts[0].Flip.Up {
		t.Errorf("after an alert that was dropped: %+v", alerts)
	}
	f.save(t, noon.Add(time.Minute), ended(claimed[0], checks.DeliverySkipped, ""))
	f.flip(t, c, noon.Add(2*time.Hour), 2)
	f.exchange(t, noon.Add(2*time.Hour), 0, sent(governed("down again", noon.Add(2*time.Hour), false))...)
	governed("up again", noon.Add(2*time.Hour+time.Second), false)
}
