package flips_test

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
	"github.com/rollcall-dev/rollcall/flips"
	"pgregory.net/rapid"
)

// query adapts the values of a URL for ParseWindow.
func query(q url.Values) func(string) (string, bool) {
	return func(name string) (string, bool) { return q.Get(name), q.Has(name) }
}

func TestParseWindow(t *testing.T) {
	unix := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	tests := []struct {
		query string
		want  flips.Window
		err   string
	}{
		{"", flips.Window{}, ""},
		{"other=x&Seconds=x", flips.Window{}, ""},
		{"seconds=0", flips.Window{Last: 1}, ""},
		{"seconds=3600", flips.Window{Last: time.Hour}, ""},
		{"seconds=007", flips.Window{Last: 7 * time.Second}, ""},
		{"seconds=31536000", flips.Window{Last: 365 * 24 * time.Hour}, ""},
		{"seconds=31536001", flips.Window{}, "seconds is too large: 31536001, the maximum is 31536000"},
		{"seconds=99999999999999999999", flips.Window{}, "seconds is too large: 99999999999999999999, the maximum is 31536000"},
		{"seconds=-1", flips.Window{}, "seconds is too small: -1, the minimum is 0"},
		{"seconds=-0", flips.Window{Last: 1}, ""},
		{"seconds=-99999999999999999999", flips.Window{}, "seconds is too small: -99999999999999999999, the minimum is 0"},
		{"seconds=", flips.Window{}, `seconds is not a whole number: ""`},
		{"seconds", flips.Window{}, `seconds is not a whole number: ""`},
		{"seconds=-", flips.Window{}, `seconds is not a whole number: "-"`},
		{"seconds=--1", flips.Window{}, `seconds is not a whole number: "--1"`},
		{"seconds=1.0", flips.Window{}, `seconds is not a whole number: "1.0"`},
		{"seconds=1e3", flips.Window{}, `seconds is not a whole number: "1e3"`},
		{"seconds=0x10", flips.Window{}, `seconds is not a whole number: "0x10"`},
		{"seconds=1_000", flips.Window{}, `seconds is not a whole number: "1_000"`},
		{"seconds=%2B5", flips.Window{}, `seconds is not a whole number: "+5"`},
		{"seconds=+5", flips.Window{}, `seconds is not a whole number: " 5"`},
		{"seconds=%D9%A5", flips.Window{}, `seconds is not a whole number: "٥"`},
		{"seconds=%FF%00", flips.Window{}, `seconds is not a whole number: "\xff\x00"`},
		{"start=0", flips.Window{Start: unix(0)}, ""},
		{"start=1767225600", flips.Window{Start: unix(1767225600)}, ""},
		{"start=10000000000", flips.Window{Start: unix(10000000000)}, ""},
		{"start=10000000001", flips.Window{}, "start is too large: 10000000001, the maximum is 10000000000"},
		{"start=-1", flips.Window{}, "start is too small: -1, the minimum is 0"},
		{"start=2026-01-01", flips.Window{}, `start is not a whole number: "2026-01-01"`},
		{"start=", flips.Window{}, `start is not a whole number: ""`},
		{"end=0", flips.Window{End: unix(0)}, ""},
		{"end=10000000000", flips.Window{End: unix(10000000000)}, ""},
		{"end=10000000001", flips.Window{}, "end is too large: 10000000001, the maximum is 10000000000"},
		{"end=-5", flips.Window{}, "end is too small: -5, the minimum is 0"},
		{"end=x", flips.Window{}, `end is not a whole number: "x"`},
		{"seconds=60&start=2&end=1", flips.Window{Last: time.Minute, Start: unix(2), End: unix(1)}, ""},
		{"end=x&start=y&seconds=z", flips.Window{}, `seconds is not a whole number: "z"`},
		{"seconds=" + strings.Repeat("9", 5000), flips.Window{},
			"seconds is too large: " + strings.Repeat("9", 40) + "…, the maximum is 31536000"},
		{"seconds=" + strings.Repeat("x", 39) + "é", flips.Window{},
			`seconds is not a whole number: "` + strings.Repeat("x", 39) + `…"`},
	}
	for _, tt := range tests {
		t.Run(tt.query[:min(len(tt.query), 40)], func(t *testing.T) {
			values, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := flips.ParseWindow(query(values))
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

func TestQueryError(t *testing.T) {
	tests := []*flips.QueryError{
		{Param: "seconds", Value: "31536001", Problem: flips.TooLarge, Bound: flips.MaxSeconds},
		{Param: "start", Value: "-1", Problem: flips.TooSmall, Bound: 0},
		{Param: "end", Value: "10000000001", Problem: flips.TooLarge, Bound: flips.MaxTimestamp},
		{Param: "end", Value: "", Problem: flips.NotWhole},
	}
	for _, want := range tests {
		_, err := flips.ParseWindow(query(url.Values{want.Param: {want.Value}}))
		got, ok := errors.AsType[*flips.QueryError](err)
		if !ok {
			t.Fatalf("got %T, want a *QueryError", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", want.Param, want.Value, diff)
		}
	}
}

// TestParseWindowInRange checks that ParseWindow accepts every window in range.
func TestParseWindowInRange(t *testing.T) {
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
		var want flips.Window
		if n := draw("seconds", flips.MaxSeconds); n != nil {
			want.Last = max(1, time.Duration(*n)*time.Second)
		}
		if n := draw("start", flips.MaxTimestamp); n != nil {
			want.Start = time.Unix(*n, 0).UTC()
		}
		if n := draw("end", flips.MaxTimestamp); n != nil {
			want.End = time.Unix(*n, 0).UTC()
		}
		got, err := flips.ParseWindow(query(values))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzParseWindow compares the result with arithmetic on big integers.
func FuzzParseWindow(f *testing.F) {
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
			{"seconds", seconds, hasSeconds, flips.MaxSeconds},
			{"start", start, hasStart, flips.MaxTimestamp},
			{"end", end, hasEnd, flips.MaxTimestamp},
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
		w, err := flips.ParseWindow(query(values))
		if len(bad) == 0 {
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if (w.Last > 0) != hasSeconds || w.Start.IsZero() == hasStart || w.End.IsZero() == hasEnd {
				t.Errorf("the window does not have the bounds of the query: %+v", w)
			}
			w.Bounds(time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC))
			return
		}
		problem, ok := errors.AsType[*flips.QueryError](err)
		if !ok {
			t.Fatalf("got %v, want a *QueryError", err)
		}
		if problem.Param != bad[0] {
			t.Errorf("the error names %s, want %s", problem.Param, bad[0])
		}
		if text := err.Error(); !utf8.ValidString(text) || len(text) > 300 {
			t.Errorf("the error text is not valid UTF-8 or too long: %q", text)
		}
	})
}

func ExampleParseWindow() {
	q := url.Values{"seconds": {"31536001"}}
	_, err := flips.ParseWindow(func(name string) (string, bool) { return q.Get(name), q.Has(name) })
	fmt.Println(err)
	// Output: seconds is too large: 31536001, the maximum is 31536000
}
