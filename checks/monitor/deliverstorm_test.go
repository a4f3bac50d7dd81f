package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// fleetSize is how many checks of a storm go down.
const fleetSize = 12

// eachStorm runs a test with an integration that combines alerts, one that does not, and some checks.
func eachStorm(t *testing.T, test func(t *testing.T, o outbox, jobs []checks.Check)) {
	t.Helper()
	stormy := func(c *monitor.Config) {
		notifier := c.Channels[len(c.Channels)-1].Notifier
		c.Channels = append(c.Channels, channels.Type{Kind: "chat", Notifier: notifier, Combines: true})
	}
	eachOutbox(t, stormy, func(t *testing.T, o outbox) {
		o.channel(t, "chat", "chat", nil)
		o.channel(t, "pager", "each", nil)
		var jobs []checks.Check
		for i := range fleetSize {
			jobs = append(jobs, o.watched(t, fmt.Sprint("job ", i)))
		}
		test(t, o, jobs)
	})
}

// take makes checks go down, or up.
func (o outbox) take(t *testing.T, kind pings.Kind, list ...checks.Check) {
	t.Helper()
	for _, c := range list {
		o.ping(t, c.ID, kind)
	}
}

// sizes delivers, and returns how many checks each message to a channel is about. It reports a check that is in none.
func (o outbox) sizes(t *testing.T, channel string, seen map[string]int) (sizes []int) {
	t.Helper()
	_, err := o.Deliver(t.Context())
	must(t, err)
	o.inbox.mu.Lock()
	defer o.inbox.mu.Unlock()
	for _, n := range o.notes {
		if n.channel != channel {
			continue
		}
		sizes = append(sizes, max(1, len(n.Combined)))
		for _, one := range n.Combined {
			seen[one.Check.Name]++
		}
		if len(n.Combined) == 0 {
			seen[n.Check.Name]++
		}
	}
	o.notes = nil
	return sizes
}

// TestStorm takes a fleet down and up. The first alerts leave at once, the others after a window at the latest, in one message.
func TestStorm(t *testing.T) {
	eachStorm(t, func(t *testing.T, o outbox, jobs []checks.Check) {
		for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
			seen := make(map[string]int)
			var sizes []int
			for _, c := range jobs { // a second between two
				o.take(t, kind, c)
				sizes = append(sizes, o.sizes(t, "chat", seen)...)
				o.clock.Advance(time.Second)
			}
			equal(t, "at once", sizes, []int{1, 1, 1, 1})
			for _, d := range o.history(t, checks.DeliveryQuery{State: checks.DeliveryPending}) {
				if d.Held != gate.ByStorm || d.Attempts != 0 {
					t.Errorf("kept back: %+v", d)
				}
			}
			o.clock.Advance(50 * time.Second)
			equal(t, "before the end of the window", o.sizes(t, "chat", seen), []int(nil))
			o.clock.Advance(time.Second)
			equal(t, "at its end", o.sizes(t, "chat", seen), []int{fleetSize - 4})
			for _, c := range jobs {
				if seen[c.Name] != 1 {
					t.Errorf("%s is in %d messages", c.Name, seen[c.Name])
				}
			}
			o.clock.Advance(time.Hour)
		}
		o.take(t, pings.Failure, jobs[0])
		equal(t, "a single one", o.sizes(t, "chat", make(map[string]int)), []int{1})
		sent := o.history(t, checks.DeliveryQuery{State: checks.DeliverySent, Limit: 1000})
		batches := make(map[int64]int)
		for _, d := range sent {
			batches[d.Batch]++
		}
		if len(batches) != 3 || batches[0] != 2*fleetSize+2*4+2 {
			t.Errorf("deliveries by batch: %v", batches)
		}
		if n := len(sent); n != 2*2*fleetSize+2 {
			t.Errorf("%d deliveries were sent", n)
		}
	})
}

// TestStormFails refuses the message once. It is sent again as it was, and not a message for each check.
func TestStormFails(t *testing.T) {
	eachStorm(t, func(t *testing.T, o outbox, jobs []checks.Check) {
		var tried []channels.Notification
		refuse := true
		o.set(func(_ context.Context, c channels.Channel, n channels.Notification) error {
			if c.Kind != "chat" {
				return nil
			}
			tried = append(tried, n)
			if refuse && len(n.Combined) > 0 {
				refuse = false
				return errors.New("busy")
			}
			return nil
		})
		seen := make(map[string]int)
		o.take(t, pings.Failure, jobs...)
		first := o.sizes(t, "chat", seen)
		o.clock.Advance(time.Minute)
		equal(t, "refused", append(first, o.sizes(t, "chat", seen)...), first)
		o.clock.Advance(10 * time.Second)
		rest := o.sizes(t, "chat", seen)
		equal(t, "sent again", rest, []int{fleetSize - len(first)})
		a, b := tried[len(tried)-2], tried[len(tried)-1]
		if a.ID != b.ID || len(a.Combined) != len(b.Combined) || len(seen) != fleetSize {
			t.Errorf("%s with %d checks, then %s with %d", a.ID, len(a.Combined), b.ID, len(b.Combined))
		}
	})
}

// TestStormRestart stops the server within the window. Another one sends what waits, to each recipient that has not got it.
func TestStormRestart(t *testing.T) {
	eachStorm(t, func(t *testing.T, o outbox, jobs []checks.Check) {
		seen := make(map[string]int)
		o.take(t, pings.Failure, jobs...)
		first := o.sizes(t, "chat", seen)
		o.Monitor = o.server(t, o.store)
		o.take(t, pings.Success, jobs[fleetSize-1]) // whose alert still waits
		o.sizes(t, "chat", seen)
		o.clock.Advance(time.Minute)
		sizes := o.sizes(t, "chat", seen)
		equal(t, "messages", sizes, []int{fleetSize - len(first), 1}) // and that one is up
		if len(seen) != fleetSize || seen[jobs[fleetSize-1].Name] != 2 {
			t.Errorf("%v", seen)
		}
	})
}

// TestStormReminders reminds of a whole fleet. The first reminders leave at once, the others together, apart from alerts about
// checks that go down meanwhile.
func TestStormReminders(t *testing.T) {
	eachStorm(t, func(t *testing.T, o outbox, jobs []checks.Check) {
		for _, c := range jobs {
			o.change(t, c, checks.Spec{RepeatEvery: new(2 * time.Hour)})
		}
		seen := make(map[string]int)
		o.take(t, pings.Failure, jobs...)
		o.sizes(t, "chat", seen)
		o.clock.Advance(time.Minute)
		o.sizes(t, "chat", seen)
		o.clock.Advance(2 * time.Hour)
		_, err := o.Sweep(t.Context())
		must(t, err)
		first := o.sizes(t, "chat", seen)
		late := o.watched(t, "late")
		o.take(t, pings.Failure, late)
		equal(t, "another one", o.sizes(t, "chat", seen), []int{1})
		o.clock.Advance(time.Minute)
		_, err = o.Deliver(t.Context())
		must(t, err)
		var together []string
		for _, n := range o.all() {
			if n.channel == "chat" {
				together = append(together, fmt.Sprintf("reminder %d: %d", n.Reminder, len(n.Combined)))
			}
		}
		equal(t, "at once", first, []int{1, 1, 1})
		equal(t, "together", together, []string{fmt.Sprint("reminder 1: ", fleetSize-3)})
	})
}

// TestStormOff sends each alert alone, also those that wait when somebody switches the setting off.
func TestStormOff(t *testing.T) {
	eachStorm(t, func(t *testing.T, o outbox, jobs []checks.Check) {
		seen := make(map[string]int)
		o.take(t, pings.Failure, jobs...)
		first := len(o.sizes(t, "chat", seen))
		_, err := o.Projects().Update(t.Context(), o.project.ID, checks.ProjectUpdate{StormChecks: new(0)})
		must(t, err)
		equal(t, "that waited", len(o.sizes(t, "chat", seen)), fleetSize-first)
		o.take(t, pings.Success, jobs...)
		equal(t, "up", len(o.sizes(t, "chat", seen)), fleetSize)
	})
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
