package board_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// TestDensity counts what begins at 03:00: runs that began, the schedule of healthy checks without a lane, and what is
// expected. In Kathmandu quarters of an hour begin where those of UTC do, and parts of two hours do not.
func TestDensity(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	nightly, err := checks.New(uuid.New(), checks.Spec{Schedule: new("0 3 * * *")}, now.Add(-90*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	simple, err := checks.New(uuid.New(), checks.Spec{Timeout: new(12 * time.Hour)}, now.Add(-90*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if simple, _, _, err = simple.Ping(pings.Signal{}, now.Add(-9*time.Hour+time.Minute)); err != nil { // 03:01, and 15:01 later
		t.Fatal(err)
	}
	axis := board.NewAxis(now, now, 24*time.Hour, words.Clock{Zone: time.UTC})
	d := board.NewDensity(axis)
	night := now.Add(-9 * time.Hour)
	d.AddRuns(nightly, []timeline.Run{
		{Result: timeline.Success, Start: night.Add(14 * time.Minute)}, {Result: timeline.Failure, Start: night.Add(15 * time.Minute)},
		{Result: timeline.Missed, Start: night}, {Result: timeline.Success, Start: axis.To.Add(time.Second)},
	})
	d.AddExpected(nightly)
	d.AddExpected(simple)
	part, runs := d.Peak()
	if from, to := d.Part(part); !from.Equal(night) || to.Sub(from) != 15*time.Minute || runs != 3 {
		t.Errorf("%d runs from %v to %v", runs, from, to)
	}
	total := 0
	for _, n := range d.Counts {
		total += n
	}
	if total != 3+1+2+3 { // at 03:00, 03:15, tomorrow at 03:00, and 15:01 twice and 03:01 tomorrow
		t.Errorf("%d runs: %v", total, d.Counts)
	}
	kathmandu := time.FixedZone("", (5*60+45)*60)
	for span, step := range map[time.Duration]time.Duration{6 * time.Hour: 5 * time.Minute, 7 * 24 * time.Hour: 2 * time.Hour} {
		d := board.NewDensity(board.NewAxis(now, now.Add(-7*24*time.Hour), span, words.Clock{Zone: kathmandu}))
		from, _ := d.Part(0)
		if d.Step != step || from.In(kathmandu).Minute()%5 != 0 || step > time.Hour && from.In(kathmandu).Hour()%2 != 0 {
			t.Errorf("%v: parts of %v from %v", span, d.Step, from.In(kathmandu))
		}
		d.Add(d.Axis.To)
		d.Add(d.Axis.From)
	}
}
