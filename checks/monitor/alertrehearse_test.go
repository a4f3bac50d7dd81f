package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
	"github.com/rollcall-dev/rollcall/pings"
)

// Who is notified if tonight's backup does not run?
func ExampleProject_Rehearse() {
	ctx := context.Background()
	mon := monitortest.New(time.Date(2026, 3, 2, 3, 4, 0, 0, time.UTC), nil)
	defer mon.Close()
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	c, err := project.Create(ctx, checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), Grace: new(20 * time.Minute), QuietHours: new("00:00-07:00")})
	if err != nil {
		panic(err)
	}
	if _, err := mon.Ping(ctx, c.ID, pings.Signal{}); err != nil {
		panic(err)
	}
	stored, err := mon.Check(ctx, c.ID)
	if err != nil {
		panic(err)
	}
	list, err := mon.Monitor.Project(project.ID()).Rehearse(ctx, false, stored)
	if err != nil {
		panic(err)
	}
	fmt.Println(list[0].Summary(nil))
	// Output:
	// If it does not report, OnAlert is notified tomorrow 07:00, 3 h 40 min after it goes down.
}

// TestRehearseHolds holds rehearsals against what then happens: who gets the alert and the reminders, and when.
func TestRehearseHolds(t *testing.T) {
	start := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	specs := map[string]checks.Spec{
		"plain":             {Timeout: new(time.Hour), Grace: new(10 * time.Minute)},
		"failures in a row": {Timeout: new(time.Hour), Grace: new(10 * time.Minute), AlertAfter: new(3)},
		"quiet":             {Schedule: new("0 3 * * *"), Grace: new(20 * time.Minute), QuietHours: new("22:00-06:00"), RepeatEvery: new(5 * time.Hour)},
		"quiet and in a row": {Schedule: new("*/30 * * * *"), Grace: new(5 * time.Minute), QuietHours: new("20:30-21:30; 22:00-06:00"),
			AlertAfter: new(4), RepeatEvery: new(7 * time.Hour)},
		"a zone":         {Schedule: new("30 2 * * *"), TZ: new("America/New_York"), Grace: new(time.Hour), RepeatEvery: new(24 * time.Hour)},
		"ends":           {Schedule: new("2026-11-24 01:00"), AlertAfter: new(5)},
		"reminders only": {Timeout: new(15 * time.Minute), RepeatEvery: new(90 * time.Minute), QuietHours: new("23:00-23:30")},
	}
	for name, spec := range specs {
		for _, failure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, failure %v", name, failure), func(t *testing.T) { holds(t, start, spec, failure) })
		}
	}
}

func holds(t *testing.T, start time.Time, spec checks.Spec, failure bool) {
	var mu sync.Mutex
	var got []string // what arrives
	var mon *monitortest.Monitor
	arrive := channels.NotifierFunc(func(_ context.Context, c channels.Channel, n channels.Notification) error {
		mu.Lock() // channels are notified at once
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %s %d", mon.Now().Format("2 15:04:05"), c.Name, n.Reminder))
		if c.Name == "broken" {
			return channels.Permanent(errors.New("broken"))
		}
		return nil
	})
	mon = monitortest.New(start, &monitor.Config{Channels: []channels.Type{{Kind: "pager", Notifier: arrive}}})
	defer mon.Close()
	project, err := mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range []channels.Channel{
		{Kind: "pager", Name: "a"}, {Kind: "pager", Name: "broken"}, {Kind: "pager", Name: "up", Settings: map[string]string{"notify": "up"}},
		{Kind: channels.Group, Name: "group", Settings: map[string]string{"channels": "a,broken,up"}},
	} {
		made, err := project.CreateChannel(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ids[c.Name] = made.ID.String()
	}
	spec.Channels = new("a,group")
	c, err := project.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	stored, err := mon.Check(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	list, err := mon.Monitor.Project(project.ID()).Rehearse(t.Context(), failure, stored)
	if err != nil {
		t.Fatal(err)
	}
	r := list[0]
	var want []string
	var last time.Time
	for _, s := range r.Steps {
		if s.Kind != "alert" && s.Kind != "reminder" {
			continue
		}
		for _, to := range r.Receivers {
			if to.Reached() && to.Kind != channels.Function {
				want = append(want, fmt.Sprintf("%s %s %d", s.At.Format("2 15:04:05"), to.Name, s.Reminder))
			}
		}
		last = s.At
	}
	if failure {
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure}); err != nil {
			t.Fatal(err)
		}
	}
	mon.Advance(last.Sub(mon.Now()))
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("rehearsed and happened:\n%s", diff)
	}

	// The last deliveries stand beside each channel, the one that failed too.
	if stored, err = mon.Check(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if list, err = mon.Monitor.Project(project.ID()).Rehearse(t.Context(), failure, stored); err != nil {
		t.Fatal(err)
	}
	for _, to := range list[0].Receivers {
		want := map[string]string{"a": "last alert sent ", "broken": "last alert failed ", "up": "no alert yet"}[to.Name]
		if to.Kind != channels.Function && !strings.HasPrefix(list[0].LastWords(to, nil), want) {
			t.Errorf("%s: %s, want %q", to.Name, list[0].LastWords(to, nil), want)
		}
	}
}

// TestRehearseWaiting rehearses outages that go on while alerts wait, and lets the time pass: what was said happens.
func TestRehearseWaiting(t *testing.T) {
	for name, hold := range map[string]struct {
		spec checks.Spec
		do   func(t *testing.T, mon *monitortest.Monitor, p *monitor.Project, id uuid.UUID)
	}{
		"nothing":     {},
		"quiet hours": {spec: checks.Spec{QuietHours: new("12:10-12:40")}},
		"a snooze": {do: func(t *testing.T, mon *monitortest.Monitor, p *monitor.Project, _ uuid.UUID) {
			must(t, errorOf(p.AddWindow(t.Context(), gate.Window{Kind: gate.Snooze, Start: mon.Now(), End: mon.Now().Add(time.Hour)})))
		}},
		"a window that is to come": {do: func(t *testing.T, mon *monitortest.Monitor, p *monitor.Project, _ uuid.UUID) {
			must(t, errorOf(p.AddWindow(t.Context(), gate.Window{Kind: gate.Maintenance, Start: mon.Now().Add(7 * time.Minute), End: mon.Now().Add(time.Hour)})))
		}},
		"an acknowledgement": {do: func(t *testing.T, mon *monitortest.Monitor, p *monitor.Project, id uuid.UUID) {
			must(t, errorOf(p.Acknowledge(t.Context(), id, checks.AckSpec{By: "ann", For: 25 * time.Minute})))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			var mon *monitortest.Monitor
			arrive := channels.NotifierFunc(func(_ context.Context, c channels.Channel, n channels.Notification) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprintf("%s %s", mon.Now().Format("15:04"), c.Name))
				return nil
			})
			mon = monitortest.New(noon, &monitor.Config{Channels: []channels.Type{{Kind: "pager", Notifier: arrive}}})
			defer mon.Close()
			project, err := mon.OpenProject(t.Context(), "jobs")
			must(t, err)
			var steps []gate.Step
			names := make(map[uuid.UUID]string)
			for i, name := range []string{"mail", "pager", "boss"} {
				c, err := project.CreateChannel(t.Context(), channels.Channel{Kind: "pager", Name: name})
				must(t, err)
				names[c.ID] = name
				steps = append(steps, gate.Step{After: time.Duration(i*i) * 15 * time.Minute, Channels: []uuid.UUID{c.ID}})
			}
			must(t, project.SetEscalation(t.Context(), steps))
			spec := hold.spec
			spec.Channels = new("")
			c, err := project.Create(t.Context(), spec)
			must(t, err)
			must(t, errorOf(mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure})))
			mon.Advance(5 * time.Minute)
			if hold.do != nil {
				hold.do(t, mon, project, c.ID)
				mon.Advance(0)
			}
			got = nil
			stored, err := mon.Check(t.Context(), c.ID)
			must(t, err)
			list, err := project.Rehearse(t.Context(), false, stored)
			must(t, err)
			var want []string
			for _, s := range list[0].Steps {
				for _, id := range s.To {
					want = append(want, fmt.Sprintf("%s %s", s.At.Format("15:04"), names[id]))
				}
				if s.Kind == "reminder" {
					want = append(want, s.At.Format("15:04")+" mail")
				}
			}
			mon.Advance(4 * time.Hour)
			heard := make(map[string]bool) // reminders of later steps follow them
			got = slices.DeleteFunc(got, func(text string) bool {
				_, name, _ := strings.Cut(text, " ")
				again := heard[name]
				heard[name] = true
				return again
			})
			slices.Sort(got)
			slices.Sort(want)
			equal(t, "rehearsed and happened", want, got)
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }
