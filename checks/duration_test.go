package checks_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1d": day, "1w": 7 * day, "1d12h": 36 * time.Hour, "2w1d": 15 * day, "1h30m": 90 * time.Minute, "1 day": day, "90": 90 * time.Second,
		"0": 0, "007": 7 * time.Second, " 2 Weeks ": 14 * day, "1.5 h": 90 * time.Minute, "500ms": 500 * time.Millisecond, "1µs": time.Microsecond,
		"30min1h": 90 * time.Minute, "1\u00a0h\t2\u202fmin": 62 * time.Minute, "0.1 min": 6 * time.Second, "100000d": 100_000 * day,
	} {
		if got, err := checks.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is not a duration", "soon": "is not a duration", "d": "is not a duration", "1,5h": "is not a duration", "\xff": "is not a duration",
		"-1h": "must not be negative", "1h30": "has no unit: write 30 min", "1 month": "write days", "1y": "write days", "5 parsecs": "unknown unit: parsecs",
		"1h2hours": "has a unit twice: hours", "1d1day": "has a unit twice", "100001d": "is too long", "99999999999999999999": "is too long",
		"1..5h": "number that does not fit", strings.Repeat("9", 5000): "does not fit", strings.Repeat("x", 5000): "is not a duration",
	} {
		if got, err := checks.ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.40q = %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

// TestParseDurationRoundTrip checks that what Go and this package write is read again.
func TestParseDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 100_000*24*3600).Draw(t, "seconds")) * time.Second
		for _, text := range []string{d.String(), checks.ValueText(d)} {
			if got, err := checks.ParseDuration(text); err != nil || got != d {
				t.Fatalf("%q is read as %v, %v", text, got, err)
			}
		}
	})
}
