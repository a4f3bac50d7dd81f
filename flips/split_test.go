package flips_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/flips"
)

// TestSplitAddsUp splits a random history at random bounds. Each span has the times that Downtime gives it.
func TestSplitAddsUp(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		at := func(label string) time.Time {
			return start.Add(time.Duration(rapid.IntRange(-50, 150).Draw(t, label)) * time.Second)
		}
		var list []flips.Flip // newest first
		now := start.Add(-10 * time.Second)
		for range rapid.IntRange(0, 10).Draw(t, "flips") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "gap")) * time.Second)
			list = append([]flips.Flip{{At: now, Up: rapid.Bool().Draw(t, "up")}}, list...)
		}
		var pauses []time.Time
		for range rapid.IntRange(0, 3).Draw(t, "pauses") {
			pauses = append(pauses, at("pause"))
		}
		bounds := []time.Time{start}
		for range rapid.IntRange(0, 6).Draw(t, "spans") {
			bounds = append(bounds, bounds[len(bounds)-1].Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "length"))*time.Second))
		}
		got := flips.Split(list, bounds, pauses...)
		if len(got) != len(bounds)-1 {
			t.Fatalf("%d spans between %d bounds", len(got), len(bounds))
		}
		var sum flips.Times
		for i, times := range got {
			if want := flips.Downtime(list, bounds[i], bounds[i+1], pauses...); times != want {
				t.Fatalf("span %d: %+v, want %+v", i, times, want)
			}
			sum = sum.Add(times)
		}
		if whole := flips.Downtime(list, start, bounds[len(bounds)-1], pauses...); sum != whole {
			t.Fatalf("the spans add up to %+v, want %+v", sum, whole)
		}
	})
}

// A check was down for an hour on Saturday and for the last hours of Sunday, and paused on Monday.
func ExampleSplit() {
	zone := time.FixedZone("UTC+2", 2*60*60)
	at := func(day, hour int) time.Time { return time.Date(2026, time.March, day, hour, 0, 0, 0, zone) }
	list := []flips.Flip{ // newest first
		{At: at(15, 20)},
		{At: at(14, 4), Up: true},
		{At: at(14, 3)},
		{At: at(1, 9), Up: true},
	}
	days := []time.Time{at(14, 0), at(15, 0), at(16, 0), at(17, 0)}
	for i, times := range flips.Split(list, days, at(16, 6)) {
		share, _ := times.Availability()
		fmt.Printf("%s down %v, unwatched %v, available %.1f %%\n", days[i].Format("Mon"), times.Down, times.Unwatched, 100*share)
	}
	// Output:
	// Sat down 1h0m0s, unwatched 0s, available 95.8 %
	// Sun down 4h0m0s, unwatched 0s, available 83.3 %
	// Mon down 6h0m0s, unwatched 18h0m0s, available 0.0 %
}
