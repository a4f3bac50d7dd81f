package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// functions is an outbox with monitors whose OnAlert is the inbox: received shows the name of the monitor in place of a
// channel's.
type functions struct{ outbox }

// monitor returns a further monitor with OnAlert, and with the notifiers of the outbox if it has some.
func (f functions) monitor(t *testing.T, name string, notifiers bool) *monitor.Monitor {
	t.Helper()
	config := f.config
	if !notifiers {
		mute(&config)
	}
	config.OnAlert = func(ctx context.Context, n channels.Notification) error {
		return f.Notify(ctx, channels.Channel{Name: name}, n)
	}
	mon, err := monitor.New(f.store, &config)
	must(t, err)
	return mon
}

// eachFunctions runs a test on both databases. The monitor of the outbox itself has no OnAlert.
func eachFunctions(t *testing.T, test func(t *testing.T, f functions)) {
	t.Helper()
	eachOutbox(t, nil, func(t *testing.T, o outbox) { test(t, functions{o}) })
}

// sends delivers and compares how many were sent, and what was received.
func (f functions) sends(t *testing.T, mon *monitor.Monitor, want ...string) {
	t.Helper()
	n, err := mon.Deliver(t.Context())
	if diff := cmp.Diff(want, f.received()); err != nil || n != len(want) || diff != "" {
		t.Errorf("%d sent, error %v, received (-want +got):\n%s", n, err, diff)
	}
}

func pingAs(t *testing.T, mon *monitor.Monitor, c checks.Check, kind pings.Kind) {
	t.Helper()
	_, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind})
	must(t, err)
}

// TestOnAlert reports a check that is older than OnAlert and has no channels. Lists of channels stay empty.
func TestOnAlert(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		c := f.create(t, checks.Spec{Name: new("backup")})
		f.ping(t, c.ID, pings.Failure) // before there is a monitor with OnAlert
		mon := f.monitor(t, "func", false)
		f.clock.Advance(time.Minute)
		pingAs(t, mon, c, pings.Success)
		f.sends(t, mon, "func: backup up")
		other, _, err := on(mon).CreateProject(t.Context(), checks.ProjectSpec{Name: "other"})
		must(t, err)
		second, err := on(mon).Create(t.Context(), other.ID, everyMinute())
		must(t, err)
		pingAs(t, mon, second, pings.Success)
		f.clock.Advance(time.Hour)
		if n, err := mon.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("%d went down, error %v", n, err)
		}
		pingAs(t, mon, c, pings.Failure)
		if n, err := mon.Deliver(t.Context()); n != 2 || err != nil {
			t.Errorf("%d sent, error %v", n, err)
		}
		for _, n := range f.all() {
			if n.Status != channels.Down || n.ID == "" || n.Incident == "" || n.Check.Project != map[bool]string{true: "p", false: "other"}[n.Check.ID == c.ID] {
				t.Errorf("notification %+v", n)
			}
		}

		list, err := on(mon).Deliveries(t.Context(), f.project.ID, checks.DeliveryQuery{})
		must(t, err)
		for _, d := range list {
			if d.ChannelKind != channels.Function || d.ChannelName != "OnAlert" || d.State != checks.DeliverySent || d.CheckName != "backup" {
				t.Errorf("delivery %+v", d)
			}
		}
		if len(list) != 2 {
			t.Errorf("%d deliveries, want 2", len(list))
		}
		after, err := mon.Check(t.Context(), c.ID)
		if err != nil || len(after.Channels) != 0 {
			t.Errorf("the check has the channels %v, error %v", after.Channels, err)
		}
		if list, err := on(mon).Channels(t.Context(), f.project.ID); err != nil || len(list) != 0 {
			t.Errorf("the project has the channels %v, error %v", list, err)
		}
		for _, selection := range []string{"OnAlert", list[0].ChannelID.String()} {
			if _, err := on(mon).Update(t.Context(), c.ID, checks.Spec{Channels: &selection}); err == nil {
				t.Errorf("a check can select the channel %q", selection)
			}
		}
	})
}

// TestOnAlertErrors retries errors, survives a restart, gives up permanent ones, and keeps the order.
func TestOnAlertErrors(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		mon := f.monitor(t, "func", false)
		c := f.create(t, checks.Spec{Name: new("a")})
		f.set(answer(errors.New("away\nfor lunch")))
		pingAs(t, mon, c, pings.Failure)
		pingAs(t, mon, c, pings.Success)
		f.sends(t, mon)
		f.states(t, "down pending 1 away for lunch", "up pending 0")
		f.set(func(context.Context, channels.Channel, channels.Notification) error { panic("a bug") })
		f.clock.Advance(time.Second)
		f.sends(t, mon)
		f.states(t, "down pending 2 panic: a bug", "up pending 0")
		f.set(nil)
		f.clock.Advance(2 * time.Second)
		f.sends(t, f.monitor(t, "restarted", false), "restarted: a down", "restarted: a up")

		f.set(answer(channels.Permanent(errors.New("never"))))
		pingAs(t, mon, c, pings.Failure)
		f.sends(t, mon)
		f.states(t, "down sent 3", "up sent 1", "down failed 1 never")
		f.set(nil)
		if n, err := mon.Project(f.project.ID).RetryFailed(t.Context()); n != 1 || err != nil {
			t.Errorf("%d are pending again, error %v", n, err)
		}
		f.sends(t, mon, "func: a down")
	})
}

// TestOnAlertBesideChannels delivers to the function and to the channels of a check independently.
func TestOnAlertBesideChannels(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		mon := f.monitor(t, "func", true)
		f.channel(t, "pager", "ops", nil)
		c := f.watched(t, "a")
		f.set(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name == "ops" {
				return errors.New("away")
			}
			return nil
		})
		pingAs(t, mon, c, pings.Failure)
		f.sends(t, mon, "func: a down")
		f.set(nil)
		f.clock.Advance(time.Second)
		f.sends(t, mon, "ops: a down")
	})
}

// TestOnAlertOfOthers has monitors without OnAlert raise alerts. They reach the one that has it, in whatever order they
// look for work, and each once.
func TestOnAlertOfOthers(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		f.channel(t, "pager", "ops", nil)
		c := f.watched(t, "a")
		first, second := f.monitor(t, "first", false), f.monitor(t, "second", false)
		_, err := first.Sweep(t.Context()) // any transaction makes it known
		must(t, err)
		f.ping(t, c.ID, pings.Failure)
		f.sends(t, f.Monitor, "ops: a down") // leaves the rest alone
		f.sends(t, second, "second: a down")
		f.ping(t, c.ID, pings.Success)
		f.sends(t, first, "first: a up") // leaves that to the channel alone
		f.sends(t, second)
		f.sends(t, f.Monitor, "ops: a up")

		for range 50 {
			f.ping(t, f.create(t, checks.Spec{}).ID, pings.Failure)
		}
		together(4, func(i int) {
			if _, err := []*monitor.Monitor{first, second}[i%2].Deliver(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if got := f.received(); len(got) != 50 {
			t.Errorf("%d received, want 50: %q", len(got), got)
		}
	})
}

// TestOnAlertRemoved leaves alerts behind that nobody takes any more. They fail after a day, new ones are queued no
// longer, and monitors with notifiers are healthy all the time.
func TestOnAlertRemoved(t *testing.T) {
	const nobody = "not sent within 24h0m0s: no server has OnAlert"
	eachFunctions(t, func(t *testing.T, f functions) {
		c := f.create(t, checks.Spec{Name: new("a")})
		mon := f.monitor(t, "func", false)
		pingAs(t, mon, c, pings.Failure)
		f.clock.Advance(24*time.Hour - time.Microsecond)
		f.ping(t, c.ID, pings.Success)
		f.clock.Advance(2 * time.Microsecond)
		f.ping(t, c.ID, pings.Failure)
		if got := problems(f.Health(t.Context())); len(got) != 1 || !strings.HasPrefix(got["checks"], "1 check: no channel") {
			t.Errorf("not healthy but for the check that alerts nobody: %v", got)
		}
		if got := problems(mon.Health(t.Context())); !strings.HasPrefix(got["deliveries"], "are stuck: one has been due for 24h") {
			t.Errorf("the monitor with OnAlert: %v", got)
		}
		_, err := f.Prune(t.Context())
		must(t, err)
		f.states(t, "down failed 0 "+nobody, "up pending 0")
		f.clock.Advance(24 * time.Hour)
		_, err = f.Prune(t.Context())
		must(t, err)
		f.states(t, "down failed 0 "+nobody, "up failed 0 "+nobody)

		pingAs(t, mon, c, pings.Success) // it is back
		f.sends(t, mon, "func: a up")
	})
}

// TestOnAlertAlone leaves the alerts to channels to a server with notifiers, for a day.
func TestOnAlertAlone(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		f.channel(t, "pager", "ops", nil)
		c := f.watched(t, "a")
		mon := f.monitor(t, "func", false)
		pingAs(t, mon, c, pings.Failure)
		f.sends(t, mon, "func: a down")
		f.clock.Advance(time.Hour)
		if got := problems(mon.Health(t.Context())); len(got) != 0 {
			t.Errorf("not healthy: %v", got)
		}
		f.clock.Advance(23 * time.Hour)
		_, err := mon.Prune(t.Context())
		must(t, err)
		list := f.history(t, checks.DeliveryQuery{State: checks.DeliveryFailed})
		if len(list) != 1 || list[0].ChannelName != "ops" || list[0].Error != unsent {
			t.Errorf("failed: %+v", list)
		}
	})
}

// TestOnAlertRuns calls OnAlert from Run, at once and for different checks at the same time.
func TestOnAlertRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		mon, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{
			OnAlert: func(_ context.Context, n channels.Notification) error {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf("%s %s", n.Check.Name, n.Status))
				return nil
			},
		})
		must(t, err)
		s := setup{verbs: on(mon)}
		s.project, err = on(mon).OpenProject(t.Context(), "p")
		must(t, err)
		stop := start(t, mon)
		begin := time.Now()
		for range 10 {
			s.ping(t, s.create(t, checks.Spec{Name: new("a")}).ID, pings.Failure)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		stop()
		if len(got) != 10 || time.Since(begin) != time.Second {
			t.Errorf("after %v: %q", time.Since(begin), got)
		}
	})
}

// TestFunctionKind refuses a kind that stands for OnAlert.
func TestFunctionKind(t *testing.T) {
	_, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{Channels: []channels.Type{{Kind: channels.Function}}})
	if want := `monitor: Config.Channels lists the kind "function", which stands for Config.OnAlert`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
