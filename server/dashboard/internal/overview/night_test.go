package overview

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestNightBefore(t *testing.T) {
	riga, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]string{
		"2026-11-22T05:00:00Z": "2026-11-21T16:00:00Z", // 07:00 in Riga
		"2026-11-22T21:59:00Z": "2026-11-21T16:00:00Z", // a minute to midnight
		"2026-11-22T22:00:00Z": "2026-11-22T16:00:00Z",
		"2026-03-29T06:00:00Z": "2026-03-28T16:00:00Z", // the clocks went forward in the night
		"2026-03-01T06:00:00Z": "2026-02-28T16:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := nightBefore(at, riga).UTC().Format(time.RFC3339); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestTroubleOf(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	run := func(minute int, r checks.RunResult) checks.Run { return checks.Run{At: at(minute), Result: r} }
	down := func(minute int, r flips.Reason) checks.Transition {
		return checks.Transition{From: checks.StatusUp, To: checks.StatusDown, At: at(minute), Reason: r}
	}
	up, fail, miss := checks.RunSuccess, checks.RunFailure, checks.RunMissed
	for _, test := range []struct {
		name        string
		status      checks.Status
		runs        []checks.Run
		transitions []checks.Transition
		want        kind
		minute      int
	}{
		{"well", checks.StatusUp, []checks.Run{run(5, up)}, nil, "", 0},
		{"failed before", checks.StatusUp, []checks.Run{run(-5, fail), run(5, up)}, nil, "", 0},
		{"failed and recovered", checks.StatusUp, []checks.Run{run(1, fail), run(2, fail), run(5, up)}, nil, failed, 2},
		{"failed long ago, in many runs", checks.StatusUp, []checks.Run{run(50, up)}, []checks.Transition{down(3, flips.Failure)}, failed, 3},
		{"missed", checks.StatusDown, []checks.Run{run(1, up), run(5, miss)}, []checks.Transition{down(5, flips.Overdue)}, missed, 5},
		{"timed out", checks.StatusDown, []checks.Run{run(1, up), run(5, miss)}, []checks.Transition{down(5, flips.Overrun)}, timedOut, 5},
		{"timed out, then failed", checks.StatusDown, []checks.Run{run(5, miss), run(6, fail)}, []checks.Transition{down(5, flips.Overrun)}, failed, 6},
		{"down since before", checks.StatusDown, []checks.Run{run(-90, fail)}, nil, failed, -90},
		{"down without runs", checks.StatusDown, nil, nil, missed, -60},
	} {
		c := checks.Check{State: checks.State{Stored: test.status, StoredSince: at(-60), History: checks.History{Recent: checks.RecentRuns(test.runs...)}}}
		got, ok := troubleOf(c, test.transitions, noon)
		if ok != (test.want != "") || ok && (got.kind != test.want || !got.at.Equal(at(test.minute))) {
			t.Errorf("%s: %v %v, want %s in minute %d", test.name, got, ok, test.want, test.minute)
		}
	}
}
