package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// desk is a receiver that gives each incident a number, as an issue tracker does: two that are open about one check are
// two, and only the right number closes one.
type desk struct {
	mu      sync.Mutex
	last    int
	open    map[uuid.UUID][]string // the open incidents of a check
	trouble []string               // calls that cannot be right
	reports []string               // "number status"
	refresh time.Duration
	away    error // what calls return
	half    bool  // calls do their work before they fail
}

var _ channels.IncidentNotifier = (*desk)(nil)

func (d *desk) Notify(context.Context, channels.Channel, channels.Notification) error {
	return errors.New("NotifyIncident has to be called instead")
}

func (d *desk) Refresh() time.Duration { return d.refresh }

func (d *desk) NotifyIncident(_ context.Context, _ channels.Channel, n channels.Notification, open string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away != nil && !d.half {
		return open, d.away
	}
	there := d.open[n.Check.ID]
	if open != "" && (len(there) != 1 || there[0] != open) || open == "" && len(there) > 0 {
		d.trouble = append(d.trouble, fmt.Sprintf("%s with open %q, but %q are open", n.Status, open, there))
	}
	switch {
	case n.Status == channels.Up:
		delete(d.open, n.Check.ID)
		d.reports = append(d.reports, open+" up: "+n.Reason)
		return "", d.away
	case open == "":
		d.last++
		open = fmt.Sprint(d.last)
		d.open[n.Check.ID] = append(there, open)
	}
	d.reports = append(d.reports, open+" down")
	return open, d.away
}

func (d *desk) set(away error, half bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away, d.half = away, half
}

// said returns the reports since the last call.
func (d *desk) said() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, d.reports = d.reports, nil
	return list
}

// newDesk returns an outbox with a channel "desk" to a desk.
func newDesk(t *testing.T, o outbox, settings map[string]string) (outbox, *desk) {
	t.Helper()
	d := &desk{open: make(map[uuid.UUID][]string)}
	o.config.Channels = append(o.config.Channels, channels.Type{Kind: "desk", Notifier: d})
	o.Monitor = o.server(t, o.store)
	o.channel(t, "desk", "desk", settings)
	return o, d
}

func (o outbox) change(t *testing.T, c checks.Check, spec checks.Spec) {
	t.Helper()
	if _, err := o.Update(t.Context(), c.ID, spec); err != nil {
		t.Fatal(err)
	}
}

func (o outbox) pause(t *testing.T, c checks.Check) {
	t.Helper()
	if _, err := o.Pause(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
}

func (o outbox) remove(t *testing.T, c checks.Check) {
	t.Helper()
	if _, err := o.Delete(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
}

func (o outbox) get(t *testing.T, c checks.Check) checks.Check {
	t.Helper()
	c, err := o.Check(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// work does what Run does.
func work(t interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}, mon *monitor.Monitor,
) {
	t.Helper()
	for _, task := range []func(context.Context) (int, error){mon.Sweep, mon.Deliver, mon.KeepIncidents, mon.Deliver} {
		if _, err := task(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIncidents closes what was opened, after each event that swallows the alert that the check is up.
func TestIncidents(t *testing.T) {
	tests := map[string]struct {
		after func(t *testing.T, o outbox, c checks.Check)
		want  []string
	}{
		"up": {func(t *testing.T, o outbox, c checks.Check) { o.ping(t, c.ID, pings.Success) }, []string{"1 up: the job reported success"}},
		"up in quiet hours": {func(t *testing.T, o outbox, c checks.Check) {
			o.change(t, c, checks.Spec{QuietHours: new("00:00-23:59")})
			o.ping(t, c.ID, pings.Success)
		}, []string{"1 up: the check is up"}},
		"pause":  {func(t *testing.T, o outbox, c checks.Check) { o.pause(t, c) }, []string{"1 up: the check was paused"}},
		"delete": {func(t *testing.T, o outbox, c checks.Check) { o.remove(t, c) }, []string{"1 up: the check was deleted"}},
		"channel taken away": {func(t *testing.T, o outbox, c checks.Check) {
			o.change(t, c, checks.Spec{Channels: new("")})
		}, []string{"1 up: the integration does not get alerts about the check any more"}},
		"still down": {func(*testing.T, outbox, checks.Check) {}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				o, desk := newDesk(t, newOutbox(t, db.Open(t), nil), nil)
				c := o.watched(t, "job")
				o.ping(t, c.ID, pings.Failure)
				work(t, o.Monitor)
				if diff := cmp.Diff([]string{"1 down"}, desk.said()); diff != "" {
					t.Fatal(diff)
				}
				tt.after(t, o, c)
				o.Monitor = o.server(t, o.store) // another server goes on
				for range 3 {
					o.clock.Advance(40 * time.Second)
					work(t, o.Monitor)
				}
				if diff := cmp.Diff(tt.want, desk.said()); diff != "" {
					t.Error(diff)
				}
				if len(desk.trouble) > 0 {
					t.Error(desk.trouble)
				}
			})
		})
	}
}

// TestIncidentOfPolicy keeps what a step of the escalation policy opened open as long as the check is down.
func TestIncidentOfPolicy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o, desk := newDesk(t, newOutbox(t, db.Open(t), nil), nil)
		list, err := o.Monitor.Project(o.project.ID).Channels(t.Context())
		must(t, err)
		must(t, o.Monitor.Project(o.project.ID).SetEscalation(t.Context(), []gate.Step{step(5*time.Minute, list[0])}))
		c := o.create(t, checks.Spec{Channels: new("")})
		o.ping(t, c.ID, pings.Failure)
		for range 10 {
			work(t, o.Monitor)
			o.clock.Advance(time.Minute)
		}
		if diff := cmp.Diff([]string{"1 down"}, desk.said()); diff != "" {
			t.Error(diff)
		}
		must(t, o.Monitor.Project(o.project.ID).SetEscalation(t.Context(), nil))
		work(t, o.Monitor)
		if diff := cmp.Diff([]string{"1 up: the integration does not get alerts about the check any more"}, desk.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRefresh reports an incident again as long as the check is down, with what is open, and never after that.
func TestRefresh(t *testing.T) {
	o, desk := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), nil)
	desk.refresh = time.Minute
	c := o.watched(t, "job")
	o.ping(t, c.ID, pings.Failure)
	work(t, o.Monitor)
	for range 3 {
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		work(t, o.Monitor)
	}
	if diff := cmp.Diff([]string{"1 down", "1 down", "1 down", "1 down"}, desk.said()); diff != "" {
		t.Error(diff)
	}
	if list := o.history(t, checks.DeliveryQuery{}); len(list) != 1 {
		t.Errorf("refreshes are in the history: %+v", list)
	}
	o.ping(t, c.ID, pings.Success)
	for range 3 {
		work(t, o.Monitor)
		o.clock.Advance(time.Minute)
	}
	if diff := cmp.Diff([]string{"1 up: the job reported success"}, desk.said()); diff != "" {
		t.Error(diff)
	}
}

// TestClosedIncidentsInHistory lists a delivery that closes an incident, and does not count it as an alert.
func TestClosedIncidentsInHistory(t *testing.T) {
	o, _ := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), nil)
	c := o.watched(t, "job")
	o.ping(t, c.ID, pings.Failure)
	work(t, o.Monitor)
	o.pause(t, c)
	o.clock.Advance(time.Minute)
	work(t, o.Monitor)
	list := o.history(t, checks.DeliveryQuery{})
	if len(list) != 2 || list[0].Close != "the check was paused" || list[0].Status != channels.Up || list[0].State != checks.DeliverySent {
		t.Errorf("%+v", list)
	}
}

// TestReceiverOfIncidentsAway closes an incident although the receiver was away for longer than alerts are tried.
func TestReceiverOfIncidentsAway(t *testing.T) {
	o, desk := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), nil)
	c := o.watched(t, "job")
	o.ping(t, c.ID, pings.Failure)
	work(t, o.Monitor)
	desk.said()
	desk.set(errors.New("away"), false)
	o.ping(t, c.ID, pings.Success)
	for range 100 {
		o.ping(t, c.ID, pings.Success)
		work(t, o.Monitor)
		o.clock.Advance(30 * time.Minute)
	}
	if list := o.history(t, checks.DeliveryQuery{State: checks.DeliveryFailed}); len(list) == 0 {
		t.Fatal("no alert was given up")
	}
	desk.set(nil, false)
	for range 20 {
		o.ping(t, c.ID, pings.Success)
		work(t, o.Monitor)
		o.clock.Advance(30 * time.Minute)
	}
	if diff := cmp.Diff([]string{"1 up: the check is up"}, desk.said()); diff != "" {
		t.Error(diff)
	}
}

// TestDirection sends only the alerts that a channel wants. One that does not want alerts about up keeps its incidents.
func TestDirection(t *testing.T) {
	for direction, want := range map[string][]string{
		"":     {"ops: job down", "ops: job up", "ops: job down"},
		"both": {"ops: job down", "ops: job up", "ops: job down"},
		"down": {"ops: job down", "ops: job down"},
		"up":   {"ops: job up"},
	} {
		t.Run("notify="+direction, func(t *testing.T) {
			o, desk := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), map[string]string{"notify": direction})
			o.channel(t, "pager", "ops", map[string]string{"notify": direction})
			c := o.watched(t, "job")
			for _, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure} {
				o.ping(t, c.ID, kind)
				work(t, o.Monitor)
				o.clock.Advance(time.Minute)
				work(t, o.Monitor)
			}
			if diff := cmp.Diff(want, o.received()); diff != "" {
				t.Error(diff)
			}
			skipped := o.history(t, checks.DeliveryQuery{State: checks.DeliverySkipped})
			if len(skipped) != 2*(3-len(want)) {
				t.Errorf("%d skipped, want those that did not arrive: %+v", len(skipped), skipped)
			}
			incidents := map[string][]string{
				"down": {"1 down", "2 down"}, "up": {" up: the job reported success"},
			}[direction]
			if incidents != nil {
				if diff := cmp.Diff(incidents, desk.said()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestPartial sends an alert again only to the recipients that have not accepted it, also from another server.
func TestPartial(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o := newOutbox(t, db.Open(t), nil)
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		var mu sync.Mutex
		var got []string
		down := map[string]bool{"b": true, "c": true}
		o.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			return channels.Each(n, []string{"a", "b", "c"}, func(recipient string) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, recipient)
				if down[recipient] {
					return errors.New(recipient + " is away")
				}
				return nil
			})
		})
		o.ping(t, c.ID, pings.Failure)
		for _, back := range []string{"b", "c", ""} {
			work(t, o.Monitor)
			delete(down, back)
			o.clock.Advance(time.Minute)
			o.Monitor = o.server(t, o.store)
		}
		slices.Sort(got[3:5]) // each has a delivery of its own
		if diff := cmp.Diff([]string{"a", "b", "c", "b", "c", "c"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTestClosesIncident leaves nothing open after a test alert.
func TestTestClosesIncident(t *testing.T) {
	o, desk := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), nil)
	list, err := o.Channels(t.Context(), o.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.TestChannel(t.Context(), o.project.ID, list[0].ID); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"1 down", "1 up: this is a test"}, desk.said()); diff != "" {
		t.Error(diff)
	}
}

// TestIncidentsOfAnyCourse draws courses of pings, time, rules, pauses, outages of the receiver, prunes and restarts. At
// the end, when the rules are gone and the receiver is there, an incident is open if and only if the check is down.
// Nothing is ever closed that was not opened, and there is never a second incident about a check.
func TestIncidentsOfAnyCourse(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(rt *rapid.T) {
		o, desk := newDesk(t, newOutbox(t, dbtest.Memory(t), nil), nil)
		desk.refresh = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(rt, "refresh")
		c := o.create(t, checks.Spec{
			Name: new("job"), Channels: new("*"), Timeout: new(time.Hour), Grace: new(10 * time.Minute),
			RepeatEvery: new(rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "reminders")),
		})
		deleted := false
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			event := rapid.SampledFrom([]string{
				"fail", "success", "fail", "success", "wait", "work", "work", "away", "half", "back", "quiet", "loud",
				"pause", "resume", "unassign", "assign", "prune", "restart", "delete",
			}).Draw(rt, "event")
			if deleted && event != "work" && event != "back" && event != "restart" {
				continue
			}
			switch event {
			case "fail":
				o.ping(t, c.ID, pings.Failure)
			case "success":
				o.ping(t, c.ID, pings.Success)
			case "wait":
				o.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			case "work":
				work(rt, o.Monitor)
				o.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
			case "away", "half":
				desk.set(errors.New("away"), event == "half")
			case "back":
				desk.set(nil, false)
			case "quiet":
				o.change(t, c, checks.Spec{QuietHours: new("00:00-23:59")})
			case "loud":
				o.change(t, c, checks.Spec{QuietHours: new("")})
			case "pause":
				o.pause(t, c)
			case "resume":
				if _, err := o.Resume(rt.Context(), c.ID); err != nil && !errors.Is(err, checks.ErrNotPaused) {
					rt.Fatal(err)
				}
			case "unassign":
				o.change(t, c, checks.Spec{Channels: new("")})
			case "assign":
				o.change(t, c, checks.Spec{Channels: new("*")})
			case "prune":
				if _, err := o.store.Contract().(store.Store).PruneFlips(rt.Context(), o.clock.Now(), func() {}); err != nil {
					rt.Fatal(err)
				}
			case "restart":
				o.Monitor = o.server(t, o.store)
			case "delete":
				o.remove(t, c)
				deleted = true
			}
		}
		desk.set(nil, false)
		assigned, down := false, false
		if !deleted {
			o.change(t, c, checks.Spec{QuietHours: new("")})
			now := o.get(t, c)
			assigned = len(now.Channels) > 0
		}
		for range 40 { // beyond every pause between attempts
			work(rt, o.Monitor)
			o.clock.Advance(15 * time.Minute)
		}
		if !deleted {
			down = o.get(t, c).Stored == checks.StatusDown
		}
		open := desk.open[c.ID]
		if len(desk.trouble) > 0 {
			rt.Fatal(desk.trouble)
		}
		if len(open) > 0 && !(down && assigned) {
			rt.Fatalf("%q are open, but the check is down: %v, and assigned: %v", open, down, assigned)
		}
		list := o.history(t, checks.DeliveryQuery{Limit: 1})
		if len(list) > 0 && list[0].Status == channels.Down && list[0].State == checks.DeliverySent && len(open) == 0 {
			rt.Fatalf("nothing is open, but the last delivery said that the check is down")
		}
	})
}
