package checks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestSince compares Since with the status at every minute of a random history. All changes happen at whole minutes.
func TestSince(t *testing.T) {
	var plans checks.Plans
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		status, began, up := checks.StatusNew, h.now, time.Time{}
		follow := func(c checks.Check, now time.Time) {
			if next := c.Status(now); next != status {
				switch {
				case next == checks.StatusUp && status == checks.StatusGrace: // still up
					began = up
				case next == checks.StatusNew && len(c.Runs.Open()) > 0: // a start has ended the pause
				default:
					began = now
				}
				status = next
			}
			if status == checks.StatusUp {
				up = began
			}
			if got := c.Since(now); !got.Equal(began) {
				t.Fatalf("%v at %v since %v, want %v", status, now, got, began)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			before := h.check
			plans.Attach(&before) // or each minute would compile the schedule again
			last := h.now
			h.event(t)
			for at := last; !at.After(h.now); at = at.Add(time.Minute) {
				follow(before, at)
			}
			changed := h.check.TimingSince.After(before.TimingSince) && status == checks.StatusGrace
			paused := h.check.Stored == checks.StatusPaused && h.check.StoredSince.After(before.StoredSince)
			if changed || paused && status == checks.StatusPaused {
				began = h.now
			}
			follow(h.check, h.now)
		}
	})
}

func ExampleCheck_Since() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c, err := checks.New(uuid.New(), checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}, noon)
	if err != nil {
		panic(err)
	}
	if c, _, _, err = c.Ping(pings.Signal{}, noon); err != nil {
		panic(err)
	}
	for _, minutes := range []int{30, 65, 300} {
		now := noon.Add(time.Duration(minutes) * time.Minute)
		fmt.Println(c.Status(now), "since", c.Since(now).Format(time.TimeOnly))
	}
	// Output:
	// up since 12:00:00
	// grace since 13:00:00
	// down since 13:10:00
}
