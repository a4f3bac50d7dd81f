package checks

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{15: n}, Valid: true} }

func TestRuns(t *testing.T) {
	none := uuid.NullUUID{}
	type event struct {
		start bool
		id    uuid.NullUUID
		after time.Duration
		took  time.Duration
		ok    bool
	}
	for name, events := range map[string][]event{
		"start and end":                 {{true, id(1), 0, 0, false}, {false, id(1), time.Minute, time.Minute, true}},
		"without identifiers":           {{true, none, 0, 0, false}, {false, none, time.Minute, time.Minute, true}},
		"an end alone":                  {{false, id(1), 0, 0, false}},
		"another identifier":            {{true, id(1), 0, 0, false}, {false, id(2), time.Minute, 0, false}},
		"one with, one without":         {{true, id(1), 0, 0, false}, {false, none, time.Minute, 0, false}},
		"one without, one with":         {{true, none, 0, 0, false}, {false, id(1), time.Minute, 0, false}},
		"ends once":                     {{true, id(1), 0, 0, false}, {false, id(1), 1e9, 1e9, true}, {false, id(1), 2e9, 0, false}},
		"the last start counts":         {{true, id(1), 0, 0, false}, {true, id(1), 3e9, 0, false}, {false, id(1), 5e9, 2e9, true}},
		"overlapping runs":              {{true, id(1), 0, 0, false}, {true, id(2), 1e9, 0, false}, {false, id(1), 5e9, 5e9, true}, {false, id(2), 6e9, 5e9, true}},
		"72 hours":                      {{true, id(1), 0, 0, false}, {false, id(1), 72 * time.Hour, 72 * time.Hour, true}},
		"longer than 72 hours":          {{true, id(1), 0, 0, false}, {false, id(1), 72*time.Hour + 1, 0, false}, {false, id(1), 72*time.Hour + 2, 0, false}},
		"rounded down to 10 ms":         {{true, id(1), 0, 0, false}, {false, id(1), 1234 * time.Millisecond, 1230 * time.Millisecond, true}},
		"rounded up to 10 ms":           {{true, id(1), 0, 0, false}, {false, id(1), 1235 * time.Millisecond, 1240 * time.Millisecond, true}},
		"an end of an earlier run":      {{true, id(1), 0, 0, false}, {false, id(1), -time.Second, 0, false}, {false, id(1), 1e9, 1e9, true}},
		"a start before a newer one":    {{true, id(1), 0, 0, false}, {true, id(1), -time.Second, 0, false}, {false, id(1), 1e9, 1e9, true}},
		"the clock has jumped back":     {{true, id(1), 0, 0, false}, {false, id(1), -time.Hour, 0, false}, {false, id(1), 1e9, 0, false}},
		"started before it jumped back": {{true, id(1), 0, 0, false}, {true, id(1), -time.Hour, 0, false}, {false, id(1), -time.Hour + 1e9, 1e9, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var open OpenRuns
			for i, e := range events {
				at := noon.Add(e.after)
				if e.start {
					open = open.start(e.id, at, true)
					continue
				}
				var took time.Duration
				var ok bool
				if open, took, ok = open.end(e.id, at); took != e.took || ok != e.ok {
					t.Errorf("event %d: %v, %v; want %v, %v", i, took, ok, e.took, e.ok)
				}
			}
		})
	}
}

// TestRunsAreBounded checks that runs that are not open make room first, oldest first, and that of too many open runs the
// oldest and the newest stay.
func TestRunsAreBounded(t *testing.T) {
	at := func(i int) time.Time { return noon.Add(time.Duration(i) * time.Second) }
	var given, open OpenRuns
	for i := range 250 {
		given = given.start(id(byte(i)), at(i), false)
		open = open.start(id(byte(i)), at(i), true)
	}
	if len(given) != maxRuns || given[0].ID != id(150) || given[99].ID != id(249) {
		t.Errorf("%d runs from %v to %v", len(given), given[0].ID, given[len(given)-1].ID)
	}
	if len(open) != maxRuns || open[0].ID != id(0) || open[98].ID != id(98) || open[99].ID != id(249) {
		t.Errorf("%d open runs from %v to %v", len(open), open[0].ID, open[len(open)-1].ID)
	}
	if given = given.start(id(250), noon.Add(100*time.Hour), false); len(given) != 1 {
		t.Errorf("%d runs are left days later", len(given))
	}
	if open = open.keep(func(run OpenRun) bool { return run.ID != id(7) }).start(id(250), at(250), true); open[7].ID != id(8) || open[99].ID != id(250) {
		t.Errorf("the run that was given up is still there: %v", open[7].ID)
	}
	if open = open.start(id(251), noon.Add(100*time.Hour), true); len(open) != maxRuns || open[0].ID != id(0) {
		t.Errorf("%d open runs are left days later", len(open))
	}
}

// TestRunsAreOldestFirst checks that runs are in the order of their starts, whatever the order of the calls.
func TestRunsAreOldestFirst(t *testing.T) {
	var list OpenRuns
	for _, n := range rand.Perm(110) {
		list = list.start(id(byte(n)), noon.Add(time.Duration(n)*time.Second), false)
	}
	for i, run := range list {
		if want := 110 - maxRuns + i; run.ID != id(byte(want)) {
			t.Fatalf("run %d is %v, want %v", i, run.ID, id(byte(want)))
		}
	}
}

func TestRepeats(t *testing.T) {
	ended := EndedRuns{}.add(id(1).UUID, noon)
	for name, test := range map[string]struct {
		id    uuid.NullUUID
		after time.Duration
		want  bool
	}{
		"at once":            {id(1), 0, true},
		"a minute later":     {id(1), time.Minute, true},
		"more than a minute": {id(1), time.Minute + 1, false},
		"a late start":       {id(1), -maxLate, true},
		"a clock set back":   {id(1), -maxLate - 1, false},
		"another run":        {id(2), 0, false},
		"no identifier":      {uuid.NullUUID{}, 0, false},
	} {
		if got := ended.repeats(test.id, noon.Add(test.after)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for i := range 50 {
		ended = ended.add(id(byte(i)).UUID, noon.Add(time.Duration(i)*time.Second))
	}
	if len(ended) != maxEnded || ended.repeats(id(29), noon.Add(50*time.Second)) || !ended.repeats(id(30), noon.Add(50*time.Second)) {
		t.Errorf("%d ended runs", len(ended))
	}
	if ended = ended.add(id(60).UUID, noon.Add(time.Hour)); len(ended) != 1 {
		t.Errorf("%d ended runs are remembered an hour later", len(ended))
	}
}

// TestRunsAreValues checks that no method changes its receiver, however memory is shared.
func TestRunsAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []OpenRuns
		var copies []OpenRuns
		var open OpenRuns
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			at := noon.Add(time.Duration(i) * time.Minute)
			run := id(byte(rapid.IntRange(0, 4).Draw(t, "run")))
			if rapid.Bool().Draw(t, "start") {
				open = open.start(run, at, rapid.Bool().Draw(t, "open"))
			} else {
				open, _, _ = open.end(run, at)
			}
			all = append(all, open)
			copies = append(copies, append(OpenRuns(nil), open...))
		}
		for i := range all {
			if !cmp.Equal([]OpenRun(all[i]), []OpenRun(copies[i])) && len(all[i])+len(copies[i]) > 0 {
				t.Fatalf("the runs after event %d were changed later: %v, were %v", i, all[i], copies[i])
			}
		}
	})
}
