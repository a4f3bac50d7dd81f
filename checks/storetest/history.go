package storetest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// testAlerts reads the content of deliveries.
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
	next := f.exchange(t, noon.Add(4*time.Minute), perChannel, sent(claimed...))
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
	f.exchange(t, noon, 0, sent(claimed...))
	f.save(t, noon, next...)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		if list, err := tx.LockDeliveries(ctx, []int64{claimed[0].ID, next[0].ID}); err != nil || len(list) != 0 {
			t.Errorf("locked what was deleted: %+v, %v", list, err)
		}
		return nil
	})
}

// testDeliveryCopies copies a delivery to a group to its members, each alert once.
func testDeliveryCopies(t *testing.T, f fixture) {
	group, a, b := f.addChannel(t, "group", noon), f.addChannel(t, "a", noon.Add(1)), f.addChannel(t, "b", noon.Add(time.Second))
	c := f.watched(t, group, a)
	now := noon.Add(time.Minute)
	claimGroup := func() (toGroup monitor.QueuedDelivery) {
		t.Helper()
		for _, q := range f.claimed(t, now) {
			if q.ChannelID == group.ID {
				toGroup = q
			} else {
				f.exchange(t, now, 0, sent(q))
			}
		}
		return toGroup
	}
	f.flip(t, c, noon, 1)
	toGroup := claimGroup()
	changes := sent(toGroup)
	changes.Copies = map[int64][]uuid.UUID{toGroup.ID: {b.ID, uuid.New(), a.ID}}
	claimed := f.exchange(t, now, perChannel, changes)
	if len(claimed) != 1 || claimed[0].ChannelID != b.ID || !claimed[0].CreatedAt.Equal(noon) {
		t.Errorf("then claimed %+v, want one to b, as a has the alert already", claimed)
	}
	if alerts := f.alerts(t, claimed); len(alerts) != 1 || !alerts[0].Flip.At.Equal(noon) {
		t.Errorf("alerts %+v", alerts)
	}
	f.exchange(t, now, 0, changes)
	if n := len(f.history(t, monitor.DeliveryQuery{})); n != 3 {
		t.Errorf("%d deliveries, want 3", n)
	}
	// A reminder with the number of a former one is another alert.
	for range 2 {
		now = now.Add(time.Minute)
		f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Minute)}, now)
		now = now.Add(time.Minute)
		f.settle(t, now)
		reminder := claimGroup()
		changes := sent(reminder)
		changes.Copies = map[int64][]uuid.UUID{reminder.ID: {a.ID, b.ID}}
		f.exchange(t, now, 0, changes)
		f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Duration(0))}, now)
		got := f.history(t, monitor.DeliveryQuery{Channel: b.ID, Limit: 1})
		if len(got) != 1 || got[0].Reminder != 1 || !got[0].CreatedAt.Equal(now) {
			t.Errorf("the reminder of %v to b: %+v", now, got)
		}
		if n := len(f.history(t, monitor.DeliveryQuery{Channel: a.ID})); n != len(f.history(t, monitor.DeliveryQuery{Channel: group.ID})) {
			t.Errorf("%d deliveries to a, want as many as to the group", n)
		}
		f.exchange(t, now, 0, sent(f.claimed(t, now)...))
	}
}

// testGroupMembers reads the members of a group that exist.
func testGroupMembers(t *testing.T, f fixture) {
	b, a := f.addChannel(t, "b", noon.Add(time.Second)), f.addChannel(t, "a", noon)
	group := channels.Channel{ID: uuid.New(), ProjectID: f.project.ID, Kind: channels.Group, Name: "group",
		Settings: map[string]string{"channels": b.ID.String() + "," + uuid.NewString() + "," + a.ID.String()}, CreatedAt: noon}
	f.update(t, func(ctx context.Context, tx monitor.Tx) error { return tx.SaveChannel(ctx, group) })
	f.flip(t, f.watched(t, group, a), noon, 1)
	for _, alert := range f.alerts(t, f.claimed(t, noon)) {
		var want []uuid.UUID
		if alert.Channel.Kind == channels.Group {
			want = []uuid.UUID{a.ID, b.ID}
		}
		same(t, "members", alert.Members, want)
	}
}

// testDeliveryHistory selects and prunes deliveries.
func testDeliveryHistory(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon)
	a, b := f.watched(t, ops, pager), f.watched(t, ops)
	f.flip(t, a, noon, 1)
	f.flip(t, b, noon.Add(time.Minute), 1)
	now := noon.Add(time.Hour)
	for i, q := range f.claimed(t, now) {
		state := monitor.DeliveryFailed
		if i > 0 && q.ChannelID == ops.ID && q.CreatedAt.Equal(noon) {
			state = monitor.DeliverySent
		}
		f.save(t, now, ended(q, state, "refused"))
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

	count(monitor.DeliveryQuery{IDs: []int64{all[0].ID, all[2].ID, 999_999}}, 2)
	count(monitor.DeliveryQuery{IDs: []int64{all[0].ID}, Project: uuid.New()}, 0)

	failed := f.history(t, monitor.DeliveryQuery{State: monitor.DeliveryFailed})
	for _, d := range failed {
		f.save(t, now, monitor.QueuedDelivery{ID: d.ID, ChannelID: d.ChannelID, State: monitor.DeliveryPending, Due: now})
	}
	if list := f.claimed(t, now); len(list) != len(failed) || list[0].Attempts != 1 {
		t.Errorf("claimed %+v, want all that had failed", list)
	}
	// Pending deliveries are never pruned.
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
