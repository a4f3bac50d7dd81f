package wallclock_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// unix reads an instant such as "2026-03-01T12:00:00Z", or a wall clock time written as if it were in UTC.
func unix(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

func TestPassings(t *testing.T) {
	for _, test := range []struct {
		name, zone, wall, first, last string
		skipped                       bool
	}{
		{"UTC", "UTC", "2026-03-29T03:30:00Z", "2026-03-29T03:30:00Z", "2026-03-29T03:30:00Z", false},
		{"no change", "Europe/Riga", "2026-03-01T12:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", false},
		{"last second before a gap", "Europe/Riga", "2026-03-29T02:59:59Z", "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z", false},
		{"first second of a gap", "Europe/Riga", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", true},
		{"last second of a gap", "Europe/Riga", "2026-03-29T03:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", true},
		{"first second after a gap", "Europe/Riga", "2026-03-29T04:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", false},
		{"last second before an overlap", "Europe/Riga", "2026-10-25T02:59:59Z", "2026-10-24T23:59:59Z", "2026-10-24T23:59:59Z", false},
		{"first second of an overlap", "Europe/Riga", "2026-10-25T03:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", false},
		{"first second after an overlap", "Europe/Riga", "2026-10-25T04:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z", false},
		{"half an hour back", "Australia/Lord_Howe", "2025-04-06T01:30:00Z", "2025-04-05T14:30:00Z", "2025-04-05T15:00:00Z", false},
		{"a day that does not exist", "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", true},
		{"last day of a leap year with a rule only", "America/New_York", "2040-12-31T23:59:59Z", "2041-01-01T04:59:59Z", "2041-01-01T04:59:59Z", false},
	} {
		first, last, skipped := wallclock.Passings(zone(t, test.zone), unix(t, test.wall))
		if first != unix(t, test.first) || last != unix(t, test.last) || skipped != test.skipped {
			t.Errorf("%s: Passings(%s, %s) = %v, %v, %v", test.name, test.zone, test.wall,
				time.Unix(first, 0).UTC(), time.Unix(last, 0).UTC(), skipped)
		}
	}
}

func TestUnseen(t *testing.T) {
	for _, test := range []struct{ name, zone, at, want string }{
		{"no change", "Europe/Riga", "2026-03-01T10:00:00Z", "2026-03-01T12:00:01Z"},
		{"before a gap", "Europe/Riga", "2026-03-29T00:59:59Z", "2026-03-29T03:00:00Z"},
		{"after a gap", "Europe/Riga", "2026-03-29T01:00:00Z", "2026-03-29T04:00:01Z"},
		{"first pass of an overlap", "Europe/Riga", "2026-10-25T00:30:00Z", "2026-10-25T03:30:01Z"},
		{"second pass of an overlap", "Europe/Riga", "2026-10-25T01:30:00Z", "2026-10-25T04:00:00Z"},
		{"after an overlap", "Europe/Riga", "2026-10-25T02:00:00Z", "2026-10-25T04:00:01Z"},
	} {
		if got := wallclock.Unseen(zone(t, test.zone), unix(t, test.at)); got != unix(t, test.want) {
			t.Errorf("%s: Unseen(%s, %s) = %v, want %s", test.name, test.zone, test.at, time.Unix(got, 0).UTC(), test.want)
		}
	}
}

// TestPeriods walks through all periods of a zone: each starts where the one before ends, and no change of the offset
// lies within one.
func TestPeriods(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Tokyo", "Europe/Riga", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"} {
		loc := zone(t, name)
		for u, end := unix(t, "1900-01-01T00:00:00Z"), unix(t, "2100-01-01T00:00:00Z"); u < end; {
			p := wallclock.At(loc, u)
			if p.Start > u || p.End <= u {
				t.Fatalf("%s: %v is not within %+v", name, time.Unix(u, 0).UTC(), p)
			}
			if p.Wall(u) != u+p.Offset ||
				p.End != wallclock.Forever && p.WallEnd() != p.Wall(p.End) {
				t.Fatalf("%s: wall clock of %+v", name, p)
			}
			for last := min(p.End, end) - 1; u <= last; u += 7 * 24 * 3600 {
				for _, at := range []int64{u, last} {
					if _, offset := time.Unix(at, 0).In(loc).Zone(); int64(offset) != p.Offset {
						t.Fatalf("%s: the offset at %v is not that of %+v", name, time.Unix(at, 0).UTC(), p)
					}
				}
			}
			u = p.End
			if u == wallclock.Forever {
				break
			}
		}
	}
}
