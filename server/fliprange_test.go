package server

import (
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

func TestFlipRangeOf(t *testing.T) {
	unix := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	newer := func(seconds int64) time.Time { return unix(seconds).Add(time.Microsecond) }
	tests := []struct {
		query string
		want  flips.Range
		err   string
	}{
		{"", flips.Range{}, ""},
		{"other=x&Seconds=x", flips.Range{}, ""},
		{"seconds=0", flips.Range{Last: 1}, ""},
		{"seconds=3600", flips.Range{Last: time.Hour}, ""},
		{"seconds=007", flips.Range{Last: 7 * time.Second}, ""},
		{"seconds=31536000", flips.Range{Last: 365 * 24 * time.Hour}, ""},
		{"seconds=31536001", flips.Range{}, "seconds is too large: 31536001, the maximum is 31536000"},
		{"seconds=99999999999999999999", flips.Range{}, "seconds is too large: 99999999999999999999, the maximum is 31536000"},
		{"seconds=-1", flips.Range{}, "seconds is too small: -1, the minimum is 0"},
		{"seconds=-0", flips.Range{Last: 1}, ""},
		{"seconds=-99999999999999999999", flips.Range{}, "seconds is too small: -99999999999999999999, the minimum is 0"},
		{"seconds=", flips.Range{}, `seconds is not a whole number: ""`},
		{"seconds", flips.Range{}, `seconds is not a whole number: ""`},
		{"seconds=-", flips.Range{}, `seconds is not a whole number: "-"`},
		{"seconds=--1", flips.Range{}, `seconds is not a whole number: "--1"`},
		{"seconds=1.0", flips.Range{}, `seconds is not a whole number: "1.0"`},
		{"seconds=1e3", flips.Range{}, `seconds is not a whole number: "1e3"`},
		{"seconds=0x10", flips.Range{}, `seconds is not a whole number: "0x10"`},
		{"seconds=1_000", flips.Range{}, `seconds is not a whole number: "1_000"`},
		{"seconds=%2B5", flips.Range{}, `seconds is not a whole number: "+5"`},
		{"seconds=+5", flips.Range{}, `seconds is not a whole number: " 5"`},
		{"seconds=%D9%A5", flips.Range{}, `seconds is not a whole number: "٥"`},
		{"seconds=%FF%00", flips.Range{}, `seconds is not a whole number: "\xff\x00"`},
		{"start=0", flips.Range{From: newer(0)}, ""},
		{"start=1767225600", flips.Range{From: newer(1767225600)}, ""},
		{"start=10000000000", flips.Range{From: newer(10000000000)}, ""},
		{"start=10000000001", flips.Range{}, "start is too large: 10000000001, the maximum is 10000000000"},
		{"start=-1", flips.Range{}, "start is too small: -1, the minimum is 0"},
		{"start=2026-01-01", flips.Range{}, `start is not a whole number: "2026-01-01"`},
		{"start=", flips.Range{}, `start is not a whole number: ""`},
		{"end=0", flips.Range{Until: unix(0)}, ""},
		{"end=10000000000", flips.Range{Until: unix(10000000000)}, ""},
		{"end=10000000001", flips.Range{}, "end is too large: 10000000001, the maximum is 10000000000"},
		{"end=-5", flips.Range{}, "end is too small: -5, the minimum is 0"},
		{"end=x", flips.Range{}, `end is not a whole number: "x"`},
		{"seconds=60&start=2&end=1", flips.Range{Last: time.Minute, From: newer(2), Until: unix(1)}, ""},
		{"end=x&start=y&seconds=z", flips.Range{}, `seconds is not a whole number: "z"`},
		{"seconds=" + strings.Repeat("9", 5000), flips.Range{},
			"seconds is too large: " + strings.Repeat("9", 40) + "… (5000 bytes), the maximum is 31536000"},
		{"seconds=" + strings.Repeat("x", 39) + "é", flips.Range{},
			`seconds is not a whole number: "` + strings.Repeat("x", 39) + `… (41 bytes)"`},
	}
	for _, tt := range tests {
		t.Run(tt.query[:min(len(tt.query), 40)], func(t *testing.T) {
			values, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := flipRange(values)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("window (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFlipRange checks that flipRange accepts every one within its bounds.
func TestFlipRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := url.Values{}
		draw := func(name string, maximum int64) *int64 {
			if !rapid.Bool().Draw(t, "has "+name) {
				return nil
			}
			n := rapid.Int64Range(0, maximum).Draw(t, name)
			values.Set(name, fmt.Sprint(n))
			return &n
		}
		var want flips.Range
		if n := draw("seconds", checks.MaxFlipSeconds); n != nil {
			want.Last = max(1, time.Duration(*n)*time.Second)
		}
		if n := draw("start", checks.MaxFlipTimestamp); n != nil {
			want.From = time.Unix(*n, 0).UTC().Add(time.Microsecond)
		}
		if n := draw("end", checks.MaxFlipTimestamp); n != nil {
			want.Until = time.Unix(*n, 0).UTC()
		}
		got, err := flipRange(values)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzFlipWindow compares the result with arithmetic on big integers.
func FuzzFlipWindow(f *testing.F) {
	for _, value := range []string{"", "0", "-1", "-0", "31536000", "31536001", "10000000000", "9223372036854775808", "1e3", "+5", "\xff"} {
		f.Add(value, value, value, true, true, true)
	}
	f.Add("60", "", "x", true, false, false)
	digits := regexp.MustCompile(`\A-?[0-9]+\z`)
	f.Fuzz(func(t *testing.T, seconds, start, end string, hasSeconds, hasStart, hasEnd bool) {
		values := url.Values{}
		var bad []string
		for _, p := range []struct {
			name, value string
			present     bool
			maximum     int64
		}{
			{"seconds", seconds, hasSeconds, checks.MaxFlipSeconds},
			{"start", start, hasStart, checks.MaxFlipTimestamp},
			{"end", end, hasEnd, checks.MaxFlipTimestamp},
		} {
			if !p.present {
				continue
			}
			values.Set(p.name, p.value)
			n, ok := new(big.Int).SetString(p.value, 10)
			if !ok || !digits.MatchString(p.value) || n.Sign() < 0 || n.Cmp(big.NewInt(p.maximum)) > 0 {
				bad = append(bad, p.name)
			}
		}
		w, err := flipRange(values)
		if len(bad) == 0 {
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if (w.Last > 0) != hasSeconds || w.From.IsZero() == hasStart || w.Until.IsZero() == hasEnd {
				t.Errorf("the window does not have the bounds of the query: %+v", w)
			}
			w.Bounds(time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC))
			return
		}
		problem, ok := errors.AsType[*checks.FieldError](err)
		if !ok {
			t.Fatalf("got %v, want a *FieldError", err)
		}
		if problem.Field != bad[0] {
			t.Errorf("the error names %s, want %s", problem.Field, bad[0])
		}
		if text := err.Error(); !utf8.ValidString(text) || len(text) > 300 {
			t.Errorf("the error text is not valid UTF-8 or too long: %q", text)
		}
	})
}
