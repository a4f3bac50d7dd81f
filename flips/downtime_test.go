package flips_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/flips"
)

func TestDowntime(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	up := func(seconds int) flips.Flip { return flips.Flip{At: after(seconds), Up: true} }
	down := func(seconds int) flips.Flip { return flips.Flip{At: after(seconds)} }
	for name, test := range map[string]struct {
		list   []flips.Flip // oldest first
		pauses []time.Time
		want   string
	}{
		"nothing":                     {nil, nil, "0s up, 0s down, 1m40s unwatched"},
		"up before":                   {[]flips.Flip{up(-5)}, nil, "1m40s up, 0s down, 0s unwatched"},
		"first flip within":           {[]flips.Flip{down(30)}, nil, "0s up, 1m10s down, 30s unwatched"},
		"down and up":                 {[]flips.Flip{up(-5), down(10), up(40)}, nil, "1m10s up, 30s down, 0s unwatched"},
		"flips at the bounds":         {[]flips.Flip{down(0), up(100)}, nil, "0s up, 1m40s down, 0s unwatched"},
		"flips outside":               {[]flips.Flip{down(-9), up(-5), down(101)}, nil, "1m40s up, 0s down, 0s unwatched"},
		"paused while down":           {[]flips.Flip{down(10), up(90)}, []time.Time{after(30)}, "10s up, 20s down, 1m10s unwatched"},
		"paused before":               {[]flips.Flip{down(-9), up(90)}, []time.Time{after(-5)}, "10s up, 0s down, 1m30s unwatched"},
		"paused twice":                {[]flips.Flip{up(0)}, []time.Time{after(80), after(60)}, "1m0s up, 0s down, 40s unwatched"},
		"paused at the flip":          {[]flips.Flip{up(0), down(10)}, []time.Time{after(10)}, "10s up, 0s down, 1m30s unwatched"},
		"two flips at once":           {[]flips.Flip{up(0), down(10), up(10)}, nil, "1m40s up, 0s down, 0s unwatched"},
		"the same direction, a pause": {[]flips.Flip{down(0), down(50)}, []time.Time{after(20)}, "0s up, 1m10s down, 30s unwatched"},
	} {
		slices.Reverse(test.list)
		times := flips.Downtime(test.list, start, after(100), test.pauses...)
		if got := fmt.Sprintf("%v up, %v down, %v unwatched", times.Up, times.Down, times.Unwatched); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if got := flips.Downtime(test.list, time.Time{}, after(100), test.pauses...); len(test.list) == 0 && got != (flips.Times{}) ||
			len(test.list) > 0 && got.Up+got.Down+got.Unwatched != max(0, after(100).Sub(test.list[len(test.list)-1].At)) {
			t.Errorf("%s: from the oldest flip on, the times are %+v", name, got)
		}
		if got := flips.Downtime(test.list, after(100), start, test.pauses...); got != (flips.Times{}) {
			t.Errorf("%s: a span that ends before it begins has the times %+v", name, got)
		}
	}
}

// TestDowntimeCountsSeconds compares Downtime with the status at every second of a random history.
func TestDowntimeCountsSeconds(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		const seconds = 120
		var list []flips.Flip // newest first
		var pauses []time.Time
		var status [seconds]string // before the first event the check is new
		current := "new"
		for s := range seconds {
			at := start.Add(time.Duration(s) * time.Second)
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				list, current = slices.Insert(list, 0, flips.Flip{At: at, Up: true}), "up"
			case 1:
				list, current = slices.Insert(list, 0, flips.Flip{At: at}), "down"
			case 2:
				pauses, current = append(pauses, at), "paused"
			}
			status[s] = current
		}
		from, to := rapid.IntRange(0, seconds-1).Draw(t, "from"), rapid.IntRange(0, seconds-1).Draw(t, "to")
		var want flips.Times
		for s := from; s < to; s++ {
			switch status[s] {
			case "up":
				want.Up += time.Second
			case "down":
				want.Down += time.Second
			default:
				want.Unwatched += time.Second
			}
		}
		if got := flips.Downtime(list, start.Add(time.Duration(from)*time.Second), start.Add(time.Duration(to)*time.Second), pauses...); got != want {
			t.Fatalf("from %d to %d: %+v, want %+v", from, to, got, want)
		}
	})
}

func ExampleDowntime() {
	noon := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	list := []flips.Flip{ // newest first
		{At: noon.Add(90 * time.Minute), Up: true},
		{At: noon.Add(time.Hour)},
		{At: noon.Add(-time.Hour), Up: true},
	}
	times := flips.Downtime(list, noon, noon.Add(6*time.Hour), noon.Add(5*time.Hour))
	fmt.Println(times.Up, times.Down, times.Unwatched)
	// Output: 4h30m0s 30m0s 1h0m0s
}

func TestPercent(t *testing.T) {
	const ninety = 90 * 24 * time.Hour
	for _, test := range []struct {
		up, down time.Duration
		want     string
	}{
		{0, 0, ""}, {ninety, 0, "100%"}, {ninety, time.Second, "99.99%"}, {ninety, 13 * time.Minute, "99.98%"},
		{0, ninety, "0.00%"}, {1, ninety, "0.00%"},
	} {
		if got := (flips.Times{Up: test.up, Down: test.down, Unwatched: time.Hour}).Percent(); got != test.want {
			t.Errorf("up %v, down %v: %q, want %q", test.up, test.down, got, test.want)
		}
	}
}
