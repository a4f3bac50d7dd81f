package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// In Riga, 2026-03-29 03:30 does not exist, and 2026-10-25 03:30 exists twice.
func ExampleShown() {
	riga, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		panic(err)
	}
	for _, day := range []time.Time{time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)} {
		at, skipped := schedule.Shown(riga, day.Add(3*time.Hour+30*time.Minute))
		fmt.Println(at, skipped)
		for _, c := range schedule.ClockChanges(riga, day, day.AddDate(0, 0, 1)) {
			fmt.Println("from", c.Before, "to", c.After, "at", c.At)
		}
	}
	// Output:
	// 2026-03-29 04:00:00 +0300 EEST true
	// from 2h0m0s to 3h0m0s at 2026-03-29 04:00:00 +0300 EEST
	// 2026-10-25 03:30:00 +0300 EEST false
	// from 3h0m0s to 2h0m0s at 2026-10-25 03:00:00 +0200 EET
}

func TestParseLocal(t *testing.T) {
	for _, test := range []struct{ text, zone, want, says string }{
		{"2026-12-01T22:00", "Europe/Riga", "2026-12-01T22:00:00+02:00", ""},
		{"2026-12-01 22:00:07", "Europe/Riga", "2026-12-01T22:00:07+02:00", ""},
		{"2026-03-29T02:59:59", "Europe/Riga", "2026-03-29T02:59:59+02:00", ""},
		{"2026-03-29T03:00", "Europe/Riga", "", "does not exist: the clock is set forward from 03:00 to 04:00, past 03:00 on 29 March 2026 in Europe/Riga"},
		{"2026-03-29T03:30", "Europe/Riga", "", "past 03:30 on 29 March 2026"},
		{"2026-03-29T04:00", "Europe/Riga", "2026-03-29T04:00:00+03:00", ""},
		{"2026-10-25T02:59", "Europe/Riga", "2026-10-25T02:59:00+03:00", ""},
		{"2026-10-25T03:30", "Europe/Riga", "2026-10-25T03:30:00+03:00",
			"the clock shows 03:30 on 25 October 2026 in Europe/Riga twice; this is the first, 2026-10-25T03:30:00+03:00, and the second is 2026-10-25T03:30:00+02:00"},
		{"2026-10-25T04:00", "Europe/Riga", "2026-10-25T04:00:00+02:00", ""},
		{"2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-05T01:45:00+11:00", "and the second is 2026-04-05T01:45:00+10:30"},
		{"2026-04-24T00:30", "Africa/Cairo", "", "set forward from 00:00 to 01:00"},
		{"2011-12-30T12:00", "Pacific/Apia", "", "does not exist"},
		{"2026-10-25T03:30", "UTC", "2026-10-25T03:30:00Z", ""},
		{"tonight", "UTC", "", "is not a date and a time such as 2026-12-01T22:00"},
		{"2026-02-30T03:30", "UTC", "", "is not a date and a time"},
	} {
		zone, err := schedule.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, note, err := schedule.ParseLocal(test.text, zone)
		got := ""
		if err != nil {
			note = err.Error()
		} else {
			got = at.Format(time.RFC3339)
		}
		if got != test.want || !strings.Contains(note, test.says) || note != "" && test.says == "" {
			t.Errorf("%s in %s: %q, %q", test.text, test.zone, got, note)
		}
		if errors.Is(err, schedule.ErrNotLocal) != strings.HasPrefix(test.says, "is not") {
			t.Errorf("%s: error %v", test.text, err)
		}
	}
}
