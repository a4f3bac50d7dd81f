package checks_test

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestOverlappingRuns follows checks whose runs overlap, with a limit for each run of 30 minutes and without one. The timeout is
// a day, so only runs take a check down.
func TestOverlappingRuns(t *testing.T) {
	const second, minute = time.Second, time.Minute
	tr := func(from, to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	up := step{0, "success", 0, "success", tr("new", "up", 0, "success"), "up"}
	overrun := func(after time.Duration) step {
		return step{after, "", 0, "", tr("up", "down", after, "overrun"), "down"}
	}
	success := func(after time.Duration, run byte) step {
		return step{after, "success", run, "success", nil, "up"}
	}
	start := func(after time.Duration, run byte) step { return step{after, "start", run, "start", nil, "up"} }
	quiet := step{20 * time.Hour, "", 0, "", nil, "up"}
	for name, test := range map[string]struct {
		unlimited bool
		steps     []step
	}{
		"a hung run that a newer success hides": {steps: []step{
			up, start(minute, 1), start(2*minute, 2), success(3*minute, 2), overrun(31 * minute),
		}},
		"a hung run that a newer failure hides": {steps: []step{
			up, start(minute, 1), start(2*minute, 2),
			{3 * minute, "fail", 2, "fail", tr("up", "down", 3*minute, "fail"), "down"},
			{4 * minute, "success", 3, "success", tr("down", "up", 4*minute, "success"), "up"},
			overrun(31 * minute),
		}},
		"a hung run that a newer start hides": {steps: []step{
			up, start(minute, 1), start(25*minute, 2), overrun(31 * minute),
		}},
		"the nameless run hangs": {steps: []step{
			up, start(minute, 0), start(2*minute, 2), success(3*minute, 2), overrun(31 * minute),
		}},
		"the nameless run ends": {steps: []step{
			up, start(minute, 1), start(2*minute, 0), success(3*minute, 0), overrun(31 * minute),
		}},
		"a success without a run identifier ends all where no run is nameless": {steps: []step{
			up, start(minute, 1), start(2*minute, 2), success(3*minute, 0), quiet,
		}},
		"each overdue run counts by itself": {steps: []step{
			up, start(minute, 1), start(10*minute, 2), overrun(31 * minute),
			{35 * minute, "success", 1, "success", tr("down", "up", 35*minute, "success"), "up"},
			overrun(40 * minute),
			{45 * minute, "success", 2, "success", tr("down", "up", 45*minute, "success"), "up"},
			quiet,
		}},
		"a run that was overdue while the check was down does not take it down again": {steps: []step{
			up, start(minute, 1), start(10*minute, 2), overrun(31 * minute),
			{50 * minute, "success", 3, "success", tr("down", "up", 50*minute, "success"), "up"},
			quiet,
		}},
		"a missed ping does not end runs": {steps: []step{
			up, {25*time.Hour - 10*minute, "start", 1, "start", nil, "grace"},
			{25 * time.Hour, "", 0, "", tr("up", "down", 25*time.Hour, "overdue"), "down"},
			{25*time.Hour + minute, "success", 2, "success", tr("down", "up", 25*time.Hour+minute, "success"), "up"},
			overrun(25*time.Hour + 20*minute),
		}},
		"the same run starts again": {steps: []step{
			up, start(minute, 1), start(20*minute, 1), {40 * minute, "", 0, "", nil, "up"}, overrun(50 * minute),
		}},
		"a pause ends all": {steps: []step{
			up, start(minute, 1), start(2*minute, 2), {3 * minute, "pause", 0, "", nil, "paused"},
			{4 * minute, "success", 3, "success", tr("paused", "up", 4*minute, "success"), "up"}, quiet,
		}},
		"a late start beside another run": {steps: []step{
			up, start(2*minute, 2), success(3*minute, 2), start(2*minute+30*time.Second, 1), overrun(32*minute + 30*time.Second),
		}},
		"a start that repeats": {steps: []step{
			up, start(minute, 1), success(2*minute, 1), start(3*minute, 1), quiet,
		}},
		"a start that repeats after the end of all": {steps: []step{
			up, start(minute, 1), success(2*minute, 0), start(3*minute, 1), quiet,
		}},
		"a start that arrives after its end": {steps: []step{
			up, success(2*minute, 1), start(2*minute+second, 1), quiet,
		}},
		"a start with a constant identifier": {steps: []step{
			up, start(minute, 1), success(2*minute, 1), start(3*minute+second, 1), overrun(33*minute + second),
		}},
		"a start without an identifier begins a run at once": {steps: []step{
			up, start(minute, 0), success(2*minute, 0), start(2*minute+second, 0), overrun(32*minute + second),
		}},
		"without a limit a newer success hides an older run": {unlimited: true, steps: []step{
			up, start(minute, 1), start(2*minute, 2), success(3*minute, 2), quiet,
		}},
		"without a limit a newer failure hides an older run": {unlimited: true, steps: []step{
			up, start(minute, 1), start(2*minute, 2),
			{3 * minute, "fail", 2, "fail", tr("up", "down", 3*minute, "fail"), "down"},
			{4 * minute, "success", 0, "success", tr("down", "up", 4*minute, "success"), "up"}, quiet,
		}},
		"without a limit the end of an older run leaves the newest": {unlimited: true, steps: []step{
			up, start(minute, 1), start(2*minute, 2), success(3*minute, 1), overrun(62 * minute),
		}},
		"without a limit the newest start decides": {unlimited: true, steps: []step{
			up, start(minute, 1), start(40*minute, 2), {61 * minute, "", 0, "", nil, "up"}, success(99*minute, 2), quiet,
		}},
		"without a limit a start that repeats": {unlimited: true, steps: []step{
			up, start(minute, 1), success(2*minute, 1), start(3*minute, 1), quiet,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheck(t, checks.Spec{Grace: new(time.Hour), MaxRuntime: new(30 * minute)})
			if test.unlimited {
				c.MaxRuntime = 0
			}
			for i, s := range test.steps {
				c = s.take(t, i, c)
			}
		})
	}
}

// TestUpdateWithOpenRuns sets and removes the limit of runs while three of them are in progress: one started at noon, one 10
// and one 20 minutes later.
func TestUpdateWithOpenRuns(t *testing.T) {
	at := func(m time.Duration) time.Time { return noon.Add(m * time.Minute) }
	for name, test := range map[string]struct {
		before, after time.Duration // MaxRuntime, set 25 minutes after noon
		end           byte          // the run that succeeds before
		deadline      time.Time
		down          bool
	}{
		"set":                           {0, 40 * time.Minute, 0, at(40), false},
		"set, the newest has ended":     {0, 40 * time.Minute, 3, at(24 * 60).Add(time.Hour + 24*time.Minute), false},
		"set, an older one has ended":   {0, 40 * time.Minute, 1, at(50), false},
		"set, one is over":              {0, 20 * time.Minute, 0, time.Time{}, true},
		"longer":                        {time.Hour, 2 * time.Hour, 0, at(120), false},
		"shorter, none is over":         {time.Hour, 26 * time.Minute, 0, at(26), false},
		"shorter, two are over":         {time.Hour, 6 * time.Minute, 0, time.Time{}, true},
		"removed":                       {30 * time.Minute, 0, 0, at(80), false},
		"removed, the newest has ended": {30 * time.Minute, 0, 3, at(24 * 60).Add(time.Hour + 24*time.Minute), false},
		"removed, the oldest has ended": {30 * time.Minute, 0, 1, at(24 * 60).Add(time.Hour + 24*time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheck(t, checks.Spec{Grace: new(time.Hour), MaxRuntime: &test.before})
			signals := []signalAt{{kind: pings.Success, at: noon.Add(-time.Second)}}
			for i := range byte(3) {
				signals = append(signals, signalAt{pings.Start, runID(i + 1), at(10 * time.Duration(i))})
			}
			if test.end > 0 {
				signals = append(signals, signalAt{pings.Success, runID(test.end), at(24)})
			}
			c = applyAll(c, signals, at(25))
			c, made, err := c.Update(checks.Spec{MaxRuntime: &test.after}, at(25))
			if err != nil || !c.Deadline().Equal(test.deadline) || (c.Stored == checks.StatusDown) != test.down {
				t.Fatalf("%v, deadline %v, want %v; error %v", c.Stored, c.Deadline(), test.deadline, err)
			}
			if test.down && (len(made.Transitions) != 1 || made.Transitions[0].At != at(25) || made.Transitions[0].Reason != flips.Overrun) {
				t.Errorf("transitions %+v", made.Transitions)
			}
		})
	}
}

func runID(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{n}, Valid: n > 0} }

// TestOverrunsCount checks that each run that takes too long is a failure for AlertAfter, and that the check wakes for it.
func TestOverrunsCount(t *testing.T) {
	c := newCheck(t, checks.Spec{Grace: new(time.Hour), MaxRuntime: new(30 * time.Minute), AlertAfter: new(3)})
	at := func(m time.Duration) time.Time { return noon.Add(m * time.Minute) }
	c = applyAll(c, []signalAt{
		{pings.Success, runID(0), noon}, {pings.Start, runID(1), at(1)}, {pings.Start, runID(2), at(2)}, {pings.Start, runID(3), at(10)},
	}, at(10))
	var alerts []checks.Alert
	for _, want := range []time.Time{at(31), at(32), at(40)} {
		if wake := c.Wake(); !wake.Equal(want) {
			t.Fatalf("wakes at %v, want %v", wake, want)
		}
		var effects checks.Effects
		c, effects = c.Settle(want)
		alerts = append(alerts, effects.Alerts...)
	}
	if len(alerts) != 1 || !alerts[0].RaisedAt.Equal(at(40)) {
		t.Errorf("alerts %+v", alerts)
	}
}

// TestQueuedEndOfRun checks that the end of a run that its job sent late ends that run, although other runs reported since.
func TestQueuedEndOfRun(t *testing.T) {
	c := newCheck(t, checks.Spec{Grace: new(time.Hour), MaxRuntime: new(30 * time.Minute)})
	at := func(m time.Duration) time.Time { return noon.Add(m * time.Minute) }
	c = applyAll(c, []signalAt{
		{pings.Start, runID(1), noon}, {pings.Start, runID(2), at(1)}, {pings.Success, runID(3), at(20)},
	}, at(20))
	c, p, _, err := c.Ping(pings.Signal{Kind: pings.Success, RunID: runID(1), At: at(10)}, at(25))
	if err != nil || p.Duration == nil || *p.Duration != 10*time.Minute || !c.Deadline().Equal(at(31)) {
		t.Errorf("deadline %v, duration %v, %v", c.Deadline(), p.Duration, err)
	}
}

func TestRestoreOpenRuns(t *testing.T) {
	c := newCheck(t, checks.Spec{Grace: new(time.Hour), MaxRuntime: new(30 * time.Minute)})
	c = applyAll(c, []signalAt{{pings.Success, runID(0), noon}, {pings.Start, runID(1), noon}, {pings.Start, runID(2), noon.Add(1)}}, noon.Add(1))
	paused, _ := c.Pause(noon.Add(time.Minute))
	if got := paused.InProgress(noon.Add(time.Minute)); len(got) > 0 {
		t.Errorf("paused, and in progress: %v", got)
	}
	restored, err := paused.Restore(c.State, paused.StoredSince)
	if diff := gocmp.Diff(c, restored); diff != "" || err != nil {
		t.Errorf("error %v, state (-before +after):\n%s", err, diff)
	}
}

// plainRuns is a model of the runs of a Simple check, in the words of the manual.
type plainRuns struct {
	limit, grace time.Duration // limit 0 for none
	timeout      time.Duration
	status       checks.Status // new, up or down
	lastPing     time.Time
	open         map[byte]time.Time // the starts of the runs in progress; 0 is the nameless run
	ended        map[byte]time.Time
}

// deadline returns when the check goes down, and for which runs.
func (m *plainRuns) deadline() (at time.Time) {
	set := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if m.status == checks.StatusDown {
		return at
	}
	if m.status == checks.StatusUp {
		set(m.lastPing.Add(m.timeout + m.grace))
	}
	newest := m.newest()
	for id, start := range m.open {
		if m.limit > 0 {
			set(start.Add(m.limit))
		} else if id == newest {
			set(start.Add(m.grace))
		}
	}
	return at
}

func (m *plainRuns) newest() (id byte) {
	var newest time.Time
	for n, start := range m.open {
		if start.After(newest) {
			id, newest = n, start
		}
	}
	return id
}

func (m *plainRuns) pass(now time.Time) {
	if at := m.deadline(); !at.IsZero() && !now.Before(at) {
		m.status = checks.StatusDown
		if m.limit == 0 {
			clear(m.open)
		}
	}
	if m.status == checks.StatusDown {
		for id, start := range m.open {
			if !now.Before(start.Add(cmp.Or(m.limit, m.grace))) {
				delete(m.open, id)
			}
		}
	}
}

func (m *plainRuns) ping(kind pings.Kind, id byte, now time.Time) {
	if kind == pings.Start {
		if end, ok := m.ended[id]; id == 0 || !ok || now.Sub(end) > time.Minute {
			m.open[id] = now
		}
		return
	}
	_, isOpen := m.open[id]
	switch {
	case m.limit > 0 && (id > 0 || isOpen):
		m.end(id, now)
	case m.limit == 0 && kind == pings.Success && id > 0 && (!isOpen || id != m.newest()):
		m.end(id, now)
	default:
		for other := range m.open {
			m.end(other, now)
		}
		m.end(id, now)
	}
	m.lastPing, m.status = now, checks.StatusUp
	if kind == pings.Failure {
		m.status = checks.StatusDown
	}
}

func (m *plainRuns) end(id byte, now time.Time) {
	delete(m.open, id)
	m.ended[id] = now
}

// TestRunsAgainstModel compares a check with the model after each of random pings, at random instants in between, and however
// often it is settled.
func TestRunsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &plainRuns{timeout: 3 * time.Hour, grace: 10 * time.Minute, status: checks.StatusNew, open: map[byte]time.Time{}, ended: map[byte]time.Time{}}
		m.limit = time.Duration(rapid.SampledFrom([]int{0, 1, 5, 30, 240}).Draw(t, "limit")) * time.Minute
		c, err := checks.New(uuid.New(), checks.Spec{Timeout: &m.timeout, Grace: &m.grace, MaxRuntime: &m.limit}, noon)
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 20, 60, 61, 200, 900, 7000}).Draw(t, "seconds")) * time.Second)
			m.pass(now)
			if got := len(c.InProgress(now)); got != len(m.open) && m.status == checks.StatusDown {
				t.Fatalf("at %v: %d runs are in progress before settling, want %v", now, got, m.open)
			}
			kind := rapid.SampledFrom([]pings.Kind{pings.Start, pings.Start, pings.Success, pings.Failure, pings.Log}).Draw(t, "kind")
			switch run := rapid.ByteRange(0, 4).Draw(t, "run"); kind {
			case pings.Log:
				c, _ = c.Settle(now)
			default:
				m.ping(kind, run, now)
				if c, _, _, err = c.Ping(pings.Signal{Kind: kind, RunID: runID(run)}, now); err != nil {
					t.Fatal(err)
				}
			}
			open := map[byte]time.Time{}
			for _, run := range c.Runs.Open() {
				open[run.ID.UUID[0]] = run.StartedAt
			}
			want := []any{m.status, m.lastPing, m.deadline(), m.open}
			if diff := gocmp.Diff(want, []any{c.Stored, c.LastPing, c.Deadline(), open}); diff != "" {
				t.Fatalf("after %s at %v (-model +check):\n%s", kind, now, diff)
			}
		}
	})
}
