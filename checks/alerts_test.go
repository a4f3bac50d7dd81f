package checks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

// happening is an event of a check at a time like "01 22:30" (day of March 2026 and time in UTC), with the alerts that
// it must raise.
type happening struct {
	at   string
	do   string // a kind of ping, "pause", "resume", "update", "ack" for two hours, or "" for the clock alone
	want []string
	spec checks.Spec // of an update
}

func instantOf(t *testing.T, at string) time.Time {
	t.Helper()
	instant, err := time.Parse("2006-01-02 15:04", "2026-03-"+at)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// show formats an alert as "down 01 12:00", with the instant of the transition, and appends its other fields.
func show(a checks.Alert) string {
	form := func(t time.Time) string {
		if t.IsZero() {
			return "?"
		}
		return t.Format("02 15:04")
	}
	s := fmt.Sprintf("%s %s", a.Status, form(a.At))
	if a.Reminder > 0 {
		s += fmt.Sprintf(" reminder %d", a.Reminder)
	}
	if !a.Since.IsZero() {
		s += " since " + form(a.Since)
	}
	return s
}

// apply applies the event and returns its alerts.
func (h happening) apply(t *testing.T, c checks.Check) (checks.Check, []string) {
	t.Helper()
	now := instantOf(t, h.at)
	var effects checks.Effects
	var err error
	switch h.do {
	case "":
		c, effects = c.Settle(now)
	case "pause":
		c, effects = c.Pause(now)
	case "resume":
		c, err = c.Resume(now)
	case "ack":
		c.Ack = gate.Ack{By: "ann", At: now, Until: now.Add(2 * time.Hour)}
	case "update":
		c, effects, err = c.Update(h.spec, now)
	default:
		c, _, effects, _ = c.Ping(pings.Signal{Kind: pings.Kind(h.do)}, now)
	}
	if err != nil {
		t.Fatalf("at %s: %v", h.at, err)
	}
	var told []string
	for _, a := range effects.Alerts {
		if !a.RaisedAt.Equal(now) {
			t.Errorf("at %s: an alert raised at %v", h.at, a.RaisedAt)
		}
		told = append(told, show(a))
	}
	return c, told
}

// follow applies a story and compares the alerts. Between the events it settles whenever the check asks for it, as the
// watcher does. Only the alerts of the story may be raised.
func follow(t *testing.T, spec checks.Spec, story []happening) {
	t.Helper()
	c, err := checks.New(uuid.New(), spec, instantOf(t, "01 00:00"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range story {
		for {
			wake := c.Wake()
			if wake.IsZero() || !wake.Before(instantOf(t, h.at)) {
				break
			}
			settled, told := happening{at: wake.Format("02 15:04")}.apply(t, c)
			if len(told) > 0 {
				t.Errorf("between the events, at %s: %q", wake.Format("02 15:04"), told)
			}
			if c = settled; !c.Wake().IsZero() && !c.Wake().After(wake) {
				t.Fatalf("settled at %v, and again to be settled at %v", wake, c.Wake())
			}
		}
		if wake := c.Wake(); h.do == "" && len(h.want) > 0 && (wake.IsZero() || wake.After(instantOf(t, h.at))) {
			t.Errorf("at %s: a watcher would not come before %v", h.at, wake)
		}
		var told []string
		if c, told = h.apply(t, c); !cmp.Equal(h.want, told) {
			t.Errorf("at %s, %q: alerts %q, want %q", h.at, h.do, told, h.want)
		}
	}
}

// every is a Simple check that expects a ping every hour, with 10 minutes of grace.
func every(change func(*checks.Spec)) checks.Spec {
	spec := checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}
	if change != nil {
		change(&spec)
	}
	return spec
}

func after(n int) checks.Spec { return every(func(s *checks.Spec) { s.AlertAfter = &n }) }

func repeat(d time.Duration) checks.Spec { return every(func(s *checks.Spec) { s.RepeatEvery = &d }) }

func hours(text string) checks.Spec { return every(func(s *checks.Spec) { s.QuietHours = &text }) }

func tell(alerts ...string) []string { return alerts }

func TestAlertsWithoutRules(t *testing.T) { // down always; up only after down
	for name, story := range map[string][]happening{
		"new, up, down, up": {
			{at: "01 12:00", do: "success"},
			{at: "01 13:10", want: tell("down 01 13:10")},
			{at: "01 13:20", do: "fail"},
			{at: "01 13:30", do: "success", want: tell("up 01 13:30")},
			{at: "01 13:31", do: "success"},
		},
		"new to down":    {{at: "01 12:00", do: "fail", want: tell("down 01 12:00")}},
		"paused to down": {{at: "01 12:00", do: "pause"}, {at: "01 12:01", do: "fail", want: tell("down 01 12:01")}},
		"down, paused, up": {
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 12:01", do: "pause"},
			{at: "01 12:02", do: "success", want: tell("up 01 12:02")},
			{at: "01 12:03", do: "success"},
		},
		"down, paused, down, up": {
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 12:01", do: "pause"},
			{at: "01 12:02", do: "fail", want: tell("down 01 12:02")},
			{at: "01 12:03", do: "success", want: tell("up 01 12:03")},
		},
		"a run that does not end": {
			{at: "01 12:00", do: "start"},
			{at: "01 12:10", want: tell("down 01 12:10")},
		},
	} {
		t.Run(name, func(t *testing.T) { follow(t, every(nil), story) })
	}
}

// TestLateAlerts settles nothing until a ping comes, which raises both alerts.
// TestAlertsOfLongRuns counts failures of a check whose runs may take longer than the time between two pings.
func TestAlertsOfLongRuns(t *testing.T) {
	spec := after(2)
	spec.MaxRuntime = new(5 * time.Hour)
	for name, story := range map[string][]happening{
		// A run that takes too long is one failure, and the next is a ping that does not come after that.
		"overrun, then no ping": {
			{at: "01 12:00", do: "start"},
			{at: "01 17:00"},
			{at: "01 18:00", want: tell("down 01 17:00")},
		},
		"overrun, then a failure": {
			{at: "01 12:00", do: "start"},
			{at: "01 17:00"},
			{at: "01 17:10", do: "fail", want: tell("down 01 17:00")},
		},
		"fail, then a run while pings are missing": {
			{at: "01 12:00", do: "fail"},
			{at: "01 12:10", do: "start"},
			{at: "01 13:10", want: tell("down 01 12:00")},
		},
	} {
		t.Run(name, func(t *testing.T) { follow(t, spec, story) })
	}
}

func TestLateAlerts(t *testing.T) {
	c := hourly(t)
	c, _, _, _ = c.Ping(pings.Signal{}, noon)
	now := noon.Add(2 * time.Hour)
	_, _, effects, _ := c.Ping(pings.Signal{}, now)
	want := []checks.Alert{
		{RaisedAt: now, Status: checks.StatusDown, At: noon.Add(70 * time.Minute)},
		{RaisedAt: now, Status: checks.StatusUp, At: now},
	}
	if diff := cmp.Diff(want, effects.Alerts); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
}

func TestAlertAfter(t *testing.T) {
	cron := checks.Spec{Schedule: new("0 3 * * *"), Grace: new(time.Hour), AlertAfter: new(3)}
	for name, test := range map[string]struct {
		spec  checks.Spec
		story []happening
	}{
		"one is at once": {after(1), []happening{{at: "01 12:00", do: "fail", want: tell("down 01 12:00")}}},
		"fail signals": {after(3), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:01", do: "fail"},
			{at: "01 12:02", do: "log"},
			{at: "01 12:03", do: "fail", want: tell("down 01 12:00")},
			{at: "01 12:04", do: "fail"},
			{at: "01 12:05", do: "success", want: tell("up 01 12:05")},
			{at: "01 12:06", do: "fail"}, // the count restarts
		}},
		"a success between": {after(2), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:01", do: "success"},
			{at: "01 12:02", do: "fail"},
			{at: "01 12:03", do: "success"},
			{at: "01 12:04", do: "success"},
		}},
		"silence, Simple": {after(3), []happening{
			{at: "01 12:00", do: "success"},
			{at: "01 15:09"}, // down at 13:10, missed again at 14:10
			{at: "01 15:10", want: tell("down 01 13:10")},
			{at: "01 20:00"},
		}},
		"silence, Cron": {cron, []happening{
			{at: "01 03:00", do: "success"},
			{at: "04 03:59"}, // down on the 2nd at 04:00
			{at: "04 04:00", want: tell("down 02 04:00")},
		}},
		"silence after fail signals": {after(4), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:30", do: "fail"}, // the next is expected at 13:30
			{at: "01 14:39"},
			{at: "01 14:40", want: tell("down 01 12:00")},
		}},
		"a fail signal brings it nearer": {after(3), []happening{
			{at: "01 12:00", do: "success"},
			{at: "01 14:10"}, // the second
			{at: "01 14:11", do: "fail", want: tell("down 01 13:10")},
		}},
		"runs that do not end": {after(3), []happening{
			{at: "01 12:00", do: "start"}, // 12:10
			{at: "01 13:00", do: "start"}, // 13:10
			{at: "01 14:00", do: "start"},
			{at: "01 14:10", want: tell("down 01 12:10")},
		}},
		"a run that begins late and does not end fails once": {after(3), []happening{
			{at: "01 12:00", do: "success"}, // 13:10
			{at: "01 14:05", do: "start"},   // 14:10, for the ping that was expected at 14:00
			{at: "01 15:09"},
			{at: "01 15:10", want: tell("down 01 13:10")},
		}},
		"starts without ends do not put it off for ever": {after(2), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:55", do: "start"},
			{at: "01 13:01", do: "start"},
			{at: "01 13:07", do: "start"},
			{at: "01 13:10", want: tell("down 01 12:00")},
		}},
		"a schedule without further times": {
			checks.Spec{Schedule: new("2026-03-01 13:00:00"), Grace: new(time.Hour), AlertAfter: new(3)},
			[]happening{{at: "01 12:00", do: "success"}, {at: "01 14:00", want: tell("down 01 14:00")}},
		},
		"paused": {after(2), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:01", do: "pause"},
			{at: "01 12:02", do: "fail"},
			{at: "01 12:03", do: "fail", want: tell("down 01 12:02")},
		}},
		"lowered while it counts": {after(5), []happening{
			{at: "01 12:00", do: "fail"},
			{at: "01 12:01", do: "update", spec: checks.Spec{AlertAfter: new(2)}},
			{at: "01 12:02", do: "update", spec: checks.Spec{AlertAfter: new(0)}, want: tell("down 01 12:00")},
			{at: "01 12:03", do: "success", want: tell("up 01 12:03")},
		}},
		"raised after it was told": {after(0), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 12:01", do: "update", spec: checks.Spec{AlertAfter: new(3)}},
			{at: "01 20:00", do: "fail"},
			{at: "01 20:01", do: "success", want: tell("up 01 20:01")},
		}},
		"failures count while the alert is dropped": {every(func(s *checks.Spec) { s.RecordOnly = new(true) }), []happening{
			{at: "01 12:00", do: "success"},
			{at: "01 14:20", do: "fail"}, // after 13:10 and 14:10
			{at: "01 14:21", do: "update", spec: checks.Spec{RecordOnly: new(false), AlertAfter: new(3)}, want: tell("down 01 13:10")},
		}},
		"a shorter timeout makes no failures of the past": {after(3), []happening{
			{at: "01 00:00", do: "success"},                                              // 01:10, 02:10
			{at: "01 02:00", do: "update", spec: checks.Spec{Timeout: new(time.Minute)}}, // then 02:01
			{at: "01 02:01"},
			{at: "01 02:02", want: tell("down 01 01:10")},
		}},
	} {
		t.Run(name, func(t *testing.T) { follow(t, test.spec, test.story) })
	}
}

func TestRepeatEvery(t *testing.T) {
	for name, test := range map[string]struct {
		spec  checks.Spec
		story []happening
	}{
		"while it is down": {repeat(2 * time.Hour), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 13:59", do: "fail"},
			{at: "01 14:00", want: tell("down 01 12:00 reminder 1")},
			{at: "01 16:00", do: "log", want: tell("down 01 12:00 reminder 2")},
			{at: "01 17:00", do: "success", want: tell("up 01 17:00")},
			{at: "01 18:00", do: "success"},
		}},
		"pausing ends it": {repeat(time.Hour), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 12:30", do: "pause"},
			{at: "02 12:30", do: "resume"},
			{at: "03 12:30"},
		}},
		"counts from the alert": {
			every(func(s *checks.Spec) { s.RepeatEvery, s.AlertAfter = new(time.Hour), new(2) }), []happening{
				{at: "01 12:00", do: "fail"},
				{at: "01 12:40", do: "fail", want: tell("down 01 12:00")},
				{at: "01 13:40", want: tell("down 01 12:00 reminder 1")},
			}},
		"set while it is down": {every(nil), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 15:00", do: "update", spec: checks.Spec{RepeatEvery: new(time.Hour)}},
			{at: "01 16:00", want: tell("down ? reminder 1")},
			{at: "01 16:01", do: "update", spec: checks.Spec{RepeatEvery: new(time.Duration(0))}},
			{at: "02 16:00"},
		}},
		"an acknowledgement stops it for a time": {repeat(time.Hour), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 13:00", want: tell("down 01 12:00 reminder 1")},
			{at: "01 13:59", do: "ack"},
			{at: "01 15:58"},
			{at: "01 15:59", want: tell("down 01 12:00 reminder 2")},
			{at: "01 16:30", do: "ack"},
			{at: "01 17:30", do: "success", want: tell("up 01 17:30")},
			{at: "01 18:00", do: "success"},
		}},
		"an acknowledgement before the alert": {
			every(func(s *checks.Spec) { s.RepeatEvery, s.AlertAfter = new(time.Hour), new(2) }), []happening{
				{at: "01 12:00", do: "fail"},
				{at: "01 12:10", do: "ack"},
				{at: "01 12:40", do: "fail", want: tell("down 01 12:00")},
				{at: "01 14:10", want: tell("down 01 12:00 reminder 1")},
				{at: "01 15:10", want: tell("down 01 12:00 reminder 2")},
			}},
		"shortened": {repeat(5 * time.Hour), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 13:30", do: "update", spec: checks.Spec{RepeatEvery: new(time.Hour)}, want: tell("down 01 12:00 reminder 1")},
			{at: "01 14:00", want: tell("down 01 12:00 reminder 2")},
		}},
	} {
		t.Run(name, func(t *testing.T) { follow(t, test.spec, test.story) })
	}
}

// TestRemindersAfterAnOutage settles nothing for a long time. One reminder follows, and the next at the usual time.
func TestRemindersAfterAnOutage(t *testing.T) {
	c := newCheck(t, repeat(time.Hour))
	c, _, _, _ = c.Ping(pings.Signal{Kind: pings.Failure}, noon)
	c, effects := c.Settle(noon.Add(5*time.Hour + 20*time.Minute))
	if len(effects.Alerts) != 1 || effects.Alerts[0].Reminder != 1 || !c.Wake().Equal(noon.Add(6*time.Hour)) {
		t.Errorf("%+v, then at %v", effects.Alerts, c.Wake())
	}
}

func TestQuietHours(t *testing.T) {
	const night = "22:00-06:00"
	for name, test := range map[string]struct {
		spec  checks.Spec
		story []happening
	}{
		"outside": {hours(night), []happening{
			{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
			{at: "01 21:59", do: "success", want: tell("up 01 21:59")},
		}},
		"down in the night": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 05:59", do: "fail"},
			{at: "02 06:00", want: tell("down 01 23:00 since 01 23:00")},
			{at: "02 07:00", do: "success", want: tell("up 02 07:00")},
		}},
		"down and up in the night": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 01:00", do: "success"},
			{at: "02 01:30", do: "success"},
			{at: "02 02:30", want: nil},
			{at: "02 02:30", do: "success"},
			{at: "02 03:30", do: "success"},
			{at: "02 04:30", do: "success"},
			{at: "02 05:30", do: "success"},
			{at: "02 06:00", want: tell("up 02 01:00 since 01 23:00")},
			{at: "02 06:30", do: "success"},
		}},
		"up in the night": {hours(night), []happening{
			{at: "01 21:00", do: "fail", want: tell("down 01 21:00")},
			{at: "02 05:30", do: "success"},
			{at: "02 06:00", want: tell("up 02 05:30 since 02 05:30")},
		}},
		"up and down in the night": {hours(night), []happening{
			{at: "01 21:00", do: "fail", want: tell("down 01 21:00")},
			{at: "02 05:00", do: "success"},
			{at: "02 05:30", do: "fail"},
			{at: "02 06:00", want: tell("down 02 05:30 since 02 05:00")},
		}},
		"paused in the night": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "01 23:30", do: "pause"},
			{at: "02 12:00"},
			{at: "02 12:01", do: "resume"},
			{at: "02 12:02", do: "success"},
		}},
		"a ping at the end": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 06:00", do: "success", want: tell("down 01 23:00 since 01 23:00", "up 02 06:00")},
		}},
		"overdue in the night": {hours(night), []happening{
			{at: "01 22:30", do: "success"},
			{at: "02 06:00", want: tell("down 01 23:40 since 01 23:40")},
		}},
		"shortened": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 01:00", do: "update", spec: checks.Spec{QuietHours: new("22:00-02:00")}},
			{at: "02 02:00", want: tell("down 01 23:00 since 01 23:00")},
		}},
		"taken away": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 01:00", do: "update", spec: checks.Spec{QuietHours: new("")}, want: tell("down 01 23:00 since 01 23:00")},
		}},
		"lengthened": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 01:00", do: "update", spec: checks.Spec{QuietHours: new("22:00-08:00")}},
			{at: "02 08:00", want: tell("down 01 23:00 since 01 23:00")},
		}},
		"in the zone of a Simple check": {
			every(func(s *checks.Spec) { s.QuietHours, s.TZ = new(night), new("Europe/Riga") }), []happening{
				{at: "01 20:00", do: "fail"}, // 22:00
				{at: "02 04:00", want: tell("down 01 20:00 since 01 20:00")},
			}},
		"another zone": {hours(night), []happening{
			{at: "01 23:00", do: "fail"},
			{at: "02 01:00", do: "update", spec: checks.Spec{TZ: new("Asia/Tokyo")}, want: tell("down 01 23:00 since 01 23:00")},
		}},
		"reminders are left out": {
			every(func(s *checks.Spec) { s.QuietHours, s.RepeatEvery = new(night), new(3*time.Hour) }), []happening{
				{at: "01 17:00", do: "fail", want: tell("down 01 17:00")},
				{at: "01 20:00", want: tell("down 01 17:00 reminder 1")},
				{at: "02 06:00"}, // the one of 23:00 was left out
				{at: "02 09:00", want: tell("down 01 17:00 reminder 2")},
			}},
		"a reminder that would always fall into the night comes all the same": {
			every(func(s *checks.Spec) { s.QuietHours, s.RepeatEvery = new("23:00-01:00"), new(24*time.Hour) }),
			[]happening{
				{at: "01 12:00", do: "fail", want: tell("down 01 12:00")},
				{at: "01 23:30", do: "success"},
				{at: "01 23:40", do: "fail"},
				{at: "02 01:00", want: tell("down 01 23:40 since 01 23:30")},
				{at: "02 10:00", do: "update", spec: checks.Spec{QuietHours: new("00:00-02:00")}},
				{at: "04 02:00", want: tell("down 01 23:40 reminder 1")},
			}},
		"failures are counted in the night": {
			every(func(s *checks.Spec) { s.QuietHours, s.AlertAfter = new(night), new(3) }), []happening{
				{at: "01 20:00", do: "success"}, // 21:10, 22:10, 23:10
				{at: "02 06:00", want: tell("down 01 21:10 since 01 21:10")},
			}},
		"too few failures in the night": {
			every(func(s *checks.Spec) { s.QuietHours, s.AlertAfter = new(night), new(3) }), []happening{
				{at: "01 23:00", do: "fail"},
				{at: "01 23:10", do: "fail"},
				{at: "01 23:20", do: "success"},
				{at: "01 23:30", do: "pause"},
				{at: "02 12:00"},
			}},
		"a failure that is not confirmed at the end": {
			every(func(s *checks.Spec) { s.QuietHours, s.AlertAfter = new(night), new(2) }), []happening{
				{at: "01 12:00", do: "fail"},
				{at: "01 12:01", do: "fail", want: tell("down 01 12:00")},
				{at: "02 05:00", do: "success"},
				{at: "02 05:30", do: "fail"},
				{at: "02 06:00"}, // neither up nor surely down
				{at: "02 06:40", want: tell("down 02 05:30 since 02 05:00")},
			}},
	} {
		t.Run(name, func(t *testing.T) { follow(t, test.spec, test.story) })
	}
}

// TestQuietHoursThatCannotBeEvaluated must raise alerts and leave the state as it is.
func TestQuietHoursThatCannotBeEvaluated(t *testing.T) {
	c := newCheck(t, hours("00:00-23:00"))
	c.TZ = "Mars/Phobos"
	new(checks.Plans).Attach(&c) // as a store does
	c, _, effects, _ := c.Ping(pings.Signal{Kind: pings.Failure}, noon)
	if len(effects.Alerts) != 1 {
		t.Errorf("alerts %+v, %+v", effects.Alerts, c.Alerting)
	}
}

func TestNothingToRememberWithoutRules(t *testing.T) {
	c := hourly(t)
	for i, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Start, pings.Success, pings.Start} {
		c, _, _, _ = c.Ping(pings.Signal{Kind: kind}, noon.Add(time.Duration(i)*time.Minute))
		if c.Alerting != (checks.State{}).Alerting {
			t.Errorf("after %v: %+v", kind, c.Alerting)
		}
	}
}

// TestUpdateOfOverdue: new rules hold for the alert about a deadline that has passed, and that nobody has settled.
func TestUpdateOfOverdue(t *testing.T) {
	never := checks.Spec{RecordOnly: new(true)}
	for name, test := range map[string]struct {
		before, rules checks.Spec
		alerts        int
	}{
		"none":                 {alerts: 1},
		"record-only":          {rules: never},
		"no longer":            {before: never, rules: checks.Spec{RecordOnly: new(false)}, alerts: 1},
		"quiet hours":          {rules: checks.Spec{QuietHours: new("13:20-14:00")}},
		"quiet hours abroad":   {rules: checks.Spec{QuietHours: new("15:20-16:00"), TZ: new("Europe/Riga")}},
		"no quiet hours":       {before: checks.Spec{QuietHours: new("13:00-14:00")}, rules: checks.Spec{QuietHours: new("")}, alerts: 1},
		"failures in a row":    {rules: checks.Spec{AlertAfter: new(2)}},
		"no failures in a row": {before: checks.Spec{AlertAfter: new(2)}, rules: checks.Spec{AlertAfter: new(0)}, alerts: 1},
		"a longer timeout":     {rules: checks.Spec{Timeout: new(5 * time.Hour)}, alerts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			test.before.Timeout, test.before.Grace = new(time.Hour), new(10*time.Minute)
			c, _, _, _ := newCheck(t, test.before).Ping(pingSuccess, noon)
			c, made, err := c.Update(test.rules, noon.Add(90*time.Minute))
			if err != nil || len(made.Transitions) != 1 || !made.Transitions[0].At.Equal(noon.Add(70*time.Minute)) || len(made.Alerts) != test.alerts {
				t.Errorf("%+v, %v, want %d alerts", made, err, test.alerts)
			}
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordOnly checks that a record-only check raises no alert, and that its outage is alerted as new when that ends.
func TestRecordOnly(t *testing.T) {
	quiet := checks.Spec{Timeout: new(time.Hour), Grace: new(time.Minute), RecordOnly: new(true), RepeatEvery: new(time.Hour)}
	c := newCheck(t, quiet)
	c, _, made, _ := c.Ping(pings.Signal{Kind: pings.Failure}, noon)
	if len(made.Alerts) > 0 || len(made.Transitions) != 1 || c.Stored != checks.StatusDown {
		t.Errorf("a failure made %+v", made)
	}
	if wake := c.Wake(); !wake.IsZero() {
		t.Errorf("it waits for %v", wake)
	}
	up, _, made, _ := c.Ping(pingSuccess, noon.Add(time.Hour))
	if len(made.Alerts) > 0 || len(made.Transitions) != 1 {
		t.Errorf("a success made %+v", made)
	}
	if _, _, made, _ = up.Ping(pings.Signal{Kind: pings.Failure}, noon.Add(2*time.Hour)); len(made.Alerts) > 0 {
		t.Errorf("another failure made %+v", made)
	}
	heard, made, err := c.Update(checks.Spec{RecordOnly: new(false)}, noon.Add(time.Hour))
	if err != nil || len(made.Alerts) != 1 || made.Alerts[0].Status != checks.StatusDown || !made.Alerts[0].At.Equal(noon) {
		t.Errorf("the end of record-only made %+v, %v", made, err)
	}
	silent, made, err := heard.Update(checks.Spec{RecordOnly: new(true)}, noon.Add(61*time.Minute))
	if err != nil || len(made.Alerts) > 0 {
		t.Errorf("record-only made %+v, %v", made, err)
	}
	if silent, made = silent.Settle(noon.Add(5 * time.Hour)); len(made.Alerts) > 0 {
		t.Errorf("reminders: %+v", made)
	}
	if _, _, made, _ = silent.Ping(pingSuccess, noon.Add(6*time.Hour)); len(made.Alerts) != 1 || made.Alerts[0].Status != checks.StatusUp {
		t.Errorf("the end of an outage that was alerted made %+v", made)
	}
	_, made, err = silent.Update(checks.Spec{RecordOnly: new(false), AlertAfter: new(3)}, noon.Add(6*time.Hour))
	if err != nil || len(made.Alerts) != 1 || made.Alerts[0].Reminder > 0 || !made.Alerts[0].At.Equal(noon) {
		t.Errorf("the end of record-only made %+v, %v", made, err)
	}
}
