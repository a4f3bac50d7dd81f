package checks_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestLatePings applies signals in the order of their commits. step.after is when each was received, and the status
// must follow that.
func TestLatePings(t *testing.T) {
	const second, minute = time.Second, time.Minute
	tr := func(from, to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	for name, test := range map[string]struct {
		manualResume bool
		steps        []step
		last         time.Duration // the last ping, since noon
		never        bool          // there is no last ping
		running      time.Duration // the start of the current run, 0 for none
	}{
		"success before failure": {last: 12 * second, steps: []step{
			{12 * second, "fail", 0, "fail", tr("new", "down", 12*second, "fail"), "down"},
			{10 * second, "success", 0, "success", nil, "down"},
		}},
		"failure before success": {last: 12 * second, steps: []step{
			{12 * second, "success", 0, "success", tr("new", "up", 12*second, "success"), "up"},
			{10 * second, "fail", 0, "fail", nil, "up"},
		}},
		"success before success": {last: 12 * second, steps: []step{
			{12 * second, "success", 0, "success", tr("new", "up", 12*second, "success"), "up"},
			{10 * second, "success", 0, "success", nil, "up"},
		}},
		"success before start": {last: 10 * second, running: 12 * second, steps: []step{
			{12 * second, "start", 0, "start", nil, "new"},
			{10 * second, "success", 0, "success", tr("new", "up", 10*second, "success"), "up"},
		}},
		"failure before start": {last: 10 * second, running: 12 * second, steps: []step{
			{12 * second, "start", 0, "start", nil, "new"},
			{10 * second, "fail", 0, "fail", tr("new", "down", 10*second, "fail"), "down"},
		}},
		"start before its success": {last: 12 * second, steps: []step{
			{12 * second, "success", 1, "success", tr("new", "up", 12*second, "success"), "up"},
			{10 * second, "start", 1, "start", nil, "up"},
		}},
		"start before failure": {last: 12 * second, steps: []step{
			{12 * second, "fail", 0, "fail", tr("new", "down", 12*second, "fail"), "down"},
			{10 * second, "start", 1, "start", nil, "down"},
		}},
		"start before start": {never: true, running: 12 * second, steps: []step{
			{12 * second, "start", 1, "start", nil, "new"},
			{10 * second, "start", 2, "start", nil, "new"},
		}},
		"end of a run before a newer success": {last: 12 * second, steps: []step{
			{5 * second, "start", 1, "start", nil, "new"},
			{12 * second, "success", 2, "success", tr("new", "up", 12*second, "success"), "up"},
			{10 * second, "success", 1, "success", nil, "up"},
		}},
		"log and ignored pings": {last: 12 * second, steps: []step{
			{12 * second, "success", 0, "success", tr("new", "up", 12*second, "success"), "up"},
			{10 * second, "log", 0, "log", nil, "up"},
		}},
		"before a pause": {last: 10 * second, steps: []step{
			{12 * second, "pause", 0, "", nil, "paused"},
			{10 * second, "success", 0, "success", nil, "paused"},
			{11 * second, "start", 0, "start", nil, "paused"},
		}},
		"before a pause that pings do not end": {manualResume: true, last: 10 * second, steps: []step{
			{12 * second, "pause", 0, "", nil, "paused"},
			{10 * second, "success", 0, "success", nil, "paused"},
			{13 * second, "success", 0, "ign", nil, "paused"},
		}},
		"before a second pause": {last: 10 * second, steps: []step{
			{8 * second, "pause", 0, "", nil, "paused"},
			{12 * second, "pause", 0, "", nil, "paused"},
			{10 * second, "success", 0, "success", nil, "paused"},
		}},
		"before a resume": {never: true, steps: []step{
			{8 * second, "pause", 0, "", nil, "paused"},
			{12 * second, "resume", 0, "", nil, "new"},
			{10 * second, "success", 0, "success", nil, "new"},
			{11 * second, "fail", 0, "fail", nil, "new"},
			{11 * second, "start", 0, "start", nil, "new"},
		}},
		"between a pause and a start": {last: 10 * second, running: 12 * second, steps: []step{
			{8 * second, "pause", 0, "", nil, "paused"},
			{12 * second, "start", 0, "start", nil, "new"},
			{10 * second, "success", 0, "success", tr("new", "up", 10*second, "success"), "up"},
		}},
		"before a pause that a start has ended": {never: true, running: 12 * second, steps: []step{
			{8 * second, "pause", 0, "", nil, "paused"},
			{12 * second, "start", 0, "start", nil, "new"},
			{6 * second, "success", 0, "success", nil, "new"},
		}},
		"success before a deadline that has taken the check down": {last: 70*minute - second, steps: []step{
			{0, "success", 0, "success", tr("new", "up", 0, "success"), "up"},
			{70 * minute, "", 0, "", tr("up", "down", 70*minute, "overdue"), "down"},
			{70*minute - second, "success", 0, "success", tr("down", "up", 70*minute, "success"), "up"},
			{70 * minute, "", 0, "", nil, "up"},
		}},
		"failure before a deadline that has taken the check down": {last: 70*minute - second, steps: []step{
			{0, "success", 0, "success", tr("new", "up", 0, "success"), "up"},
			{70 * minute, "", 0, "", tr("up", "down", 70*minute, "overdue"), "down"},
			{70*minute - second, "fail", 0, "fail", nil, "down"},
		}},
		"success before a deadline that a later log has settled": {last: 70*minute - second, steps: []step{
			{0, "success", 0, "success", tr("new", "up", 0, "success"), "up"},
			{70*minute + second, "log", 0, "log", tr("up", "down", 70*minute, "overdue"), "down"},
			{70*minute - second, "success", 0, "success", tr("down", "up", 70*minute, "success"), "up"},
			{71 * minute, "", 0, "", nil, "up"},
		}},
		"a clock that was set back": {last: 10 * minute, steps: []step{
			{60 * minute, "success", 0, "success", tr("new", "up", 60*minute, "success"), "up"},
			{10 * minute, "fail", 0, "fail", tr("up", "down", 10*minute, "fail"), "down"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c.ManualResume = test.manualResume
			for i, s := range test.steps {
				c = s.take(t, i, c)
			}
			last, running := noon.Add(test.last), noon.Add(test.running)
			if test.never {
				last = time.Time{}
			}
			if test.running == 0 {
				running = time.Time{}
			}
			if _, run := c.Runs.Span(); !c.LastPing.Equal(last) || !run.StartedAt.Equal(running) {
				t.Errorf("last ping %v, run since %v; want %v, %v", c.LastPing, run.StartedAt, last, running)
			}
		})
	}
}

// TestLateFailures checks that a late failure counts for AlertAfter if it was received after the check went down.
func TestLateFailures(t *testing.T) {
	at := func(s time.Duration) time.Time { return noon.Add(s * time.Second) }
	for name, test := range map[string]struct {
		order []time.Duration // of the commits
		alert time.Duration   // after which of them the alert is raised
	}{
		"in order":                 {[]time.Duration{8, 10, 12}, 12},
		"within the row":           {[]time.Duration{8, 12, 10}, 10},
		"before the row":           {[]time.Duration{10, 12, 8, 14}, 14},
		"the newest comes at last": {[]time.Duration{8, 10, 20}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c.AlertAfter = 3
			var newest time.Duration
			for _, s := range test.order {
				newest = max(newest, s)
				var want []time.Time
				if s == test.alert {
					want = []time.Time{at(newest)} // not before what the check has seen
				}
				var effects checks.Effects
				c, _, effects, _ = c.Ping(pings.Signal{Kind: pings.Failure}, at(s))
				var raised []time.Time
				for _, a := range effects.Alerts {
					raised = append(raised, a.RaisedAt)
				}
				if diff := gocmp.Diff(want, raised); diff != "" {
					t.Fatalf("alerts after the failure at %d s (-want +got):\n%s", s, diff)
				}
			}
		})
	}
}

func TestLateDurations(t *testing.T) {
	run := func(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{n}, Valid: n > 0} }
	type entry struct {
		kind  pings.Kind
		run   byte
		after time.Duration
		took  time.Duration // 0 for none
	}
	const s = time.Second
	for name, entries := range map[string][]entry{
		"start after the end of another run": {{"success", 2, 5 * s, 0}, {"start", 1, 0, 0}, {"success", 1, 9 * s, 9 * s}},
		"start after its end":                {{"success", 0, 5 * s, 0}, {"start", 0, 0, 0}, {"success", 0, 9 * s, 0}},
		"end before a newer start":           {{"start", 0, 5 * s, 0}, {"success", 0, 3 * s, 0}, {"success", 0, 9 * s, 4 * s}},
		"start before a newer start":         {{"start", 1, 5 * s, 0}, {"start", 1, 3 * s, 0}, {"success", 1, 9 * s, 4 * s}},
		"end before a newer end":             {{"start", 1, 1 * s, 0}, {"success", 2, 9 * s, 0}, {"success", 1, 4 * s, 3 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			for i, e := range entries {
				var p pings.Ping
				c, p, _, _ = c.Ping(pings.Signal{Kind: e.kind, RunID: run(e.run)}, noon.Add(e.after))
				var took time.Duration
				if p.Duration != nil {
					took = *p.Duration
				}
				if took != e.took {
					t.Errorf("entry %d took %v, want %v", i, took, e.took)
				}
			}
		})
	}
}

// TestLateEnds: an end that is recorded after a start that was received later ends what it would have ended in order.
func TestLateEnds(t *testing.T) {
	run := func(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{n}, Valid: n > 0} }
	for name, test := range map[string]struct {
		maxRuntime time.Duration
		end, start byte // identifiers of the end and of the later start
		open       []byte
	}{
		"a nameless end, a later nameless start, with MaxRuntime": {time.Hour, 0, 0, []byte{0}},
		"a nameless end, a later start, with MaxRuntime":          {time.Hour, 0, 3, []byte{3}},
		"the end of the newest run, a later start":                {0, 2, 3, []byte{3}},
		"the end of an older run, a later start":                  {0, 1, 3, []byte{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c.MaxRuntime = test.maxRuntime
			for _, s := range []signalAt{{pings.Start, run(1), noon}, {pings.Start, run(2), noon.Add(time.Second)}, {pings.Start, run(test.start), noon.Add(9 * time.Second)}, {pings.Success, run(test.end), noon.Add(5 * time.Second)}} {
				c, _, _, _ = c.Ping(pings.Signal{Kind: s.kind, RunID: s.run}, s.at)
			}
			var open []byte
			for _, r := range c.Runs.Open() {
				open = append(open, r.ID.UUID[0])
			}
			if diff := gocmp.Diff(test.open, open); diff != "" {
				t.Errorf("open runs (-want +got):\n%s", diff)
			}
		})
	}
}

// signalAt is a signal with the time of its receipt.
type signalAt struct {
	kind pings.Kind
	run  uuid.NullUUID
	at   time.Time
}

// drawSignals draws signals in the order of receipt, with distinct times that all lie within checks.MaxLate.
func drawSignals(t *rapid.T, from time.Time, withRuns bool) []signalAt {
	limit := int(checks.MaxLate/time.Second) - 1
	seconds := rapid.SliceOfNDistinct(rapid.IntRange(0, limit), 1, 12, rapid.ID[int]).Draw(t, "seconds")
	slices.Sort(seconds)
	kinds := rapid.SampledFrom([]pings.Kind{pings.Success, pings.Failure, pings.Start, pings.Log})
	list := make([]signalAt, len(seconds))
	for i, s := range seconds {
		list[i] = signalAt{kind: kinds.Draw(t, "kind"), at: from.Add(time.Duration(s) * time.Second)}
		if n := rapid.ByteRange(0, 3).Draw(t, "run"); withRuns && n > 0 {
			list[i].run = uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}
		}
	}
	return list
}

// TestOrderOfCommits checks that the state does not depend on the order in which servers commit what they have
// received, as long as no run overruns between the receipt of a signal and its commit. The status, the last ping and
// the count are the same for any order. So is the run in progress, unless a deadline passed between the signals, or
// runs have identifiers: a start committed after the end of another run, which was received later, begins no run, and an end
// without an identifier ends all runs while the start without one that it belongs to is on its way.
func TestOrderOfCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(0, 5).Draw(t, "events before") {
			h.event(t)
		}
		// The deadline of the events before lies among the signals, or before all of them.
		begin := h.now.Add(time.Second)
		if wake := h.check.Deadline(); !wake.IsZero() && rapid.Bool().Draw(t, "around the deadline") {
			begin = latest(begin, wake.Add(-checks.MaxLate/2))
		}
		h.check, _ = h.check.Settle(begin)
		deadline, end := h.check.Deadline(), begin.Add(checks.MaxLate)
		between := !deadline.IsZero() && deadline.Before(end)
		limit := cmp.Or(h.check.MaxRuntime, h.check.Grace)
		if limit <= checks.MaxLate || between && len(h.check.Runs.Open()) > 0 {
			t.Skip("a run overruns between the signals")
		}
		withRuns := rapid.Bool().Draw(t, "with runs")
		received := drawSignals(t, begin, withRuns)
		committed := rapid.Permutation(received).Draw(t, "committed")
		want, got := applyAll(h.check, received, end), applyAll(h.check, committed, end)
		if want.Stored != got.Stored || !want.LastPing.Equal(got.LastPing) || want.NPings != got.NPings {
			t.Fatalf("%v: %v, last ping %v, %d pings; in order %v, %v, %d",
				committed, got.Stored, got.LastPing, got.NPings, want.Stored, want.LastPing, want.NPings)
		}
		if withRuns || between || slices.ContainsFunc(h.check.Runs.Open(), func(r checks.OpenRun) bool { return r.ID.Valid }) {
			return
		}
		if diff := gocmp.Diff([]any{want.Runs.Open(), want.Status(end.Add(time.Hour))},
			[]any{got.Runs.Open(), got.Status(end.Add(time.Hour))}); diff != "" {
			t.Fatalf("%v (-in order +committed):\n%s", committed, diff)
		}
	})
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// applyAll applies signals and settles the check at the end.
func applyAll(c checks.Check, list []signalAt, end time.Time) checks.Check {
	for _, s := range list {
		c, _, _, _ = c.Ping(pings.Signal{Kind: s.kind, RunID: s.run}, s.at)
	}
	c, _ = c.Settle(end)
	return c
}

// TestTransitionsStayInOrder checks that the transition of a late ping is not before those that were recorded.
func TestTransitionsStayInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newHistory(t).check
		var made []checks.Transition
		for _, s := range rapid.Permutation(drawSignals(t, noon, true)).Draw(t, "committed") {
			var effects checks.Effects
			c, _, effects, _ = c.Ping(pings.Signal{Kind: s.kind, RunID: s.run}, s.at)
			made = append(made, effects.Transitions...)
		}
		if !slices.IsSortedFunc(made, func(a, b checks.Transition) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) }) {
			t.Fatalf("%+v", made)
		}
	})
}

// TestWaitedPings applies signals that may have waited since before the deadline, which is 2 minutes after noon. They take no
// check down for it, and what they do not move is judged afterwards.
func TestWaitedPings(t *testing.T) {
	const second, minute = time.Second, time.Minute
	tr := func(to checks.Status, after time.Duration, reason flips.Reason) []checks.Transition {
		from := map[checks.Status]checks.Status{"up": "down", "down": "up"}[to]
		return []checks.Transition{{From: from, To: to, At: noon.Add(after), Reason: reason}}
	}
	for name, test := range map[string]struct {
		signal pings.Signal
		since  time.Duration
		pinged []checks.Transition
		later  []checks.Transition // by the clock, a minute after the signal
	}{
		"success":              {since: 2*minute - 4*second},
		"failure":              {signal: pings.Signal{Kind: pings.Failure}, since: 2*minute - 4*second, pinged: tr("down", 122*second, "fail")},
		"log":                  {signal: pings.Signal{Kind: pings.Log}, since: 2*minute - 4*second, later: tr("down", 2*minute, "overdue")},
		"since the deadline":   {since: 2 * minute, pinged: append(tr("down", 2*minute, "overdue"), tr("up", 122*second, "success")...)},
		"since before it came": {since: -time.Hour},
		"since after it came":  {since: time.Hour, pinged: append(tr("down", 2*minute, "overdue"), tr("up", 122*second, "success")...)},
	} {
		for way, apply := range map[string]func(checks.Check, pings.Signal, time.Time) (checks.Check, pings.Ping, checks.Effects, error){
			"ping": checks.Check.Ping, "replay": checks.Check.Replay,
		} {
			c, err := checks.New(uuid.New(), checks.Spec{Timeout: new(minute), Grace: new(minute)}, noon)
			if err == nil {
				c, _, _, err = c.Ping(pings.Signal{}, noon)
			}
			if err != nil {
				t.Fatal(err)
			}
			at := noon.Add(122 * second)
			test.signal.WaitedSince = noon.Add(test.since)
			c, ping, effects, err := apply(c, test.signal, at)
			if diff := gocmp.Diff(test.pinged, effects.Transitions); diff != "" || err != nil || !ping.At.Equal(at) {
				t.Errorf("%s, %s: received at %v, error %v (-want +got):\n%s", name, way, ping.At, err, diff)
			}
			if _, effects := c.Settle(at.Add(minute)); !gocmp.Equal(test.later, effects.Transitions) {
				t.Errorf("%s, %s: a minute later %v, want %v", name, way, effects.Transitions, test.later)
			}
		}
	}
}
