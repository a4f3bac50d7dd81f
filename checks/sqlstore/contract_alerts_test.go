package sqlstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// queued is a delivery with what its alert reports.
type queued struct {
	Channel  string
	Status   channels.Status
	At       time.Time // of the flip
	Reminder int
	Raised   time.Time
	Earlier  int // number of flips that it sums up
}

// queued returns the new deliveries of a check, oldest first.
func (f fixture) queued(t *testing.T, id uuid.UUID) []queued {
	t.Helper()
	list, err := f.Deliveries(t.Context(), f.project.ID, checks.DeliveryQuery{Check: id, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	claimed := make([]store.QueuedDelivery, len(list))
	for i, d := range list {
		if d.State != checks.DeliveryPending || d.Attempts != 0 || !d.Due.Equal(d.CreatedAt) {
			t.Errorf("a new delivery: %+v", d)
		}
		claimed[i] = store.QueuedDelivery{ID: d.ID, ChannelID: d.ChannelID, CreatedAt: d.CreatedAt}
	}
	alerts, err := f.Alerts(t.Context(), claimed)
	if err != nil {
		t.Fatal(err)
	}
	var all []queued
	for _, d := range list {
		i := slices.IndexFunc(alerts, func(a store.Alert) bool { return a.ID == d.ID })
		if i < 0 {
			t.Fatalf("no alert for delivery %d", d.ID)
		}
		all = append(all, queued{
			Channel: d.ChannelName, Status: d.Status, At: alerts[i].Flip.At, Reminder: d.Reminder, Raised: d.CreatedAt,
			Earlier: len(alerts[i].Earlier),
		})
	}
	return all
}

// settle settles all checks that are due, as the watcher does.
func (f fixture) settle(t *testing.T, now time.Time) (found int) {
	t.Helper()
	ids, _ := f.sweep(t, now, 100)
	return len(ids)
}

// change updates the settings of a check.
func (f fixture) change(t *testing.T, id uuid.UUID, spec checks.Spec, now time.Time) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		c, effects, err := l.Check.Update(spec, now)
		l.Apply(c, effects)
		l.SettingsChanged = true
		return err
	}))
}

// testAlertRulesRoundTrip: alert rules and what they remember come back after each event.
func testAlertRulesRoundTrip(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{
		AlertAfter: new(3), RepeatEvery: new(90 * time.Second), QuietHours: new("22:00-06:00\nSat 0:00-24:00"),
	})
	same(t, "a check with rules", f.check(t, c.ID), c)

	// The state of the rules is read as it was saved, step by step.
	want := c
	for i, kind := range []pings.Kind{pings.Failure, pings.Failure, pings.Failure, pings.Success} {
		at := noon.Add(time.Duration(i) * time.Minute)
		f.ping(t, c.ID, pings.Signal{Kind: kind}, at)
		want, _, _, _ = want.Ping(pings.Signal{Kind: kind}, at)
		same(t, "a check after "+string(kind), f.check(t, c.ID), want)
	}
	late := noon.Add(11 * time.Hour) // in the quiet hours
	f.ping(t, c.ID, pings.Signal{}, late)
	for range 3 {
		f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, late)
	}
	if held := f.check(t, c.ID).Alerting; !held.HeldSince.Equal(late) || held.Failures != 3 || held.Next.IsZero() {
		t.Errorf("an alert that is held back: %+v", held)
	}
	f.change(t, c.ID, checks.Spec{AlertAfter: new(0), RepeatEvery: new(time.Duration(0)), QuietHours: new("")}, late)
	got := f.check(t, c.ID)
	if got.AlertAfter != 0 || got.RepeatEvery != 0 || got.QuietHours != "" || got.Alerting != (checks.State{}).Alerting {
		t.Errorf("a check whose rules were taken away: %+v", got)
	}
}

// testAlertRules: LockDue returns a check when an alert or a reminder is due, and not again before the next one. Each
// alert goes to the channels that are assigned when it is raised.
func testAlertRules(t *testing.T, f fixture) {
	ops, pager := f.addChannel(t, "ops", noon), f.addChannel(t, "pager", noon.Add(time.Second))
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	c := f.create(t, checks.Spec{
		Timeout: new(time.Hour), Grace: new(10 * time.Minute), AlertAfter: new(2), RepeatEvery: new(30 * time.Minute),
	})
	f.assign(t, c.ID, ops.ID)
	other := f.create(t, checks.Spec{}) // has no channel
	f.ping(t, other.ID, pings.Signal{Kind: pings.Failure}, noon)

	f.ping(t, c.ID, pings.Signal{}, noon)
	f.settle(t, at(70)) // down, for the first time
	same(t, "after the first failure", f.queued(t, c.ID), []queued(nil))
	if found := f.settle(t, at(130).Add(-1)); found != 0 {
		t.Errorf("%d checks are due before the second failure", found)
	}
	f.settle(t, at(131))
	down := queued{Channel: "ops", Status: channels.Down, At: at(70), Raised: at(131)}
	want := []queued{down}
	same(t, "after the second failure", f.queued(t, c.ID), want)

	f.assign(t, c.ID, ops.ID, pager.ID)
	if found := f.settle(t, at(161).Add(-1)); found != 0 {
		t.Errorf("%d checks are due before the reminder", found)
	}
	f.settle(t, at(162))
	got := f.queued(t, c.ID)
	for _, name := range channelOrder(got, 1, 2) {
		want = append(want, queued{Channel: name, Status: channels.Down, At: at(70), Raised: at(162), Reminder: 1})
	}
	same(t, "after the reminder", got, want)

	f.assign(t, c.ID, pager.ID)
	f.ping(t, c.ID, pings.Signal{}, at(170)) // also for ops, which has the alert
	got = f.queued(t, c.ID)
	for _, name := range channelOrder(got, 3, 4) {
		want = append(want, queued{Channel: name, Status: channels.Up, At: at(170), Raised: at(170)})
	}
	same(t, "up again", got, want)
	f.settle(t, at(239)) // which may find it: what it waited for while it was down would have been due
	same(t, "later", f.queued(t, c.ID), want)
	same(t, "of a check without channels", f.queued(t, other.ID), []queued(nil))
}

// channelOrder returns the channels of n deliveries, beginning at an index. The deliveries of one alert have no order.
func channelOrder(list []queued, from, n int) []string {
	var names []string
	for _, d := range list[min(from, len(list)):min(from+n, len(list))] {
		names = append(names, d.Channel)
	}
	return names
}

// testAlertOrder saves many alerts of many checks in one transaction, all at one instant.
func testAlertOrder(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	var ids []uuid.UUID
	for range 5 {
		c := f.create(t, checks.Spec{})
		f.assign(t, c.ID, ops.ID)
		ids = append(ids, c.ID)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		for range 4 {
			for _, l := range locked {
				receive(l, pings.Signal{Kind: pings.Failure}, noon)
				receive(l, pings.Signal{Kind: pings.Success}, noon)
			}
		}
		return tx.SaveChecks(ctx, locked)
	})
	for _, id := range ids {
		got := f.queued(t, id)
		if len(got) != 8 {
			t.Fatalf("%d deliveries, want 8", len(got))
		}
		for i, d := range got {
			if want := []channels.Status{channels.Down, channels.Up}[i%2]; d.Status != want || !d.At.Equal(noon) {
				t.Errorf("delivery %d: %+v, want %v", i, d, want)
			}
		}
	}
	// Each alert has a flip of its own.
	list, err := f.Deliveries(t.Context(), f.project.ID, checks.DeliveryQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 40 || !slices.IsSortedFunc(list, func(a, b checks.Delivery) int { return int(b.ID - a.ID) }) {
		t.Errorf("%d deliveries", len(list))
	}
}

// testAlertsInQuietHours holds back alerts and sums them up at the end.
func testAlertsInQuietHours(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{QuietHours: new("11:00-13:00")})
	f.assign(t, c.ID, ops.ID)
	for i, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Success, pings.Failure} {
		f.ping(t, c.ID, pings.Signal{Kind: kind}, noon.Add(time.Duration(i)*time.Minute))
	}
	end := time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	if found := f.settle(t, end.Add(-time.Microsecond)); found != 0 {
		t.Errorf("%d checks are due in quiet hours", found)
	}
	same(t, "in quiet hours", f.queued(t, c.ID), []queued(nil))
	f.settle(t, end.Add(time.Second))
	same(t, "at their end", f.queued(t, c.ID), []queued{{
		Channel: "ops", Status: channels.Down, At: noon.Add(3 * time.Minute), Raised: end.Add(time.Second), Earlier: 2,
	}})
	if found := f.settle(t, end.AddDate(0, 0, 30)); found != 0 {
		t.Errorf("%d checks are due after the last alert", found)
	}
}

// testAlertsOfRulesThatCameLater has a check that was down before it had rules, and a reminder whose flip was pruned.
func testAlertsOfRulesThatCameLater(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, ops.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon.Add(time.Minute))
	f.change(t, c.ID, checks.Spec{RepeatEvery: new(time.Hour)}, noon.Add(2*time.Minute))
	f.settle(t, noon.Add(62*time.Minute))
	down := queued{Channel: "ops", Status: channels.Down, At: noon.Add(time.Minute), Raised: noon.Add(time.Minute)}
	first := down
	first.Raised, first.Reminder = noon.Add(62*time.Minute), 1
	same(t, "a reminder", f.queued(t, c.ID), []queued{down, first})

	if _, err := f.PruneFlips(t.Context(), noon.Add(30*time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	before := len(f.queued(t, c.ID))
	f.settle(t, noon.Add(122*time.Minute))
	if after := f.queued(t, c.ID); len(after) != before+1 || after[before].Reminder != 2 {
		t.Errorf("a reminder about a pruned flip: %+v", after)
	}
}
