package flips_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestDays(t *testing.T) {
	for _, test := range []struct {
		zone, from, to string
		want           []string // the lengths
	}{
		{"UTC", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z", []string{"24h0m0s", "24h0m0s"}},
		{"UTC", "2026-02-28T00:00:00Z", "2026-02-28T23:59:59Z", []string{"24h0m0s"}},
		{"Europe/Riga", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", []string{"24h0m0s", "23h0m0s", "24h0m0s"}},
		{"Europe/Riga", "2026-10-24T22:00:00Z", "2026-10-25T21:59:59Z", []string{"25h0m0s"}},
		{"America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T12:00:00Z", []string{"24h0m0s", "23h0m0s"}}, // no midnight on the 6th
		{"America/Santiago", "2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z", []string{"25h0m0s", "24h0m0s"}},
		{"America/Havana", "2026-10-31T12:00:00Z", "2026-11-01T12:00:00Z", []string{"24h0m0s", "25h0m0s"}},          // two midnights on the 1st
		{"Pacific/Apia", "2011-12-29T22:00:00Z", "2011-12-31T12:00:00Z", []string{"24h0m0s", "24h0m0s", "24h0m0s"}}, // no 30 December
		{"UTC", "2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", nil},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		bounds := flips.Days(at(t, test.from), at(t, test.to), zone)
		var got []string
		for i := 1; i < len(bounds); i++ {
			got = append(got, bounds[i].Sub(bounds[i-1]).String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s from %s to %s: %v (-want +got):\n%s", test.zone, test.from, test.to, bounds, diff)
		}
		if len(bounds) > 0 && (bounds[0].After(at(t, test.from)) || !bounds[len(bounds)-1].After(at(t, test.to))) {
			t.Errorf("%s: the days do not contain %s and %s: %v", test.zone, test.from, test.to, bounds)
		}
	}
}

func TestMonths(t *testing.T) {
	riga, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, bound := range flips.Months(at(t, "2025-12-31T23:00:00Z"), at(t, "2026-03-31T20:59:59Z"), riga) {
		got = append(got, bound.Format(time.RFC3339))
	}
	want := []string{"2026-01-01T00:00:00+02:00", "2026-02-01T00:00:00+02:00", "2026-03-01T00:00:00+02:00", "2026-04-01T00:00:00+03:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
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
	days := flips.Days(at(14, 0), at(16, 23), zone)
	for i, times := range flips.Split(list, days, at(16, 6)) {
		share, _ := times.Availability()
		fmt.Printf("%s down %v, unwatched %v, available %.1f %%\n", days[i].Format("Mon"), times.Down, times.Unwatched, 100*share)
	}
	// Output:
	// Sat down 1h0m0s, unwatched 0s, available 95.8 %
	// Sun down 4h0m0s, unwatched 0s, available 83.3 %
	// Mon down 6h0m0s, unwatched 18h0m0s, available 0.0 %
}
