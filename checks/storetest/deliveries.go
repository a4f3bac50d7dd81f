package storetest

import (
	"bytes"
	"context"
	"errors"
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

// testAlerts reads what there is to tell.
func testAlerts(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c, quiet := f.watched(t, ops), f.watched(t, ops)
	f.flip(t, quiet, noon, 1)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail, ExitStatus: new(2), Body: bytes.Repeat([]byte{0xff}, channels.MaxBody+1)}, noon)
	f.flip(t, c, noon.Add(time.Second), 0)
	claimed := f.claimed(t, noon.Add(time.Minute))
	list := f.alerts(t, claimed)
	if len(list) != 2 {
		t.Fatalf("%d alerts", len(list))
	}
	got := list[1]
	same(t, "check", got.Check.ID, c.ID)
	same(t, "channel", got.Channel, ops)
	same(t, "flip", got.Flip, monitor.AlertFlip{At: noon, Reason: checks.ReasonFail})
	if got.Project != f.project.Name || got.Check.NPings != 1 || !got.UpAt.IsZero() || !got.DownAt.IsZero() || len(got.Earlier) != 0 {
		t.Errorf("alert %+v", got)
	}
	if p := got.Ping; p.Kind != pings.Fail || *p.ExitStatus != 2 || p.BodySize != channels.MaxBody+1 ||
		!bytes.Equal(p.Body, bytes.Repeat([]byte{0xff}, channels.MaxBody)) {
		t.Errorf("ping %d %v, %d bytes", p.N, p.Kind, len(p.Body))
	}
	f.ping(t, c.ID, pings.Signal{}, noon.Add(2*time.Minute))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail}, noon.Add(3*time.Minute))
	if got := f.alerts(t, claimed)[1]; !got.UpAt.Equal(noon.Add(2*time.Minute)) || got.Ping.N != 3 || len(got.Ping.Body) != 0 {
		t.Errorf("later: up at %v, ping %+v", got.UpAt, got.Ping)
	}
	next := f.exchange(t, claimAt(noon.Add(4*time.Minute)), sent(claimed[0]), sent(claimed[1])).Claimed
	up := f.alerts(t, next)
	if len(up) != 1 || !up[0].DownAt.Equal(noon) || !up[0].UpAt.IsZero() || !up[0].Flip.Up || up[0].Flip.Reason != checks.ReasonSuccess {
		t.Errorf("up: %+v", up)
	}
	f.deleteCheck(t, c.ID)
	if list := f.alerts(t, append(claimed, next...)); len(list) != 1 || list[0].Check.ID != quiet.ID {
		t.Errorf("of a deleted check: %+v", list)
	}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.DeleteChannel(ctx, f.project.ID, ops.ID) })
	if list := f.alerts(t, claimed); len(list) != 0 {
		t.Errorf("of a deleted integration: %+v", list)
	}
	f.record(t, noon, sent(claimed[0]))
	f.record(t, noon, again(next[0], noon, "x"))
}

// testSupersededDeliveries has alerts wait behind one that has failed for long.
func testSupersededDeliveries(t *testing.T, f fixture) {
	for name, tt := range map[string]struct {
		flips   int
		want    []monitor.DeliveryState // oldest first
		earlier []bool
	}{
		"down":          {1, []monitor.DeliveryState{monitor.DeliveryPending}, nil},
		"down up":       {2, []monitor.DeliveryState{monitor.DeliveryPending, monitor.DeliveryPending}, nil},
		"down again":    {3, []monitor.DeliveryState{monitor.DeliverySuperseded, monitor.DeliverySuperseded, monitor.DeliveryPending}, []bool{false, true}},
		"down up again": {4, []monitor.DeliveryState{monitor.DeliverySuperseded, monitor.DeliverySuperseded, monitor.DeliveryPending, monitor.DeliveryPending}, []bool{false, true}},
	} {
		ops := f.addChannel(t, name, noon)
		c := f.watched(t, ops)
		f.flip(t, c, noon, tt.flips)
		first := f.claimed(t, noon.Add(10*time.Minute))
		if len(first) != 1 {
			t.Fatalf("%s: claimed %+v", name, first)
		}
		f.record(t, noon, again(first[0], noon, "away"))
		now := noon.Add(10 * time.Minute)
		if list := f.claimed(t, now); len(list) != 1 || list[0].ID != first[0].ID { // not old enough by a microsecond
			t.Fatalf("%s: claimed %+v", name, list)
		}
		now = now.Add(lease)
		list := f.claimed(t, now)
		if len(list) != 1 || list[0].Attempts != 3 {
			t.Fatalf("%s: claimed %+v", name, list)
		}
		var states []monitor.DeliveryState
		for _, d := range slices.Backward(f.history(t, monitor.DeliveryQuery{Channel: ops.ID})) {
			states = append(states, d.State)
			if (d.State == monitor.DeliverySuperseded) != !d.FinishedAt.IsZero() {
				t.Errorf("%s: %+v", name, d)
			}
		}
		same(t, name, states, tt.want)
		alerts := f.alerts(t, list)
		var earlier []bool
		for _, flip := range alerts[0].Earlier {
			earlier = append(earlier, flip.Up)
		}
		same(t, name+": earlier", earlier, tt.earlier)
		if alerts[0].Flip.Up {
			t.Errorf("%s: first told that it is up", name)
		}
		for len(list) > 0 {
			list = f.exchange(t, claimAt(now), sent(list[0])).Claimed
		}
	}
}

// testGroupDeliveries replaces a delivery to a group.
func testGroupDeliveries(t *testing.T, f fixture) {
	group, a, b := f.addChannel(t, "group", noon), f.addChannel(t, "a", noon.Add(1)), f.addChannel(t, "b", noon.Add(time.Second))
	c := f.watched(t, group, a)
	f.flip(t, c, noon, 1)
	now := noon.Add(time.Minute)
	var toGroup monitor.QueuedDelivery
	for _, q := range f.claimed(t, now) {
		if q.ChannelID == group.ID {
			toGroup = q
		}
	}
	expanded := sent(toGroup)
	expanded.Members = []uuid.UUID{b.ID, uuid.New(), a.ID}
	batch := f.exchange(t, claimAt(now), expanded)
	if len(batch.Claimed) != 1 || batch.Claimed[0].ChannelID != b.ID || !batch.Claimed[0].CreatedAt.Equal(noon) {
		t.Errorf("then claimed %+v, want one to b, as a has the alert already", batch.Claimed)
	}
	if alerts := f.alerts(t, batch.Claimed); len(alerts) != 1 || !alerts[0].Flip.At.Equal(noon) {
		t.Errorf("alerts %+v", alerts)
	}
	f.exchange(t, claimAt(now), expanded)
	if n := len(f.history(t, monitor.DeliveryQuery{})); n != 3 {
		t.Errorf("%d deliveries, want 3", n)
	}
	other := f.watched(t, group)
	f.flip(t, other, noon, 1)
	empty := sent(f.claimed(t, now)[0])
	empty.Members = []uuid.UUID{uuid.New()}
	f.exchange(t, claimAt(now), empty)
	failed := f.history(t, monitor.DeliveryQuery{Check: other.ID})
	if len(failed) != 1 || failed[0].State != monitor.DeliveryFailed || failed[0].Error == "" {
		t.Errorf("to a group without members: %+v", failed)
	}
}

// testDeliveryHistory selects, prunes and retries deliveries.
func testDeliveryHistory(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon)
	a, b := f.watched(t, ops, pager), f.watched(t, ops)
	f.flip(t, a, noon, 1)
	f.flip(t, b, noon.Add(time.Minute), 1)
	now := noon.Add(time.Hour)
	for i, q := range f.claimed(t, now) {
		r := monitor.DeliveryResult{QueuedDelivery: q, State: monitor.DeliveryFailed, Error: "refused"}
		if i > 0 && q.ChannelID == ops.ID && q.CreatedAt.Equal(noon) {
			r.State = monitor.DeliverySent
		}
		f.record(t, now, r)
	}
	count := func(q monitor.DeliveryQuery, want int) {
		t.Helper()
		if n := len(f.history(t, q)); n != want {
			t.Errorf("%+v: %d deliveries, want %d", q, n, want)
		}
	}
	all := f.history(t, monitor.DeliveryQuery{})
	count(monitor.DeliveryQuery{Check: a.ID}, 2)
	count(monitor.DeliveryQuery{Channel: ops.ID}, 2)
	count(monitor.DeliveryQuery{Check: b.ID, Channel: pager.ID}, 0)
	count(monitor.DeliveryQuery{State: monitor.DeliveryPending}, 0)
	count(monitor.DeliveryQuery{Limit: 2}, 2)
	count(monitor.DeliveryQuery{Before: all[1].ID}, 1)
	count(monitor.DeliveryQuery{Project: uuid.New()}, 0)

	failed := f.history(t, monitor.DeliveryQuery{State: monitor.DeliveryFailed})
	ids := []int64{failed[0].ID}
	for _, bad := range [][]int64{{failed[0].ID, 999_999}, {999_999}} {
		if n, err := f.RetryDeliveries(t.Context(), f.project.ID, bad, now); n != 0 || !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("retried %v: %d, %v", bad, n, err)
		}
	}
	if n, err := f.RetryDeliveries(t.Context(), f.project.ID, ids, now); n != 1 || err != nil {
		t.Errorf("retried %d, %v", n, err)
	}
	if list := f.claimed(t, now); len(list) != 1 || list[0].ID != ids[0] || list[0].Attempts != 1 {
		t.Errorf("claimed %+v", list)
	}
	if n, err := f.RetryDeliveries(t.Context(), f.project.ID, nil, now); n != len(failed)-1 || err != nil {
		t.Errorf("retried %d, %v; want %d", n, err, len(failed)-1)
	}
	// Those that are pending stay, however old they are.
	if _, err := f.PruneFlips(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	count(monitor.DeliveryQuery{}, len(failed))
	for _, alert := range f.alerts(t, f.claimed(t, now.Add(time.Minute))) {
		if !alert.Flip.At.IsZero() || alert.Check.Name == "" {
			t.Errorf("about a flip that is gone: %+v", alert)
		}
	}
}
