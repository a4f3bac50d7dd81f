package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// inBubble runs a test on SQLite in a synctest bubble, where time passes by itself.
func inBubble(t *testing.T, change func(*monitor.Config), test func(t *testing.T, o outbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newOutbox(t, dbtest.SQLite(t).Open(t), func(c *monitor.Config) {
			c.Now = nil
			if change != nil {
				change(c)
			}
		}))
	})
}

// start runs a monitor; the returned function stops it, whatever alerts remain.
func start(t *testing.T, mon *monitor.Monitor) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mon.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		err := <-done
		if _, left := errors.AsType[*monitor.StopError](err); err != nil && !left {
			t.Error(err)
		}
	}
}

// hang does not answer until the caller gives up.
func hang(ctx context.Context, _ channels.Channel, _ channels.Notification) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestRunDelivers sends alerts of its own process at once, and those of another one within a second.
func TestRunDelivers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		a, b := o.watched(t, "a"), o.watched(t, "b")
		defer start(t, o.Monitor)()
		begin := time.Now()
		o.ping(t, a.ID, pings.Failure)
		synctest.Wait()
		if got := o.received(); len(got) != 1 || time.Since(begin) != 0 {
			t.Errorf("after %v: %q", time.Since(begin), got)
		}
		if _, err := o.server(t, o.store).Ping(t.Context(), b.ID, pings.Signal{Kind: pings.Failure}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := o.received(); len(got) != 1 {
			t.Errorf("of another process: %q", got)
		}
		o.set(answer(errors.New("away")))
		o.ping(t, a.ID, pings.Success)
		o.ping(t, a.ID, pings.Failure)
		synctest.Wait()
		o.set(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := o.received(); len(got) != 2 {
			t.Errorf("after a failure: %q", got)
		}
	})
}

// TestHangingChannel has a receiver hang while hundreds of alerts to it wait. It gets two at once, so that a single alert
// that hangs does not hold the others up, and another channel gets its alerts without delay.
func TestHangingChannel(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "dead", nil)
		var list []checks.Check
		for i := range 300 {
			list = append(list, o.watched(t, fmt.Sprint(i)))
		}
		o.channel(t, "pager", "ops", nil)
		last := o.create(t, checks.Spec{Name: new("last"), Channels: new("ops")})
		var now, most atomic.Int64
		o.set(func(ctx context.Context, c channels.Channel, n channels.Notification) error {
			if c.Name != "dead" {
				return nil
			}
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return hang(ctx, c, n)
		})
		for _, c := range list {
			o.ping(t, c.ID, pings.Failure)
		}
		stop := start(t, o.Monitor)
		for range 5 {
			begin := time.Now()
			o.ping(t, last.ID, pings.Failure)
			synctest.Wait()
			o.ping(t, last.ID, pings.Success)
			synctest.Wait()
			if got := o.received(); len(got) != 2 || time.Since(begin) != 0 {
				t.Errorf("after %v: %q", time.Since(begin), got)
			}
			time.Sleep(7 * time.Second)
		}
		if most.Load() != 2 {
			t.Errorf("%d at once to one integration, want 2", most.Load())
		}
		stop()
		for _, d := range o.history(t, checks.DeliveryQuery{Limit: 1000}) {
			if d.ChannelName == "dead" && d.Attempts > 1 {
				t.Fatalf("tried twice in half a minute: %+v", d)
			}
		}
	})
}

// TestHangingChannels has hundreds of receivers of one project hang, all for the first time, each with several alerts. At
// any time alerts of another project, and of another channel of the same one, leave within two seconds, and no healthy
// alert is due for longer.
func TestHangingChannels(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		const hanging = 200
		for i := range hanging {
			name := fmt.Sprint("dead ", i)
			o.channel(t, "pager", name, nil)
			for range 2 {
				o.ping(t, o.create(t, checks.Spec{Channels: &name}).ID, pings.Failure)
			}
		}
		other, err := o.OpenProject(t.Context(), "other")
		must(t, err)
		var healthy []checks.Check
		for _, project := range []checks.Project{o.project, other} {
			o.project = project
			o.channel(t, "pager", "ops", nil)
			healthy = append(healthy, o.create(t, checks.Spec{Channels: new("ops")}))
		}
		o.set(func(ctx context.Context, c channels.Channel, n channels.Notification) error {
			if c.Name != "ops" {
				return hang(ctx, c, n)
			}
			return nil
		})
		defer start(t, o.Monitor)()
		for range 24 { // until the first attempts have timed out, and the second ones hang too
			for _, c := range healthy {
				o.ping(t, c.ID, pings.Failure)
				o.ping(t, c.ID, pings.Success)
			}
			time.Sleep(2 * time.Second)
			if got := o.received(); len(got) != 2*len(healthy) {
				t.Fatalf("within 2 seconds: %q", got)
			}
			if oldest := o.OldestHealthy(); !oldest.IsZero() && time.Since(oldest) > 2*time.Second {
				t.Errorf("a healthy alert has been due for %v", time.Since(oldest))
			}
		}
	})
}

// TestTimeout bounds an attempt and renews the lease while it lasts.
func TestTimeout(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.ping(t, c.ID, pings.Failure)
		var calls atomic.Int64
		o.set(func(ctx context.Context, c channels.Channel, n channels.Notification) error {
			calls.Add(1)
			return hang(ctx, c, n)
		})
		defer start(t, o.Monitor)()
		defer start(t, o.server(t, o.store))()
		time.Sleep(29 * time.Second)
		if calls.Load() != 1 {
			t.Errorf("%d attempts while the first is under way", calls.Load())
		}
		o.set(nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := o.received(); len(got) != 1 {
			t.Errorf("received %q", got)
		}
		o.states(t, "down sent 2")
	})
}

// TestPauseOfMany has a receiver ask for a pause while many alerts to it are claimed. Those that have not begun wait until
// it is over, and that does not count as an attempt.
func TestPauseOfMany(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		const jobs, quick = 60, 20 // the quick ones open the window
		o.channel(t, "pager", "ops", nil)
		for i := range jobs {
			o.ping(t, o.watched(t, fmt.Sprint(i)).ID, pings.Failure)
		}
		var calls atomic.Int64
		o.set(func(context.Context, channels.Channel, channels.Notification) error {
			if calls.Add(1) <= quick {
				return nil
			}
			time.Sleep(time.Second)
			return channels.RetryAfter(errors.New("too many"), time.Minute)
		})
		defer start(t, o.Monitor)()
		time.Sleep(30 * time.Second)
		if calls.Load() != quick+16 {
			t.Errorf("%d attempts, want the 16 that were under way after %d", calls.Load(), quick)
		}
		waiting := 0
		for _, d := range o.history(t, checks.DeliveryQuery{Limit: jobs}) {
			if d.Attempts == 0 {
				waiting++
			}
		}
		if waiting != jobs-quick-16 {
			t.Errorf("%d were not tried, want %d", waiting, jobs-quick-16)
		}
		o.set(nil)
		time.Sleep(33 * time.Second)
		synctest.Wait()
		if got := o.received(); len(got) != jobs {
			t.Errorf("%d were sent, want %d", len(got), jobs)
		}
	})
}

// TestStop stops a monitor. Unfinished sends have 4 seconds, and the rest is given back at once, even where a notifier
// does not return. Stop then has taken 4.5 seconds, and its error says how many alerts remain.
func TestStop(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		for _, name := range []string{"quick", "hangs", "stuck", "done"} {
			o.channel(t, "pager", name, nil)
			o.ping(t, o.create(t, checks.Spec{Name: &name, Channels: &name}).ID, pings.Failure)
		}
		release := make(chan struct{})
		o.set(func(ctx context.Context, c channels.Channel, n channels.Notification) error {
			switch n.Check.Name {
			case "quick":
				time.Sleep(3 * time.Second)
			case "hangs":
				return hang(ctx, c, n)
			case "stuck":
				<-release
			}
			return nil
		})
		must(t, o.Start(t.Context()))
		time.Sleep(100 * time.Millisecond)
		begin := time.Now()
		err := o.Stop(t.Context())
		if took := time.Since(begin); took != 4500*time.Millisecond {
			t.Errorf("stopping took %v", took)
		}
		if left, ok := errors.AsType[*monitor.StopError](err); !ok || left.Alerts != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		o.states(t, "down sent 1", "down pending 0", "down pending 0", "down sent 1")
		for _, d := range o.history(t, checks.DeliveryQuery{State: checks.DeliveryPending}) {
			if d.Due.After(o.Now()) {
				t.Errorf("due only at %v, now is %v", d.Due, o.Now())
			}
		}
		close(release)
		synctest.Wait()
		o.received()
		o.set(nil)
		defer start(t, o.server(t, o.store))()
		if got := o.received(); len(got) != 2 {
			t.Errorf("then received %q", got)
		}
	})
}

// cutOff is a store that a monitor cannot reach while off is set.
type cutOff struct {
	store.Store
	off *atomic.Bool
}

func (s cutOff) DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) ([]store.DueChannel, error) {
	if s.off.Load() {
		return nil, checks.ErrUnavailable
	}
	return s.Store.DueChannels(ctx, now, after, limit)
}

func (s cutOff) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if s.off.Load() {
		return checks.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

// TestLeaseLost has a server lose the database while it sends. Another one sends the same alerts after the lease. The
// success of the first server counts. Its failure does not, because the delivery now belongs to the other.
func TestLeaseLost(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		for _, name := range []string{"good", "bad"} {
			o.channel(t, "pager", name, nil)
			o.ping(t, o.create(t, checks.Spec{Name: &name, Channels: &name}).ID, pings.Failure)
		}
		var off atomic.Bool
		o.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			time.Sleep(20 * time.Second)
			if n.Check.Name == "bad" {
				return channels.Permanent(errors.New("bad"))
			}
			return nil
		})
		first := o.server(t, database{cutOff{o.store.Contract().(store.Store), &off}})
		defer start(t, first)()
		off.Store(true)
		time.Sleep(16 * time.Second) // the lease ends
		o.set(func(context.Context, channels.Channel, channels.Notification) error {
			time.Sleep(28 * time.Second)
			return nil
		})
		defer start(t, o.server(t, o.store))()
		o.states(t, "down pending 2", "down pending 2")
		time.Sleep(5 * time.Second)
		off.Store(false)
		time.Sleep(10 * time.Second)
		o.states(t, "down sent 2", "down pending 2")
		time.Sleep(20 * time.Second)
		o.states(t, "down sent 2", "down sent 2")
	})
}

// TestDatabaseGone delivers again after the database was away.
func TestDatabaseGone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		var off atomic.Bool
		defer start(t, o.server(t, database{cutOff{o.store.Contract().(store.Store), &off}}))()
		off.Store(true)
		o.ping(t, c.ID, pings.Failure)
		time.Sleep(time.Hour)
		off.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := o.received(); len(got) != 1 {
			t.Errorf("received %q", got)
		}
	})
}

// TestDeletedWhileSent deletes a check and a channel while alerts are on their way.
func TestDeletedWhileSent(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		gone := o.channel(t, "pager", "gone", nil)
		a := o.watched(t, "a")
		o.channel(t, "pager", "ops", nil)
		b := o.watched(t, "b")
		o.ping(t, a.ID, pings.Failure)
		o.ping(t, b.ID, pings.Failure)
		o.set(func(context.Context, channels.Channel, channels.Notification) error {
			time.Sleep(time.Second)
			return errors.New("away")
		})
		defer start(t, o.Monitor)()
		if _, err := o.Delete(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		if err := o.DeleteChannel(t.Context(), o.project.ID, gone.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		o.set(nil)
		time.Sleep(time.Minute)
		o.states(t, "down sent 2")
		if got := o.received(); len(got) != 1 || got[0] != "ops: b down" {
			t.Errorf("received %q", got)
		}
	})
}

// TestTwoServers has two servers share the work on one database. Every alert arrives once.
func TestTwoServers(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		const jobs = 40
		o.channel(t, "pager", "ops", nil)
		o.channel(t, "pager", "other", nil)
		for i := range jobs {
			c := o.watched(t, fmt.Sprint(i))
			for _, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure} {
				o.clock.Advance(time.Millisecond)
				o.ping(t, c.ID, kind)
			}
		}
		var wg sync.WaitGroup
		for _, mon := range []*monitor.Monitor{o.Monitor, o.server(t, o.store)} {
			wg.Go(func() {
				for range 4 { // one may find nothing while the other works
					if _, err := mon.Deliver(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for range 3 { // those that waited behind one of the other server
			o.clock.Advance(time.Second)
			if _, err := o.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		seen := make(map[string]int)
		last := make(map[string]time.Time)
		for _, n := range o.all() {
			seen[n.ID]++
			key := n.channel + n.Check.Name
			if n.At.Before(last[key]) {
				t.Errorf("%s: out of order", key)
			}
			last[key] = n.At
		}
		if len(seen) != jobs*3*2 || len(o.all()) != len(seen) {
			t.Errorf("%d alerts arrived, %d of them different; want %d", len(o.all()), len(seen), jobs*3*2)
		}
	})
}
