package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

func TestClock(t *testing.T) {
	for _, test := range []struct{ at, viewer, own, clock, beside string }{
		{"2026-11-24T01:05:00Z", "UTC", "UTC", "24 Nov 2026 01:05:00", ""},
		{"2026-11-24T01:05:00Z", "UTC", "Europe/Riga", "24 Nov 2026 01:05:00", "(03:05 Riga)"},
		{"2026-11-24T08:05:00Z", "Europe/Riga", "America/New_York", "24 Nov 2026 10:05:00", "(03:05 New York)"},
		{"2026-11-24T01:05:00Z", "Europe/Riga", "Europe/Helsinki", "24 Nov 2026 03:05:00", ""},
		{"2026-11-24T01:05:00Z", "Europe/Riga", "America/Argentina/Buenos_Aires", "24 Nov 2026 03:05:00", "(23 Nov 22:05 Buenos Aires)"},
		{"2026-11-24T01:05:00Z", "Asia/Kolkata", "Etc/UTC", "24 Nov 2026 06:35:00", "(01:05 UTC)"},
		// Clocks are set back, here or there: the time of day comes twice.
		{"2026-10-25T00:20:00Z", "Europe/Riga", "UTC", "25 Oct 2026 03:20:00 EEST", "(00:20 UTC)"},
		{"2026-10-25T01:20:00Z", "Europe/Riga", "UTC", "25 Oct 2026 03:20:00 EET", "(01:20 UTC)"},
		{"2026-11-01T05:30:00Z", "UTC", "America/New_York", "1 Nov 2026 05:30:00", "(01:30 EDT New York)"},
		{"2026-11-01T06:30:00Z", "UTC", "America/New_York", "1 Nov 2026 06:30:00", "(01:30 EST New York)"},
		// Between the two changes of the year, the zones show the same.
		{"2025-07-01T12:00:00Z", "Europe/London", "Africa/Casablanca", "1 Jul 2025 13:00:00", ""},
		{"2025-12-01T12:00:00Z", "Europe/London", "Africa/Casablanca", "1 Dec 2025 12:00:00", "(13:00 Casablanca)"},
		// Across the date line, the time of day may be the same on another day.
		{"2026-11-24T10:30:00Z", "Pacific/Pago_Pago", "Pacific/Kiritimati", "23 Nov 2026 23:30:00", "(25 Nov 00:30 Kiritimati)"},
		{"2026-11-24T10:30:00Z", "Pacific/Honolulu", "Pacific/Kiritimati", "24 Nov 2026 00:30:00", "(25 Nov 00:30 Kiritimati)"},
		{"2026-12-31T23:30:00Z", "UTC", "Pacific/Auckland", "31 Dec 2026 23:30:00", "(1 Jan 12:30 Auckland)"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		viewer, own := zone(t, test.viewer), zone(t, test.own)
		want := `<time datetime="` + test.at + `">` + test.clock + `</time>`
		if test.beside != "" {
			want += ` <span class="own">` + test.beside + `</span>`
		}
		if got := (words.Clock{Zone: viewer}).Stamp(at, own); string(got) != want {
			t.Errorf("%s in %s, of a check in %s:\n got %s\nwant %s", test.at, test.viewer, test.own, got, want)
		}
	}
	if got := (words.Clock{Zone: time.UTC}).Stamp(time.Time{}, time.UTC); got != "–" {
		t.Errorf("no time is %q", got)
	}
}

func TestTwelveHours(t *testing.T) {
	riga := zone(t, "Europe/Riga")
	for _, zone := range []*time.Location{riga, time.UTC} {
		day, twelve := words.Clock{Zone: zone}, words.Clock{Zone: zone, TwelveHours: true}
		for hour := range 48 {
			at := time.Date(2026, 10, 24, hour, 4, 5, 0, time.UTC)
			if got, want := twelve.Format(at, "2 Jan 15:04:05 MST"), at.In(zone).Format("2 Jan 3:04:05 pm MST"); got != want {
				t.Errorf("%v: %s, want %s", at, got, want)
			}
			if got, want := day.Format(at, "15:04"), at.In(zone).Format("15:04"); got != want {
				t.Errorf("%v: %s, want %s", at, got, want)
			}
		}
	}
	now, twelve := time.Date(2026, 11, 24, 20, 0, 0, 0, riga), words.Clock{Zone: riga, TwelveHours: true}
	if got := twelve.Text(now.Add(-17*time.Hour), now); got != "3:00 am" {
		t.Errorf("time %q", got)
	}
	if got := twelve.Text(now.Add(-24*time.Hour), now); got != "yesterday 8:00 pm" {
		t.Errorf("time %q", got)
	}
	if got, want := twelve.Stamp(now, time.UTC), "24 Nov 2026 8:00:00 pm</time> <span class=\"own\">(6:00 pm UTC)</span>"; !strings.HasSuffix(string(got), want) {
		t.Errorf("stamp %s, want %s", got, want)
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := schedule.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
