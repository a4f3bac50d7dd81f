package words

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParsePeriod(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90 min": 90 * time.Minute, "1 day": day, "2h30m": 150 * time.Minute, "1 h 30 min": 90 * time.Minute, "45s": 45 * time.Second,
		"1.5 h": 90 * time.Minute, "0.1 min": 6 * time.Second, " 2 Weeks ": 14 * day, "30min1h": 90 * time.Minute, "365 d": 365 * day,
		"1\u00a0h\t2\u202fmin": 62 * time.Minute, "0 s": 0, "1 hour 1 second": time.Hour + time.Second, "007 min": 7 * time.Minute,
	} {
		if got, err := ParsePeriod(text); err != nil || got != want {
			t.Errorf("ParsePeriod(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                 "is missing",
		"  ":                               "is missing",
		"90":                               "has no unit: write 90 min, 90 h or 90 days",
		"1 h 30":                           "has no unit: write 30 min",
		"soon":                             "is not a duration",
		"min 5":                            "is not a duration",
		"5 parsecs":                        "has an unknown unit: parsecs",
		"1 month":                          "write days",
		"2 years":                          "write days",
		"1 h 2 hours":                      "has a unit twice: hours",
		"0.5 s":                            "not a whole number of seconds",
		"-5 min":                           "must not be negative",
		"1,5 h":                            "is not a duration",
		"1..5 h":                           "has a number that does not fit",
		". h":                              "has a number that does not fit",
		"1e5 s":                            "has an unknown unit: e",
		"9999999999 s":                     "is too long",
		"99999999 weeks":                   "is too long",
		"5 min\x00":                        "is not a duration",
		"\xff":                             "is not a duration",
		"٣ min":                            "is not a duration",
		strings.Repeat("9", 5000) + " min": "…",
		strings.Repeat("x", 5000):          "is not a duration",
	} {
		if got, err := ParsePeriod(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("ParsePeriod(%.40q) = %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestSpellPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		day: "1 day", 7 * day: "7 days", 90 * time.Minute: "1 h 30 min", 0: "0 s", 25*time.Hour + time.Second: "1 day 1 h 1 s",
	} {
		if got := SpellPeriod(d); got != want {
			t.Errorf("SpellPeriod(%v) = %q, want %q", d, got, want)
		}
	}
}

// TestPeriodRoundTrip checks that every period is read as it was written.
func TestPeriodRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 100_000*24*3600).Draw(t, "seconds")) * time.Second
		for _, text := range []string{SpellPeriod(d), strings.ReplaceAll(SpellPeriod(d), " ", ""), d.String()} {
			if got, err := ParsePeriod(text); err != nil || got != d {
				t.Fatalf("%q is read as %v, %v, want %v", text, got, err, d)
			}
		}
	})
}

func FuzzParsePeriod(f *testing.F) {
	for _, text := range []string{"90 min", "1.5h", "1 h 30", "9e9 s", "…"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParsePeriod(text)
		if err != nil {
			return
		}
		if d < 0 || d > 100_000*day || d%time.Second != 0 {
			t.Errorf("%q is read as %v", text, d)
		}
		if again, err := ParsePeriod(SpellPeriod(d)); err != nil || again != d {
			t.Errorf("%q is read as %v, which is written as %q and read as %v, %v", text, d, SpellPeriod(d), again, err)
		}
	})
}
