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
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// A mailbox takes the alerts of an integration with several recipients, of which some fail.
type mailbox struct {
	mu         sync.Mutex
	recipients []string
	failing    map[string]error
	got        map[string][]string // by recipient
	ids        map[string][]string // identifiers of the attempts by alert
}

// newMailbox makes a mailbox the receiver of an outbox with one channel.
func newMailbox(o outbox, recipients ...string) *mailbox {
	m := &mailbox{recipients: recipients, failing: make(map[string]error), got: make(map[string][]string), ids: make(map[string][]string)}
	o.set(func(ctx context.Context, _ channels.Channel, n channels.Notification) error {
		return channels.Each(n, m.to(), func(recipient string) error { return m.take(ctx, n, recipient) })
	})
	return m
}

func (m *mailbox) to() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.recipients)
}

func (m *mailbox) take(ctx context.Context, n channels.Notification, recipient string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	alert := fmt.Sprintf("%s %s", n.Check.Name, n.Status)
	m.ids[alert] = append(m.ids[alert], n.ID)
	if err := m.failing[recipient]; err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.got[recipient] = append(m.got[recipient], alert)
	return nil
}

// is compares what each recipient has got.
func (m *mailbox) is(t *testing.T, want map[string][]string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := cmp.Diff(want, m.got); diff != "" {
		t.Errorf("got (-want +got):\n%s", diff)
	}
}

// TestRecipientRefusesAndLeaves has one recipient refuse the alert for good. The other hears of the end, also if the integration was taken from
// the check before.
func TestRecipientRefusesAndLeaves(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		m := newMailbox(o, "a", "b")
		m.failing["b"] = channels.Permanent(errors.New("550 unknown"))
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		o.change(t, c, checks.Spec{Channels: new("")})
		o.ping(t, c.ID, pings.Success)
		work(t, o.Monitor)
		m.is(t, map[string][]string{"a": {"job down", "job up"}})
	})
}

// TestRecipientFails has one of three recipients fail for now, for longer and longer. The others get all later alerts at
// once. The one gets what it missed, in order and once, also after a restart. Each alert keeps its identifier.
func TestRecipientFails(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		m := newMailbox(o, "a", "b", "c")
		m.failing["b"] = channels.RetryAfter(errors.New("451 greylisted"), 5*time.Minute)
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			o.ping(t, c.ID, kind)
			work(t, o.Monitor)
			o.clock.Advance(time.Second)
		}
		m.is(t, map[string][]string{"a": {"job down", "job up"}, "c": {"job down", "job up"}})
		o.states(t, "down sent 1", "down pending 1 451 greylisted", "up sent 1", "up pending 0")

		o.Monitor = o.server(t, o.store)
		m.failing["b"], m.failing["c"] = nil, errors.New("away")
		o.clock.Advance(5 * time.Minute)
		work(t, o.Monitor)
		work(t, o.Monitor)
		m.is(t, map[string][]string{"a": {"job down", "job up"}, "b": {"job down", "job up"}, "c": {"job down", "job up"}})
		for alert, ids := range m.ids {
			if len(slices.Compact(ids)) != 1 {
				t.Errorf("identifiers of %s: %q", alert, ids)
			}
		}
		o.states(t, "down sent 1", "down sent 2", "up sent 1", "up sent 1")
	})
}

// TestRecipientRefuses has one recipient refuse for good and one fail for now. The integration is marked, and a retry by hand
// goes to the first alone.
func TestRecipientRefuses(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		m := newMailbox(o, "a", "b", "c")
		m.failing["b"], m.failing["c"] = errors.New("away"), channels.Permanent(errors.New("gone"))
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		o.states(t, "down failed 1 gone", "down pending 1 away")
		if at, text := o.mark(t); at.IsZero() || text != "gone" {
			t.Errorf("marked at %v: %s", at, text)
		}
		m.failing = map[string]error{}
		if _, err := o.Project(o.project.ID).RetryFailed(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		m.is(t, map[string][]string{"a": {"job down"}, "b": {"job down"}, "c": {"job down"}})
	})
}

// TestRecipientsHang has the first recipient use up the time of an attempt. Those behind it get the alert with the next one.
func TestRecipientsHang(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		m := newMailbox(o, "a", "b")
		m.failing["a"], m.failing["b"] = context.DeadlineExceeded, context.DeadlineExceeded
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		m.failing["b"] = nil
		o.clock.Advance(time.Second)
		work(t, o.Monitor)
		m.is(t, map[string][]string{"b": {"job down"}})
	})
}

// TestRecipientMissesSeveral has a recipient away while the check comes and goes, so that what it missed is handed over to it behind what
// the others have got meanwhile. It hears of each end, because it knows of each outage.
func TestRecipientMissesSeveral(t *testing.T) {
	eachOutbox(t, func(c *monitor.Config) { c.Delivery.RetryMost = 10 * time.Second }, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		m := newMailbox(o, "a", "b")
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		m.failing["a"], m.failing["b"] = errors.New("away"), errors.New("away")
		for _, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Success} {
			o.ping(t, c.ID, kind)
			work(t, o.Monitor)
		}
		delete(m.failing, "a")
		o.clock.Advance(10 * time.Second)
		work(t, o.Monitor)
		delete(m.failing, "b")
		for range 3 {
			o.clock.Advance(10 * time.Second)
			work(t, o.Monitor)
		}
		all := []string{"job down", "job up", "job down", "job up"}
		m.is(t, map[string][]string{"a": all, "b": all})
	})
}

// TestRecipientsOfAnyCourse draws courses of pings, restarts and outages of recipients, shorter than the time after which a
// newer alert replaces a late one. In the end each recipient has got all alerts, in order and once.
func TestRecipientsOfAnyCourse(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(rt *rapid.T) {
		o := newOutbox(t, dbtest.Memory(t), func(c *monitor.Config) { c.Delivery.RetryMost = 10 * time.Second })
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		names := []string{"a", "b", "c"}
		m := newMailbox(o, names...)
		var want []string
		for range rapid.IntRange(1, 8).Draw(rt, "alerts") {
			for _, name := range names {
				m.failing[name] = rapid.SampledFrom([]error{nil, nil, errors.New("away"), context.DeadlineExceeded}).Draw(rt, name)
			}
			status, kind := channels.Down, pings.Failure
			if len(want)%2 == 1 {
				status, kind = channels.Up, pings.Success
			}
			want = append(want, fmt.Sprintf("job %s", status))
			o.ping(t, c.ID, kind)
			work(t, o.Monitor)
			o.clock.Advance(time.Duration(rapid.IntRange(0, 20).Draw(rt, "seconds")) * time.Second)
			if rapid.Bool().Draw(rt, "restart") {
				o.Monitor = o.server(t, o.store)
			}
			work(t, o.Monitor)
		}
		m.failing = map[string]error{}
		for range 3 * len(want) {
			o.clock.Advance(15 * time.Second)
			work(t, o.Monitor)
		}
		for _, name := range names {
			if diff := cmp.Diff(want, m.got[name]); diff != "" {
				rt.Fatalf("%s got (-want +got):\n%s", name, diff)
			}
		}
	})
}
