package board_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// TestNothingDisappears lays random runs out. The counts of the marks add up, and each failure is visible where it was.
func TestNothingDisappears(t *testing.T) {
	c, err := checks.New(uuid.New(), checks.Spec{Schedule: new("7 3 * * *")}, noon.AddDate(0, 0, -30))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.SampledFrom([]time.Duration{24 * time.Hour, 7 * 24 * time.Hour}).Draw(t, "span")
		axis := board.NewAxis(noon, noon, span, words.Clock{Zone: time.UTC})
		runs := randomRuns(t, axis)
		lane := board.NewLane(c, timeline.Timeline{Since: axis.From, Runs: runs}, axis)

		bad := slices.DeleteFunc(slices.Clone(runs), func(r timeline.Run) bool { return !r.Result.Bad() })
		var count, badCount, over, under int
		for _, m := range lane.Marks {
			if m.X < 0 || m.W < 0 || m.X+m.W > 100.001 || m.Bad > m.Count || m.Row >= m.Rows && m.Rows > 0 {
				t.Errorf("mark %+v", m)
			}
			switch {
			case m.Kind == board.Expected || m.Kind == board.Many || m.Kind == board.Late:
				continue
			case m.Over:
				over += m.Bad
				continue
			case m.Kind == board.Band:
				under += m.Bad
			}
			count += m.Count
			badCount += m.Bad
		}
		late := slices.DeleteFunc(slices.Clone(runs), func(r timeline.Run) bool { return r.Result != timeline.Late })
		if count != len(runs)-len(late) || count != lane.Runs || badCount != len(bad) || badCount != lane.Bad || over != under {
			t.Errorf("%d runs and %d failures on the board, %d and %d counted, of %d and %d; %d failures on bands with %d",
				count, badCount, lane.Runs, lane.Bad, len(runs), len(bad), over, under)
		}
		for _, r := range bad {
			if !slices.ContainsFunc(lane.Marks, func(m board.Mark) bool { return shows(m, r, axis) }) {
				t.Errorf("%+v is on no mark: %v", r, text(lane.Marks))
			}
		}
		order := func(m board.Mark) bool { return m.Kind == board.Band }
		if last := lastIndex(lane.Marks, order); last >= 0 && slices.ContainsFunc(lane.Marks[:last], func(m board.Mark) bool { return m.Over }) {
			t.Errorf("a band hides failures: %v", text(lane.Marks))
		}
	})
}

// shows reports whether a mark other than a band stands for a failure, at its place.
func shows(m board.Mark, r timeline.Run, axis *board.Axis) bool {
	x := axis.X(r.Start)
	return m.Kind != board.Band && m.Bad > 0 && !m.First.After(r.Start) && !m.Last.Before(r.Start) && m.X <= x+.4 && x <= m.X+m.W+.4
}

func lastIndex[T any](list []T, match func(T) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if match(list[i]) {
			return i
		}
	}
	return -1
}

// randomRuns draws runs, sparse and dense, that overlap or not.
func randomRuns(t *rapid.T, axis *board.Axis) (runs []timeline.Run) {
	at := axis.From
	step := rapid.SampledFrom([]int{1, 5, 60, 600}).Draw(t, "step")
	for range rapid.IntRange(0, 80).Draw(t, "runs") {
		at = at.Add(time.Duration(rapid.IntRange(0, step).Draw(t, "gap")) * time.Minute)
		if at.After(axis.Now) {
			return runs
		}
		r := timeline.Run{Start: at, Timed: true, Limit: at.Add(time.Hour)}
		r.Result = rapid.SampledFrom([]timeline.Result{timeline.Success, timeline.Success, timeline.Success, timeline.Success, timeline.Failure,
			timeline.Missed, timeline.Overrun, timeline.Unended, timeline.Running, timeline.Late}).Draw(t, "result")
		r.End = at.Add(time.Duration(rapid.IntRange(0, 2*step).Draw(t, "took")) * time.Minute)
		if r.End.After(axis.Now) {
			r.End = axis.Now
		}
		switch r.Result {
		case timeline.Running, timeline.Late:
			r.End = time.Time{}
		case timeline.Missed, timeline.Overrun:
			if rapid.Bool().Draw(t, "open") {
				r.End = time.Time{}
			}
		}
		runs = append(runs, r)
	}
	return runs
}
