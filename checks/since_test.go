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

// TestLateSince: another grace does not change since when a check is late, as long as it stays late.
func TestLateSince(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	c, err := checks.New(uuid.New(), checks.Spec{Timeout: new(time.Hour), Grace: new(4 * time.Hour)}, noon)
	must(err)
	c, _, _, err = c.Ping(pings.Signal{}, noon)
	must(err)
	for _, edit := range []struct {
		hours, grace int
		status       checks.Status
		since        time.Time
	}{
		{3, 6, checks.StatusGrace, at(1)},
		{4, 4, checks.StatusGrace, at(1)}, // as Undo does
		{4, 1, checks.StatusDown, at(4)},  // no deadline is in the past
	} {
		c, _, err = c.Update(checks.Spec{Grace: new(time.Duration(edit.grace) * time.Hour)}, at(edit.hours))
		must(err)
		if status, since := c.Status(at(edit.hours)), c.Since(at(edit.hours)); status != edit.status || !since.Equal(edit.since) {
			t.Errorf("with a grace of %d h: %s since %v, want %s since %v", edit.grace, status, since, edit.status, edit.since)
		}
	}
	c, err = checks.New(uuid.New(), checks.Spec{Timeout: new(4 * time.Hour), Grace: new(4 * time.Hour)}, noon)
	must(err)
	c, _, _, err = c.Ping(pings.Signal{}, noon)
	must(err)
	c, _, err = c.Update(checks.Spec{Timeout: new(time.Hour)}, at(3))
	must(err)
	if status, since := c.Status(at(3)), c.Since(at(3)); status != checks.StatusGrace || !since.Equal(at(3)) {
		t.Errorf("with a shorter period: %s since %v", status, since)
	}
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
