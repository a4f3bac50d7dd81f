package monitor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// alertsAre compares the alerts of a check in the outbox, oldest first: "down", or "down 2" for the second reminder.
func (s setup) alertsAre(t *testing.T, what string, id uuid.UUID, want ...string) {
	t.Helper()
	list, err := s.Deliveries(t.Context(), s.project.ID, checks.DeliveryQuery{Check: id})
	must(t, err)
	slices.Reverse(list)
	var got []string
	for _, d := range list {
		text := string(d.Status)
		if d.Reminder > 0 {
			text += fmt.Sprint(" ", d.Reminder)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts, %s (-want +got):\n%s", what, diff)
	}
}

func (s setup) addOps(t *testing.T) {
	t.Helper()
	_, err := s.CreateChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
	must(t, err)
}

// TestAlertRules goes through a night with a new monitor at every step, as if the process had died each time. The database
// alone knows what is due.
func TestAlertRules(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := open()
		s := newSetup(t, store, checks.ProjectSpec{Name: "p"})
		s.addOps(t)
		c := s.create(t, checks.Spec{
			Timeout: new(time.Hour), Grace: new(10 * time.Minute), Channels: new("*"),
			AlertAfter: new(2), RepeatEvery: new(3 * time.Hour), QuietHours: new("22:00-06:00"),
		})
		var want []string
		for _, step := range []struct {
			at     time.Duration // after noon
			ping   pings.Kind    // "" to sweep
			alerts []string
		}{
			{0, pings.Success, nil},
			{70 * time.Minute, "", nil}, // down
			{130*time.Minute - 1, "", nil},
			{130 * time.Minute, "", []string{"down"}},
			{310 * time.Minute, "", []string{"down 1"}},
			{9 * time.Hour, pings.Success, []string{"down 2", "up"}}, // at 21:00, with the reminder that was due at 20:10
			{10*time.Hour + 10*time.Minute, "", nil},                 // down at 22:10
			{11*time.Hour + 10*time.Minute, "", nil},                 // held back
			{18*time.Hour - 1, "", nil},
			{18 * time.Hour, "", []string{"down"}},
			{18*time.Hour + time.Minute, pings.Failure, nil},
			{21 * time.Hour, "", []string{"down 1"}},
			{21*time.Hour + time.Minute, pings.Success, []string{"up"}},
		} {
			s.clock.Set(noon.Add(step.at))
			s.Monitor = s.with(t, store, monitor.Config{})
			if step.ping == "" {
				_, err := s.Sweep(t.Context())
				must(t, err)
			} else {
				s.ping(t, c.ID, step.ping)
			}
			want = append(want, step.alerts...)
			s.alertsAre(t, fmt.Sprint(step.at, " after noon"), c.ID, want...)
		}
		if list := s.flips(t, c.ID); len(list) != 5 {
			t.Errorf("%d flips, want 5: %v", len(list), list)
		}
	})
}

// TestChangedRules changes the rules of a check whose alert is held back. They take effect at once.
func TestChangedRules(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		s.addOps(t)
		for name, test := range map[string]struct{ before, after checks.Spec }{
			"alert_after": {checks.Spec{AlertAfter: new(5), Channels: new("*")}, checks.Spec{AlertAfter: new(1)}},
			"quiet_hours": {checks.Spec{QuietHours: new("11:00-13:00"), Channels: new("*")}, checks.Spec{QuietHours: new("11:00-12:00")}},
			"new channel": {checks.Spec{AlertAfter: new(5)}, checks.Spec{AlertAfter: new(0), Channels: new("ops")}},
		} {
			c := s.create(t, test.before)
			s.ping(t, c.ID, pings.Failure)
			s.alertsAre(t, name+" before the change", c.ID)
			_, err := s.Update(t.Context(), c.ID, test.after)
			must(t, err)
			s.alertsAre(t, name+" after the change", c.ID, "down")
		}
	})
}
