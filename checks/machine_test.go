package checks_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newCheck(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := checks.New(uuid.New(), spec, noon)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hourly returns a Simple check with a timeout of 60 minutes and a grace time of 10.
func hourly(t *testing.T) checks.Check {
	return newCheck(t, checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
}

func TestNewCheck(t *testing.T) { // server/API.md section 2.1: the defaults
	c := newCheck(t, checks.Spec{})
	want := checks.Check{
		ID: c.ID, ProjectID: c.ProjectID, BadgeKey: c.BadgeKey, CreatedAt: noon, TimingSince: noon,
		Settings: checks.Settings{Timeout: 86400 * time.Second, Grace: 3600 * time.Second, TZ: "UTC"},
		State:    checks.State{Stored: "new"},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("a new check (-want +got):\n%s", diff)
	}
	if c.ID == uuid.Nil || c.BadgeKey == uuid.Nil || c.BadgeKey == c.ID {
		t.Errorf("identifiers: %v, %v", c.ID, c.BadgeKey)
	}
	if !c.NextPing(noon).IsZero() || !c.Deadline().IsZero() || c.Status(noon.AddDate(5, 0, 0)) != checks.StatusNew {
		t.Error("a new check expects a ping")
	}
}

// step is an event, with the kind that its ping must get, and the transitions and the status that must follow.
type step struct {
	after time.Duration // since noon
	do    string        // a kind of ping, "pause", "resume", or "" for the clock alone
	run   byte

	kind   pings.Kind
	made   []checks.Transition
	status checks.Status
}

func TestTransitions(t *testing.T) {
	const minute = time.Minute
	tr := func(from, to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	up := func(after time.Duration) []checks.Transition { return tr("new", "up", after, "success") }
	for name, test := range map[string]struct {
		manualResume bool
		steps        []step
	}{
		"new, up, grace, down, up": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{60*minute - 1, "", 0, "", nil, "up"},
			{60 * minute, "", 0, "", nil, "grace"},
			{70*minute - 1, "", 0, "", nil, "grace"},
			{70 * minute, "", 0, "", tr("up", "down", 70*minute, "overdue"), "down"},
			{80 * minute, "success", 0, "success", tr("down", "up", 80*minute, "success"), "up"},
		}},
		"a ping in grace is up again without a flip": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{65 * minute, "success", 0, "success", nil, "up"},
			{124 * minute, "", 0, "", nil, "up"},
		}},
		"a ping after the deadline settles first": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{90 * minute, "success", 0, "success", append(tr("up", "down", 70*minute, "overdue"), tr("down", "up", 90*minute, "success")...), "up"},
		}},
		"a failure after the deadline makes one flip": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{90 * minute, "fail", 0, "fail", tr("up", "down", 70*minute, "overdue"), "down"},
		}},
		"fail from new, twice": {steps: []step{
			{0, "fail", 0, "fail", tr("new", "down", 0, "fail"), "down"},
			{minute, "fail", 0, "fail", nil, "down"},
			{1000 * minute, "", 0, "", nil, "down"},
		}},
		"log changes nothing": {steps: []step{
			{0, "log", 0, "log", nil, "new"},
			{minute, "success", 0, "success", up(minute), "up"},
			{62 * minute, "log", 0, "log", nil, "grace"},
			{71 * minute, "log", 0, "log", tr("up", "down", 71*minute, "overdue"), "down"},
			{72 * minute, "log", 0, "log", nil, "down"},
		}},
		"a run that does not end": {steps: []step{
			{0, "start", 0, "start", nil, "new"},
			{10*minute - 1, "", 0, "", nil, "new"},
			{10 * minute, "", 0, "", tr("new", "down", 10*minute, "overrun"), "down"},
			{11 * minute, "success", 0, "success", tr("down", "up", 11*minute, "success"), "up"},
			{60 * minute, "", 0, "", nil, "up"},
		}},
		"a run that ends in time": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{5 * minute, "start", 0, "start", nil, "up"},
			{14 * minute, "success", 0, "success", nil, "up"},
			{73 * minute, "", 0, "", nil, "up"},
		}},
		"a start does not delay the deadline": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{65 * minute, "start", 0, "start", nil, "grace"},
			{70 * minute, "", 0, "", tr("up", "down", 70*minute, "overdue"), "down"},
		}},
		"a success of another run does not end this one": {steps: []step{
			{0, "start", 1, "start", nil, "new"},
			{minute, "success", 2, "success", up(minute), "up"},
			{10 * minute, "", 0, "", tr("up", "down", 10*minute, "overrun"), "down"},
		}},
		"a success without a run identifier ends it": {steps: []step{
			{0, "start", 1, "start", nil, "new"},
			{minute, "success", 0, "success", up(minute), "up"},
			{20 * minute, "", 0, "", nil, "up"},
		}},
		"a failure of another run ends it": {steps: []step{
			{0, "start", 1, "start", nil, "new"},
			{minute, "fail", 2, "fail", tr("new", "down", minute, "fail"), "down"},
			{2 * minute, "success", 2, "success", tr("down", "up", 2*minute, "success"), "up"},
			{20 * minute, "", 0, "", nil, "up"},
		}},
		"a second start begins again": {steps: []step{
			{0, "start", 1, "start", nil, "new"},
			{9 * minute, "start", 2, "start", nil, "new"},
			{18 * minute, "", 0, "", nil, "new"},
			{19 * minute, "", 0, "", tr("new", "down", 19*minute, "overrun"), "down"},
		}},
		"an overrun has its effect once": {steps: []step{
			{0, "start", 1, "start", nil, "new"},
			{10 * minute, "", 0, "", tr("new", "down", 10*minute, "overrun"), "down"},
			{11 * minute, "success", 2, "success", tr("down", "up", 11*minute, "success"), "up"},
			{12 * minute, "", 0, "", nil, "up"},
		}},
		"a start while down that is overdue when another run succeeds": {steps: []step{
			{0, "fail", 0, "fail", tr("new", "down", 0, "fail"), "down"},
			{minute, "start", 1, "start", nil, "down"},
			{30 * minute, "success", 2, "success", tr("down", "up", 30*minute, "success"), "up"},
			{31 * minute, "", 0, "", nil, "up"},
		}},
		"a start while down that is not overdue yet": {steps: []step{
			{0, "fail", 0, "fail", tr("new", "down", 0, "fail"), "down"},
			{minute, "start", 1, "start", nil, "down"},
			{2 * minute, "success", 2, "success", tr("down", "up", 2*minute, "success"), "up"},
			{11 * minute, "", 0, "", tr("up", "down", 11*minute, "overrun"), "down"},
		}},
		"paused": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{minute, "pause", 0, "", nil, "paused"},
			{1000 * minute, "", 0, "", nil, "paused"},
			{1001 * minute, "success", 0, "success", tr("paused", "up", 1001*minute, "success"), "up"},
		}},
		"paused, then a failure": {steps: []step{
			{0, "pause", 0, "", nil, "paused"},
			{minute, "fail", 0, "fail", tr("paused", "down", minute, "fail"), "down"},
		}},
		"paused, then a start": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{minute, "pause", 0, "", nil, "paused"},
			{2 * minute, "start", 0, "start", nil, "new"},
			{12 * minute, "", 0, "", tr("new", "down", 12*minute, "overrun"), "down"},
		}},
		"paused, then a log": {steps: []step{
			{0, "pause", 0, "", nil, "paused"},
			{minute, "log", 0, "log", nil, "paused"},
		}},
		"pausing an overdue check records that it was down": {steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{75 * minute, "pause", 0, "", tr("up", "down", 70*minute, "overdue"), "paused"},
		}},
		"pausing ends the run": {steps: []step{
			{0, "start", 0, "start", nil, "new"},
			{minute, "pause", 0, "", nil, "paused"},
			{2 * minute, "resume", 0, "", nil, "new"},
			{30 * minute, "", 0, "", nil, "new"},
		}},
		"manual resume ignores pings": {manualResume: true, steps: []step{
			{0, "success", 0, "success", up(0), "up"},
			{minute, "pause", 0, "", nil, "paused"},
			{2 * minute, "success", 0, "ign", nil, "paused"},
			{3 * minute, "fail", 0, "ign", nil, "paused"},
			{4 * minute, "start", 0, "ign", nil, "paused"},
			{5 * minute, "resume", 0, "", nil, "new"},
			{6 * minute, "success", 0, "success", up(6 * minute), "up"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c.ManualResume = test.manualResume
			for i, s := range test.steps {
				c = s.take(t, i, c)
			}
		})
	}
}

// take applies the step and checks what follows.
func (s step) take(t *testing.T, i int, c checks.Check) checks.Check {
	t.Helper()
	now := noon.Add(s.after)
	var made checks.Effects
	var ping pings.Ping
	before := c
	switch s.do {
	case "":
		if c.Status(now) != s.status { // right even before anyone has settled it
			t.Errorf("step %d: status %v before settling, want %v", i, c.Status(now), s.status)
		}
		c, made = c.Settle(now)
	case "pause":
		c, made = c.Pause(now)
	case "resume":
		var err error
		if c, err = c.Resume(now); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	default:
		signal := pings.Signal{Kind: pings.Kind(s.do)}
		if s.run != 0 {
			signal.RunID = uuid.NullUUID{UUID: uuid.UUID{s.run}, Valid: true}
		}
		c, ping, made, _ = c.Ping(signal, now)
		if ping.N != before.NPings+1 || c.NPings != ping.N || !ping.At.Equal(now) {
			t.Errorf("step %d: ping %d at %v", i, ping.N, ping.At)
		}
	}
	if diff := cmp.Diff(s.made, made.Transitions); diff != "" {
		t.Errorf("step %d: transitions (-want +got):\n%s", i, diff)
	}
	if ping.Kind != s.kind || c.Status(now) != s.status {
		t.Errorf("step %d: ping %q, status %v; want %q, %v", i, ping.Kind, c.Status(now), s.kind, s.status)
	}
	return c
}

// TestMaxRuntime checks that MaxRuntime replaces the grace time for runs, and for runs alone.
func TestMaxRuntime(t *testing.T) {
	const minute = time.Minute
	tr := func(from, to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	up := tr("new", "up", 0, "success")
	for name, test := range map[string]struct {
		limit time.Duration
		steps []step
	}{
		"longer than the grace time": {30 * minute, []step{
			{0, "start", 0, "start", nil, "new"},
			{30*minute - 1, "", 0, "", nil, "new"},
			{30 * minute, "", 0, "", tr("new", "down", 30*minute, "overrun"), "down"},
		}},
		"shorter": {minute, []step{
			{0, "success", 0, "success", up, "up"},
			{10 * minute, "start", 0, "start", nil, "up"},
			{11*minute - 1, "", 0, "", nil, "up"},
			{11 * minute, "", 0, "", tr("up", "down", 11*minute, "overrun"), "down"},
		}},
		"a run does not put off the next ping": {3 * time.Hour, []step{
			{0, "success", 0, "success", up, "up"},
			{50 * minute, "start", 0, "start", nil, "up"},
			{60 * minute, "", 0, "", nil, "grace"},
			{70 * minute, "", 0, "", tr("up", "down", 70*minute, "overdue"), "down"},
		}},
		"a run that goes on after the check went down": {3 * time.Hour, []step{
			{0, "fail", 0, "fail", tr("new", "down", 0, "fail"), "down"},
			{minute, "start", 1, "start", nil, "down"},
			{30 * minute, "success", 2, "success", tr("down", "up", 30*minute, "success"), "up"},
			{89 * minute, "success", 2, "success", nil, "up"},
			{149 * minute, "success", 2, "success", nil, "up"},
			{181 * minute, "", 0, "", tr("up", "down", 181*minute, "overrun"), "down"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c.MaxRuntime = test.limit
			for i, s := range test.steps {
				c = s.take(t, i, c)
			}
		})
	}
}

func TestUpdateMaxRuntime(t *testing.T) {
	started, _, _, _ := hourly(t).Ping(pings.Signal{Kind: pings.Start}, noon)
	at := func(m time.Duration) time.Time { return noon.Add(m * time.Minute) }
	for name, test := range map[string]struct {
		limit    time.Duration
		deadline time.Time
		made     int
	}{
		"longer":                {time.Hour, at(60), 0},
		"shorter, not over":     {8 * time.Minute, at(8), 0},
		"shorter, already over": {time.Minute, time.Time{}, 1}, // not before the update
		"as the grace time":     {10 * time.Minute, at(10), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, made, err := started.Update(checks.Spec{MaxRuntime: &test.limit}, at(5))
			if err != nil || len(made.Transitions) != test.made || !c.Deadline().Equal(test.deadline) {
				t.Fatalf("deadline %v, transitions %v, %v", c.Deadline(), made.Transitions, err)
			}
			for _, tr := range made.Transitions {
				if !tr.At.Equal(at(5)) || tr.Reason != flips.Overrun {
					t.Errorf("transition %+v", tr)
				}
			}
			if changed := !c.TimingSince.Equal(started.TimingSince); changed != (test.limit != 10*time.Minute) {
				t.Errorf("the timing counts as changed: %v", changed)
			}
		})
	}
}

func TestResume(t *testing.T) { // server/API.md section 4.6; the log and n_pings stay
	c := hourly(t)
	c, _, _, _ = c.Ping(pings.Signal{}, noon)
	if same, err := c.Resume(noon); !errors.Is(err, checks.ErrNotPaused) || same.Stored != checks.StatusUp {
		t.Errorf("resuming a check that is up: %v, %v", same.Stored, err)
	}
	c, _ = c.Pause(noon)
	if c, _ = c.Pause(noon); c.Stored != checks.StatusPaused || c.LastPing.IsZero() {
		t.Errorf("paused twice: %+v", c.State)
	}
	c, err := c.Resume(noon)
	if err != nil || c.NPings != 1 || !c.LastPing.IsZero() || c.Stored != checks.StatusNew || !c.NextPing(noon).IsZero() {
		t.Errorf("resumed: %+v, %v", c.State, err)
	}
}

func TestLastAndNextPing(t *testing.T) {
	c := hourly(t)
	c, _, _, _ = c.Ping(pings.Signal{Kind: pings.Start}, noon)
	if !c.LastPing.IsZero() || !c.Started(noon) || c.Started(noon.Add(10*time.Minute)) {
		t.Errorf("after a start: %+v", c.State)
	}
	c, _, _, _ = c.Ping(pings.Signal{}, noon.Add(time.Minute))
	next := noon.Add(61 * time.Minute)
	for after, want := range map[time.Duration]time.Time{
		time.Minute: next, 61 * time.Minute: next, 71*time.Minute - 1: next, 71 * time.Minute: {},
	} {
		if got := c.NextPing(noon.Add(after)); !got.Equal(want) {
			t.Errorf("next ping %v after noon: %v, want %v", after, got, want)
		}
	}
	c, _, _, _ = c.Ping(pings.Signal{Kind: pings.Failure}, noon.Add(2*time.Minute))
	if !c.LastPing.Equal(noon.Add(2*time.Minute)) || !c.NextPing(noon.Add(2*time.Minute)).IsZero() {
		t.Errorf("after a failure: %+v", c.State)
	}
	c, _ = c.Pause(noon)
	if !c.NextPing(noon).IsZero() {
		t.Error("a paused check expects a ping")
	}
}

func TestCronCheck(t *testing.T) {
	c := newCheck(t, checks.Spec{Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(time.Hour)})
	c, _, _, _ = c.Ping(pings.Signal{}, time.Date(2026, 3, 28, 1, 0, 10, 0, time.UTC))
	// On March 29, 2026 the clocks in Riga go from 03:00 to 04:00. A ping due in the gap is due at its end.
	due := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	if got := c.NextPing(due); !got.Equal(due) || got.Location() != time.UTC {
		t.Errorf("next ping %v, want %v", got, due)
	}
	for _, test := range []struct {
		at   time.Time
		want checks.Status
	}{{due.Add(-1), "up"}, {due, "grace"}, {due.Add(time.Hour - 1), "grace"}, {due.Add(time.Hour), "down"}} {
		if got := c.Status(test.at); got != test.want {
			t.Errorf("at %v: %v, want %v", test.at, got, test.want)
		}
	}
}

// TestHourThatComesTwice: on October 25, 2026 the clocks in Riga go from 04:00 to 03:00. Between two times of an hourly
// cron expression passes an hour all the same.
func TestHourThatComesTwice(t *testing.T) {
	c := newCheck(t, checks.Spec{Schedule: new("20 * * * *"), TZ: new("Europe/Riga"), Grace: new(5 * time.Minute)})
	due := time.Date(2026, 10, 25, 0, 20, 0, 0, time.UTC) // 03:20 in summer time
	for range 3 {
		c, _, _, _ = c.Ping(pings.Signal{}, due.Add(time.Minute))
		due = due.Add(time.Hour)
		for _, test := range []struct {
			at   time.Time
			want checks.Status
		}{{due.Add(-1), "up"}, {due, "grace"}, {due.Add(5*time.Minute - 1), "grace"}, {due.Add(5 * time.Minute), "down"}} {
			if got := c.Status(test.at); got != test.want {
				t.Errorf("at %v: %v, want %v", test.at, got, test.want)
			}
		}
	}
}

func TestScheduleThatEnds(t *testing.T) {
	c := newCheck(t, checks.Spec{Schedule: new("2026-03-01 13:00:00")})
	c, _, _, _ = c.Ping(pings.Signal{}, noon.Add(2*time.Hour))
	if !c.NextPing(noon.Add(3*time.Hour)).IsZero() || c.Status(noon.AddDate(10, 0, 0)) != checks.StatusUp {
		t.Error("a check is late although its schedule has no more times")
	}
}

// TestScheduleThatCannotBeEvaluated checks that a stored check whose zone is no longer known goes down instead of staying
// silent.
func TestScheduleThatCannotBeEvaluated(t *testing.T) {
	c := newCheck(t, checks.Spec{Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
	c.TZ = "Mars/Phobos"
	new(checks.Plans).Attach(&c)
	c, _, _, _ = c.Ping(pings.Signal{}, noon)
	if got := []checks.Status{c.Status(noon), c.Status(noon.Add(time.Hour))}; got[0] != checks.StatusGrace || got[1] != checks.StatusDown {
		t.Errorf("%v", got)
	}
}

func TestUpdateTiming(t *testing.T) {
	pinged, _, _, _ := hourly(t).Ping(pings.Signal{}, noon)
	at := func(m time.Duration) time.Time { return noon.Add(m * time.Minute) }
	for name, test := range map[string]struct {
		spec checks.Spec
		now  time.Time
		made []checks.Transition
		down time.Time // the deadline afterwards
	}{
		"longer":                    {checks.Spec{Timeout: new(2 * time.Hour)}, at(30), nil, at(130)},
		"shorter, not overdue":      {checks.Spec{Timeout: new(40 * time.Minute)}, at(30), nil, at(50)},
		"shorter, overdue":          {checks.Spec{Timeout: new(time.Minute)}, at(30), []checks.Transition{{From: "up", To: "down", At: at(30), Reason: "overdue"}}, time.Time{}},
		"of a check that is late":   {checks.Spec{Timeout: new(2 * time.Hour)}, at(80), []checks.Transition{{From: "up", To: "down", At: at(70), Reason: "overdue"}}, time.Time{}},
		"nothing of the timing":     {checks.Spec{Name: new("x"), Timeout: new(time.Hour)}, at(30), nil, at(70)},
		"to a schedule":             {checks.Spec{Schedule: new("0 15 * * *"), Timeout: new(time.Minute)}, at(30), nil, at(190)},
		"a zone on a Simple check":  {checks.Spec{TZ: new("Asia/Tokyo")}, at(30), nil, at(70)},
		"grace time, in grace then": {checks.Spec{Grace: new(time.Hour)}, at(65), nil, at(120)},
	} {
		t.Run(name, func(t *testing.T) {
			c, made, err := pinged.Update(test.spec, test.now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.made, made.Transitions); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
			if got := c.Deadline(); !got.Equal(test.down) {
				t.Errorf("deadline %v, want %v", got, test.down)
			}
		})
	}
}

func TestUpdateKinds(t *testing.T) { // server/API.md sections 4.3 (rules 1 and 2) and 4.4
	c := hourly(t)
	update := func(spec checks.Spec) {
		t.Helper()
		var err error
		if c, _, err = c.Update(spec, noon); err != nil {
			t.Fatal(err)
		}
	}
	update(checks.Spec{Schedule: new("* * * * *"), TZ: new("Europe/Riga"), Timeout: new(time.Minute)})
	if !c.IsCron() || c.TZ != "Europe/Riga" || c.Timeout != time.Hour {
		t.Errorf("schedule and timeout: %q, %q, %v", c.Schedule, c.TZ, c.Timeout)
	}
	update(checks.Spec{Name: new("x")})
	if !c.IsCron() {
		t.Error("a name made it a Simple check")
	}
	update(checks.Spec{TZ: new("UTC")})
	if !c.IsCron() || c.TZ != "UTC" {
		t.Errorf("tz: %q, %q", c.Schedule, c.TZ)
	}
	update(checks.Spec{Timeout: new(2 * time.Hour)})
	if c.IsCron() || c.Timeout != 2*time.Hour {
		t.Errorf("timeout: %q, %v", c.Schedule, c.Timeout)
	}
}

func TestDurations(t *testing.T) {
	c := hourly(t)
	run := uuid.NullUUID{UUID: uuid.UUID{1}, Valid: true}
	c, p, _, _ := c.Ping(pings.Signal{Kind: pings.Start, RunID: run}, noon)
	if p.Duration != nil {
		t.Error("a start has a duration")
	}
	c, p, _, _ = c.Ping(pings.Signal{Kind: pings.Log, RunID: run}, noon.Add(time.Second))
	if p.Duration != nil {
		t.Error("a log has a duration")
	}
	_, p, _, _ = c.Ping(pings.Signal{Kind: pings.Failure, RunID: run}, noon.Add(2*time.Second))
	if p.Duration == nil || *p.Duration != 2*time.Second {
		t.Errorf("a failure that ends the run: %v", p.Duration)
	}
}

func TestUniqueKey(t *testing.T) {
	// printf 6f5dd2d18a4c4a52 | sha1sum
	id := uuid.MustParse("6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a")
	if got, want := checks.UniqueKey(id), "277bb73517d1e88e6b324ebca4e451874d3799e7"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if checks.UniqueKey(id) != checks.UniqueKey(uuid.MustParse("6f5dd2d1-8a4c-4a52-0000-000000000000")) {
		t.Error("more than the first half of the UUID counts")
	}
}

func TestTags(t *testing.T) {
	c := checks.Settings{Tags: strings.Split("  db prod\tdb  ünï ", " ")}
	if diff := cmp.Diff([]string{"db", "prod", "ünï"}, c.TagList()); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		tags []string
		want bool
	}{{nil, true}, {[]string{"db"}, true}, {[]string{"db", "ünï"}, true}, {[]string{"d"}, false}, {[]string{"db", "x"}, false}, {[]string{""}, false}} {
		if got := c.HasTags(test.tags); got != test.want {
			t.Errorf("%q: %v", test.tags, got)
		}
	}
}
