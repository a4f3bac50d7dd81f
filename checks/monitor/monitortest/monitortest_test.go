package monitortest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// create adds a check and pings it.
func create(t *testing.T, mon *monitortest.Monitor, spec checks.Spec) checks.Check {
	t.Helper()
	project, err := mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	c, err := project.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ping(t, mon, *c.Check, pings.Success)
	return *c.Check
}

func ping(t *testing.T, mon *monitortest.Monitor, c checks.Check, kind pings.Kind) {
	t.Helper()
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind}); err != nil {
		t.Fatal(err)
	}
}

// hourly makes a check go down 70 minutes after a ping.
func hourly(name string) checks.Spec {
	return checks.Spec{Name: &name, Timeout: new(time.Hour), Grace: new(10 * time.Minute)}
}

// told describes alerts.
func told(list []channels.Notification) (words []string) {
	for _, n := range list {
		words = append(words, fmt.Sprintf("%s %s %s %d", n.Check.Name, n.Status, n.At.Format("02 15:04"), n.Reminder))
	}
	return words
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAdvance moves the clock over everything that happens on the way. It takes no time and leaves nothing running, or
// the bubble would not end.
func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		mon := monitortest.New(noon, nil)
		defer mon.Close()
		spec := hourly("backup")
		spec.RepeatEvery = new(6 * time.Hour)
		c := create(t, mon, spec)
		same(t, told(mon.TakeAlerts()), []string(nil))
		mon.Advance(70*time.Minute - time.Microsecond)
		same(t, told(mon.TakeAlerts()), []string(nil))
		mon.Advance(time.Microsecond)
		same(t, told(mon.TakeAlerts()), []string{"backup down 01 13:10 0"})
		mon.AdvanceTo(noon.AddDate(0, 0, 1))
		same(t, told(mon.TakeAlerts()), []string{"backup down 01 13:10 1", "backup down 01 13:10 2", "backup down 01 13:10 3"})
		ping(t, mon, c, pings.Success)
		same(t, told(mon.TakeAlerts()), []string{"backup up 02 12:00 0"})
		ping(t, mon, c, pings.Failure)
		mon.Advance(0)
		same(t, told(mon.TakeAlerts()), []string{"backup down 02 12:00 0"})
		same(t, told(mon.TakeAlerts()), []string(nil))

		got, err := checks.Collect(mon.Project(c.ProjectID).Flips(t.Context(), c.ID, flips.Range{}))
		if err != nil || len(got) != 4 || !got[2].At.Equal(noon.Add(70*time.Minute)) {
			t.Errorf("flips %v, error %v", got, err)
		}
		if passed := time.Since(begin); passed != 0 {
			t.Errorf("%v have passed", passed)
		}
	})
}

// TestSteps moves the clock once, and in steps of a minute, as a monitor does that runs. The alerts are the same.
func TestSteps(t *testing.T) {
	alerts := func(step time.Duration) []string {
		mon := monitortest.New(noon, nil)
		defer mon.Close()
		spec := hourly("backup")
		spec.RepeatEvery, spec.QuietHours, spec.MaxRuntime = new(100*time.Minute), new("14:00-15:00\n19:00-20:30"), new(20*time.Minute)
		create(t, mon, spec)
		spec = hourly("sync")
		spec.AlertAfter = new(3)
		ping(t, mon, create(t, mon, spec), pings.Start)
		for range 12 * time.Hour / step {
			mon.Advance(step)
		}
		return told(mon.TakeAlerts())
	}
	want := alerts(time.Minute)
	if len(want) < 5 {
		t.Fatalf("only %d alerts: %v", len(want), want)
	}
	same(t, alerts(12*time.Hour), want)
}

// TestOrder takes many checks down at one instant, and another one a little later.
func TestOrder(t *testing.T) {
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	var want []string
	for i := range 40 {
		create(t, mon, hourly(fmt.Sprintf("job %02d", 39-i)))
		want = append(want, fmt.Sprintf("job %02d down 01 13:10 0", i))
	}
	mon.Advance(time.Minute)
	create(t, mon, hourly("a job"))
	mon.Advance(24 * time.Hour)
	same(t, told(mon.TakeAlerts()), append(want, "a job down 01 13:11 0"))
}

// TestOnAlert has the program's own function fail at first. The monitor tries again, and collects the alert then.
func TestOnAlert(t *testing.T) {
	var tried []time.Time
	var mon *monitortest.Monitor
	mon = monitortest.New(noon, &monitor.Config{
		OnAlert: func(context.Context, channels.Notification) error {
			if tried = append(tried, mon.Now()); len(tried) < 4 {
				return errors.New("away")
			}
			return nil
		},
		Logger:   slog.New(slog.DiscardHandler),
		Delivery: monitor.DeliveryConfig{RetryFirst: time.Minute, RetryMost: time.Minute},
	})
	create(t, mon, hourly("backup"))
	mon.Advance(24 * time.Hour)
	same(t, told(mon.TakeAlerts()), []string{"backup down 01 13:10 0"})
	if len(tried) != 4 || !tried[0].Equal(noon.Add(70*time.Minute)) || tried[3].Sub(tried[0]) > 3*time.Minute {
		t.Errorf("tried at %v", tried)
	}
}

// TestCommitMargin waits for pings of other servers, as a monitor with a margin does.
func TestCommitMargin(t *testing.T) {
	mon := monitortest.New(noon, &monitor.Config{CommitMargin: 2 * time.Second})
	create(t, mon, hourly("backup"))
	mon.Advance(70*time.Minute + time.Second)
	same(t, told(mon.TakeAlerts()), []string(nil))
	mon.Advance(time.Second)
	same(t, told(mon.TakeAlerts()), []string{"backup down 01 13:10 0"})
}

// TestYear has a job run each hour of a year, but not on one day. The log stays bounded.
func TestYear(t *testing.T) {
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	c := create(t, mon, hourly("backup"))
	for hour := range 365 * 24 {
		mon.Advance(time.Hour)
		if day := hour / 24; day != 100 {
			ping(t, mon, c, pings.Success)
		}
	}
	same(t, told(mon.TakeAlerts()), []string{"backup down 09 13:10 0", "backup up 10 13:00 0"})
	log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
	if err != nil || len(log) != 1000 {
		t.Errorf("the log has %d pings, error %v", len(log), err)
	}
}

// TestChannel sends alerts to a channel of the program's own kind, too.
func TestChannel(t *testing.T) {
	var sent []string
	radio := channels.Type{Kind: "radio", Notifier: channels.NotifierFunc(
		func(_ context.Context, c channels.Channel, n channels.Notification) error {
			sent = append(sent, c.Name+" "+n.Check.Name)
			return nil
		})}
	mon := monitortest.New(noon, &monitor.Config{Channels: []channels.Type{radio}})
	project, err := mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := project.CreateChannel(t.Context(), channels.Channel{Kind: "radio", Name: "ops", Settings: nil}); err != nil {
		t.Fatal(err)
	}
	spec := hourly("backup")
	spec.Channels = new("*")
	create(t, mon, spec)
	mon.Advance(2 * time.Hour)
	same(t, sent, []string{"ops backup"})
	same(t, told(mon.TakeAlerts()), []string{"backup down 01 13:10 0"})
}

// TestJob moves the clock during a run. The run takes too long, so the check goes down, and up at its end.
func TestJob(t *testing.T) {
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	c := create(t, mon, hourly("backup"))
	err := mon.Job(c.ID).Run(t.Context(), func(context.Context) error {
		mon.Advance(25 * time.Minute)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	same(t, told(mon.TakeAlerts()), []string{"backup down 01 12:10 0", "backup up 01 12:25 0"})
	log, err := checks.Collect(mon.Project(c.ProjectID).Pings(t.Context(), c.ID, checks.PingQuery{}))
	if err != nil || len(log) != 3 || *log[0].Duration != 25*time.Minute {
		t.Errorf("log %+v, error %v", log, err)
	}
}

func TestPanics(t *testing.T) {
	for what, fn := range map[string]func(){
		"the clock goes back": func() { monitortest.New(noon, nil).Advance(-1 * time.Second) },
		"the zero time":       func() { monitortest.New(time.Time{}, nil) },
		"a negative limit":    func() { monitortest.New(noon, &monitor.Config{MaxBatch: -1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			fn()
		}()
	}
}

// TestOtherZone starts with a time in another zone. Times of the monitor are UTC.
func TestOtherZone(t *testing.T) {
	zone := time.FixedZone("", 3600)
	mon := monitortest.New(noon.In(zone), nil)
	create(t, mon, hourly("backup"))
	mon.AdvanceTo(noon.Add(2 * time.Hour).In(zone))
	if now := mon.Now(); !now.Equal(noon.Add(2*time.Hour)) || now.Location() != time.UTC {
		t.Errorf("the clock shows %v", now)
	}
	alerts := mon.TakeAlerts()
	if !slices.Equal(told(alerts), []string{"backup down 01 13:10 0"}) {
		t.Errorf("alerts %v", told(alerts))
	}
}

// TestMaintenance moves the clock over maintenance: what is down at its end is alerted then, also if it ends early.
func TestMaintenance(t *testing.T) {
	mon := monitortest.New(noon, nil)
	defer mon.Close()
	down, brief := create(t, mon, hourly("down")), create(t, mon, hourly("brief"))
	project := mon.Project(down.ProjectID)
	maintain := func(d time.Duration) gate.Window {
		w, err := project.AddWindow(t.Context(), gate.Window{Kind: gate.Maintenance, Duration: d})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	maintain(2 * time.Hour)
	mon.Advance(80 * time.Minute)
	ping(t, mon, brief, pings.Success)
	mon.Advance(40*time.Minute - time.Second)
	same(t, told(mon.TakeAlerts()), []string(nil))
	mon.Advance(time.Second)
	same(t, told(mon.TakeAlerts()), []string{"down down 01 13:10 0"})
	w := maintain(2 * time.Hour)
	ping(t, mon, down, pings.Success)
	ping(t, mon, brief, pings.Failure)
	same(t, told(mon.TakeAlerts()), []string{"down up 01 14:00 0"})
	mon.Advance(10 * time.Minute)
	if _, err := project.EndWindow(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	same(t, told(mon.TakeAlerts()), []string{"brief down 01 14:00 0"})
}
