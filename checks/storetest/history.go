package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

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
	if _, err := f.PruneFlips(t.Context(), now, nil); err != nil {
		t.Fatal(err)
	}
	count(monitor.DeliveryQuery{}, len(failed))
	for _, alert := range f.alerts(t, f.claimed(t, now.Add(time.Minute))) {
		if !alert.Flip.At.IsZero() || alert.Check.Name == "" {
			t.Errorf("about a flip that is gone: %+v", alert)
		}
	}
}
