package monitor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestGroup sends each alert once to every member of a group.
func TestGroup(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		a, b := o.channel(t, "pager", "a", nil), o.channel(t, "pager", "b", nil)
		gone := o.channel(t, "pager", "gone", nil)
		group := o.channel(t, channels.Group, "all", map[string]string{"channels": "*"})
		members := selection.Members(group)
		for _, c := range []channels.Channel{a, b, gone} {
			if len(members) != 3 || !slices.Contains(members, c.ID) {
				t.Errorf("members %v, want those of %s", members, c.Name)
			}
		}
		if err := o.DeleteChannel(t.Context(), o.project.ID, gone.ID); err != nil {
			t.Fatal(err)
		}
		for name, selection := range map[string]string{"group only": "all", "both": "all,b"} {
			c := o.create(t, checks.Spec{Name: &name, Channels: &selection})
			for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
				o.clock.Advance(time.Second)
				o.ping(t, c.ID, kind)
			}
			if n, err := o.Deliver(t.Context()); n != 4 || err != nil {
				t.Errorf("%s: %d sent, %v", name, n, err)
			}
			got := o.received()
			want := []string{"a: " + name + " down", "a: " + name + " up", "b: " + name + " down", "b: " + name + " up"}
			slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(subject(a), subject(b)) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
		}
		for _, id := range []uuid.UUID{a.ID, b.ID} {
			if err := o.DeleteChannel(t.Context(), o.project.ID, id); err != nil {
				t.Fatal(err)
			}
		}
		c := o.create(t, checks.Spec{Channels: new("all")})
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		if d := o.history(t, checks.DeliveryQuery{Limit: 1})[0]; d.State != checks.DeliveryFailed || d.Error != "the group has no members" {
			t.Errorf("to a group without members: %+v", d)
		}
	})
}

// TestGroupReminders turns repeat_every on, off and on again while a check is down. The reminders count from 1 each time,
// and the members of a group get every one of them.
func TestGroupReminders(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "a", nil)
		o.channel(t, channels.Group, "all", map[string]string{"channels": "*"})
		repeat := func(every time.Duration) checks.Spec { return checks.Spec{RepeatEvery: new(every)} }
		on, off := repeat(time.Hour), repeat(0)
		for name, selection := range map[string]string{"group only": "all", "both": "all,a"} {
			c := o.create(t, checks.Spec{Name: &name, Channels: &selection})
			o.ping(t, c.ID, pings.Failure)
			o.deliver(t, "a: "+name+" down")
			for _, rule := range []checks.Spec{on, off, on} {
				if _, err := o.Update(t.Context(), c.ID, rule); err != nil {
					t.Fatal(err)
				}
				if *rule.RepeatEvery == 0 {
					continue
				}
				for reminder := range 3 {
					o.clock.Advance(time.Hour)
					if _, err := o.Sweep(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := o.Deliver(t.Context()); err != nil {
						t.Fatal(err)
					}
					notes := o.all()
					if len(notes) != 1 || notes[0].channel != "a" || notes[0].Reminder != reminder+1 {
						t.Errorf("%s: reminder %d: received %+v", name, reminder+1, notes)
					}
					o.received()
				}
			}
			if _, err := o.Update(t.Context(), c.ID, off); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestGroupSettings resolves the members when a group is created and when it is changed.
func TestGroupSettings(t *testing.T) {
	o := newOutbox(t, dbtest.SQLite(t).Open(t), nil)
	create := func(selection string) error {
		_, err := o.CreateChannel(t.Context(), o.project.ID, channels.Group, "g", map[string]string{"channels": selection})
		return err
	}
	refused := func(err error, want string) {
		t.Helper()
		if problem, ok := errors.AsType[*channels.SettingError](err); !ok || problem.Error() != "group: channels "+want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused(create(""), "is missing")
	refused(create("*"), "selects no integration")
	a := o.channel(t, "pager", "a", nil)
	o.channel(t, "pager", "twin", nil)
	o.channel(t, "pager", "twin", nil)
	refused(create("x"), `cannot be used: no integration has the id or name "x"`)
	refused(create("a,twin"), `cannot be used: 2 integrations have the name "twin", use the id`)
	group := o.channel(t, channels.Group, "group", map[string]string{"channels": "a"})
	refused(create("a,group"), `contains the group "group", a group cannot be in a group`)
	_, err := o.UpdateChannel(t.Context(), o.project.ID, group.ID, map[string]string{"channels": "a,group"}, nil)
	refused(err, "contains the group itself")
	updated, err := o.UpdateChannel(t.Context(), o.project.ID, group.ID, map[string]string{"channels": strings.ToUpper(a.ID.String())}, nil)
	if err != nil || updated.Settings["channels"] != a.ID.String() {
		t.Errorf("updated to %v, %v", updated.Settings, err)
	}
}

// TestTestChannel sends test alerts, which leave no record.
func TestTestChannel(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		a := o.channel(t, "pager", "a", map[string]string{"token": "s3cret"})
		o.channel(t, "pager", "b", nil)
		sms, err := on(o.with(t, o.store, monitor.Config{})).CreateChannel(t.Context(), o.project.ID, channels.SMS, "sms", map[string]string{"to": "+37120000000"})
		must(t, err)
		group := o.channel(t, channels.Group, "all", map[string]string{"channels": "*"})
		test := func(id uuid.UUID) error { return o.TestChannel(t.Context(), o.project.ID, id) }
		if err := test(a.ID); err != nil {
			t.Error(err)
		}
		if notes := o.all(); len(notes) != 1 || !notes[0].Test || notes[0].Check.Project != "p" || notes[0].ID == "" {
			t.Errorf("received %+v", notes)
		}
		if missing, ok := errors.AsType[*channels.NotConfiguredError](test(sms.ID)); !ok || missing.Kind != channels.SMS {
			t.Errorf("without a notifier: %v", missing)
		}
		o.received()
		if err := test(group.ID); err == nil || !strings.Contains(err.Error(), `sms "sms"`) {
			t.Errorf("to a group with one that is not configured: %v", err)
		}
		if got := o.received(); len(got) != 2 {
			t.Errorf("received %q", got)
		}
		cause := channels.Permanent(errors.New("wrong token s3cret"))
		o.set(answer(cause))
		if err := test(a.ID); !errors.Is(err, cause) || !channels.IsPermanent(err) || err.Error() != "wrong token ***" {
			t.Errorf("refused: %v", err)
		}
		o.set(func(context.Context, channels.Channel, channels.Notification) error { panic("oops") })
		if err := test(a.ID); err == nil || err.Error() != "panic: oops" {
			t.Errorf("panic: %v", err)
		}
		if err := test(uuid.New()); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an integration that does not exist: %v", err)
		}
		if list := o.history(t, checks.DeliveryQuery{}); len(list) != 0 {
			t.Errorf("recorded %+v", list)
		}
		if at, _ := channelMark(t, o, a.ID); !at.IsZero() {
			t.Errorf("marked %v", at)
		}
	})
}

func channelMark(t *testing.T, o outbox, id uuid.UUID) (time.Time, string) {
	t.Helper()
	list, err := o.Channels(t.Context(), o.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.ID == id {
			return c.FailedAt, c.Error
		}
	}
	t.Fatalf("no integration %s", id)
	return time.Time{}, ""
}

// TestBodyFromObjectStorage reads the body of the last ping from object storage, and does without when that is away.
func TestBodyFromObjectStorage(t *testing.T) {
	sh := &shelf{}
	eachOutbox(t, func(c *monitor.Config) { c.Bodies, c.BodyThreshold = sh, 4 }, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		body := strings.Repeat("x", channels.MaxBody+1)
		for _, down := range []error{nil, checks.ErrBodyUnavailable} {
			sh.set(func(s *shelf) { s.down = nil })
			for _, kind := range []pings.Kind{pings.Success, pings.Failure} {
				if _, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: kind, Body: []byte(body)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := o.UploadBodies(t.Context()); err != nil {
				t.Fatal(err)
			}
			sh.set(func(s *shelf) { s.down = down })
			if _, err := o.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			notes := o.all()
			o.received()
			want := channels.MaxBody
			if down != nil {
				want = 0
			}
			if got := notes[len(notes)-1].Ping; len(got.Body) != want || got.Kind != "fail" {
				t.Errorf("with the storage %v: %d bytes of the body, want %d", down, len(got.Body), want)
			}
		}
	})
}

// TestReminderOfOldFlip sends an alert about a flip that was pruned.
func TestReminderOfOldFlip(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.ping(t, c.ID, pings.Failure)
		if _, err := o.store.Contract().(store.Store).PruneFlips(t.Context(), noon.Add(time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(time.Hour)
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		notes := o.all()
		if len(notes) != 1 || notes[0].Status != channels.Down || notes[0].At.IsZero() || notes[0].Reason == "" {
			t.Errorf("received %+v", notes)
		}
	})
}

// TestTiming describes in English when pings are expected.
func TestTiming(t *testing.T) {
	o := newOutbox(t, dbtest.SQLite(t).Open(t), nil)
	o.channel(t, "pager", "ops", nil)
	for want, spec := range map[string]checks.Spec{
		"every day, 1 hour of grace":                              {},
		"every minute, 1 minute of grace":                         {Timeout: new(time.Minute), Grace: new(time.Minute)},
		"every 2 hours, 1 hour 30 minutes of grace":               {Timeout: new(2 * time.Hour), Grace: new(90 * time.Minute)},
		"every 1 day 1 hour, 2 days 1 second of grace":            {Timeout: new(25 * time.Hour), Grace: new(48*time.Hour + time.Second)},
		"0 3 * * * (Europe/Riga), 1 hour of grace":                {Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")},
		"Mon *-*-* 01:00; Sat *-*-* 02:00 (UTC), 1 hour of grace": {Schedule: new("Mon *-*-* 01:00\nSat *-*-* 02:00")},
	} {
		spec.Channels = new("*")
		c := o.create(t, spec)
		o.ping(t, c.ID, pings.Failure)
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		notes := o.all()
		if got := notes[len(notes)-1].Check.Timing; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
