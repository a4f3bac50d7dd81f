package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// TestHardChanges compares with results worked out by hand, where the reference implementations are wrong or disagree.
func TestHardChanges(t *testing.T) {
	for _, test := range []struct {
		name, expr, zone, from string
		want                   []string
	}{
		{"fixed time, asked in the second pass", "30 3 * * *", "Europe/Riga", "2025-10-26T01:15:00Z",
			[]string{"2025-10-27T03:30:00+02:00"}},
		{"wildcard, asked in the second pass", "*/30 * * * *", "Europe/Riga", "2025-10-26T01:15:00Z",
			[]string{"2025-10-26T03:30:00+02:00", "2025-10-26T04:00:00+02:00"}},
		{"OnCalendar, asked in the second pass", "*:0/30", "Europe/Riga", "2025-10-26T01:15:00Z",
			[]string{"2025-10-26T04:00:00+02:00"}},
		{"fixed time in a gap at midnight", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"wildcard on a day that begins with a gap", "*/20 0 * * *", "Asia/Beirut", "2022-03-26T12:00:00Z",
			[]string{"2022-03-28T00:00:00+03:00", "2022-03-28T00:20:00+03:00"}},
		{"OnCalendar on a day that begins with a gap", "Sun", "Asia/Beirut", "2022-03-26T12:00:00Z",
			[]string{"2022-04-03T00:00:00+03:00"}},
		{"wildcard in an overlap at midnight", "0 */12 * * *", "America/Havana", "2025-11-02T03:30:00Z",
			[]string{"2025-11-02T00:00:00-04:00", "2025-11-02T00:00:00-05:00", "2025-11-02T12:00:00-05:00"}},
		{"half an hour forward", "15 2 * * *", "Australia/Lord_Howe", "2025-10-04T00:00:00Z",
			[]string{"2025-10-05T02:30:00+11:00", "2025-10-06T02:15:00+11:00"}},
		{"half an hour back", "*/15 1 * * *", "Australia/Lord_Howe", "2025-04-05T14:00:00Z",
			[]string{"2025-04-06T01:15:00+11:00", "2025-04-06T01:30:00+11:00", "2025-04-06T01:45:00+11:00",
				"2025-04-06T01:30:00+10:30", "2025-04-06T01:45:00+10:30", "2025-04-07T01:00:00+10:30"}},
		{"a change at a minute past midnight", "0 0 * * *", "America/St_Johns", "2009-10-31T12:00:00Z",
			[]string{"2009-11-01T00:00:00-02:30", "2009-11-02T00:00:00-03:30"}},
		{"a day that does not exist, fixed", "0 9 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"}},
		{"a day that does not exist, wildcard", "0 */9 * * *", "Pacific/Apia", "2011-12-30T05:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"}},
		{"a day that does not exist, OnCalendar", "Fri 09:00", "Pacific/Apia", "2011-12-29T20:00:00Z",
			[]string{"2012-01-06T09:00:00+14:00"}},
		{"always in the gap", "* 3 * 3 7L", "Europe/Riga", "2026-01-01T00:00:00Z", nil},
		{"an hour back for Ramadan", "30 2 * * *", "Africa/Casablanca", "2025-02-22T12:00:00Z",
			[]string{"2025-02-23T02:30:00+01:00", "2025-02-24T02:30:00Z"}},
		{"two hours forward", "0,30 1,2 * * *", "Antarctica/Troll", "2025-03-29T12:00:00Z",
			[]string{"2025-03-30T03:00:00+02:00", "2025-03-31T01:00:00+02:00"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := schedule.Parse(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, test.from)
			if err != nil {
				t.Fatal(err)
			}
			at = at.In(mustZone(t, test.zone))
			var got []string
			for range max(1, len(test.want)) {
				if at = s.Next(at); at.IsZero() {
					break
				}
				got = append(got, at.Format(time.RFC3339))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
