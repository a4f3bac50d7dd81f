package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// inbox is a notifier that keeps the notifications it accepts.
type inbox struct {
	mu    sync.Mutex
	notes []note
	reply func(ctx context.Context, c channels.Channel, n channels.Notification) error // nil: it accepts all
}

type note struct {
	channel string
	channels.Notification
}

func (b *inbox) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	b.mu.Lock()
	reply := b.reply
	b.mu.Unlock()
	if reply != nil {
		if err := reply(ctx, c, n); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, note{c.Name, n})
	return nil
}

// set changes how the inbox answers.
func (b *inbox) set(reply func(ctx context.Context, c channels.Channel, n channels.Notification) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply = reply
}

func (b *inbox) all() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// received returns the notifications accepted since the last call, as "channel: check status".
func (b *inbox) received() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, n := range b.notes {
		list = append(list, fmt.Sprintf("%s: %s %s", n.channel, n.Check.Name, n.Status))
	}
	b.notes = nil
	return list
}

// outbox is a setup whose monitor delivers to an inbox.
type outbox struct {
	setup
	*inbox
	config monitor.Config
	store  monitor.Store
}

// newOutbox returns a monitor whose clock stands still, so that only Deliver sends alerts.
func newOutbox(t *testing.T, db monitor.Store, change func(*monitor.Config)) outbox {
	t.Helper()
	s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
	o := outbox{setup: s, inbox: &inbox{}, store: db}
	o.config = monitor.Config{
		Now: s.clock.Now, Logger: slog.New(slog.DiscardHandler), WriteTimeout: patience,
		Channels: append(standard.Kinds(), channels.Type{
			Kind: "pager", Settings: []channels.Setting{{Name: "token", Secret: true}}, Notifier: o.inbox,
		}),
	}
	if change != nil {
		change(&o.config)
	}
	o.Monitor = o.server(t, db)
	return o
}

// mute configures a monitor that only stores channels.
func mute(c *monitor.Config) {
	c.Channels, c.DeliveredElsewhere = slices.Clone(c.Channels), true
	for i := range c.Channels {
		c.Channels[i].Notifier = nil
	}
}

// server returns a further monitor with the same configuration.
func (o outbox) server(t *testing.T, s monitor.Store) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(s, &o.config)
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

func (o outbox) channel(t *testing.T, kind channels.Kind, name string, settings map[string]string) channels.Channel {
	t.Helper()
	c, err := o.CreateChannel(t.Context(), o.project.ID, kind, name, settings)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// watched makes a check with all channels of the project.
func (o outbox) watched(t *testing.T, name string) checks.Check {
	t.Helper()
	return o.create(t, checks.Spec{Name: &name, Channels: new("*")})
}

// deliver sends the alerts that are due and compares those that were received.
func (o outbox) deliver(t *testing.T, want ...string) {
	t.Helper()
	if _, err := o.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, o.received()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// history lists the deliveries, newest first.
func (o outbox) history(t *testing.T, q checks.DeliveryQuery) []checks.Delivery {
	t.Helper()
	list, err := o.Deliveries(t.Context(), o.project.ID, q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// states lists the deliveries, oldest first, as "status state attempts error".
func (o outbox) states(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, d := range o.history(t, checks.DeliveryQuery{}) {
		text := fmt.Sprintf("%s %s %d", d.Status, d.State, d.Attempts)
		if d.Error != "" {
			text += " " + d.Error
		}
		got = append(got, text)
	}
	slices.Reverse(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func eachOutbox(t *testing.T, change func(*monitor.Config), test func(t *testing.T, o outbox)) {
	t.Helper()
	eachStore(t, func(t *testing.T, open func() database) { test(t, newOutbox(t, open(), change)) })
}

func TestDeliver(t *testing.T) {
	link := func(c checks.Check, project string) string {
		return "https://example.org/" + project + "/" + c.UniqueKey()
	}
	eachOutbox(t, func(c *monitor.Config) { c.AlertLink = link }, func(t *testing.T, o outbox) {
		ops := o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Name: new("backup"), Slug: new("b"), Tags: []string{"x", "y"}, Desc: new("d"), Channels: new("*"),
			Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
		o.deliver(t)
		o.clock.Advance(time.Minute)
		_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(3), Body: []byte(`disk "b" full`)})
		if err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(time.Second)
		if n, err := o.Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("%d sent, %v", n, err)
		}
		failed := noon.Add(time.Minute)
		down := channels.Notification{
			Check: channels.Check{ID: c.ID, Name: "backup", Slug: "b", Tags: []string{"x", "y"}, Desc: "d", Project: "p",
				Timing: "every hour, 10 minutes of grace", TZ: "UTC", NPings: 1, URL: "https://example.org/p/" + c.UniqueKey()},
			Status: channels.Down, At: failed, Reason: "the job reported a failure, exit status 3", Cause: `disk "b" full`,
			Verdict: "Down since 1 Mar 12:01 UTC. The job reported a failure with exit status 3: “disk \"b\" full”.",
			Ping:    channels.Ping{At: failed, Kind: "fail", ExitStatus: new(3), Body: []byte(`disk "b" full`), End: []byte(`disk "b" full`)},
		}
		o.clock.Advance(time.Hour)
		o.ping(t, c.ID, pings.Success)
		if n, err := o.Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("%d sent, %v", n, err)
		}
		up := down
		up.Status, up.Reason, up.Cause = channels.Up, "the job reported success", ""
		up.Verdict = "Up since 1 Mar 13:01, after 1 h down. Next run due on 1 Mar 14:01 UTC."
		up.At = failed.Add(time.Hour + time.Second)
		up.Check.NPings, up.DownFor = 2, time.Hour+time.Second
		up.Ping = channels.Ping{At: up.At, Kind: "success"}
		list := o.all()
		if len(list) != 2 || list[0].ID == list[1].ID || list[0].ID == "" || list[0].Incident == "" || list[0].Incident != list[1].Incident {
			t.Fatalf("received %+v", list)
		}
		for i, want := range []channels.Notification{down, up} {
			got := list[i].Notification
			want.ID, want.Incident = got.ID, got.Incident
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notification %d (-want +got):\n%s", i, diff)
			}
		}
		want := checks.Delivery{CheckID: c.ID, CheckName: "backup", ChannelID: ops.ID, ChannelName: "ops", ChannelKind: "pager",
			Status: channels.Up, Reason: flips.Success, State: checks.DeliverySent, Attempts: 1, CreatedAt: up.At, FinishedAt: up.At}
		history := o.history(t, checks.DeliveryQuery{Limit: 1})
		if len(history) != 1 {
			t.Fatal(history)
		}
		want.ID = history[0].ID
		if diff := cmp.Diff(want, history[0]); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}

// TestRetry has a delivery fail again and again. The pauses double, one attempt follows each, and the identifier stays the same.
func TestRetry(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", map[string]string{"token": "s3cret"})
		c := o.watched(t, "a")
		var ids []string
		o.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			ids = append(ids, n.ID)
			return errors.New("the\nhost s3cret is away\x00")
		})
		o.ping(t, c.ID, pings.Failure)
		for attempt, most := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			o.deliver(t)
			o.states(t, fmt.Sprintf("down pending %d the host *** is away ", attempt+1))
			due := o.history(t, checks.DeliveryQuery{})[0].Due
			if wait := due.Sub(o.clock.Now()); wait < most/2 || wait > most {
				t.Errorf("pause %d is %v, want %v to %v", attempt+1, wait, most/2, most)
			}
			o.clock.Set(due.Add(-time.Microsecond))
			o.deliver(t)
			o.clock.Set(due)
		}
		o.set(nil)
		o.deliver(t, "ops: a down")
		o.states(t, "down sent 5")
		if len(slices.Compact(ids)) != 1 || len(ids) != 4 {
			t.Errorf("identifiers of the attempts: %q", ids)
		}
	})
}

// TestOrder has a check come up while the alert that it is down cannot be sent. Both alerts arrive in order, and the first
// says that the outage is over.
func TestOrder(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.channel(t, "pager", "other", nil)
		a, b := o.watched(t, "a"), o.watched(t, "b")
		o.set(func(_ context.Context, c channels.Channel, n channels.Notification) error {
			if c.Name == "ops" && n.Check.Name == "a" {
				return errors.New("away")
			}
			return nil
		})
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			o.ping(t, a.ID, kind)
			o.ping(t, b.ID, kind)
			o.clock.Advance(time.Minute)
		}
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := o.received()
		slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(subject(a), subject(b)) })
		want := []string{"ops: b down", "ops: b up", "other: a down", "other: a up", "other: b down", "other: b up"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
		o.set(nil)
		o.clock.Advance(time.Minute)
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		notes := o.all()
		if len(notes) != 2 || notes[0].Status != channels.Down || !notes[0].Over.Equal(noon.Add(time.Minute)) || notes[1].Status != channels.Up {
			t.Errorf("received %+v", notes)
		}
	})
}

// TestOverAfterPause has a receiver away while one outage is ended by a pause, and a second one by a success. Only the second alert says
// when its outage was over.
func TestOverAfterPause(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		o.set(func(context.Context, channels.Channel, channels.Notification) error { return errors.New("away") })
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		if _, err := o.Pause(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			o.clock.Advance(time.Second)
			o.ping(t, c.ID, kind)
			work(t, o.Monitor)
		}
		o.set(nil)
		for range 3 {
			o.clock.Advance(time.Minute)
			work(t, o.Monitor)
		}
		var got []string
		for _, n := range o.all() {
			got = append(got, fmt.Sprint(n.Status, " ", n.At.Sub(noon), ", over ", !n.Over.IsZero()))
		}
		want := []string{"down 0s, over false", "down 1s, over true", "up 2s, over false"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

// TestFair has many alerts to one channel become due before those to others. All channels have their turn. It needs a
// database: with a store in memory and a notifier that returns at once, Go's scheduler decides which send comes first.
func TestFair(t *testing.T) {
	const jobs, others = 60, 5
	config := func(c *monitor.Config) { c.Delivery = monitor.DeliveryConfig{Sends: 1, SendsPerChannel: 1} }
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o := newOutbox(t, db.Open(t), config)
		o.channel(t, "pager", "busy", nil)
		for i := range jobs {
			o.ping(t, o.watched(t, fmt.Sprint(i)).ID, pings.Failure)
		}
		o.clock.Advance(time.Minute)
		for i := range others {
			name := fmt.Sprint("other", i)
			o.channel(t, "pager", name, nil)
			for range 2 {
				c := o.create(t, checks.Spec{Channels: &name})
				o.ping(t, c.ID, pings.Failure)
			}
		}
		if n, err := o.Deliver(t.Context()); n != jobs+2*others || err != nil {
			t.Fatalf("%d sent, %v", n, err)
		}
		var order []string
		for _, n := range o.all() {
			order = append(order, n.channel)
		}
		count := make(map[string]int)
		for _, channel := range order[:4*(others+1)] {
			count[channel]++
		}
		delete(count, "busy")
		want := make(map[string]int)
		for i := range others {
			want[fmt.Sprint("other", i)] = 2
		}
		if diff := cmp.Diff(want, count); diff != "" {
			t.Errorf("among the first (-want +got):\n%s\nin the order %q", diff, slices.Compact(order))
		}
	})
}

// subject returns the channel and the check of a received notification.
func subject(received string) string { return received[:strings.LastIndex(received, " ")] }
