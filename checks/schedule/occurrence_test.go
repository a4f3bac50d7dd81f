package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func TestUpcoming(t *testing.T) {
	type want struct {
		at              string
		moved, repeated bool
		note            string
	}
	const date = "2006-01-02 15:04 -07"
	const forward, back = "clocks go forward from 03:00 to 04:00", "clocks go back from 04:00 to 03:00"
	for _, test := range []struct {
		name, expr, zone, from string
		want                   []want
	}{
		{"fixed time in a gap", "30 3 * * *", "Europe/Riga", "2025-03-29T12:00:00Z", []want{
			{"2025-03-30 04:00 +03", true, false, "03:30 does not exist: the run is expected when the gap ends, at 04:00; " + forward},
			{"2025-03-31 03:30 +03", false, false, ""},
		}},
		{"fixed times in a gap and at its end", "0,30 3,4 * * *", "Europe/Riga", "2025-03-29T12:00:00Z", []want{
			{"2025-03-30 04:00 +03", false, false, "03:00 to 03:30 do not exist: the run is expected when the gap ends, at 04:00; " + forward},
			{"2025-03-30 04:30 +03", false, false, ""},
		}},
		{"fixed time in an overlap", "30 3 * * *", "Europe/Riga", "2025-10-25T12:00:00Z", []want{
			{"2025-10-26 03:30 +03", false, true, "03:30 comes twice, the run is expected the first time only"},
			{"2025-10-27 03:30 +02", false, false, back + " on 26 October 2025"},
		}},
		{"wildcard in an overlap", "*/30 * * * *", "Europe/Riga", "2025-10-25T23:45:00Z", []want{
			{"2025-10-26 03:00 +03", false, true, "03:00 comes twice, this is the first time"},
			{"2025-10-26 03:30 +03", false, true, "03:30 comes twice, this is the first time"},
			{"2025-10-26 03:00 +02", false, true, "03:00 for the second time; " + back},
			{"2025-10-26 03:30 +02", false, true, "03:30 for the second time"},
			{"2025-10-26 04:00 +02", false, false, ""},
		}},
		{"wildcard in a gap", "*/30 * * * *", "Europe/Riga", "2025-03-30T00:15:00Z", []want{
			{"2025-03-30 02:30 +02", false, false, ""},
			{"2025-03-30 04:00 +03", false, false, "03:00 to 03:30 are skipped; " + forward},
		}},
		{"OnCalendar in a gap", "03:30", "Europe/Riga", "2025-03-29T12:00:00Z", []want{
			{"2025-03-31 03:30 +03", false, false, "03:30 is skipped; " + forward + " on 30 March 2025"},
		}},
		{"OnCalendar in an overlap", "*:0/30", "Europe/Riga", "2025-10-26T00:15:00Z", []want{
			{"2025-10-26 03:30 +03", false, true, "03:30 comes twice, the run is expected the first time only"},
			{"2025-10-26 04:00 +02", false, false, back},
		}},
		{"change between runs", "0 9 * * MON", "Europe/Riga", "2025-10-24T12:00:00Z", []want{
			{"2025-10-27 09:00 +02", false, false, back + " on 26 October 2025"},
			{"2025-11-03 09:00 +02", false, false, ""},
		}},
		{"two changes between runs", "0 0 1 1 *", "Europe/Riga", "2025-03-02T12:00:00Z", []want{
			{"2026-01-01 00:00 +02", false, false, ""},
		}},
		{"a day that does not exist", "0 12 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z", []want{
			{"2011-12-31 00:00 +14", true, false, "12:00 does not exist: the run is expected when the gap ends, at 00:00; " +
				"clocks go forward from 00:00 on 30 December 2011 to 00:00 on 31 December 2011"},
		}},
		{"change of the year before", "0 9 1 2 *", "Australia/Sydney", "2044-09-01T00:00:00Z", []want{
			{"2045-02-01 09:00 +11", false, false, "clocks go forward from 02:00 to 03:00 on 2 October 2044"},
		}},
		{"same in two lines", "03:30\n0:0\n3:30", "Europe/Riga", "2025-03-30T00:30:00Z", []want{
			{"2025-03-31 00:00 +03", false, false, "03:30 is skipped; " + forward + " on 30 March 2025"},
		}},
		{"line with a zone", "03:30 Europe/Riga", "UTC", "2025-03-29T12:00:00Z", []want{
			{"2025-03-31 00:30 +00", false, false, "03:30 is skipped"},
		}},
		{"several lines", "03:30\n04:00\n04:00 Europe/Helsinki", "Europe/Riga", "2025-03-29T12:00:00Z", []want{
			{"2025-03-30 04:00 +03", false, false, "03:30 is skipped; " + forward},
			{"2025-03-31 03:30 +03", false, false, ""},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := schedule.Parse(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			from, err := time.Parse(time.RFC3339, test.from)
			if err != nil {
				t.Fatal(err)
			}
			var got []want
			for _, o := range schedule.Upcoming(s, from.In(mustZone(t, test.zone)), len(test.want)) {
				got = append(got, want{o.Time.Format(date), o.Moved, o.Repeated, o.Note})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUpcomingEnds(t *testing.T) {
	s, err := schedule.Parse("2026-01-01 09:00\n2026-01-02 09:00")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	if got := schedule.Upcoming(s, from, 10); len(got) != 2 {
		t.Errorf("%d runs, want 2: %v", len(got), got)
	}
	if got := schedule.Upcoming(s, from, 0); len(got) != 0 {
		t.Errorf("asked for none, got %v", got)
	}
}
