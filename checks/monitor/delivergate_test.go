package monitor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

// maintain saves a maintenance window of the project that begins now.
func (o outbox) maintain(t *testing.T, d time.Duration) gate.Window {
	t.Helper()
	w := gate.Window{
		ID: uuid.New(), Kind: gate.Maintenance, Start: o.Now(), End: o.Now().Add(d), Note: "new disks", CreatedAt: o.Now(),
	}
	o.save(t, w)
	return w
}

// save saves a window as a monitor does, and tells nobody.
func (o outbox) save(t *testing.T, w gate.Window) {
	t.Helper()
	must(t, o.store.Contract().(store.Store).Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if err := writer(ctx, tx).SaveWindow(ctx, store.Window{Window: w, ProjectID: o.project.ID}, w.End); err != nil {
			return err
		}
		return tx.ReleaseHeld(ctx, o.project.ID, o.Now())
	}))
}

// wait lets time pass and compares what arrives on the way.
func (o outbox) wait(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	o.clock.Advance(d)
	_, err := o.Sweep(t.Context())
	must(t, err)
	o.deliver(t, want...)
}

const down, up = "ops: job down", "ops: job up"

// eachGate runs a test with an integration and a check that reminds every half hour.
func eachGate(t *testing.T, test func(t *testing.T, o outbox, ops channels.Channel, c checks.Check)) {
	t.Helper()
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ops := o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Name: new("job"), Channels: new("*"), Timeout: new(24 * time.Hour), RepeatEvery: new(30 * time.Minute)})
		o.ping(t, c.ID, pings.Success)
		test(t, o, ops, c)
	})
}

// slowLocks is a store whose transactions wait for the lock of policies.
type slowLocks struct {
	store.Store
	wait func()
}

func (s *slowLocks) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, slowLocksTx{tx, s}) })
}

type slowLocksTx struct {
	store.Tx
	*slowLocks
}

func (t slowLocksTx) LockPolicies(ctx context.Context, projects []uuid.UUID) error {
	t.wait()
	return t.Tx.LockPolicies(ctx, projects)
}

// TestGateAfterLocks lets a window end while a courier waits for the lock of the policies. It decides by the time at which it has the lock:
// what it reads under that may be later than when it asked for it.
func TestGateAfterLocks(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		db := open()
		locks := &slowLocks{Store: db.Contract().(store.Store), wait: func() {}}
		o := newOutbox(t, database{locks}, nil)
		o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Name: new("job"), Channels: new("*")})
		end := o.maintain(t, time.Hour).End
		o.ping(t, c.ID, pings.Failure)
		asked := 0
		locks.wait = func() {
			asked++
			o.clock.Set(end)
		}
		o.deliver(t, down)
		equal(t, "asked", asked, 1)
	})
}

// TestMaintenance takes a check down within a window. The alert follows at the end, alone, and reminders after it.
func TestMaintenance(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, ops channels.Channel, c checks.Check) {
		end := o.maintain(t, 2*time.Hour).End
		o.ping(t, c.ID, pings.Failure)
		for range 4 {
			o.deliver(t)
			d := o.history(t, checks.DeliveryQuery{State: checks.DeliveryPending})
			first := d[len(d)-1]
			if first.Held != gate.ByMaintenance || first.HeldBy != "new disks" || !first.Due.Equal(end) || first.Attempts != 0 {
				t.Fatalf("kept back: %+v", first)
			}
			if r, _ := o.reach(t, ops.ID); r.State != verdict.ReachNotified || r.Waiting != 0 {
				t.Errorf("reach %+v", r)
			}
			if b, err := o.Backlog(t.Context()); err != nil || !b.OldestDue.IsZero() {
				t.Errorf("backlog %+v, %v", b, err)
			}
			o.wait(t, 25*time.Minute)
		}
		o.wait(t, 20*time.Minute-time.Microsecond)
		o.wait(t, time.Microsecond, down)
		o.wait(t, 29*time.Minute)
		o.wait(t, time.Minute, down) // the reminder
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
		for _, d := range o.history(t, checks.DeliveryQuery{}) {
			if d.State != checks.DeliverySent && (d.State != checks.DeliverySkipped || d.Reminder == 0 || d.Attempts != 0) {
				t.Errorf("left: %+v", d)
			}
		}
	})
}

// TestQuietHoursLifted: what quiet hours keep back in the outbox leaves once they are lifted, whether or not somebody keeps an audit log.
// If the check has lost the integration meanwhile, it leaves when that is back.
func TestQuietHoursLifted(t *testing.T) {
	for _, retention := range []time.Duration{0, time.Hour} {
		eachOutbox(t, func(c *monitor.Config) { c.AuditRetention = retention }, func(t *testing.T, o outbox) {
			o.channel(t, "pager", "ops", nil)
			c := o.watched(t, "job")
			o.ping(t, c.ID, pings.Failure)
			o.change(t, c, checks.Spec{QuietHours: new("00:00-23:59")})
			o.deliver(t)
			o.change(t, c, checks.Spec{QuietHours: new("")})
			o.deliver(t, down)
			o.ping(t, c.ID, pings.Success)
			o.deliver(t, up)

			o.ping(t, c.ID, pings.Failure)
			o.change(t, c, checks.Spec{QuietHours: new("00:00-23:59")})
			o.deliver(t)
			o.change(t, c, checks.Spec{Channels: new("")})
			o.change(t, c, checks.Spec{QuietHours: new("")})
			o.deliver(t)
			o.change(t, c, checks.Spec{Channels: new("ops")})
			o.deliver(t, down)
		})
	}
}

// TestMaintenanceTags has a window select a check by each of its tags, which white space of any kind separates.
func TestMaintenanceTags(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		_, err := o.Update(t.Context(), c.ID, checks.Spec{Tags: []string{"web\tdb\u00a0nightly", "eu"}})
		must(t, err)
		for _, tag := range []string{"web", "db", "nightly", "eu"} {
			w := gate.Window{
				ID: uuid.New(), Kind: gate.Maintenance, Tags: []string{tag}, Start: o.Now(), End: o.Now().Add(time.Hour), CreatedAt: o.Now(),
			}
			o.save(t, w)
			o.ping(t, c.ID, pings.Failure)
			o.deliver(t)
			o.ping(t, c.ID, pings.Success)
			o.wait(t, time.Hour)
		}
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
	})
}

// TestMaintenanceRecovery takes a check down and up within a window: nobody hears of it, also if it is down again at the end.
func TestMaintenanceRecovery(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		o.maintain(t, time.Hour)
		for range 2 {
			o.ping(t, c.ID, pings.Failure)
			o.wait(t, time.Minute)
			o.ping(t, c.ID, pings.Success)
			o.wait(t, time.Minute)
		}
		o.wait(t, time.Hour)
		said := []string{"down skipped 0 maintenance: new disks", "up skipped 0 the alert that it was down was not sent"}
		o.states(t, append(said, said...)...)
		w := o.maintain(t, time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.wait(t, time.Minute)
		o.ping(t, c.ID, pings.Success)
		o.ping(t, c.ID, pings.Failure)
		o.wait(t, time.Minute)
		w.End = o.Now() // it ends early
		o.save(t, w)
		o.deliver(t, down)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
	})
}

// TestMaintenanceAfterAlert opens a window over a check whose alert was sent: its reminders end without a trace, and its recovery is reported at once.
func TestMaintenanceAfterAlert(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		o.maintain(t, 2*time.Hour)
		o.wait(t, 35*time.Minute)
		o.wait(t, 30*time.Minute)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
		o.states(t, "down sent 1", "up sent 1")
	})
}

// TestMaintenanceServers has a second server take over within a window, and both ask at its end.
func TestMaintenanceServers(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		o.maintain(t, time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		first := o.Monitor
		o.Monitor = o.server(t, o.store)
		o.wait(t, 30*time.Minute)
		o.clock.Advance(30 * time.Minute)
		failed := make(chan error, 2)
		for _, m := range []interface {
			Deliver(ctx context.Context) (int, error)
		}{first, o.Monitor} {
			go func() {
				_, err := m.Deliver(t.Context())
				failed <- err
			}()
		}
		must(t, errors.Join(<-failed, <-failed))
		o.deliver(t, down)
	})
}

// TestMaintenanceRetries has a receiver that is away when a window begins. The alert waits, and is given up only after as many
// attempts and as long after the window as without one.
func TestMaintenanceRetries(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		_, err := o.Update(t.Context(), c.ID, checks.Spec{RepeatEvery: new(time.Duration(0))})
		must(t, err)
		o.set(answer(errors.New("away")))
		o.ping(t, c.ID, pings.Failure)
		for range 5 {
			o.wait(t, 20*time.Minute)
		}
		end := o.maintain(t, 48*time.Hour).End
		o.wait(t, 20*time.Minute)
		first := func() checks.Delivery {
			list := o.history(t, checks.DeliveryQuery{})
			return list[len(list)-1]
		}
		if d := first(); d.Held != gate.ByMaintenance || !d.Due.Equal(end) || d.Attempts == 0 || d.Error != "away" {
			t.Fatalf("kept back: %+v", d)
		}
		o.clock.Set(end)
		o.deliver(t)
		if d := first(); d.State != checks.DeliveryPending || d.Error != "away" || d.Held != "" {
			t.Fatalf("after the window: %+v", d)
		}
		o.clock.Set(end.Add(24*time.Hour - time.Second))
		o.deliver(t)
		if d := first(); d.State != checks.DeliveryPending {
			t.Fatalf("before a day has passed: %+v", d)
		}
		o.wait(t, 10*time.Minute)
		if d := first(); d.State != checks.DeliveryFailed {
			t.Fatalf("a day after the window: %+v", d)
		}
	})
}

// TestAwayForReminders has a receiver that is away until reminders wait behind the alert, and a policy that keeps them back when it
// is there again. It hears of the outage at the end, whether or not reminders were switched off meanwhile.
func TestAwayForReminders(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, o outbox, c checks.Check) (end func()){
		"snooze": func(t *testing.T, o outbox, _ checks.Check) (end func()) {
			o.save(t, gate.Window{ID: uuid.New(), Kind: gate.Snooze, Start: o.Now(), End: o.Now().Add(time.Hour), CreatedAt: o.Now()})
			return nil
		},
		"quiet hours": func(t *testing.T, o outbox, c checks.Check) (end func()) {
			o.change(t, c, checks.Spec{QuietHours: new("16:01-17:02")})
			return nil
		},
		"no repeats": func(t *testing.T, o outbox, c checks.Check) (end func()) {
			o.maintain(t, time.Hour)
			o.change(t, c, checks.Spec{RepeatEvery: new(time.Duration(0))})
			return nil
		},
		"parent": func(t *testing.T, o outbox, c checks.Check) (end func()) {
			parent := o.create(t, checks.Spec{Name: new("parent"), Slug: new("parent"), Channels: new("*")})
			o.ping(t, parent.ID, pings.Failure)
			o.deliver(t, "ops: parent down")
			o.change(t, c, checks.Spec{After: new("parent")})
			return func() {
				o.ping(t, parent.ID, pings.Success)
				o.deliver(t, "ops: parent up")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
				o.change(t, c, checks.Spec{RepeatEvery: new(4 * time.Hour), Grace: new(time.Minute)})
				o.set(answer(errors.New("away")))
				o.ping(t, c.ID, pings.Failure)
				for range 11 {
					o.wait(t, 22*time.Minute) // to 16:02
				}
				o.set(nil)
				end := begin(t, o, c)
				o.wait(t, 59*time.Minute)
				if end != nil {
					end()
				}
				o.wait(t, time.Minute, down)
				o.ping(t, c.ID, pings.Success)
				o.deliver(t, up)
			})
		})
	}
}

// TestMaintenancePause pauses a check whose alert waits: nobody hears of it.
func TestMaintenancePause(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		o.maintain(t, time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		_, err := o.Pause(t.Context(), c.ID)
		must(t, err)
		o.wait(t, time.Hour)
		o.states(t, "down skipped 0 the check was paused")
	})
}

// TestMaintenanceGroup keeps back what goes to the members of a group, and lets a window begin between the alert to the group and
// those to its members.
func TestMaintenanceGroup(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ops := o.channel(t, "pager", "ops", nil)
		all := o.channel(t, channels.Group, "all", map[string]string{"channels": "ops"})
		c := o.create(t, checks.Spec{Name: new("job"), Channels: new(all.ID.String()), Timeout: new(24 * time.Hour)})
		o.maintain(t, time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		o.ping(t, c.ID, pings.Success)
		o.wait(t, time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		o.maintain(t, time.Hour)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
		o.ping(t, c.ID, pings.Failure)
		o.wait(t, time.Hour, down)
		if list := o.history(t, checks.DeliveryQuery{Channel: ops.ID}); len(list) != 3 {
			t.Errorf("to the member: %+v", list)
		}
	})
}

// TestMaintenanceQuietHours ends a window in quiet hours over a check that is up: no recovery is reported without an alert.
func TestMaintenanceQuietHours(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Name: new("job"), Channels: new("*"), Timeout: new(24 * time.Hour), QuietHours: new("13:00-15:00")})
		o.ping(t, c.ID, pings.Success)
		o.maintain(t, 2*time.Hour)
		o.ping(t, c.ID, pings.Failure)
		o.wait(t, 90*time.Minute)
		o.ping(t, c.ID, pings.Success)
		o.wait(t, 30*time.Minute)
		o.wait(t, 2*time.Hour)
		o.states(t, "down skipped 0 the check is up", "up skipped 0 the alert that it was down was not sent")
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
	})
}

// TestMaintenanceAfterQuietHours keeps an alert back that sums up quiet hours. It ends with the recovery behind it, which goes on: the
// outage before the quiet hours was alerted.
func TestMaintenanceAfterQuietHours(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		_, err := o.Update(t.Context(), c.ID, checks.Spec{QuietHours: new("13:00-14:00"), RepeatEvery: new(time.Duration(0))})
		must(t, err)
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		o.wait(t, 70*time.Minute)
		o.ping(t, c.ID, pings.Success)
		o.ping(t, c.ID, pings.Failure)
		o.maintain(t, 2*time.Hour)
		o.wait(t, 50*time.Minute) // the end of the quiet hours
		o.ping(t, c.ID, pings.Success)
		o.wait(t, 70*time.Minute, up)
		o.states(t, "down sent 1", "down skipped 0 maintenance: new disks", "up sent 1")
	})
}
