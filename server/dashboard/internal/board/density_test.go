package board_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

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

// TestDensityOfMany adds checks together and one by one, with whatever schedules and pings. Both count the same, and as many future runs as
// are expected.
func TestDensityOfMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "now")) * time.Second)
		at := now.Add(-time.Duration(rapid.SampledFrom([]int{0, 1, 40, 1000}).Draw(t, "earlier")) * time.Hour)
		span := rapid.SampledFrom([]time.Duration{6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}).Draw(t, "span")
		axis := board.NewAxis(now, at, span, words.Clock{Zone: time.UTC})
		together, apart := board.NewDensity(axis), board.NewDensity(axis)
		var list []checks.Check
		expected := 0
		for range rapid.IntRange(0, 9).Draw(t, "checks") {
			spec := checks.Spec{Schedule: new(rapid.SampledFrom([]string{"0 3 * * *", "*/7 * * * *", "0 0 1 * *"}).Draw(t, "schedule"))}
			if rapid.Bool().Draw(t, "simple") {
				spec = checks.Spec{Timeout: new(time.Duration(rapid.SampledFrom([]int{60, 299, 300, 3600, 90_000}).Draw(t, "timeout")) * time.Second)}
			}
			c, err := checks.New(uuid.New(), spec, now.Add(-60*24*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if ago := rapid.IntRange(-1, 2_000_000).Draw(t, "pinged"); ago >= 0 {
				if c, _, _, err = c.Ping(pings.Signal{}, now.Add(-time.Duration(ago)*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			list = append(list, c)
			apart.AddExpected(c)
			runs, more := timeline.Expected(c, now, axis.To, 1500)
			if counted, cut := timeline.CountExpected(c, now, axis.To, 1500); counted != len(runs) || cut != more {
				t.Fatalf("%d runs are expected of %+v, and counted %d", len(runs), spec, counted)
			}
			if !more {
				expected += len(runs)
			}
		}
		together.AddExpected(list...)
		future := 0
		for i, n := range together.Counts {
			if n != apart.Counts[i] {
				t.Fatalf("part %d has %d runs together and %d apart", i, n, apart.Counts[i])
			}
			if from, _ := together.Part(i); from.After(now) {
				future += n
			}
		}
		if future > expected {
			t.Fatalf("%d runs in the future, and %d are expected", future, expected)
		}
	})
}
