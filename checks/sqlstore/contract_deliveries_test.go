package sqlstore_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// testDueChannels finds the channels that something is due for, page by page.
func testDueChannels(t *testing.T, f fixture) {
	var ids []uuid.UUID
	for i := range 5 {
		c := f.addChannel(t, "", noon)
		if i == 4 {
			break // nothing is due for this one
		}
		ids = append(ids, c.ID)
		for range 3 {
			f.flip(t, f.watched(t, c), noon, 2)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	later := noon.Add(time.Minute)
	due := func(now time.Time, after uuid.UUID, limit int, want ...uuid.UUID) {
		t.Helper()
		got, err := f.DueChannels(t.Context(), now, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		var list []store.DueChannel
		for _, id := range want {
			list = append(list, store.DueChannel{Channel: id, Project: f.project.ID, Due: noon})
		}
		if now.After(later) { // those that wait were parked
			for i := range got {
				got[i].Due = noon
			}
		}
		same(t, "due channels", got, list)
	}
	due(noon.Add(-time.Microsecond), uuid.Nil, 10)
	due(noon, uuid.Nil, 10, ids...)
	due(noon, uuid.Nil, 3, ids[:3]...)
	due(noon, ids[2], 3, ids[3])
	due(noon, ids[3], 3)
	claimed := f.claimed(t, later)
	if len(claimed) != 12 {
		t.Errorf("claimed %+v, want the first of each check", claimed)
	}
	due(later, uuid.Nil, 10)
	due(later.Add(lease), uuid.Nil, 10, ids...)
}

// testDeliveryClaims claims one delivery after the other of a line, and saves what became of them.
func testDeliveryClaims(t *testing.T, f fixture) {
	c := f.watched(t, f.addChannel(t, "ops", noon))
	f.flip(t, c, noon, 2)
	if list := f.claimed(t, noon.Add(-time.Microsecond)); len(list) != 0 {
		t.Errorf("claimed before they are due: %+v", list)
	}
	if list := f.exchange(t, noon, 0); len(list) != 0 {
		t.Errorf("claimed without room: %+v", list)
	}
	now := noon.Add(time.Minute)
	first := f.claimed(t, now)
	if len(first) != 1 {
		t.Fatalf("claimed %+v, want the first", first)
	}
	same(t, "claimed", first[0], store.QueuedDelivery{ID: first[0].ID, ChannelID: c.Channels[0], State: checks.DeliveryPending,
		Attempts: 1, CreatedAt: noon, Due: now.Add(lease)})
	if list := f.claimed(t, now.Add(lease-time.Microsecond)); len(list) != 0 {
		t.Errorf("claimed while others have it: %+v", list)
	}
	// The lease of one who has died ends.
	now = now.Add(lease)
	second := f.claimed(t, now)
	if len(second) != 1 || second[0].ID != first[0].ID || second[0].Attempts != 2 {
		t.Fatalf("claimed again: %+v", second)
	}
	retry := second[0]
	retry.Due, retry.Error, retry.Since = now.Add(time.Second), "away", noon.Add(-time.Hour)
	f.save(t, now, retry)
	now = now.Add(time.Second)
	third := f.claimed(t, now)
	retry.Attempts, retry.Due = 3, now.Add(lease)
	if len(third) != 1 {
		t.Fatalf("after a failure: %+v", third)
	}
	same(t, "after a failure", third[0], retry)
	if d := f.history(t, checks.DeliveryQuery{})[1]; d.Error != "away" || d.State != checks.DeliveryPending || d.Attempts != 3 {
		t.Errorf("while it is pending: %+v", d)
	}
	// The next of the line is claimed in the same transaction that saves the end of the first.
	next := f.exchange(t, now, perChannel, sent(third[0])...)
	if len(next) != 1 || next[0].ID <= first[0].ID || next[0].Attempts != 1 {
		t.Fatalf("next: %+v", next)
	}
	failed := resultsOf(ended(next[0], checks.DeliveryFailed, "refused"))
	failed[0].Mark = &store.ChannelMark{FailedAt: now, Error: "refused"}
	f.exchange(t, now, 0, failed...)
	if list := f.claimed(t, now.Add(time.Hour)); len(list) != 0 {
		t.Errorf("claimed what has ended: %+v", list)
	}
	want := []checks.Delivery{
		{Status: channels.Up, Reason: flips.Success, State: checks.DeliveryFailed, Attempts: 1, CreatedAt: noon.Add(time.Second), Error: "refused"},
		{Status: channels.Down, Reason: flips.Failure, State: checks.DeliverySent, Attempts: 3, CreatedAt: noon},
	}
	list := f.history(t, checks.DeliveryQuery{})
	for i := range want {
		want[i].ID, want[i].CheckID, want[i].CheckName = list[i].ID, c.ID, "watched"
		want[i].ChannelID, want[i].ChannelName, want[i].ChannelKind = c.Channels[0], "ops", "email"
		want[i].FinishedAt = now
	}
	same(t, "history", list, want)
	for after, want := range map[int64]time.Time{0: noon.Add(time.Second), list[0].ID - 1: noon.Add(time.Second), list[0].ID: {}} {
		if at, err := f.FirstGivenUp(t.Context(), f.project.ID, c.Channels[0], after); err != nil || !at.Equal(want) {
			t.Errorf("the first that was given up after %d: %v, %v, want %v", after, at, err, want)
		}
	}
	f.marked(t, now, "refused")
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		found, err := tx.Channels(ctx, f.itsChannels())
		if err != nil {
			return err
		}
		c := found[0]
		c.FailedAt, c.Error = time.Time{}, ""
		return writer(ctx, tx).SaveChannel(ctx, c)
	})
	f.marked(t, now, "refused")
	// A delivery that has failed can be made pending again.
	f.retry(t, now, 1, first[0].ID, next[0].ID, 1<<40)
	list = f.history(t, checks.DeliveryQuery{State: checks.DeliveryPending})
	again := f.claimed(t, now)
	if len(list) != 1 || !list[0].FinishedAt.IsZero() || list[0].Error != "" || len(again) != 1 || again[0].Attempts != 2 { // it was tried before
		t.Fatalf("pending again: %+v, claimed %+v", list, again)
	}
	f.retry(t, now, 0, next[0].ID)
	f.retry(t, now, 0)
	working := sent(again...)
	working[0].Mark = &store.ChannelMark{}
	f.exchange(t, now, 0, working...)
	f.marked(t, time.Time{}, "")
}

// marked compares the mark of the only channel.
func (f fixture) marked(t *testing.T, at time.Time, text string) {
	t.Helper()
	list := f.channels(t)
	if len(list) != 1 || !list[0].FailedAt.Equal(at) || list[0].Error != text {
		t.Errorf("the channel: %+v; want the mark %v, %q", list, at, text)
	}
}

// testDeliveriesInOrder has many alerts of one check to one channel wait behind the first, which does not hold up those
// of others.
func testDeliveriesInOrder(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	a, b := f.watched(t, ops), f.watched(t, ops)
	for i := range 5 { // more than a claim parks at once; the cost of one batch grows faster than its length
		f.flip(t, a, noon.Add(time.Duration(50*i)*time.Second), 50)
	}
	f.flip(t, b, noon.Add(250*time.Second), 1)
	now := noon.Add(time.Hour)
	list := f.exchange(t, now, 2)
	if len(list) != 2 {
		t.Fatalf("claimed %+v, want the first of each check", list)
	}
	last := int64(0)
	for range 3 {
		if list[0].ID <= last || list[0].Attempts != 1 {
			t.Errorf("after %d: %+v", last, list[0])
		}
		last = list[0].ID
		list = f.exchange(t, now, 1, sent(list[0])...)
		if len(list) != 1 {
			t.Fatalf("behind it: %+v", list)
		}
	}
}

// testDeliveryRoom has more deliveries to one channel due than there is room for: none is claimed in place of those of
// others.
func testDeliveryRoom(t *testing.T, f fixture) {
	busy, quiet := f.addChannel(t, "busy", noon), f.addChannel(t, "quiet", noon)
	for i := range 60 {
		f.flip(t, f.watched(t, busy), noon.Add(time.Duration(i)*time.Second), 1)
	}
	f.flip(t, f.watched(t, quiet), noon.Add(time.Hour), 1)
	now := noon.Add(2 * time.Hour)
	for i := range 3 {
		var instants []time.Time
		n := map[uuid.UUID]int{}
		for _, q := range f.exchange(t, now, 4) {
			if n[q.ChannelID]++; q.ChannelID == busy.ID {
				instants = append(instants, q.CreatedAt)
			}
		}
		want := map[uuid.UUID]int{busy.ID: 4, quiet.ID: 1}
		if i > 0 {
			delete(want, quiet.ID)
		}
		same(t, "claimed of each channel", n, want)
		slices.SortFunc(instants, time.Time.Compare)
		for j, at := range instants {
			if oldest := noon.Add(time.Duration(4*i+j) * time.Second); !at.Equal(oldest) {
				t.Errorf("claim %d: %d is of %v, want the longest due, of %v", i, j, at, oldest)
			}
		}
	}
}

// testDeliveriesAreShared has several servers claim at once: nobody gets what another one has.
func testDeliveriesAreShared(t *testing.T, f fixture) {
	const jobs = 20
	ops := f.addChannel(t, "ops", noon)
	for range jobs {
		f.flip(t, f.watched(t, ops), noon, 3)
	}
	now := noon.Add(time.Minute)
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := make(map[int64]int)
	for range 4 {
		wg.Go(func() {
			var claimed []store.QueuedDelivery
			for range 200 {
				claimed = f.exchange(t, now, perChannel, sent(claimed...)...)
				mu.Lock()
				for _, q := range claimed {
					seen[q.ID]++
				}
				done := len(seen) == 3*jobs
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%d was claimed %d times", id, n)
		}
	}
	if len(seen) != 3*jobs {
		t.Errorf("%d were claimed, want %d", len(seen), 3*jobs)
	}
}

// testDeliveryLines locks the line of a claimed delivery, and saves it with others in the line.
func testDeliveryLines(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c := f.watched(t, ops)
	f.flip(t, c, noon, 4)
	f.flip(t, f.watched(t, ops, f.addChannel(t, "pager", noon)), noon, 2)
	now := noon.Add(time.Hour)
	var first store.QueuedDelivery
	for _, q := range f.claimed(t, now) {
		if first.ID == 0 || q.ID < first.ID {
			first = q
		}
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		if lines, err := tx.LockLines(ctx, nil); err != nil || len(lines) != 0 {
			t.Errorf("no lines: %v, %v", lines, err)
		}
		lines, err := tx.LockLines(ctx, []int64{first.ID})
		if err != nil {
			return err
		}
		line := lines[first.ID]
		if len(lines) != 1 || len(line) != 4 {
			t.Fatalf("lines %+v", lines)
		}
		same(t, "the first of the line", line[0].QueuedDelivery, first)
		for i, w := range line {
			at := noon.Add(time.Duration(i) * time.Second)
			if i > 0 && (w.ID <= line[i-1].ID || w.FlipID <= line[i-1].FlipID) || w.FlipUp != (i%2 == 1) || !w.FlipAt.Equal(at) {
				t.Errorf("delivery %d of the line: %+v", i, w)
			}
		}
		// The third takes the place of the first two.
		third := line[2].QueuedDelivery
		third.Due, third.Since, third.Error = now.Add(lease), noon, "away"
		results := resultsOf(ended(line[0].QueuedDelivery, checks.DeliverySuperseded, "x"), ended(line[1].QueuedDelivery, checks.DeliverySuperseded, "y"), third)
		results[2].Attempts = 2
		return tx.RecordResults(ctx, now, results)
	})
	if list := f.claimed(t, now); len(list) != 0 {
		t.Errorf("claimed %+v while the third is being sent", list)
	}
	list := f.history(t, checks.DeliveryQuery{Check: c.ID})
	if list[2].State != checks.DeliverySuperseded || list[2].Error != "y" || !list[2].FinishedAt.Equal(now) {
		t.Errorf("superseded: %+v", list[2])
	}
	if list[1].State != checks.DeliveryPending || list[1].Attempts != 2 || list[1].Error != "away" {
		t.Errorf("in place of it: %+v", list[1])
	}
	alerts := f.alerts(t, []store.QueuedDelivery{{ID: list[1].ID}})
	want := []store.AlertFlip{{At: noon, Reason: flips.Failure}, {At: noon.Add(time.Second), Up: true, Reason: flips.Success}}
	same(t, "the flips that it sums up", alerts[0].Earlier, want)
}
