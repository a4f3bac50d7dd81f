package runs_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/internal/runs"
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
			var open runs.List
			for i, e := range events {
				at := noon.Add(e.after)
				if e.start {
					open = open.Start(e.id, at)
					continue
				}
				var took time.Duration
				var ok bool
				if open, took, ok = open.End(e.id, at); took != e.took || ok != e.ok {
					t.Errorf("event %d: %v, %v; want %v, %v", i, took, ok, e.took, e.ok)
				}
			}
		})
	}
}

func TestRunsAreBounded(t *testing.T) {
	var open runs.List
	for i := range 250 {
		open = open.Start(id(byte(i)), noon.Add(time.Duration(i)*time.Second))
	}
	if len(open) != runs.MaxOpen || open[0].ID != id(150) || open[99].ID != id(249) {
		t.Errorf("%d runs from %v to %v", len(open), open[0].ID, open[len(open)-1].ID)
	}
	if open = open.Start(id(250), noon.Add(100*time.Hour)); len(open) != 1 {
		t.Errorf("%d runs are left days later", len(open))
	}
}

// TestRunsAreOldestFirst checks that runs are in the order of their starts, whatever the order of the calls.
func TestRunsAreOldestFirst(t *testing.T) {
	var open runs.List
	for _, n := range rand.Perm(110) {
		open = open.Start(id(byte(n)), noon.Add(time.Duration(n)*time.Second))
	}
	for i, run := range open {
		if want := 110 - runs.MaxOpen + i; run.ID != id(byte(want)) {
			t.Fatalf("run %d is %v, want %v", i, run.ID, id(byte(want)))
		}
	}
}

// TestRunsAreValues checks that no method changes its receiver, however memory is shared.
func TestRunsAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []runs.List
		var copies []runs.List
		var open runs.List
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			at := noon.Add(time.Duration(i) * time.Minute)
			run := id(byte(rapid.IntRange(0, 4).Draw(t, "run")))
			if rapid.Bool().Draw(t, "start") {
				open = open.Start(run, at)
			} else {
				open, _, _ = open.End(run, at)
			}
			all = append(all, open)
			copies = append(copies, append(runs.List(nil), open...))
		}
		for i := range all {
			if !cmp.Equal([]runs.Run(all[i]), []runs.Run(copies[i])) && len(all[i])+len(copies[i]) > 0 {
				t.Fatalf("the runs after event %d were changed later: %v, were %v", i, all[i], copies[i])
			}
		}
	})
}
