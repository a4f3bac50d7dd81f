package monitor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAcknowledge: of two people at once, each on a server of their own, the first has the outage. Both servers, the audit log and
// the subscribers of changes know, and the end of the outage ends it.
func TestAcknowledge(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		other, err := monitor.New(o.store, &o.config)
		must(t, err)
		anna := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, Name: "anna@example.org"})
		c := o.create(t, checks.Spec{Slug: new("nightly"), RepeatEvery: new(time.Hour)})
		here, there := o.Monitor.Project(o.project.ID), other.Project(o.project.ID)
		if _, err := here.Acknowledge(anna, c.ID, checks.AckSpec{}); !errors.Is(err, checks.ErrNotDown) {
			t.Errorf("of a new check: error %v", err)
		}
		o.ping(t, c.ID, pings.Failure)
		_, err = there.Acknowledge(anna, c.ID, checks.AckSpec{For: 4 * time.Hour, Note: "disk full"})
		must(t, err)
		_, err = here.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert"})
		if !errors.Is(err, checks.ErrAcknowledged) || !errors.As(err, new(*monitor.Error)) {
			t.Errorf("the second: error %v", err)
		}
		got, err := here.Check(t.Context(), c.ID)
		must(t, err)
		if got.Ack.By != "anna@example.org" || !got.Ack.Until.Equal(o.Now().Add(4*time.Hour)) || got.Ack != got.Check.Ack {
			t.Errorf("acknowledgement %+v", got.Ack)
		}
		_, err = here.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert", TakeOver: true})
		must(t, err)
		o.ping(t, c.ID, pings.Failure) // a server's cache of checks knows
		if c := o.get(t, c); c.Ack.By != "Bert" {
			t.Errorf("after a failure: %+v", c.Ack)
		}
		for range 2 {
			_, err = there.Unacknowledge(anna, c.ID)
			must(t, err)
		}
		_, err = there.Acknowledge(anna, c.ID, checks.AckSpec{})
		must(t, err)
		o.ping(t, c.ID, pings.Success)
		if c := o.get(t, c); !c.Ack.At.IsZero() {
			t.Errorf("after a success: %+v", c.Ack)
		}
		until := noon.Add(4 * time.Hour).Format("2006-01-02 15:04 MST")
		want := []string{
			`person anna@example.org : check.acknowledge "nightly" by ""→"anna@example.org" until ""→"` + until + `" note ""→"disk full"`,
			`program : check.acknowledge "nightly" by "anna@example.org"→"Bert" until "` + until + `"→"" note "disk full"→""`,
			`person anna@example.org : check.unacknowledge "nightly" by "Bert"→""`,
			`person anna@example.org : check.acknowledge "nightly" by ""→"anna@example.org"`,
		}
		log := entries(t, o.Monitor, o.project.ID, audit.Query{Check: c.ID})
		if diff := cmp.Diff(want, log[1:]); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAcknowledgedReminders: while somebody has the outage there are no reminders. They go on when the time is over.
func TestAcknowledgedReminders(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Slug: new("nightly"), RepeatEvery: new(time.Hour), Channels: new("*")})
		p := o.Monitor.Project(o.project.ID)
		hours := func(n int, want ...string) {
			t.Helper()
			for range n {
				o.clock.Advance(time.Hour)
				must(t, o.Tick(t.Context()))
			}
			o.deliver(t, want...)
		}
		const down, up = "ops: nightly down", "ops: nightly up"
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		_, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Anna", For: 150 * time.Minute})
		must(t, err)
		hours(2)
		hours(2, down, down)
		_, err = p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Anna"})
		must(t, err)
		hours(48)
		_, err = p.Unacknowledge(t.Context(), c.ID)
		must(t, err)
		hours(2, down, down)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
	})
}
