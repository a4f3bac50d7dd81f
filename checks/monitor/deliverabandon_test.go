package monitor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

const unsent = "not sent within 24h0m0s: no server has a notifier"

// TestWithoutNotifiers raises alerts where no server can send them: they fail after a day, are pruned like others, and
// can be sent when there is a notifier.
func TestWithoutNotifiers(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		config := o.config
		mute(&o.config)
		silent := o.server(t, o.store)
		prune := func() {
			t.Helper()
			if n, err := silent.Deliver(t.Context()); n != 0 || err != nil {
				t.Errorf("%d sent, %v", n, err)
			}
			if _, err := silent.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c := o.watched(t, "a")
		for _, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure} {
			o.ping(t, c.ID, kind)
			o.clock.Advance(time.Hour)
		}
		o.clock.Set(noon.Add(24*time.Hour - time.Microsecond))
		prune()
		o.states(t, "down pending 0", "up pending 0", "down pending 0")
		o.clock.Set(noon.Add(25 * time.Hour))
		prune()
		o.states(t, "down failed 0 "+unsent, "up failed 0 "+unsent, "down pending 0")
		if at, text := o.mark(t); !at.Equal(o.clock.Now()) || text != unsent {
			t.Errorf("marked %v, %q", at, text)
		}
		o.clock.Set(noon.Add(26 * time.Hour))
		prune()
		o.states(t, "down failed 0 "+unsent, "up failed 0 "+unsent, "down failed 0 "+unsent)

		o.config = config
		if n, err := o.Project(o.project.ID).RetryFailed(t.Context()); n != 3 || err != nil {
			t.Errorf("%d are pending again, %v", n, err)
		}
		o.deliver(t, "ops: a down", "ops: a up", "ops: a down")
		if at, text := o.mark(t); !at.IsZero() {
			t.Errorf("after a success: marked %v, %q", at, text)
		}

		for range 40 { // more than one transaction ends
			o.ping(t, o.watched(t, "many").ID, pings.Failure)
		}
		o.clock.Advance(24 * time.Hour)
		prune()
		if n := len(o.history(t, checks.DeliveryQuery{State: checks.DeliveryFailed})); n != 40 {
			t.Errorf("%d have failed, want 40", n)
		}
		o.clock.Advance(100 * 24 * time.Hour)
		o.ping(t, c.ID, pings.Success)
		o.clock.Advance(100 * 24 * time.Hour)
		prune() // fails the last one and removes all
		o.states(t)
	})
}

// TestNotAbandoned prunes on a server that cannot send while another one retries its alerts. Those stay pending.
func TestNotAbandoned(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		sending := o.Monitor
		mute(&o.config)
		silent := o.server(t, o.store)
		o.set(answer(errors.New("away")))
		c := o.watched(t, "a")
		o.ping(t, c.ID, pings.Failure)
		o.ping(t, c.ID, pings.Success)
		for range 4 {
			if _, err := sending.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.clock.Advance(23 * time.Hour)
			if _, err := silent.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		o.states(t, "down pending 4 away", "up pending 0")
	})
}

// TestRunWithoutNotifiers gives up alerts while the monitor runs.
func TestRunWithoutNotifiers(t *testing.T) {
	config := func(c *monitor.Config) {
		mute(c)
		c.Delivery.GiveUp = time.Minute
	}
	inBubble(t, config, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.ping(t, o.watched(t, "a").ID, pings.Failure)
		defer start(t, o.Monitor)()
		time.Sleep(70 * time.Second)
		o.states(t, "down failed 0 not sent within 1m0s: no server has a notifier")
	})
}
