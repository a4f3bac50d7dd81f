package flips_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/flips"
)

const now = "2026-03-15T12:00:00Z"

func TestRange(t *testing.T) {
	start, end := at(t, "2026-03-15T11:00:00Z"), at(t, "2026-03-15T11:30:00Z")
	half := time.Microsecond / 2
	tests := []struct {
		name    string
		window  flips.Range
		in, out []string
	}{
		{"no bounds", flips.Range{}, []string{"1970-01-01T00:00:00Z", now, "2999-01-01T00:00:00Z"}, nil},
		{"from is in the window", flips.Range{From: start},
			[]string{"2026-03-15T11:00:00Z", "2999-01-01T00:00:00Z"},
			[]string{"2026-03-15T10:59:59.999999Z"}},
		{"until is not", flips.Range{Until: end},
			[]string{"2026-03-15T11:29:59.999999Z", "1970-01-01T00:00:00Z"},
			[]string{"2026-03-15T11:30:00Z", "2026-03-15T11:30:00.000001Z"}},
		{"last is inclusive", flips.Range{Last: time.Minute},
			[]string{"2026-03-15T11:59:00Z", now, "2026-03-15T12:00:01Z"},
			[]string{"2026-03-15T11:58:59.999999Z"}},
		{"the least duration", flips.Range{Last: 1},
			[]string{now}, []string{"2026-03-15T11:59:59.999999Z"}},
		{"from and until", flips.Range{From: start, Until: end},
			[]string{"2026-03-15T11:00:00Z", "2026-03-15T11:15:00Z"}, []string{"2026-03-15T11:30:00Z"}},
		{"last is the narrower", flips.Range{Last: time.Minute, From: start},
			[]string{"2026-03-15T11:59:00Z"}, []string{"2026-03-15T11:58:59Z"}},
		{"from is the narrower", flips.Range{Last: 2 * time.Hour, From: start},
			[]string{"2026-03-15T11:00:00Z"}, []string{"2026-03-15T10:59:59.999999Z", "2026-03-15T10:30:00Z"}},
		{"bounds that exclude each other", flips.Range{From: end, Until: start},
			nil, []string{"2026-03-15T11:00:00Z", "2026-03-15T11:15:00Z", "2026-03-15T11:30:00Z"}},
		{"the epoch is a bound", flips.Range{From: time.Unix(0, 0), Until: time.Unix(10, 0)},
			[]string{"1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"}, []string{"1969-12-31T23:59:59.999999Z", now}},
		{"from within a microsecond", flips.Range{From: start.Add(half)},
			[]string{"2026-03-15T11:00:00.000001Z"}, []string{"2026-03-15T11:00:00Z"}},
		{"until within a microsecond", flips.Range{Until: end.Add(half)},
			[]string{"2026-03-15T11:30:00Z"}, []string{"2026-03-15T11:30:00.000001Z"}},
		{"cut like a store does", flips.Range{From: start.Add(1)},
			nil, []string{"2026-03-15T11:00:00.000000999Z"}},
		{"far back", flips.Range{Last: math.MaxInt64}, []string{"1800-01-01T00:00:00Z"}, nil},
		{"in another zone", flips.Range{From: start.In(time.FixedZone("", 7200))},
			[]string{"2026-03-15T13:00:00+02:00"}, []string{"2026-03-15T12:59:59+02:00"}},
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
	w := flips.Range{Last: time.Minute, Until: at(t, now).In(zone)}
	from, until := w.Bounds(at(t, now).In(zone))
	got := []string{from.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano)}
	if diff := cmp.Diff([]string{"2026-03-15T11:59:00Z", now}, got); diff != "" {
		t.Error(diff)
	}
	from, until = flips.Range{}.Bounds(at(t, now))
	if !from.IsZero() || !until.IsZero() {
		t.Errorf("the zero Range has bounds: %v, %v", from, until)
	}
}

// TestRangeRules compares Range with its rules, for instants close to the bounds.
func TestRangeRules(t *testing.T) {
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
		var w flips.Range
		instant, flip := near.Draw(t, "now"), near.Draw(t, "at").Truncate(time.Microsecond)
		want := true
		if rapid.Bool().Draw(t, "has last") {
			w.Last = time.Duration(rapid.Int64Range(1, 5*int64(time.Second)).Draw(t, "last"))
			want = want && !flip.Before(instant.Add(-w.Last))
		}
		if rapid.Bool().Draw(t, "has from") {
			w.From = near.Draw(t, "from")
			want = want && !flip.Before(w.From)
		}
		if rapid.Bool().Draw(t, "has until") {
			w.Until = near.Draw(t, "until")
			want = want && flip.Before(w.Until)
		}
		if got := w.Contains(flip, instant); got != want {
			t.Errorf("Contains = %v, want %v", got, want)
		}
		// As in a store: bounds in whole microseconds.
		from, until := w.Bounds(instant)
		micro := func(t time.Time) int64 { return t.UnixMicro() }
		stored := (from.IsZero() || micro(flip) >= micro(from)) && (until.IsZero() || micro(flip) < micro(until))
		if stored != want {
			t.Errorf("a store with the bounds %v and %v: %v, want %v", from, until, stored, want)
		}
	})
}

// TestAdjacentWindows checks that each flip is in exactly one of two adjacent days.
func TestAdjacentWindows(t *testing.T) {
	midnight := at(t, "2026-03-15T00:00:00Z")
	before := flips.Range{From: midnight.AddDate(0, 0, -1), Until: midnight}
	after := flips.Range{From: midnight, Until: midnight.AddDate(0, 0, 1)}
	for _, flip := range []time.Time{midnight.Add(-time.Microsecond), midnight, midnight.Add(time.Microsecond)} {
		if before.Contains(flip, midnight) == after.Contains(flip, midnight) {
			t.Errorf("%v: both days, or none", flip)
		}
	}
}

func ExampleRange() {
	midnight := time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC)
	day := flips.Range{From: midnight, Until: midnight.AddDate(0, 0, 1)}
	fmt.Println(day.Contains(day.From, midnight), day.Contains(day.Until, midnight))
	// Output: true false
}

func ExampleRange_Bounds() {
	now := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	w := flips.Range{Last: time.Hour, Until: now.Add(-time.Minute)}
	from, until := w.Bounds(now)
	fmt.Println("at >=", from.Format(time.TimeOnly), "and at <", until.Format(time.TimeOnly))
	// Output: at >= 11:00:00 and at < 11:59:00
}
