package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// TestMonth adds days in any order, and then the times of all days of the month.
func TestMonth(t *testing.T) {
	start := MonthStart(time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 3600))) // still February in UTC
	if want := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC); !start.Equal(want) {
		t.Fatalf("the month starts at %v", start)
	}
	day := func(n int, runs int64) checks.Day {
		return checks.Day{Date: start.AddDate(0, 0, n-1), Totals: checks.Totals{Runs: runs}}
	}
	m := Month{Start: start}
	for _, d := range []checks.Day{day(9, 1), day(2, 2), day(28, 3), day(9, 4), day(5, 5)} {
		m.Add(d)
	}
	want := []checks.DayStats{{Day: day(2, 2)}, {Day: day(5, 5)}, {Day: day(9, 5)}, {Day: day(28, 3)}}
	if diff := cmp.Diff(want, m.Days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	times := make([]flips.Times, 28)
	for i := range times {
		times[i].Up = time.Duration(i) * time.Minute
	}
	for range 2 { // servers may fold at once
		m.Fold(Fold{Start: start, Days: times})
	}
	if !m.Folded || len(m.Days) != 28 || m.Days[8].Totals.Runs != 5 || m.Days[8].Times.Up != 8*time.Minute || m.Days[0].Totals.Runs != 0 {
		t.Errorf("folded: %+v", m)
	}
}
