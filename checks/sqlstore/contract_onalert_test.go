package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testOnAlert queues alerts to store.OnAlert until the latest instant that was asked for.
func testOnAlert(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	bare, both := f.watched(t), f.watched(t, ops)
	flip := func(kind pings.Kind, at time.Time) {
		t.Helper()
		f.ping(t, bare.ID, pings.Signal{Kind: kind}, at)
		f.ping(t, both.ID, pings.Signal{Kind: kind}, at)
	}
	until := func(at time.Time, err error) {
		t.Helper()
		got := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return errors.Join(tx.OnAlertUntil(ctx, at), err)
		})
		if !errors.Is(got, err) {
			t.Fatal(got)
		}
	}
	flip(pings.Failure, noon) // before anyone asked
	end := noon.Add(time.Hour)
	until(end, nil)
	until(noon.Add(time.Minute), nil)
	until(noon.Add(10*time.Hour), errors.New("rolled back"))
	flip(pings.Success, noon.Add(time.Minute))
	flip(pings.Failure, end)
	flip(pings.Success, end.Add(time.Microsecond))

	function := func(status channels.Status, at time.Time) queued {
		return queued{Channel: store.OnAlert.Name, Status: status, At: at, Raised: at}
	}
	want := []queued{function(channels.Up, noon.Add(time.Minute)), function(channels.Down, end)}
	same(t, "of a check without channels", f.queued(t, bare.ID), want)
	var got []queued
	for _, q := range f.queued(t, both.ID) {
		if q.Channel == store.OnAlert.Name {
			got = append(got, q)
		}
	}
	same(t, "of a check with a channel", got, want)
	if list := f.history(t, checks.DeliveryQuery{Check: both.ID, Channel: ops.ID}); len(list) != 4 {
		t.Errorf("%d deliveries to the channel, want 4", len(list))
	}

	for _, c := range []checks.Check{bare, both} {
		same(t, "the channels of a check", f.check(t, c.ID).Channels, c.Channels)
	}
	same(t, "the channels of the project", f.channels(t), []channels.Channel{ops})
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteChannel(ctx, f.project.ID, store.OnAlert.ID)
	})
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("deleting the channel: error %v, want %v", err, checks.ErrNotFound)
	}
}

// testOnAlertDeliveries claims deliveries to store.OnAlert in order, and records failures of them.
func testOnAlertDeliveries(t *testing.T, f fixture) {
	c := f.watched(t)
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.OnAlertUntil(ctx, noon.Add(time.Hour)) })
	f.flip(t, c, noon, 2)
	now := noon.Add(time.Minute)
	due, err := f.DueChannels(t.Context(), now, uuid.Nil, 10)
	must(t, err)
	same(t, "due", due, []store.DueChannel{{Channel: store.OnAlert.ID, Project: store.OnAlert.ID, Due: noon}})

	claim := func(changes ...store.QueuedDelivery) (claimed []store.QueuedDelivery) {
		t.Helper()
		f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
			results := resultsOf(changes...)
			for i := range results {
				results[i].Mark = &store.ChannelMark{FailedAt: now, Error: results[i].Error}
			}
			if err := tx.RecordResults(ctx, now, results); err != nil {
				return err
			}
			claimed, err = tx.ClaimDeliveries(ctx, store.DeliveryClaim{
				Now: now, Until: now.Add(lease), Room: []store.ChannelRoom{{Channel: store.OnAlert.ID, N: perChannel}},
			})
			return err
		})
		return claimed
	}
	first := claim()
	if len(first) != 1 || first[0].ChannelID != store.OnAlert.ID {
		t.Fatalf("claimed %+v, want the first of the line", first)
	}
	alert := f.alerts(t, first)
	if len(alert) != 1 || alert[0].Flip.Up || alert[0].Check.ID != c.ID || alert[0].Project != f.project.Name {
		t.Fatalf("alerts %+v", alert)
	}
	same(t, "its channel", alert[0].Channel, store.OnAlert)
	second := claim(ended(first[0], checks.DeliveryFailed, "away"))
	if len(second) != 1 || second[0].ID <= first[0].ID {
		t.Fatalf("claimed %+v after the first has failed, want the second", second)
	}
	claim(ended(second[0], checks.DeliverySent, ""))

	list := f.history(t, checks.DeliveryQuery{Channel: store.OnAlert.ID})
	if len(list) != 2 || list[0].State != checks.DeliverySent || list[1].State != checks.DeliveryFailed || list[1].Error != "away" ||
		list[1].ChannelKind != store.OnAlert.Kind || list[1].ChannelName != store.OnAlert.Name || list[1].CheckID != c.ID {
		t.Errorf("history %+v", list)
	}
	other := f.addProject(t, newProject("second"))
	if list := f.historyOf(t, other.ID, checks.DeliveryQuery{}); len(list) != 0 {
		t.Errorf("another project sees %+v", list)
	}
	f.deleteCheck(t, c.ID)
	if list := f.history(t, checks.DeliveryQuery{}); len(list) != 0 {
		t.Errorf("of a deleted check: %+v", list)
	}
}
