package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// watched adds a check with integrations.
func (f fixture) watched(t *testing.T, list ...channels.Channel) checks.Check {
	t.Helper()
	c, err := checks.New(f.project.ID, checks.Spec{Name: new("watched")}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range list {
		c.Channels = append(c.Channels, channel.ID)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.InsertCheck(ctx, c) })
	return c
}

// flip takes a check down and up again in turn, a second apart, beginning at an instant.
func (f fixture) flip(t *testing.T, c checks.Check, at time.Time, times int) {
	t.Helper()
	for i := range times {
		kind := pings.Fail
		if i%2 == 1 {
			kind = pings.Success
		}
		f.ping(t, c.ID, pings.Signal{Kind: kind}, at.Add(time.Duration(i)*time.Second))
	}
}

// lease is how long claims of tests last.
const lease = 15 * time.Second

func claimAt(now time.Time) monitor.DeliveryClaim {
	return monitor.DeliveryClaim{Now: now, Until: now.Add(lease), Stale: now.Add(-10 * time.Minute), Limit: 100, PerChannel: 10}
}

func (f fixture) exchange(t *testing.T, claim monitor.DeliveryClaim, results ...monitor.DeliveryResult) monitor.DeliveryBatch {
	t.Helper()
	batch, err := f.ExchangeDeliveries(t.Context(), results, claim)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// claimed claims at an instant.
func (f fixture) claimed(t *testing.T, now time.Time) []monitor.QueuedDelivery {
	t.Helper()
	return f.exchange(t, claimAt(now)).Claimed
}

// record records one result.
func (f fixture) record(t *testing.T, now time.Time, r monitor.DeliveryResult) {
	t.Helper()
	f.exchange(t, monitor.DeliveryClaim{Now: now}, r)
}

func sent(q monitor.QueuedDelivery) monitor.DeliveryResult {
	return monitor.DeliveryResult{QueuedDelivery: q, State: monitor.DeliverySent}
}

func again(q monitor.QueuedDelivery, due time.Time, text string) monitor.DeliveryResult {
	return monitor.DeliveryResult{QueuedDelivery: q, State: monitor.DeliveryPending, Due: due, Error: text}
}

func (f fixture) history(t *testing.T, q monitor.DeliveryQuery) []monitor.Delivery {
	t.Helper()
	if q.Project == uuid.Nil {
		q.Project = f.project.ID
	}
	if q.Limit == 0 {
		q.Limit = 1000
	}
	list, err := f.Deliveries(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (f fixture) alerts(t *testing.T, claimed []monitor.QueuedDelivery) []monitor.Alert {
	t.Helper()
	list, err := f.Alerts(t.Context(), claimed)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b monitor.Alert) int { return int(a.ID - b.ID) })
	return list
}

// testDeliveryClaims claims deliveries and records what has become of them.
func testDeliveryClaims(t *testing.T, f fixture) {
	c := f.watched(t, f.addChannel(t, "ops", noon))
	due := func(now time.Time, want bool) {
		t.Helper()
		if got, err := f.DeliveryDue(t.Context(), now); got != want || err != nil {
			t.Errorf("due at %v: %v, %v", now, got, err)
		}
	}
	due(noon, false)
	f.flip(t, c, noon, 2)
	due(noon.Add(-time.Microsecond), false)
	due(noon, true)
	if list := f.claimed(t, noon.Add(-time.Microsecond)); len(list) != 0 {
		t.Errorf("claimed before they are due: %+v", list)
	}
	if list := f.exchange(t, monitor.DeliveryClaim{Now: noon}).Claimed; len(list) != 0 {
		t.Errorf("claimed without being asked: %+v", list)
	}
	now := noon.Add(time.Minute)
	first := f.claimed(t, now)
	same(t, "claimed", first, []monitor.QueuedDelivery{{ID: first[0].ID, ChannelID: c.Channels[0], Attempts: 1, CreatedAt: noon}})
	if list := f.claimed(t, now.Add(lease-time.Microsecond)); len(list) != 0 {
		t.Errorf("claimed while others have it: %+v", list)
	}
	// What was claimed by someone who has died is claimed again, and the dead one's word does not count any more,
	// unless it is that the alert was sent.
	now = now.Add(lease)
	second := f.claimed(t, now)
	if len(second) != 1 || second[0].ID != first[0].ID || second[0].Attempts != 2 {
		t.Fatalf("claimed again: %+v", second)
	}
	f.record(t, now, again(first[0], now, "late"))
	if list := f.claimed(t, now); len(list) != 0 {
		t.Errorf("claimed on the word of a former one: %+v", list)
	}
	// To be tried again, and given back.
	f.record(t, now, again(second[0], now.Add(time.Second), "away"))
	now = now.Add(time.Second)
	third := f.claimed(t, now)
	if len(third) != 1 || third[0].Attempts != 3 {
		t.Fatalf("after a failure: %+v", third)
	}
	back := again(third[0], now, "")
	back.Uncounted = true
	f.record(t, now, back)
	f.record(t, now, back)
	fourth := f.claimed(t, now)
	if len(fourth) != 1 || fourth[0].Attempts != 3 {
		t.Fatalf("given back: %+v", fourth)
	}
	if d := f.history(t, monitor.DeliveryQuery{})[1]; d.Error != "away" || d.State != monitor.DeliveryPending || d.Attempts != 3 {
		t.Errorf("while it is pending: %+v", d)
	}
	// The one behind it is claimed in the same transaction that records the end of the first.
	batch := f.exchange(t, claimAt(now), sent(first[0]))
	if len(batch.Claimed) != 1 || batch.Claimed[0].ID <= first[0].ID || batch.Claimed[0].Attempts != 1 {
		t.Fatalf("behind it: %+v", batch.Claimed)
	}
	f.record(t, now, monitor.DeliveryResult{QueuedDelivery: fourth[0], State: monitor.DeliveryFailed, Error: "too late"})
	f.record(t, now, monitor.DeliveryResult{QueuedDelivery: batch.Claimed[0], State: monitor.DeliveryFailed, Error: "refused"})
	due(now.Add(time.Hour), false)
	list := f.history(t, monitor.DeliveryQuery{})
	want := []monitor.Delivery{
		{Status: channels.Up, State: monitor.DeliveryFailed, Attempts: 1, CreatedAt: noon.Add(time.Second), Error: "refused"},
		{Status: channels.Down, State: monitor.DeliverySent, Attempts: 3, CreatedAt: noon},
	}
	for i := range want {
		want[i].ID, want[i].CheckID, want[i].CheckName = list[i].ID, c.ID, "watched"
		want[i].ChannelID, want[i].ChannelName, want[i].ChannelKind = c.Channels[0], "ops", "email"
		want[i].FinishedAt = now
	}
	same(t, "history", list, want)
	marked, err := f.Channels(t.Context(), f.project.ID)
	if err != nil || !marked[0].FailedAt.Equal(now) || marked[0].Error != "refused" {
		t.Errorf("the integration: %+v, %v", marked, err)
	}
}

// testDeliveriesInOrder has many alerts of one check and integration wait behind the first, which does not hold up
// those of others.
func testDeliveriesInOrder(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	a, b := f.watched(t, ops), f.watched(t, ops)
	f.flip(t, a, noon, 500)
	f.flip(t, b, noon.Add(500*time.Second), 1)
	now := noon.Add(time.Hour)
	claim := claimAt(now)
	claim.PerChannel = 2
	var list []monitor.QueuedDelivery
	for more := true; more; {
		batch := f.exchange(t, claim)
		list, more = append(list, batch.Claimed...), batch.More
		claim.Busy = map[uuid.UUID]int{ops.ID: len(list)}
	}
	if len(list) != 2 {
		t.Fatalf("claimed %+v, want the first of each check", list)
	}
	last := int64(0)
	for range 3 {
		if list[0].ID <= last || list[0].Attempts != 1 {
			t.Errorf("after %d: %+v", last, list[0])
		}
		last = list[0].ID
		claim.Busy = map[uuid.UUID]int{ops.ID: 1}
		list = f.exchange(t, claim, sent(list[0])).Claimed
		if len(list) != 1 {
			t.Fatalf("behind it: %+v", list)
		}
	}
}

// testDeliveriesAreFair has thousands of alerts to one integration due before one to another.
func testDeliveriesAreFair(t *testing.T, f fixture) {
	const jobs = 60
	busy := f.addChannel(t, "busy", noon)
	var others []channels.Channel
	for range 5 {
		others = append(others, f.addChannel(t, "", noon))
	}
	for range jobs {
		f.flip(t, f.watched(t, busy), noon, 1)
	}
	for _, c := range others {
		f.flip(t, f.watched(t, c), noon.Add(time.Minute), 1)
		f.flip(t, f.watched(t, c), noon.Add(time.Minute), 1)
	}
	count := func(list []monitor.QueuedDelivery) map[uuid.UUID]int {
		n := make(map[uuid.UUID]int)
		for _, q := range list {
			n[q.ChannelID]++
		}
		return n
	}
	claim := claimAt(noon.Add(time.Hour))
	claim.Limit, claim.PerChannel = 6, 4
	batch := f.exchange(t, claim)
	if n := count(batch.Claimed); len(n) != 6 {
		t.Errorf("claimed %v, want one of each integration", n)
	}
	claim.Limit, claim.After, claim.Busy = 100, batch.After, count(batch.Claimed)
	batch = f.exchange(t, claim)
	want := map[uuid.UUID]int{busy.ID: 3}
	for _, c := range others {
		want[c.ID] = 1
	}
	same(t, "then", count(batch.Claimed), want)
	// One claim at a time: all have their turn. Those that are full are left out.
	claim = claimAt(noon.Add(2 * time.Hour))
	claim.Limit, claim.PerChannel = 1, 1
	seen := make(map[uuid.UUID]int)
	for range 6 {
		batch = f.exchange(t, claim)
		claim.After = batch.After
		for id := range count(batch.Claimed) {
			seen[id]++
		}
	}
	if len(seen) != 6 {
		t.Errorf("in six turns: %v", seen)
	}
	claim.Limit, claim.Busy = 100, map[uuid.UUID]int{busy.ID: 1}
	if n := count(f.exchange(t, claim).Claimed); n[busy.ID] != 0 || len(n) != 5 {
		t.Errorf("with one that is full: %v", n)
	}
}

// testDeliveriesAreShared has several servers claim at once: nobody gets what another one has.
func testDeliveriesAreShared(t *testing.T, f fixture) {
	const jobs = 40
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
			var results []monitor.DeliveryResult
			for range 200 {
				batch, err := f.ExchangeDeliveries(t.Context(), results, claimAt(now))
				if err != nil {
					t.Error(err)
					return
				}
				results = nil
				mu.Lock()
				for _, q := range batch.Claimed {
					seen[q.ID]++
					results = append(results, sent(q))
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
