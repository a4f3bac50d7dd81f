package monitor_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// alerts returns what was put into the outbox about a check, as "down" or "down 2" for the second reminder.
func (s setup) alerts(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	list, err := s.Deliveries(t.Context(), monitor.DeliveryQuery{Project: s.project.ID, Check: id})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	var all []string
	for _, d := range list {
		text := string(d.Status)
		if d.Reminder > 0 {
			text += fmt.Sprint(" ", d.Reminder)
		}
		all = append(all, text)
	}
	return all
}

// TestAlertRules goes through a night with a monitor that is new at every step, as if the process had died each time:
// what is due is known from the database alone.
func TestAlertRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := db.Open(t)
		s := newSetup(t, store, monitor.ProjectSpec{Name: "p"})
		_, err := s.CreateChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		c := s.create(t, checks.Spec{
			Timeout: new(time.Hour), Grace: new(10 * time.Minute), Channels: new("*"),
			AlertAfter: new(2), RepeatEvery: new(3 * time.Hour), QuietHours: new("22:00-06:00"),
		})
		var want []string
		for _, step := range []struct {
			at   time.Duration // after noon
			do   pings.Kind    // "" for the watcher
			told []string
		}{
			{0, pings.Success, nil},
			{70 * time.Minute, "", nil}, // down
			{130*time.Minute - 1, "", nil},
			{130 * time.Minute, "", []string{"down"}},
			{310 * time.Minute, "", []string{"down 1"}},
			{9 * time.Hour, pings.Success, []string{"up"}}, // 21:00
			{10*time.Hour + 10*time.Minute, "", nil},       // down at 22:10
			{11*time.Hour + 10*time.Minute, "", nil},       // held back
			{18*time.Hour - 1, "", nil},
			{18 * time.Hour, "", []string{"down"}},
			{18*time.Hour + time.Minute, pings.Fail, nil},
			{21 * time.Hour, "", []string{"down 1"}},
			{21*time.Hour + time.Minute, pings.Success, []string{"up"}},
		} {
			s.clock.Set(noon.Add(step.at))
			mon, err := monitor.New(store, &monitor.Config{Now: s.clock.Now, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			s.Monitor = mon
			if step.do == "" {
				_, err = s.Sweep(t.Context())
			} else {
				_, err = s.Ping(t.Context(), c.ID, pings.Signal{Kind: step.do})
			}
			if err != nil {
				t.Fatal(err)
			}
			if step.at == 9*time.Hour { // the second reminder, due at 20:10, goes out before the news that it is up
				want = append(want, "down 2")
			}
			want = append(want, step.told...)
			if diff := cmp.Diff(want, s.alerts(t, c.ID)); diff != "" {
				t.Errorf("%v after noon (-want +got):\n%s", step.at, diff)
			}
		}
		if n := len(s.flips(t, c.ID)); n != 5 {
			t.Errorf("%d flips, want 5", n)
		}
	})
}

// TestChangedRulesHoldAtOnce changes the rules of a check with an alert that waits.
func TestChangedRulesHoldAtOnce(t *testing.T) {
	each(t, monitor.ProjectSpec{Name: "p"}, func(t *testing.T, s setup) {
		_, err := s.CreateChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		change := func(ctx context.Context, id uuid.UUID, spec checks.Spec) {
			t.Helper()
			if _, err := s.Update(ctx, id, spec); err != nil {
				t.Fatal(err)
			}
		}
		for name, test := range map[string]struct{ before, after checks.Spec }{
			"alert_after": {checks.Spec{AlertAfter: new(5)}, checks.Spec{AlertAfter: new(1)}},
			"quiet_hours": {checks.Spec{QuietHours: new("11:00-13:00")}, checks.Spec{QuietHours: new("11:00-12:00")}},
		} {
			test.before.Channels = new("*")
			c := s.create(t, test.before)
			s.ping(t, c.ID, pings.Fail)
			if got := s.alerts(t, c.ID); got != nil {
				t.Errorf("%s: told at once: %q", name, got)
			}
			change(t.Context(), c.ID, test.after)
			if diff := cmp.Diff([]string{"down"}, s.alerts(t, c.ID)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		// An integration that comes with the same update is told too.
		c := s.create(t, checks.Spec{AlertAfter: new(5)})
		s.ping(t, c.ID, pings.Fail)
		change(t.Context(), c.ID, checks.Spec{AlertAfter: new(0), Channels: new("ops")})
		if diff := cmp.Diff([]string{"down"}, s.alerts(t, c.ID)); diff != "" {
			t.Errorf("a new integration (-want +got):\n%s", diff)
		}
	})
}
