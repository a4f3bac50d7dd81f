package checks_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// queuedStep is an event after noon, a ping or the clock, with what must follow. A ping with a time of its own was sent
// at that time and received later.
type queuedStep struct {
	after time.Duration
	do    string        // a kind of ping, "pause", "resume", or "" for the clock alone
	sent  time.Duration // since noon; onTime for a ping that was not queued

	made   []checks.Transition
	alerts string // the statuses that are alerted
	status checks.Status
}

const onTime time.Duration = -1

func TestQueuedPings(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	tr := func(from, to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	up := queuedStep{0, "success", onTime, tr("new", "up", 0, "success"), "", "up"}
	down := queuedStep{0, "fail", onTime, tr("new", "down", 0, "fail"), "down", "down"}
	for name, test := range map[string]struct {
		spec  checks.Spec
		steps []queuedStep
		last  time.Duration // the last ping since noon; onTime for none
	}{
		"a success moves the deadline": {last: 30 * minute, steps: []queuedStep{
			up,
			{50 * minute, "success", 30 * minute, nil, "", "up"},
			{80 * minute, "", onTime, nil, "", "up"},
			{100 * minute, "", onTime, tr("up", "down", 100*minute, "overdue"), "down", "down"},
		}},
		"an older success changes nothing": {last: 0, steps: []queuedStep{
			up, {50 * minute, "success", -20 * minute, nil, "", "up"}, {70*minute - 1, "", onTime, nil, "", "grace"},
		}},
		"an older failure changes nothing": {last: 0, steps: []queuedStep{up, {50 * minute, "fail", -20 * minute, nil, "", "up"}}},
		"a success before a start":         {last: onTime, steps: []queuedStep{{0, "start", onTime, nil, "", "new"}, {minute, "success", -minute, nil, "", "new"}}},
		"a new check comes up": {last: -30 * minute, steps: []queuedStep{
			{0, "success", -30 * minute, tr("new", "up", -30*minute, "success"), "", "up"},
			{40 * minute, "", onTime, tr("up", "down", 40*minute, "overdue"), "down", "down"},
		}},
		"a success after its own deadline begins the watch of a new check": {last: -70 * minute, steps: []queuedStep{
			{0, "success", -5 * hour, tr("new", "up", -5*hour, "success"), "", "up"},
			{0, "fail", -2 * hour, nil, "", "up"}, {0, "success", -70 * minute, nil, "", "up"}, // overdue as well
			{hour - 1000, "", onTime, nil, "", "up"}, {hour, "", onTime, nil, "", "grace"},
			{70 * minute, "", onTime, tr("up", "down", 70*minute, "overdue"), "down", "down"},
		}},
		"always so late": {last: -minute, steps: []queuedStep{
			{0, "success", -2 * hour, tr("new", "up", -2*hour, "success"), "", "up"},
			{hour, "success", -hour, nil, "", "grace"},
			{119 * minute, "success", -minute, tr("up", "down", 70*minute, "overdue"), "down", "down"},
		}},
		"late, and then in time": {last: 30 * minute, steps: []queuedStep{
			{0, "success", -2 * hour, tr("new", "up", -2*hour, "success"), "", "up"},
			{30 * minute, "success", onTime, nil, "", "up"},
			{100 * minute, "", onTime, tr("up", "down", 100*minute, "overdue"), "down", "down"},
		}},
		"a failure after its own deadline begins the watch": {last: -2 * hour, steps: []queuedStep{
			{0, "fail", -2 * hour, tr("new", "down", -2*hour, "fail"), "", "down"},
			{70*minute - 1000, "", onTime, nil, "", "down"},
			{70 * minute, "", onTime, nil, "down", "down"},
		}},
		"a pause, and a success after its own deadline": {last: 10 * minute, steps: []queuedStep{
			{0, "pause", onTime, nil, "", "paused"},
			{2 * hour, "success", 10 * minute, tr("paused", "up", 10*minute, "success"), "", "up"},
			{190 * minute, "", onTime, tr("up", "down", 190*minute, "overdue"), "down", "down"},
		}},
		"a resume, and a success before it": {last: onTime, steps: []queuedStep{
			{0, "success", -2 * hour, tr("new", "up", -2*hour, "success"), "", "up"},
			{minute, "pause", onTime, nil, "", "paused"}, {2 * minute, "resume", onTime, nil, "", "new"},
			{5 * hour, "success", minute, nil, "", "new"}, {10 * hour, "", onTime, nil, "", "new"},
		}},
		"a queue is sent in order": {last: 290 * minute, steps: []queuedStep{
			up,
			{70 * minute, "", onTime, tr("up", "down", 70*minute, "overdue"), "down", "down"},
			{5 * hour, "success", 60 * minute, nil, "", "down"},
			{5 * hour, "success", 120 * minute, nil, "", "down"},
			{5 * hour, "success", 180 * minute, nil, "", "down"},
			{5 * hour, "success", 240 * minute, tr("down", "up", 240*minute, "success"), "", "grace"},
			{5 * hour, "success", 290 * minute, nil, "", "up"},
		}},
		"the alert about a success waits for a success in time": {last: 3 * hour, steps: []queuedStep{
			up,
			{2 * hour, "success", 20 * minute, tr("up", "down", 70*minute, "overdue"), "down", "down"}, // by the clock alone
			{125 * minute, "success", 115 * minute, tr("down", "up", 115*minute, "success"), "", "up"},
			{126 * minute, "log", onTime, nil, "", "up"},
			{127 * minute, "success", 116 * minute, nil, "", "up"},
			{3*hour - minute, "success", onTime, nil, "up", "up"},
			{3 * hour, "success", onTime, nil, "", "up"},
		}},
		"a success that was sent before the deadline": {last: 65 * minute, steps: []queuedStep{
			up,
			{71 * minute, "", onTime, tr("up", "down", 70*minute, "overdue"), "down", "down"},
			{80 * minute, "success", 65 * minute, tr("down", "up", 70*minute, "success"), "", "up"},
			{135 * minute, "", onTime, tr("up", "down", 135*minute, "overdue"), "down", "down"},
			{136 * minute, "", onTime, nil, "", "down"},
		}},
		"a failure in time after a success that was queued": {last: 20 * minute, steps: []queuedStep{
			down, {10 * minute, "success", 5 * minute, tr("down", "up", 5*minute, "success"), "", "up"},
			{20 * minute, "fail", onTime, tr("up", "down", 20*minute, "fail"), "down", "down"},
		}},
		"the alert about a failure waits for another failure": {last: 20 * minute, steps: []queuedStep{
			up, {10 * minute, "fail", 5 * minute, tr("up", "down", 5*minute, "fail"), "", "down"},
			{15 * minute, "fail", 12 * minute, nil, "", "down"},
			{20 * minute, "fail", onTime, nil, "down", "down"},
		}},
		"the alert about a failure waits for the next deadline": {last: 5 * minute, steps: []queuedStep{
			up, {10 * minute, "fail", 5 * minute, tr("up", "down", 5*minute, "fail"), "", "down"},
			{75*minute - 1000, "", onTime, nil, "", "down"},
			{75 * minute, "", onTime, nil, "down", "down"},
		}},
		"a failure that a success in time follows": {last: 20 * minute, steps: []queuedStep{
			up, {10 * minute, "fail", 5 * minute, tr("up", "down", 5*minute, "fail"), "", "down"},
			{20 * minute, "success", onTime, tr("down", "up", 20*minute, "success"), "", "up"},
		}},
		"failures that are counted": {spec: checks.Spec{AlertAfter: new(3)}, last: 30 * minute, steps: []queuedStep{
			up, {10 * minute, "fail", 5 * minute, tr("up", "down", 5*minute, "fail"), "", "down"},
			{20 * minute, "fail", onTime, nil, "", "down"}, {30 * minute, "fail", onTime, nil, "down", "down"},
		}},
		"quiet hours": {spec: checks.Spec{QuietHours: new("12:30-13:30")}, last: 45 * minute, steps: []queuedStep{
			up,
			{40 * minute, "fail", onTime, tr("up", "down", 40*minute, "fail"), "", "down"},
			{50 * minute, "success", 45 * minute, tr("down", "up", 45*minute, "success"), "", "up"},
			{90 * minute, "", onTime, nil, "up", "up"},
		}},
		"a start begins no run": {last: onTime, steps: []queuedStep{
			{10 * minute, "start", 5 * minute, nil, "", "new"}, {5 * hour, "", onTime, nil, "", "new"},
		}},
		"a start leaves a pause alone": {last: onTime, steps: []queuedStep{{0, "pause", onTime, nil, "", "paused"}, {10 * minute, "start", 5 * minute, nil, "", "paused"}}},
		"a success ends the run":       {last: 4 * minute, steps: []queuedStep{{0, "start", onTime, nil, "", "new"}, {5 * minute, "success", 4 * minute, tr("new", "up", 4*minute, "success"), "", "up"}, {11 * minute, "", onTime, nil, "", "up"}}},
		"before a pause":               {last: onTime, steps: []queuedStep{{0, "pause", onTime, nil, "", "paused"}, {10 * minute, "success", -minute, nil, "", "paused"}}},
		"after a pause":                {last: 5 * minute, steps: []queuedStep{{0, "pause", onTime, nil, "", "paused"}, {10 * minute, "success", 5 * minute, tr("paused", "up", 5*minute, "success"), "", "up"}}},
		"before a resume": {last: onTime, steps: []queuedStep{
			{0, "pause", onTime, nil, "", "paused"}, {10 * minute, "resume", onTime, nil, "", "new"}, {11 * minute, "fail", 5 * minute, nil, "", "new"},
		}},
		"a time in the future counts as now": {last: 10 * minute, steps: []queuedStep{up, {10 * minute, "success", 11 * minute, nil, "", "up"}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := test.spec
			spec.Timeout, spec.Grace = new(time.Hour), new(10*minute)
			c := newCheck(t, spec)
			for i, s := range test.steps {
				c = s.take(t, i, c)
			}
			want := noon.Add(test.last)
			if test.last == onTime {
				want = time.Time{}
			}
			if !c.LastPing.Equal(want) {
				t.Errorf("last ping %v, want %v", c.LastPing, want)
			}
		})
	}
}

func (s queuedStep) take(t *testing.T, i int, c checks.Check) checks.Check {
	t.Helper()
	now := noon.Add(s.after)
	var effects checks.Effects
	switch s.do {
	case "":
		c, effects = c.Settle(now)
	case "pause":
		c, effects = c.Pause(now)
	case "resume":
		var err error
		if c, err = c.Resume(now); err != nil {
			t.Fatal(err)
		}
	default:
		signal := pings.Signal{Kind: pings.Kind(s.do)}
		at := now
		if s.sent != onTime {
			signal.At = noon.Add(s.sent)
			if signal.At.Before(now) {
				at = signal.At
			}
		}
		var ping pings.Ping
		c, ping, effects, _ = c.Ping(signal, now)
		if !ping.At.Equal(at) || ping.N != c.NPings || string(ping.Kind) != s.do {
			t.Errorf("step %d: logged %s at %v as %d", i, ping.Kind, ping.At, ping.N)
		}
	}
	var alerts string
	for _, a := range effects.Alerts {
		alerts += string(a.Status)
	}
	if diff := cmp.Diff(s.made, effects.Transitions); diff != "" || alerts != s.alerts || c.Status(now) != s.status {
		t.Errorf("step %d: alerts %q, want %q; status %s, want %s; transitions (-want +got):\n%s", i, alerts, s.alerts, c.Status(now), s.status, diff)
	}
	return c
}

func TestQueuedDurations(t *testing.T) {
	id := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	type sent struct {
		kind   pings.Kind
		run    uuid.NullUUID
		at     time.Duration // since noon
		queued bool
		took   time.Duration
	}
	for name, list := range map[string][]sent{
		"start and end in the queue":        {{"start", id, 0, true, 0}, {"success", id, time.Hour, true, time.Hour}},
		"without an identifier":             {{"start", uuid.NullUUID{}, 0, true, 0}, {"fail", uuid.NullUUID{}, time.Hour, true, time.Hour}},
		"only the start in the queue":       {{"start", id, 0, true, 0}, {"success", id, 5 * time.Hour, false, 5 * time.Hour}},
		"only the end in the queue":         {{"start", id, time.Hour, false, 0}, {"success", id, 2 * time.Hour, true, time.Hour}},
		"an older end without identifier":   {{"start", uuid.NullUUID{}, time.Hour, false, 0}, {"success", uuid.NullUUID{}, 0, true, 0}, {"success", uuid.NullUUID{}, 2 * time.Hour, false, time.Hour}},
		"an older start without identifier": {{"start", uuid.NullUUID{}, time.Hour, false, 0}, {"start", uuid.NullUUID{}, 0, true, 0}, {"success", uuid.NullUUID{}, 2 * time.Hour, false, time.Hour}},
		"an older start with identifier":    {{"success", uuid.NullUUID{}, time.Hour, false, 0}, {"start", id, 0, true, 0}, {"success", id, 2 * time.Hour, false, 2 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheck(t, checks.Spec{})
			for i, s := range list {
				now, signal := noon.Add(s.at), pings.Signal{Kind: s.kind, RunID: s.run}
				if s.queued {
					now, signal.At = now.Add(90*time.Minute), now
				}
				var ping pings.Ping
				c, ping, _, _ = c.Ping(signal, now)
				var took time.Duration
				if ping.Duration != nil {
					took = *ping.Duration
				}
				if took != s.took {
					t.Errorf("ping %d took %v, want %v", i, took, s.took)
				}
			}
		})
	}
}

// TestQueuedPingsDoNotAlert sends queued pings of any age between random events. None raises an alert, begins a run,
// moves the last ping back, or changes anything but the log if it is not the newest. What they leave to do is later.
func TestQueuedPingsDoNotAlert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		var err error
		if h.check, _, err = h.check.Update(drawRules(t), h.now); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			h.event(t)
			h.now = h.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			for range rapid.IntRange(0, 3).Draw(t, "queued") {
				h.queued(t)
			}
		}
	})
}

// drawQueued draws a signal that was sent before an instant.
func drawQueued(t *rapid.T, now time.Time) pings.Signal {
	s := pings.Signal{Kind: rapid.SampledFrom([]pings.Kind{pings.Success, pings.Failure, pings.Start, pings.Log}).Draw(t, "kind")}
	limit := rapid.SampledFrom([]int{3, 90, 24 * 60}).Draw(t, "up to") // in minutes
	s.At = now.Add(-time.Duration(rapid.IntRange(0, limit).Draw(t, "age")) * time.Minute)
	if n := rapid.ByteRange(0, 2).Draw(t, "run"); n > 0 {
		s.RunID = uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}
	}
	return s
}

func (h *history) queued(t *rapid.T) {
	signal := drawQueued(t, h.now)
	before, settled := h.check.Settle(h.now)
	after, ping, effects, _ := h.check.Ping(signal, h.now)
	switch wake := after.Wake(); {
	case !cmp.Equal(settled.Alerts, effects.Alerts):
		t.Fatalf("%+v alerts:\n%s", signal, cmp.Diff(settled.Alerts, effects.Alerts))
	case after.LastPing.Before(before.LastPing):
		t.Fatalf("%+v moved the last ping from %v to %v", signal, before.LastPing, after.LastPing)
	case len(after.Runs.Open()) > len(before.Runs.Open()):
		t.Fatalf("%+v began a run", signal)
	case after.NPings != before.NPings+1 || ping.N != after.NPings || !ping.At.Equal(signal.At):
		t.Fatalf("%+v is logged as %d of %d at %v", signal, ping.N, after.NPings, ping.At)
	case !wake.IsZero() && !wake.After(h.now):
		t.Fatalf("%+v left something to do at %v", signal, wake)
	case after.Status(h.now) != after.Stored && after.Status(h.now) != checks.StatusGrace:
		t.Fatalf("%+v made the check %s, which is %s", signal, after.Stored, after.Status(h.now))
	}
	_, newest := before.Runs.Span()
	if signal.At.Before(before.LastPing) || signal.At.Before(newest.StartedAt) {
		logged := after
		logged.NPings, logged.Runs, logged.Ended, logged.History = before.NPings, before.Runs, before.Ended, before.History
		if diff := cmp.Diff(before, logged); diff != "" {
			t.Fatalf("%+v is not the newest and changed the check:\n%s", signal, diff)
		}
	}
	unwatched := func(c checks.Check) bool { return c.Stored == checks.StatusNew || c.Stored == checks.StatusPaused }
	if end := ping.Kind == pings.Success || ping.Kind == pings.Failure; end && unwatched(after) &&
		!signal.At.Before(before.LastPing) && !signal.At.Before(newest.StartedAt) && !signal.At.Before(before.StoredSince) {
		t.Fatalf("%+v is the newest, and the check is %s", signal, after.Stored)
	}
	made := effects.Transitions[len(settled.Transitions):]
	if len(made) > 1 || len(made) == 1 && (!after.LastPing.Equal(signal.At) || after.Stored != made[0].To) {
		t.Fatalf("%+v made %+v", signal, made)
	}
	h.check, h.made = after, append(h.made, effects.Transitions...)
	if !slices.IsSortedFunc(h.made, func(a, b checks.Transition) int { return a.At.Compare(b.At) }) {
		t.Fatalf("transitions out of order: %+v", h.made)
	}
}
