package sqlstore_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// testAlerts: an alert holds the check and the newest ping as they are now, and when the check came up or went down.
func testAlerts(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c, quiet := f.watched(t, ops), f.watched(t, ops)
	f.flip(t, quiet, noon, 1)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: append(bytes.Repeat([]byte{0xff}, store.AlertEnd), "the end"...), BodyCut: 12, BodyCharset: "koi8-r"}, noon)
	f.flip(t, c, noon.Add(time.Second), 0)
	claimed := f.claimed(t, noon.Add(time.Minute))
	list := f.alerts(t, claimed)
	if len(list) != 2 {
		t.Fatalf("read %d alerts, want 2", len(list))
	}
	got := list[1]
	same(t, "check", got.Check.ID, c.ID)
	same(t, "channel", got.Channel, ops)
	same(t, "flip", got.Flip, store.AlertFlip{ID: got.Flip.ID, At: noon, Reason: flips.Failure})
	if got.Project != f.project.Name || got.Check.NPings != 1 || !got.UpAt.IsZero() || !got.DownAt.IsZero() || len(got.Earlier) != 0 {
		t.Errorf("alert %+v", got)
	}
	if p := got.Ping; p.Kind != pings.Failure || *p.ExitStatus != 2 || p.BodySize != store.AlertEnd+7 || p.BodyCut != 12 || p.BodyCharset != "koi8-r" ||
		!bytes.Equal(p.Body, bytes.Repeat([]byte{0xff}, channels.MaxBody)) {
		t.Errorf("newest ping %d is %v with %d bytes, size %d", p.N, p.Kind, len(p.Body), p.BodySize)
	}
	if len(got.BodyEnd) != store.AlertEnd || !bytes.HasSuffix(got.BodyEnd, []byte("\xff\xffthe end")) {
		t.Errorf("the end of the body is %d bytes: …%q", len(got.BodyEnd), got.BodyEnd[max(0, len(got.BodyEnd)-20):])
	}

	f.ping(t, c.ID, pings.Signal{}, noon.Add(2*time.Minute))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon.Add(3*time.Minute))
	if got := f.alerts(t, claimed)[1]; !got.UpAt.Equal(noon.Add(2*time.Minute)) || got.Ping.N != 3 || len(got.Ping.Body)+len(got.BodyEnd) != 0 {
		t.Errorf("after later flips: up at %v, newest ping %+v", got.UpAt, got.Ping)
	}
	next := f.exchange(t, noon.Add(4*time.Minute), perChannel, sent(claimed...)...)
	up := f.alerts(t, next)
	if len(up) != 1 || !up[0].DownAt.Equal(noon) || !up[0].UpAt.IsZero() || !up[0].Flip.Up || up[0].Flip.Reason != flips.Success {
		t.Errorf("alert of the check that is up again: %+v", up)
	}

	f.deleteCheck(t, c.ID)
	if list := f.alerts(t, append(claimed, next...)); len(list) != 1 || list[0].Check.ID != quiet.ID {
		t.Errorf("alerts after the check was deleted: %+v, want that of the other check", list)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteChannel(ctx, f.project.ID, ops.ID)
	})
	if list := f.alerts(t, claimed); len(list) != 0 {
		t.Errorf("alerts after the channel was deleted: %+v, want none", list)
	}
	f.exchange(t, noon, 0, sent(claimed...)...)
	f.save(t, noon, next...)
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		list, err := sqlstore.QueuedDeliveries(ctx, tx)
		if len(list) != 0 {
			t.Errorf("deliveries of a deleted channel: %+v", list)
		}
		return err
	})
}

// testDeliveryCopies: each member of a group gets a copy of an alert once, and reminders are alerts of their own.
func testDeliveryCopies(t *testing.T, f fixture) {
	group, a, b := f.addChannel(t, "group", noon), f.addChannel(t, "a", noon.Add(1)), f.addChannel(t, "b", noon.Add(time.Second))
	c := f.watched(t, group, a)
	now := noon.Add(time.Minute)
	claimGroup := func() (toGroup store.QueuedDelivery) {
		t.Helper()
		for _, q := range f.claimed(t, now) {
			if q.ChannelID == group.ID {
				toGroup = q
			} else {
				f.exchange(t, now, 0, sent(q)...)
			}
		}
		return toGroup
	}
	f.flip(t, c, noon, 1)
	toGroup := claimGroup()
	first := resultsOf(toGroup)
	first[0].Copies = []uuid.UUID{b.ID, uuid.New(), a.ID}
	claimed := f.exchange(t, now, perChannel, first...)
	if len(claimed) != 1 || claimed[0].ChannelID != b.ID || !claimed[0].CreatedAt.Equal(noon) {
		t.Errorf("claimed %+v, want one delivery to b, as a has the alert already", claimed)
	}
	if alerts := f.alerts(t, claimed); len(alerts) != 1 || !alerts[0].Flip.At.Equal(noon) {
		t.Errorf("copied alerts %+v, want one about the flip at noon", alerts)
	}
	again := sent(toGroup)
	again[0].Copies = first[0].Copies
	f.exchange(t, now, 0, again...)
	if n := len(f.history(t, checks.DeliveryQuery{})); n != 3 {
		t.Errorf("%d deliveries after a second copy, want 3", n)
	}

	// A reminder may have the number of an earlier one: it is another alert all the same.
	for range 2 {
		now = now.Add(time.Minute)
		f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Minute)}, now)
		now = now.Add(time.Minute)
		f.settle(t, now)
		reminder := claimGroup()
		results := sent(reminder)
		results[0].Copies = []uuid.UUID{a.ID, b.ID}
		f.exchange(t, now, 0, results...)
		f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Duration(0))}, now)
		got := f.history(t, checks.DeliveryQuery{Channel: b.ID, Limit: 1})
		if len(got) != 1 || got[0].Reminder != 1 || !got[0].CreatedAt.Equal(now) {
			t.Errorf("newest delivery to b: %+v, want the reminder of %v", got, now)
		}
		toA, toGroup := f.history(t, checks.DeliveryQuery{Channel: a.ID}), f.history(t, checks.DeliveryQuery{Channel: group.ID})
		if len(toA) != len(toGroup) {
			t.Errorf("%d deliveries to a, want %d, as many as to the group", len(toA), len(toGroup))
		}
		f.exchange(t, now, 0, sent(f.claimed(t, now)...)...)
	}
}

// testGroupMembers: the alert to a group lists the members that exist, oldest first.
func testGroupMembers(t *testing.T, f fixture) {
	b, a := f.addChannel(t, "b", noon.Add(time.Second)), f.addChannel(t, "a", noon)
	group := channels.Channel{ID: uuid.New(), ProjectID: f.project.ID, Kind: channels.Group, Name: "group",
		Settings: map[string]string{"channels": b.ID.String() + "," + uuid.NewString() + "," + a.ID.String()}, CreatedAt: noon}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, group) })
	f.flip(t, f.watched(t, group, a), noon, 1)
	for _, alert := range f.alerts(t, f.claimed(t, noon)) {
		var want []uuid.UUID
		if alert.Channel.Kind == channels.Group {
			want = []uuid.UUID{a.ID, b.ID}
		}
		same(t, "members", alert.Members, want)
	}
}

// testDeliveryHistory: Deliveries looks at all fields of its query. Pruning removes only deliveries in a final state.
func testDeliveryHistory(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon)
	a, b := f.watched(t, ops, pager), f.watched(t, ops)
	f.flip(t, a, noon, 1)
	f.flip(t, b, noon.Add(time.Minute), 1)
	now := noon.Add(time.Hour)
	for i, q := range f.claimed(t, now) {
		state := checks.DeliveryFailed
		if i > 0 && q.ChannelID == ops.ID && q.CreatedAt.Equal(noon) {
			state = checks.DeliverySent
		}
		f.save(t, now, ended(q, state, "refused"))
	}
	all := f.history(t, checks.DeliveryQuery{})
	for _, test := range []struct {
		query checks.DeliveryQuery
		want  int
	}{
		{checks.DeliveryQuery{Check: a.ID}, 2},
		{checks.DeliveryQuery{Channel: ops.ID}, 2},
		{checks.DeliveryQuery{Check: b.ID, Channel: pager.ID}, 0},
		{checks.DeliveryQuery{State: checks.DeliveryPending}, 0},
		{checks.DeliveryQuery{Limit: 2}, 2},
		{checks.DeliveryQuery{Before: all[1].ID}, 1},
		{checks.DeliveryQuery{IDs: []int64{all[0].ID, all[2].ID, 999_999}}, 2},
	} {
		if n := len(f.history(t, test.query)); n != test.want {
			t.Errorf("%+v selects %d deliveries, want %d", test.query, n, test.want)
		}
	}
	for _, query := range []checks.DeliveryQuery{{}, {IDs: []int64{all[0].ID}}} {
		if n := len(f.historyOf(t, uuid.New(), query)); n != 0 {
			t.Errorf("%+v selects %d deliveries of another project", query, n)
		}
	}

	failed := f.history(t, checks.DeliveryQuery{State: checks.DeliveryFailed})
	for _, d := range failed {
		f.retry(t, now, 1, d.ID)
	}
	if list := f.claimed(t, now); len(list) != len(failed) || list[0].Attempts != 2 {
		t.Errorf("claimed %+v, want all that had failed", list)
	}
	if _, err := f.PruneFlips(t.Context(), now, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(f.history(t, checks.DeliveryQuery{})); n != len(failed) {
		t.Errorf("%d deliveries are left after pruning, want the %d that are pending", n, len(failed))
	}
	for _, alert := range f.alerts(t, f.claimed(t, now.Add(time.Minute))) {
		if !alert.Flip.At.IsZero() || alert.Check.Name == "" {
			t.Errorf("alert about a pruned flip: %+v", alert)
		}
	}
}
