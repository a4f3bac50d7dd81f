package prose_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 320 * time.Millisecond: "0.32 s", 41 * time.Second: "41 s", 100 * time.Second: "1 min 40 s",
		41*time.Minute + 59*time.Second: "41 min", 134*time.Minute + 5*time.Second: "2 h 14 min", 28 * time.Hour: "1 day 4 h", 80 * time.Hour: "3 days",
	} {
		if got := prose.Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{20 * time.Minute: "20 min", 90 * time.Minute: "1 h 30 min", 7*24*time.Hour + time.Second: "7 days 1 s"} {
		if got := prose.Period(d); got != want {
			t.Errorf("Period(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	for _, test := range []struct{ at, tz, want string }{
		{"2026-03-15T04:00:00Z", "", "2026-03-15 04:00 UTC"},
		{"2026-03-15T04:00:00Z", "nowhere", "2026-03-15 04:00 UTC"},
		{"2026-03-15T23:30:00Z", "Europe/Riga", "2026-03-16 01:30 Europe/Riga"},
		{"2026-10-25T00:20:00Z", "Europe/Riga", "2026-10-25 03:20 EEST Europe/Riga"},
		{"2026-10-25T01:20:00Z", "Europe/Riga", "2026-10-25 03:20 EET Europe/Riga"},
		{"2026-10-25T02:20:00Z", "Europe/Riga", "2026-10-25 04:20 Europe/Riga"},
		{"2026-04-04T14:45:00Z", "Australia/Lord_Howe", "2026-04-05 01:45 +11 Australia/Lord_Howe"},
		{"2026-12-31T11:30:00Z", "Pacific/Auckland", "2027-01-01 00:30 Pacific/Auckland"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := prose.Time(at, "2006-01-02 15:04", test.tz); got != test.want {
			t.Errorf("%s in %q is %q, want %q", test.at, test.tz, got, test.want)
		}
	}
}

// TestLineJoiners keeps what belongs to letters and emoji, and no other invisible character.
func TestLineJoiners(t *testing.T) {
	for text, want := range map[string]string{
		"👨\u200d👩\u200d👧":                                               "👨\u200d👩\u200d👧",
		"👩🏽\u200d💻 ❤\ufe0f\u200d🔥":                                      "👩🏽\u200d💻 ❤\ufe0f\u200d🔥",
		"می\u200cخواهم":                                                 "می\u200cخواهم",
		"क्\u200dष क्\u200cष":                                           "क्\u200dष क्\u200cष",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"\u200da\u200d b\u200d":                                         "a b",
		"a\u200d\u200d\u202eb":                                          "a\u200db",
		"a\u200b\U000e0041b\u200e":                                      "ab",
		"1\u200c2":                                                      "12",
	} {
		if diff := cmp.Diff(want, prose.Line(text, 100)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if diff := cmp.Diff(want, prose.Visible(text)); diff != "" {
			t.Errorf("Visible(%q) (-want +got):\n%s", text, diff)
		}
	}
	if got := prose.Line("👨\u200d👩", 2); got != "👨…" {
		t.Errorf("cut: %q", got)
	}
}

// TestBrief: a text of any length is cut between characters, and says how long it was.
func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"abcde":                        "abcde",
		"abcdef":                       "abcde… (6 bytes)",
		"abcdž":                        "abcd… (6 bytes)",
		strings.Repeat("x", 1_000_000): "xxxxx… (1000000 bytes)",
	} {
		if got := prose.Brief(text, 5); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcdef", 5, "ab…"},
		{"žžž", 5, "ž…"},
		{"žžž", 6, "žžž"},
		{"abcdef", 3, ""},
		{"abcdef", 0, ""},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, prose.Cut(tt.text, tt.limit)); diff != "" {
			t.Errorf("Cut(%q, %d): %s", tt.text, tt.limit, diff)
		}
	}
}
