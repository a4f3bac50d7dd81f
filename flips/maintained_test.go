package flips_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/flips"
)

func TestJoin(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	span := func(a, b int) flips.Span {
		return flips.Span{Start: start.Add(time.Duration(a) * time.Minute), End: start.Add(time.Duration(b) * time.Minute)}
	}
	got := flips.Join([]flips.Span{span(10, 20), span(0, 5), span(5, 7), span(12, 15), span(30, 30), span(40, 35), span(19, 25)})
	if diff := cmp.Diff([]flips.Span{span(0, 7), span(10, 25)}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSplitMaintainedCountsSeconds compares random flips, pauses and maintenance with a plain model: each second by itself.
func TestSplitMaintainedCountsSeconds(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		const seconds = 120
		at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
		var list []flips.Flip // newest first
		var pauses []time.Time
		var status [seconds]string
		current := "new"
		for s := range seconds {
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				list, current = append([]flips.Flip{{At: at(s), Up: true}}, list...), "up"
			case 1:
				list, current = append([]flips.Flip{{At: at(s)}}, list...), "down"
			case 2:
				pauses, current = append(pauses, at(s)), "paused"
			}
			status[s] = current
		}
		var maintenance []flips.Span
		var within [seconds]bool
		for range rapid.IntRange(0, 4).Draw(t, "windows") {
			from, to := rapid.IntRange(-20, seconds+20).Draw(t, "from"), rapid.IntRange(-20, seconds+20).Draw(t, "to")
			maintenance = append(maintenance, flips.Span{Start: at(from), End: at(to)})
			for s := max(from, 0); s < min(to, seconds); s++ {
				within[s] = true
			}
		}
		edges := []int{0}
		for edges[len(edges)-1] < seconds {
			edges = append(edges, min(seconds, edges[len(edges)-1]+rapid.IntRange(1, 60).Draw(t, "span")))
		}
		bounds := make([]time.Time, len(edges))
		for i, s := range edges {
			bounds[i] = at(s)
		}
		want := make([]flips.Times, len(bounds)-1)
		for i := range want {
			for s := edges[i]; s < edges[i+1]; s++ {
				switch {
				case status[s] == "up":
					want[i].Up += time.Second
				case status[s] == "down" && within[s]:
					want[i].Maintenance += time.Second
				case status[s] == "down":
					want[i].Down += time.Second
				default:
					want[i].Unwatched += time.Second
				}
			}
		}
		got := flips.SplitMaintained(list, bounds, pauses, flips.Join(maintenance))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func ExampleSplitMaintained() {
	noon := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	list := []flips.Flip{{At: noon.Add(90 * time.Minute), Up: true}, {At: noon}, {At: noon.Add(-time.Hour), Up: true}} // newest first
	maintenance := []flips.Span{{Start: noon.Add(-time.Hour), End: noon.Add(time.Hour)}}
	day := []time.Time{noon.Add(-time.Hour), noon.Add(2 * time.Hour)}
	times := flips.SplitMaintained(list, day, nil, maintenance)[0]
	fmt.Println(times.Up, times.Down, times.Maintenance, times.Percent())
	// Output: 1h30m0s 30m0s 1h0m0s 75.00%
}
