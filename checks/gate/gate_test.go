package gate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/quiet"
)

var (
	noon   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	db     = uuid.MustParse("00000000-0000-0000-0000-00000000000d")
	first  = uuid.MustParse("00000000-0000-0000-0000-000000000001")
	second = uuid.MustParse("00000000-0000-0000-0000-000000000002")
)

func hours(t testing.TB, text string) *quiet.Hours {
	t.Helper()
	h, err := quiet.Parse(text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}

// at returns the instant some minutes after noon.
func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// window is a one-off window of all checks.
func window(kind gate.WindowKind, from, to int, note string) gate.Window {
	return gate.Window{Kind: kind, Start: at(from), End: at(to), Note: note}
}

// TestDecide says for each policy what it does to each kind of alert at noon.
func TestDecide(t *testing.T) {
	send := gate.Decision{}
	wait := func(until time.Time, why gate.Why, name string) gate.Decision {
		return gate.Decision{Action: gate.Wait, Until: until, Why: why, Name: name}
	}
	drop := func(why gate.Why, name string) gate.Decision {
		return gate.Decision{Action: gate.Drop, Why: why, Name: name}
	}
	lunch, steps := hours(t, "12:00-13:00"), []gate.Step{{Channels: []uuid.UUID{first}}, {After: time.Hour, Channels: []uuid.UUID{first, second}}}
	acked := gate.Ack{By: "ann", At: at(-1), Until: at(30)}
	down := gate.Event{At: at(-10), Check: db, Tags: []string{"eu"}}
	to := func(channel uuid.UUID) gate.Event { return gate.Event{At: at(-10), Check: db, Channel: channel} }
	for name, test := range map[string]struct {
		event              gate.Event
		policies           gate.Policies
		down, reminder, up gate.Decision
	}{
		"no policies":        {down, gate.Policies{}, send, send, send},
		"record only":        {down, gate.Policies{RecordOnly: true}, drop(gate.ByCheck, ""), drop(gate.ByCheck, ""), send},
		"too few failures":   {gate.Event{Failures: 1, NextFailure: at(9)}, gate.Policies{AlertAfter: 2}, wait(at(9), gate.ByFailures, ""), send, send},
		"enough failures":    {gate.Event{Failures: 2, NextFailure: at(9)}, gate.Policies{AlertAfter: 2}, send, send, send},
		"no further failure": {gate.Event{Failures: 1}, gate.Policies{AlertAfter: 2}, send, send, send},
		"the failure is due": {gate.Event{Failures: 1, NextFailure: noon}, gate.Policies{AlertAfter: 2}, send, send, send},
		"too early":          {gate.Event{Last: at(-59)}, gate.Policies{RepeatEvery: time.Hour}, send, wait(at(1), gate.ByRepeat, ""), send},
		"a period is over":   {gate.Event{Last: at(-60)}, gate.Policies{RepeatEvery: time.Hour}, send, send, send},
		"nobody says since":  {gate.Event{}, gate.Policies{RepeatEvery: time.Hour}, send, send, send},
		"quiet hours": {down, gate.Policies{Quiet: lunch, RepeatEvery: time.Hour}, wait(at(60), gate.ByQuiet, ""),
			gate.Decision{Action: gate.Drop, Until: at(60), Why: gate.ByQuiet}, wait(at(60), gate.ByQuiet, "")},
		"quiet hours without repeats": {down, gate.Policies{Quiet: lunch}, wait(at(60), gate.ByQuiet, ""), wait(at(60), gate.ByQuiet, ""), wait(at(60), gate.ByQuiet, "")},
		"not quiet":                   {down, gate.Policies{Quiet: hours(t, "13:00-12:00")}, send, send, send},

		"maintenance": {down, gate.Policies{Windows: []gate.Window{window(gate.Maintenance, 0, 5, "disks")}},
			wait(at(5), gate.ByMaintenance, "disks"), drop(gate.ByMaintenance, "disks"), send},
		"snooze":           {down, gate.Policies{Windows: []gate.Window{window(gate.Snooze, -1, 5, "")}}, wait(at(5), gate.BySnooze, ""), drop(gate.BySnooze, ""), send},
		"before and after": {down, gate.Policies{Windows: []gate.Window{window(gate.Snooze, 1, 5, ""), window(gate.Snooze, -5, 0, "")}}, send, send, send},
		"windows chain": {down, gate.Policies{Windows: []gate.Window{
			window(gate.Snooze, 20, 30, "d"), window(gate.Snooze, -1, 12, "a"), window(gate.Maintenance, -1, 5, "b"), window(gate.Snooze, 12, 20, "c"),
			window(gate.Maintenance, 31, 40, "e"), window(gate.Maintenance, -9, 7, "the last of its kind"),
		}}, wait(at(30), gate.ByMaintenance, "the last of its kind"), drop(gate.ByMaintenance, "the last of its kind"), send},
		"windows of others": {down, gate.Policies{Windows: []gate.Window{
			{Tags: []string{"us"}, Start: at(-1), End: at(5)}, {Checks: []uuid.UUID{first}, Start: at(-1), End: at(5)},
		}}, send, send, send},

		"a parent is down": {down, gate.Policies{Parents: []gate.Parent{{Name: "up"}, {Name: "dump", Down: true}}},
			wait(noon.Add(gate.AskParent), gate.ByParent, "dump"), drop(gate.ByParent, "dump"), send},
		"a parent is late": {down, gate.Policies{Parents: []gate.Parent{{Name: "dump", Late: at(5)}}},
			wait(noon.Add(gate.AskParent), gate.ByParent, "dump"), send, send},
		"its deadline is near": {down, gate.Policies{Parents: []gate.Parent{{Name: "dump", Late: noon.Add(time.Second)}}},
			wait(noon.Add(time.Second), gate.ByParent, "dump"), send, send},
		"a parent came up": {down, gate.Policies{Parents: []gate.Parent{{Name: "dump", Up: noon.Add(-10 * time.Second)}}},
			wait(noon.Add(20*time.Second), gate.ByParent, "dump"), send, send},
		"a parent came up long ago": {gate.Event{Grace: 24 * time.Hour}, gate.Policies{Parents: []gate.Parent{{Name: "dump", Up: noon.Add(-gate.MostFollow)}}}, send, send, send},
		"the follower has its time": {gate.Event{Grace: time.Minute}, gate.Policies{Parents: []gate.Parent{{Name: "dump", Up: noon}}},
			wait(noon.Add(gate.AskParent), gate.ByParent, "dump"), send, send},
		"the follower has failed": {gate.Event{Reported: noon}, gate.Policies{Parents: []gate.Parent{{Name: "dump", Up: noon.Add(-time.Second)}}},
			send, send, send},
		"its deadline has passed": {down, gate.Policies{Parents: []gate.Parent{{Name: "dump", Late: noon}}},
			wait(noon.Add(gate.AskParent), gate.ByParent, "dump"), send, send},

		"acknowledged":              {down, gate.Policies{Ack: acked}, send, drop(gate.ByAck, "ann"), send},
		"the acknowledgement ended": {down, gate.Policies{Ack: gate.Ack{By: "ann", At: at(-9), Until: noon}}, send, send, send},
		"first step":                {to(first), gate.Policies{Steps: steps}, send, send, send},
		"second step":               {to(second), gate.Policies{Steps: steps}, wait(at(50), gate.ByStep, ""), wait(at(50), gate.ByStep, ""), send},
		"the earliest of its steps": {to(second), gate.Policies{Steps: []gate.Step{steps[1], {After: time.Minute, Channels: steps[1].Channels}}}, send, send, send},
		"no step":                   {to(db), gate.Policies{Steps: steps}, send, send, send},
		"first step, acknowledged":  {to(first), gate.Policies{Steps: steps, Ack: acked}, send, drop(gate.ByAck, "ann"), send},
		"second step, acknowledged": {to(second), gate.Policies{Steps: steps, Ack: acked}, wait(at(30), gate.ByAck, "ann"), drop(gate.ByAck, "ann"), send},
		"acknowledged for good": {to(second), gate.Policies{Steps: steps, Ack: gate.Ack{By: "ann", At: at(-1)}},
			wait(noon.Add(gate.AskAck), gate.ByAck, "ann"), drop(gate.ByAck, "ann"), send},
		"steps do not count maintenance": {to(second), gate.Policies{Steps: steps, Windows: []gate.Window{window(gate.Maintenance, -20, -5, "")}},
			wait(at(55), gate.ByStep, ""), wait(at(55), gate.ByStep, ""), send},
		"steps count from an end": {to(second), gate.Policies{Steps: steps, Returned: at(-3)}, wait(at(57), gate.ByStep, ""), wait(at(57), gate.ByStep, ""), send},
	} {
		for kind, want := range map[gate.Kind]gate.Decision{gate.Down: test.down, gate.Reminder: test.reminder, gate.Up: test.up} {
			e := test.event
			e.Kind = kind
			if test.policies.RepeatEvery == 0 && len(test.policies.Windows)+len(test.policies.Parents) > 0 {
				test.policies.RepeatEvery = time.Hour
			}
			got := gate.Decide(e, test.policies, noon)
			got.Clock = gate.Clock{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, kind %d (-want +got):\n%s", name, kind, diff)
			}
		}
	}
}

// TestOrder has all policies at once, and takes the deciding one away again and again.
func TestOrder(t *testing.T) {
	e := gate.Event{At: at(-1), Failures: 1, NextFailure: at(1), Channel: second}
	p := gate.Policies{
		RecordOnly: true, AlertAfter: 2, Quiet: hours(t, "12:00-13:00"),
		Windows: []gate.Window{window(gate.Snooze, -1, 2, ""), window(gate.Maintenance, -1, 2, "")},
		Parents: []gate.Parent{{Down: true}}, Ack: gate.Ack{At: at(-1)}, Steps: []gate.Step{{After: time.Hour, Channels: []uuid.UUID{second}}},
	}
	for _, step := range []struct {
		why  gate.Why
		lift func()
	}{
		{gate.ByCheck, func() { p.RecordOnly = false }},
		{gate.ByFailures, func() { p.AlertAfter = 0 }},
		{gate.ByMaintenance, func() { p.Windows = p.Windows[:1] }},
		{gate.BySnooze, func() { p.Windows = nil }},
		{gate.ByParent, func() { p.Parents = nil }},
		{gate.ByQuiet, func() { p.Quiet = nil }},
		{gate.ByAck, func() { p.Ack = gate.Ack{} }},
		{gate.ByStep, func() { p.Steps = nil }},
		{"", func() {}},
	} {
		if d := gate.Decide(e, p, noon); d.Why != step.why {
			t.Errorf("kept back by %q, want %q", d.Why, step.why)
		}
		step.lift()
	}
}
