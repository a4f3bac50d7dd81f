package monitor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

// reach returns whether alerts arrive at a channel, as Project.Receivers and the words have it.
func (o outbox) reach(t *testing.T, id uuid.UUID) (verdict.Reach, string) {
	t.Helper()
	_, reach, err := o.Monitor.Project(o.project.ID).Receivers(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, p := range reach[id].Words() {
		text += verdict.Verdict{Now: o.Now()}.Words(p, time.UTC)
	}
	return reach[id], text
}

// TestReach asks after each step of an integration's life whether alerts arrive.
func TestReach(t *testing.T) {
	refused := errors.New("connection refused")
	steps := []struct {
		name   string
		answer error
		ping   pings.Kind // "" for a retry after an hour
		state  string
		words  string
	}{
		{"never tried", nil, "none", verdict.ReachNotified, "notified"},
		{"delivered", nil, pings.Failure, verdict.ReachNotified, "notified"},
		{"refused once", refused, pings.Success, verdict.ReachFailing, "failing since 13:00, 1 attempt so far: connection refused"},
		{"refused again", refused, "", verdict.ReachFailing, "failing since 13:00, 2 attempts so far: connection refused"},
		{"delivered at last", nil, "", verdict.ReachNotified, "notified"},
		{"given up", channels.Permanent(refused), pings.Failure, verdict.ReachFailing, "failing since 16:00: connection refused"},
		{"delivered after that", nil, pings.Success, verdict.ReachNotified, "notified"},
	}
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ch := o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		for _, step := range steps {
			o.set(answer(step.answer))
			if step.name != "never tried" && step.name != "delivered" {
				o.clock.Advance(time.Hour)
			}
			if step.ping != "" && step.ping != "none" {
				o.ping(t, c.ID, step.ping)
			}
			if err := o.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, text := o.reach(t, ch.ID)
			if r.State != step.state || text != step.words {
				t.Errorf("%s: %s, %q, want %s, %q", step.name, r.State, text, step.state, step.words)
			}
			if r.Untried() != (step.name == "never tried") {
				t.Errorf("%s: untried is %v", step.name, r.Untried())
			}
		}
	})
}

// TestReachInPart has some alerts fail while others arrive: of one check, and to one recipient, for now and for good.
func TestReachInPart(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ch := o.channel(t, "pager", "ops", nil)
		a, b := o.watched(t, "a"), o.watched(t, "b")
		o.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			if n.Check.Name == "a" {
				return errors.New("busy")
			}
			return nil
		})
		is := func(when, state string) {
			t.Helper()
			if r, text := o.reach(t, ch.ID); r.State != state {
				t.Errorf("%s: %s, %q, want %s", when, r.State, text, state)
			}
		}
		tick := func() {
			t.Helper()
			o.clock.Advance(time.Minute)
			if err := o.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		o.ping(t, a.ID, pings.Failure)
		tick()
		is("the only alert fails", verdict.ReachFailing)
		o.ping(t, b.ID, pings.Failure)
		tick()
		is("another has arrived", verdict.ReachPartial)
		o.set(nil)
		o.clock.Advance(time.Hour)
		tick()
		is("all have arrived", verdict.ReachNotified)

		box := newMailbox(o, "ann", "bob")
		box.failing["bob"] = errors.New("451 later")
		o.ping(t, b.ID, pings.Success)
		tick()
		is("one of two recipients fails for now", verdict.ReachPartial)
		box.failing["bob"] = channels.Permanent(errors.New("550 unknown"))
		o.clock.Advance(time.Hour)
		tick()
		is("one of two recipients is given up", verdict.ReachPartial)
		o.ping(t, b.ID, pings.Failure)
		tick()
		is("one of two recipients refuses", verdict.ReachPartial)
		list, err := o.Deliveries(t.Context(), o.project.ID, checks.DeliveryQuery{Channel: ch.ID, Limit: 1})
		if must(t, err); len(list) != 1 || list[0].State != checks.DeliveryFailed || !list[0].InPart {
			t.Errorf("one of two recipients refuses: the deliveries are %+v, want one that failed in part", list)
		}
		box.failing["ann"] = errors.New("451 later")
		o.ping(t, b.ID, pings.Success)
		tick()
		is("nobody gets it", verdict.ReachFailing)

		clear(box.failing)
		o.clock.Advance(time.Hour)
		tick()
		is("all get it", verdict.ReachNotified)
		box.failing["ann"], box.failing["bob"] = context.DeadlineExceeded, channels.Permanent(errors.New("550 unknown"))
		o.ping(t, b.ID, pings.Failure)
		tick()
		tick()
		is("one is too slow, and the other refuses", verdict.ReachFailing)
		list, err = o.Deliveries(t.Context(), o.project.ID, checks.DeliveryQuery{Channel: ch.ID, State: checks.DeliveryFailed, Limit: 1})
		if must(t, err); len(list) != 1 || list[0].InPart {
			t.Errorf("one is too slow, and the other refuses: the deliveries are %+v, want one that failed for all", list)
		}
	})
}

// TestReachOfServer asks servers that have no notifier for an integration: one that sends by itself, and one beside others.
func TestReachOfServer(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ch := o.channel(t, "pager", "ops", nil)
		for elsewhere, want := range map[bool]string{false: verdict.ReachUndeliverable, true: verdict.ReachNotified} {
			mute(&o.config)
			o.config.DeliveredElsewhere = elsewhere
			o.Monitor = o.server(t, o.store)
			if r, text := o.reach(t, ch.ID); r.State != want {
				t.Errorf("delivered elsewhere is %v: %s, %q, want %s", elsewhere, r.State, text, want)
			}
		}
	})
}

// TestReachSince: an integration fails since the first alert after the last that arrived, however many are given up after that.
func TestReachSince(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ch := o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		refused := channels.Permanent(errors.New("connection refused"))
		alert := func(err error, kind pings.Kind) {
			t.Helper()
			o.set(answer(err))
			o.ping(t, c.ID, kind)
			if err := o.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.clock.Advance(24 * time.Hour)
		}
		alert(refused, pings.Failure)
		alert(nil, pings.Success)
		first := o.Now()
		for range 4 {
			alert(refused, pings.Failure)
			alert(refused, pings.Success)
		}
		if r, text := o.reach(t, ch.ID); r.State != verdict.ReachFailing || !r.Since.Equal(first) {
			t.Errorf("%s since %v, %q; the first failure was %v", r.State, r.Since, text, first)
		}
		o.set(answer(errors.New("busy"))) // for now
		o.ping(t, c.ID, pings.Failure)
		must(t, o.Tick(t.Context()))
		if r, text := o.reach(t, ch.ID); !r.Since.Equal(first) || r.Error != "busy" {
			t.Errorf("with another that waits: since %v, %q", r.Since, text)
		}
	})
}
