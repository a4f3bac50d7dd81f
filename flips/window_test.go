package flips_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/flips"
	"pgregory.net/rapid"
)

const now = "2026-03-15T12:00:00Z"

func TestWindow(t *testing.T) {
	start, end := at(t, "2026-03-15T11:00:00Z"), at(t, "2026-03-15T11:30:00Z")
	half := time.Microsecond / 2
	tests := []struct {
		name    string
		window  flips.Window
		in, out []string
	}{
		{"no bounds", flips.Window{}, []string{"1970-01-01T00:00:00Z", now, "2999-01-01T00:00:00Z"}, nil},
		{"start is strict", flips.Window{Start: start},
			[]string{"2026-03-15T11:00:00.000001Z", "2999-01-01T00:00:00Z"},
			[]string{"2026-03-15T11:00:00Z", "2026-03-15T10:59:59.999999Z"}},
		{"end is strict", flips.Window{End: end},
			[]string{"2026-03-15T11:29:59.999999Z", "1970-01-01T00:00:00Z"},
			[]string{"2026-03-15T11:30:00Z", "2026-03-15T11:30:00.000001Z"}},
		{"last is inclusive", flips.Window{Last: time.Minute},
			[]string{"2026-03-15T11:59:00Z", now, "2026-03-15T12:00:01Z"},
			[]string{"2026-03-15T11:58:59.999999Z"}},
		{"the least duration", flips.Window{Last: 1},
			[]string{now}, []string{"2026-03-15T11:59:59.999999Z"}},
		{"start and end", flips.Window{Start: start, End: end},
			[]string{"2026-03-15T11:15:00Z"}, []string{"2026-03-15T11:00:00Z", "2026-03-15T11:30:00Z"}},
		{"last is the narrower", flips.Window{Last: time.Minute, Start: start},
			[]string{"2026-03-15T11:59:00Z"}, []string{"2026-03-15T11:58:59Z"}},
		{"start is the narrower", flips.Window{Last: 2 * time.Hour, Start: start},
			[]string{"2026-03-15T11:00:01Z"}, []string{"2026-03-15T11:00:00Z", "2026-03-15T10:30:00Z"}},
		{"bounds that exclude each other", flips.Window{Start: end, End: start},
			nil, []string{"2026-03-15T11:00:00Z", "2026-03-15T11:15:00Z", "2026-03-15T11:30:00Z"}},
		{"the epoch is a bound", flips.Window{Start: time.Unix(0, 0), End: time.Unix(10, 0)},
			[]string{"1970-01-01T00:00:01Z"}, []string{"1970-01-01T00:00:00Z", now}},
		{"start within a microsecond", flips.Window{Start: start.Add(half)},
			[]string{"2026-03-15T11:00:00.000001Z"}, []string{"2026-03-15T11:00:00Z"}},
		{"end within a microsecond", flips.Window{End: end.Add(half)},
			[]string{"2026-03-15T11:30:00Z"}, []string{"2026-03-15T11:30:00.000001Z"}},
		{"cut like a store does", flips.Window{Start: start},
			nil, []string{"2026-03-15T11:00:00.000000999Z"}},
		{"far back", flips.Window{Last: math.MaxInt64}, []string{"1800-01-01T00:00:00Z"}, nil},
		{"in another zone", flips.Window{Start: start.In(time.FixedZone("", 7200))},
			[]string{"2026-03-15T13:00:01+02:00"}, []string{"2026-03-15T13:00:00+02:00"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make(map[string]bool)
			want := make(map[string]bool)
			for _, text := range append(tt.in, tt.out...) {
				got[text] = tt.window.Contains(at(t, text), at(t, now))
			}
			for _, text := range tt.in {
				want[text] = true
			}
			for _, text := range tt.out {
				want[text] = false
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the window contains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	zone := time.FixedZone("", 7200)
	w := flips.Window{Last: time.Minute, End: at(t, now).In(zone)}
	after, before := w.Bounds(at(t, now).In(zone))
	got := []string{after.Format(time.RFC3339Nano), before.Format(time.RFC3339Nano)}
	if diff := cmp.Diff([]string{"2026-03-15T11:58:59.999999Z", now}, got); diff != "" {
		t.Error(diff)
	}
	after, before = flips.Window{}.Bounds(at(t, now))
	if !after.IsZero() || !before.IsZero() {
		t.Errorf("the zero Window has bounds: %v, %v", after, before)
	}
}

// TestWindowRules compares Window with the rules of server/API.md section 4.10, for instants close to the bounds.
func TestWindowRules(t *testing.T) {
	epoch := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	nanoseconds := rapid.Int64Range(-3*int64(time.Second), 3*int64(time.Second))
	near := rapid.Custom(func(t *rapid.T) time.Time {
		n := nanoseconds.Draw(t, "nanoseconds")
		switch rapid.IntRange(0, 2).Draw(t, "unit") {
		case 0:
			n -= n % int64(time.Second)
		case 1:
			n -= n % int64(time.Microsecond)
		}
		return epoch.Add(time.Duration(n))
	})
	rapid.Check(t, func(t *rapid.T) {
		var w flips.Window
		instant, flip := near.Draw(t, "now"), near.Draw(t, "at").Truncate(time.Microsecond)
		want := true
		if rapid.Bool().Draw(t, "has last") {
			w.Last = time.Duration(rapid.Int64Range(1, 5*int64(time.Second)).Draw(t, "last"))
			want = want && !flip.Before(instant.Add(-w.Last))
		}
		if rapid.Bool().Draw(t, "has start") {
			w.Start = near.Draw(t, "start")
			want = want && flip.After(w.Start)
		}
		if rapid.Bool().Draw(t, "has end") {
			w.End = near.Draw(t, "end")
			want = want && flip.Before(w.End)
		}
		if got := w.Contains(flip, instant); got != want {
			t.Errorf("Contains = %v, want %v", got, want)
		}
		// As in a store: bounds in whole microseconds, both strict.
		after, before := w.Bounds(instant)
		micro := func(t time.Time) int64 { return t.UnixMicro() }
		stored := (after.IsZero() || micro(flip) > micro(after)) && (before.IsZero() || micro(flip) < micro(before))
		if stored != want {
			t.Errorf("a store with the bounds %v and %v: %v, want %v", after, before, stored, want)
		}
	})
}

func ExampleWindow_Bounds() {
	now := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	w := flips.Window{Last: time.Hour, End: now.Add(-time.Minute)}
	after, before := w.Bounds(now)
	fmt.Println("at >", after.Format(time.RFC3339Nano))
	fmt.Println("at <", before.Format(time.RFC3339Nano))
	fmt.Println(w.Contains(now.Add(-time.Hour), now), w.Contains(now, now))
	// Output:
	// at > 2026-03-15T10:59:59.999999Z
	// at < 2026-03-15T11:59:00Z
	// true false
}
