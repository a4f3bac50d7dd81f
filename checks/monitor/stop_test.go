package monitor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// remain compares how many alerts the error of Stop says remain.
func remain(t *testing.T, err error, want int) {
	t.Helper()
	left, _ := errors.AsType[*monitor.StopError](err)
	switch {
	case want == 0 && err != nil:
		t.Errorf("Stop returned %v", err)
	case want > 0 && (left == nil || left.Alerts != want || left.Pings != 0 || !strings.Contains(err.Error(), "alerts that remain: ")):
		t.Errorf("Stop returned %v, want %d alerts", err, want)
	}
}

// TestStopDelivers runs programs that start, run a job that fails, and stop. The alert is sent before Stop returns, with any
// context that does not end before, and none is sent twice.
func TestStopDelivers(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "job")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for i, ctx := range []context.Context{t.Context(), cancelled} {
			o.clock.Advance(time.Minute)
			mon := o.server(t, o.store)
			running, end := context.WithCancel(t.Context())
			must(t, mon.Start(running))
			pingAs(t, mon, c, pings.Success)
			if ctx == cancelled {
				end() // as a signal does, before the job has ended
			}
			err := mon.Job(c.ID).Run(t.Context(), func(context.Context) error { return errors.New("the disk is full") })
			if err == nil {
				t.Error("the job returned nil")
			}
			remain(t, mon.Stop(ctx), 0)
			remain(t, mon.Stop(ctx), 0)
			end()
			want := i + 1 // the check was new first, and down then
			if got := o.received(); len(got) != want || got[len(got)-1] != "ops: job down" {
				t.Errorf("received %q, want %d", got, want)
			}
		}
	})
}

// TestStopSettles has Stop take down a check whose deadline passed while the program did something else, and tell both
// OnAlert and a group.
func TestStopSettles(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		f.channel(t, "pager", "ops", nil)
		f.channel(t, channels.Group, "all", map[string]string{"channels": "ops"})
		c := f.create(t, checks.Spec{Name: new("job"), Channels: new("all"), Timeout: new(time.Minute), Grace: new(time.Minute)})
		mon := f.monitor(t, "function", true)
		pingAs(t, mon, c, pings.Success)
		must(t, mon.Start(t.Context()))
		f.clock.Advance(time.Hour)
		remain(t, mon.Stop(t.Context()), 0)
		if got := f.received(); len(got) != 2 {
			t.Errorf("received %q", got)
		}
	})
}

// TestStopWithoutStart leaves alerts to the programs that were started.
func TestStopWithoutStart(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.ping(t, o.watched(t, "job").ID, pings.Failure)
		remain(t, o.Stop(t.Context()), 0)
		if got := o.received(); len(got) != 0 {
			t.Errorf("received %q", got)
		}
		mon := o.server(t, o.store)
		must(t, mon.Start(t.Context()))
		remain(t, mon.Stop(t.Context()), 0)
		if got := o.received(); len(got) != 1 {
			t.Errorf("received %q", got)
		}
	})
}

// TestStopFails counts alerts that receivers refuse, also by a panic. They are retried later, so Stop does not wait.
func TestStopFails(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.channel(t, "pager", "other", nil)
		c := o.watched(t, "job")
		o.set(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name == "ops" {
				panic("a bug")
			}
			return errors.New("away")
		})
		must(t, o.Start(t.Context()))
		o.ping(t, c.ID, pings.Failure)
		begin := time.Now()
		remain(t, o.Stop(t.Context()), 2)
		remain(t, o.Stop(t.Context()), 2)
		if took := time.Since(begin); took != 0 {
			t.Errorf("Stop took %v", took)
		}
		o.set(nil)
		must(t, o.Start(t.Context()))
		time.Sleep(time.Minute)
		remain(t, o.Stop(t.Context()), 0)
		if got := o.received(); len(got) != 2 {
			t.Errorf("received %q", got)
		}
	})
}

// TestStopEnds ends the context of Stop while a receiver hangs, before StopTimeout would.
func TestStopEnds(t *testing.T) {
	inBubble(t, func(c *monitor.Config) { c.StopTimeout = time.Minute }, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.set(hang)
		o.ping(t, o.watched(t, "job").ID, pings.Failure)
		must(t, o.Start(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		err := o.Stop(ctx)
		remain(t, err, 1)
		if took := time.Since(begin); took > 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop took %v: %v", took, err)
		}
		must(t, o.Start(t.Context()))
		begin = time.Now()
		remain(t, o.Stop(t.Context()), 1)
		if took := time.Since(begin); took < 29*time.Second || took > time.Minute { // the attempt has timed out
			t.Errorf("Stop took %v", took)
		}
	})
}

// TestStopDeaf stops a monitor with a short StopTimeout whose receiver does not return. The alert is given back in time, so the
// next monitor sends it at once.
func TestStopDeaf(t *testing.T) {
	inBubble(t, func(c *monitor.Config) { c.StopTimeout = time.Second }, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		release := make(chan struct{})
		o.set(func(context.Context, channels.Channel, channels.Notification) error {
			<-release
			return errors.New("late")
		})
		must(t, o.Start(t.Context()))
		o.ping(t, o.watched(t, "job").ID, pings.Failure)
		begin := time.Now()
		remain(t, o.Stop(t.Context()), 1)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Stop took %v", took)
		}
		o.set(nil)
		next := o.server(t, o.store)
		must(t, next.Start(t.Context()))
		remain(t, next.Stop(t.Context()), 0)
		if got := o.received(); len(got) != 1 {
			t.Errorf("received %q", got)
		}
		close(release)
	})
}

// TestStopBesideOther leaves the alert that another monitor is sending to that one.
func TestStopBesideOther(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		o.set(func(context.Context, channels.Channel, channels.Notification) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		defer start(t, o.server(t, o.store))()
		o.ping(t, o.watched(t, "job").ID, pings.Failure)
		time.Sleep(2 * time.Second)
		must(t, o.Start(t.Context()))
		begin := time.Now()
		remain(t, o.Stop(t.Context()), 0)
		if took := time.Since(begin); took != 0 {
			t.Errorf("Stop took %v", took)
		}
		time.Sleep(time.Minute)
		if got := o.received(); len(got) != 1 {
			t.Errorf("received %q", got)
		}
	})
}

// TestStopClosesIncidents closes the incident of a check that was paused, before it is due.
func TestStopClosesIncidents(t *testing.T) {
	d := &desk{open: make(map[uuid.UUID][]string)}
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(t, dbtest.SQLite(t).Open(t), func(c *monitor.Config) {
			c.Now = nil
			c.Channels = append(c.Channels, channels.Type{Kind: "desk", Notifier: d})
		})
		o.channel(t, "desk", "desk", nil)
		c := o.watched(t, "job")
		must(t, o.Start(t.Context()))
		o.ping(t, c.ID, pings.Failure)
		synctest.Wait()
		_, err := o.Pause(t.Context(), c.ID)
		must(t, err)
		remain(t, o.Stop(t.Context()), 0)
		if len(d.reports) != 2 || !strings.Contains(d.reports[1], "the check was paused") || len(d.trouble) > 0 {
			t.Errorf("%q, %q", d.reports, d.trouble)
		}
	})
}

// TestStopUploads uploads the bodies of a program that runs for a moment.
func TestStopUploads(t *testing.T) {
	storage := &shelf{}
	store := dbtest.SQLite(t).Open(t)
	s := newSetup(t, store, checks.ProjectSpec{Name: "p"})
	c := s.create(t, checks.Spec{})
	mon, err := monitor.New(store, &monitor.Config{Bodies: storage, BodyThreshold: 4, BodyEvery: time.Hour})
	must(t, err)
	must(t, mon.Start(t.Context()))
	_, err = mon.Ping(t.Context(), c.ID, pings.Signal{Body: []byte("large body")})
	must(t, err)
	remain(t, mon.Stop(t.Context()), 0)
	if len(storage.objects) != 1 {
		t.Errorf("%d objects", len(storage.objects))
	}
}
