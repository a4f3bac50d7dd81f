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

func (f fixture) saveIncident(t *testing.T, i store.Incident) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SaveIncident(ctx, i) })
}

// incident returns an incident, or the zero value if there is none.
func (f fixture) incident(t *testing.T, checkID, channelID uuid.UUID) (i store.Incident) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
		i, err = tx.LockIncident(ctx, checkID, channelID)
		if errors.Is(err, checks.ErrNotFound) {
			return nil
		}
		return err
	})
	return i
}

func (f fixture) dueIncidents(t *testing.T, now time.Time, limit int) []store.Incident {
	t.Helper()
	list, err := f.DueIncidents(t.Context(), now, limit)
	must(t, err)
	return list
}

// testIncidents saves incidents, of checks that exist or not, and removes them in each way.
func testIncidents(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon)
	c := f.watched(t, ops, pager)
	first := store.Incident{
		CheckID: c.ID, ChannelID: ops.ID, CheckName: "watched \"ž\"", DeliveryID: 7, Open: `{"labels":{"a":"b"}}`,
		DownAt: noon, Due: noon.Add(time.Minute), Attempts: 2,
	}
	second := store.Incident{CheckID: uuid.New(), ChannelID: ops.ID, Open: "x", DownAt: noon, Due: noon}
	third := store.Incident{CheckID: c.ID, ChannelID: pager.ID, Open: "y", DownAt: noon, Due: noon.Add(time.Hour)}
	for _, i := range []store.Incident{first, second, third} {
		f.saveIncident(t, i)
	}
	f.saveIncident(t, store.Incident{CheckID: c.ID, ChannelID: uuid.New(), Open: "z", Due: noon}) // no such channel
	same(t, "incident", f.incident(t, c.ID, ops.ID), first)
	same(t, "missing incident", f.incident(t, c.ID, uuid.New()), store.Incident{})

	with := func(i store.Incident, c channels.Channel) store.Incident {
		i.Channel = c
		return i
	}
	same(t, "due before", f.dueIncidents(t, noon.Add(-time.Microsecond), 10), []store.Incident(nil))
	same(t, "due", f.dueIncidents(t, noon.Add(time.Minute), 10), []store.Incident{with(second, ops), with(first, ops)})
	same(t, "limited", f.dueIncidents(t, noon.Add(time.Hour), 2), []store.Incident{with(second, ops), with(first, ops)})

	first.Open, first.Due, first.CheckName, first.Attempts, first.DeliveryID = "v", noon.Add(2*time.Hour), "other", 0, 8
	first.DownAt = noon.Add(time.Second)
	f.saveIncident(t, first)
	same(t, "replaced", f.incident(t, c.ID, ops.ID), first)

	f.deleteCheck(t, c.ID)
	same(t, "after the check", f.incident(t, c.ID, ops.ID), first)
	first.Open = ""
	f.saveIncident(t, first)
	same(t, "closed", f.incident(t, c.ID, ops.ID), store.Incident{})
	f.saveIncident(t, first) // there is none
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteChannel(ctx, f.project.ID, pager.ID)
	})
	same(t, "after the channel", f.incident(t, c.ID, pager.ID), store.Incident{})
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, f.project.ID)
	})
	same(t, "after the project", f.dueIncidents(t, noon.AddDate(1, 0, 0), 10), []store.Incident(nil))
}

// testCloseIncident adds a delivery that closes an incident behind one that is on its way.
func testCloseIncident(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c := f.watched(t, ops)
	waiting := func(want bool) {
		t.Helper()
		var got bool
		i := store.Incident{CheckID: c.ID, ChannelID: ops.ID, Open: "key"}
		f.saveIncident(t, i)
		got = f.incident(t, c.ID, ops.ID).Waiting
		i.Open = ""
		f.saveIncident(t, i)
		same(t, "waiting", got, want)
	}
	closeAt := func(at time.Time, channelID uuid.UUID) {
		t.Helper()
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.LockCheck(ctx, c.ID); err != nil {
				return err
			}
			return tx.SaveIncident(ctx, store.Incident{CheckID: c.ID, ChannelID: channelID, Close: "the check was paused", CloseAt: at})
		})
	}
	waiting(false)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	waiting(true)
	now := noon.Add(time.Minute)
	closeAt(now, ops.ID)
	closeAt(now, uuid.New()) // no such channel
	down := f.claimed(t, now)
	if len(down) != 1 {
		t.Fatalf("claimed %+v, want the alert alone", down)
	}
	f.saveIncident(t, store.Incident{CheckID: c.ID, ChannelID: ops.ID, Open: "key", DownAt: noon, Due: now})
	closing := f.exchange(t, now, perChannel, sent(down...)...)
	if len(closing) != 1 {
		t.Fatalf("claimed %+v, want the delivery that closes", closing)
	}
	same(t, "claimed", closing[0], store.QueuedDelivery{ID: closing[0].ID, ChannelID: ops.ID, State: checks.DeliveryPending,
		Attempts: 1, CreatedAt: now, Due: now.Add(lease)})
	alert := f.alerts(t, closing)[0]
	same(t, "alert", []any{alert.Close, alert.Open, alert.Flip.At, alert.Flip.Up}, []any{"the check was paused", "key", noon, false})
	var lines map[int64][]store.WaitingDelivery
	f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
		lines, err = tx.LockLines(ctx, []int64{closing[0].ID})
		return err
	})
	if line := lines[closing[0].ID]; len(line) != 1 || !line[0].FlipUp {
		t.Errorf("line %+v, want one that counts as up", line)
	}
	f.exchange(t, now, 0, sent(closing...)...)
	waiting(false)
	list := f.history(t, checks.DeliveryQuery{})
	if len(list) != 2 || list[0].Close != "the check was paused" || list[0].Status != channels.Up || list[1].Close != "" || list[1].Status != channels.Down {
		t.Errorf("history %+v", list)
	}
}

// testDone saves the recipients that have accepted an alert, and those that it was handed over to.
func testDone(t *testing.T, f fixture) {
	c := f.watched(t, f.addChannel(t, "ops", noon))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon)
	claimed := f.claimed(t, noon)
	again := claimed[0]
	again.Due, again.Error = noon.Add(time.Second), "away"
	again.Done, again.Handed = []string{"a", "ž \"x\", y", ""}, []string{"b"}
	f.save(t, noon, again)
	next := f.claimed(t, noon.Add(time.Second))
	if len(next) != 1 {
		t.Fatalf("claimed %+v", next)
	}
	same(t, "done", next[0].Done, again.Done)
	same(t, "handed", next[0].Handed, again.Handed)
	same(t, "done of the alert", f.alerts(t, next)[0].Done, again.Done)
	failed := ended(next[0], checks.DeliveryFailed, "refused")
	f.save(t, noon, failed)
	f.retry(t, noon, 1, failed.ID)
	next = f.claimed(t, noon)
	same(t, "done of the failed", next[0].Done, again.Done)
	same(t, "handed of the failed", next[0].Handed, again.Handed)
}

// testHandovers gives single recipients deliveries in lines of their own, once each.
func testHandovers(t *testing.T, f fixture) {
	c := f.watched(t, f.addChannel(t, "ops", noon))
	f.flip(t, c, noon, 2)
	now := noon.Add(time.Minute)
	hand := func(q store.QueuedDelivery, list ...store.Handover) []store.QueuedDelivery {
		t.Helper()
		results := resultsOf(ended(q, checks.DeliverySent, ""))
		results[0].Handovers = list
		var claimed []store.QueuedDelivery
		f.update(t, func(ctx context.Context, tx store.Tx) (err error) {
			claimed, err = exchange(ctx, tx, results, store.DeliveryClaim{
				Now: now, Until: now.Add(lease), Room: []store.ChannelRoom{{Channel: q.ChannelID, N: perChannel}},
			})
			return err
		})
		return claimed
	}
	first := f.claimed(t, now)
	if len(first) != 1 {
		t.Fatalf("claimed %+v", first)
	}
	retry := store.Handover{Recipient: "b", Attempts: 1, Due: now.Add(time.Hour), Error: "away"}
	next := hand(first[0], retry, retry, store.Handover{Recipient: "c", Due: now})
	if len(next) != 2 || next[0].Recipient != "" || next[1].Recipient != "c" {
		t.Fatalf("claimed %+v, want the next alert and that to c", next)
	}
	same(t, "apart", f.alerts(t, next[:1])[0].Apart, []string{"b", "c"})
	same(t, "apart of a single one", f.alerts(t, next[1:])[0].Apart, []string{})
	f.save(t, now, ended(next[1], checks.DeliverySent, ""))
	if list := hand(next[0], store.Handover{Recipient: "b", Due: now}); len(list) != 0 {
		t.Errorf("claimed %+v, which waits for the first to b", list)
	}
	now = now.Add(time.Hour)
	own := f.claimed(t, now)
	want := store.QueuedDelivery{ChannelID: c.Channels[0], State: checks.DeliveryPending, Attempts: 2, CreatedAt: noon, Due: now.Add(lease),
		Error: "away", Recipient: "b", Origin: first[0].ID}
	if len(own) != 1 {
		t.Fatalf("claimed %+v, want the first to b", own)
	}
	want.ID = own[0].ID
	same(t, "of its own", own[0], want)
	last := f.exchange(t, now, perChannel, sent(own...)...)
	if len(last) != 1 || last[0].Recipient != "b" || last[0].Origin != next[0].ID {
		t.Errorf("claimed %+v, want the second to b", last)
	}
	list := f.history(t, checks.DeliveryQuery{})
	var recipients []string
	for _, d := range list {
		recipients = append(recipients, d.Recipient)
	}
	same(t, "history", recipients, []string{"b", "c", "b", "", ""})
}
