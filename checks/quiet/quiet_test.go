package quiet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := schedule.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// at reads an instant as "2026-03-01T12:00:00Z", or with another offset.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestUntil(t *testing.T) {
	const night, weekend = "22:00-06:00", "Sat,Sun 00:00-24:00" // March 1, 2026 is a Sunday
	for _, test := range []struct {
		name, text, zone string
		at, end          string // end is "" when it is not quiet
	}{
		{"none", "", "UTC", "2026-03-02T23:00:00Z", ""},
		{"only separators", " ;\n; ", "UTC", "2026-03-02T23:00:00Z", ""},
		{"before it begins", night, "UTC", "2026-03-02T21:59:59Z", ""},
		{"its first instant", night, "UTC", "2026-03-02T22:00:00Z", "2026-03-03T06:00:00Z"},
		{"past midnight", night, "UTC", "2026-03-03T05:59:59Z", "2026-03-03T06:00:00Z"},
		{"its end", night, "UTC", "2026-03-03T06:00:00Z", ""},
		{"on one day", "12:30-13:00", "UTC", "2026-03-03T12:59:00Z", "2026-03-03T13:00:00Z"},
		{"to midnight", "22:00-00:00", "UTC", "2026-03-03T23:59:00Z", "2026-03-04T00:00:00Z"},
		{"to 24:00", "22:00-24:00", "UTC", "2026-03-03T23:59:00Z", "2026-03-04T00:00:00Z"},
		{"in a zone", night, "Europe/Riga", "2026-03-02T20:00:00Z", "2026-03-03T04:00:00Z"},
		{"days that adjoin", weekend, "UTC", "2026-02-28T10:00:00Z", "2026-03-02T00:00:00Z"},
		{"another day", weekend, "UTC", "2026-03-02T00:00:00Z", ""},
		{"windows that overlap", night + ";" + weekend, "UTC", "2026-02-27T22:30:00Z", "2026-03-02T06:00:00Z"},
		{"line breaks", night + "\n" + weekend, "UTC", "2026-02-27T22:30:00Z", "2026-03-02T06:00:00Z"},
		{"the day is that of the begin", "Fri 22:00-06:00", "UTC", "2026-02-28T05:00:00Z", "2026-02-28T06:00:00Z"},
		{"not that of the end", "Fri 22:00-06:00", "UTC", "2026-02-27T05:00:00Z", ""},
		{"a range of days", "Mon..Fri 22:00-06:00", "UTC", "2026-03-06T23:00:00Z", "2026-03-07T06:00:00Z"},
		{"outside of the range", "Mon..Fri 22:00-06:00", "UTC", "2026-03-07T23:00:00Z", ""},
		{"a range over the weekend", "fri..MONDAY 12:00-13:00", "UTC", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"},
		{"outside of that", "fri..MONDAY 12:00-13:00", "UTC", "2026-03-03T12:00:00Z", ""},
		{"blanks", "  Sat , Sun..Mon  9:00 - 10:00 ", "UTC", "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"},
		{"once", "2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga", "2026-12-25T00:00:00Z", "2026-12-27T04:00:00Z"},
		{"once, over", "2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga", "2026-12-27T04:00:00Z", ""},
		{"once and then every night", "2026-12-24 18:00/2026-12-27 23:00;" + night, "UTC", "2026-12-25T12:00:00Z", "2026-12-28T06:00:00Z"},
		{"a fraction of a second before the end", night, "UTC", "2026-03-03T05:59:59.999999Z", "2026-03-03T06:00:00Z"},

		// In Riga the clocks go from 03:00 to 04:00 on March 29, and from 04:00 to 03:00 on October 25, 2026.
		{"shorter by the hour that is skipped", night, "Europe/Riga", "2026-03-28T20:00:00Z", "2026-03-29T03:00:00Z"},
		{"longer by the hour that comes twice", night, "Europe/Riga", "2026-10-24T19:00:00Z", "2026-10-25T04:00:00Z"},
		{"its end is skipped", "01:00-03:30", "Europe/Riga", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"its begin is skipped", "03:30-05:00", "Europe/Riga", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"before a begin that is skipped", "03:30-05:00", "Europe/Riga", "2026-03-29T00:59:59Z", ""},
		{"all of it is skipped", "03:10-03:50", "Europe/Riga", "2026-03-29T01:00:00Z", ""},
		{"its end comes twice", "02:00-03:30", "Europe/Riga", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"},
		{"its begin comes twice", "03:30-05:00", "Europe/Riga", "2026-10-25T00:30:00Z", "2026-10-25T03:00:00Z"},
		{"all of it comes twice", "03:10-03:50", "Europe/Riga", "2026-10-25T00:55:00Z", "2026-10-25T01:50:00Z"},

		// Samoa skipped December 30, 2011; Beirut skipped midnight on March 27, 2022.
		{"a day that there was not", "Thu 22:00-06:00", "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T10:00:00Z"},
		{"midnight is skipped", "00:00-06:00", "Asia/Beirut", "2022-03-26T22:00:00Z", "2022-03-27T03:00:00Z"},
		{"far away", night, "Europe/Riga", "9999-12-31T23:00:00Z", "10000-01-01T04:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := quiet.Parse(test.text, zone(t, test.zone))
			if err != nil {
				t.Fatal(err)
			}
			end, isQuiet := h.Until(at(t, test.at))
			got := ""
			if isQuiet {
				got = end.Format(time.RFC3339)
			}
			if got != test.end || isQuiet && end.Location() != time.UTC {
				t.Errorf("%q at %s: until %q, want %q", test.text, test.at, got, test.end)
			}
		})
	}
}

func TestNext(t *testing.T) {
	const night, weekend = "22:00-06:00", "Sat,Sun 00:00-24:00" // March 1, 2026 is a Sunday
	for _, test := range []struct {
		name, text, zone string
		at, begin, end   string // begin is "" when no quiet hours follow
	}{
		{"none", "", "UTC", "2026-03-02T23:00:00Z", "", ""},
		{"before it begins", night, "UTC", "2026-03-02T21:59:59Z", "2026-03-02T22:00:00Z", "2026-03-03T06:00:00Z"},
		{"its first instant", night, "UTC", "2026-03-02T22:00:00Z", "2026-03-03T22:00:00Z", "2026-03-04T06:00:00Z"},
		{"within it", night, "UTC", "2026-03-03T01:00:00Z", "2026-03-03T22:00:00Z", "2026-03-04T06:00:00Z"},
		{"its end", night, "UTC", "2026-03-03T06:00:00Z", "2026-03-03T22:00:00Z", "2026-03-04T06:00:00Z"},
		{"a day of the week", "Tue 10:00-11:00", "UTC", "2026-03-03T10:30:00Z", "2026-03-10T10:00:00Z", "2026-03-10T11:00:00Z"},
		{"windows that overlap", night + ";" + weekend, "UTC", "2026-02-27T12:00:00Z", "2026-02-27T22:00:00Z", "2026-03-02T06:00:00Z"},
		{"once", "2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga", "2026-03-02T00:00:00Z", "2026-12-24T16:00:00Z", "2026-12-27T04:00:00Z"},
		{"once, begun", "2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga", "2026-12-25T00:00:00Z", "", ""},
		{"once before every week", "2026-03-03 18:00/2026-03-03 19:00;Sat 10:00-11:00", "UTC", "2026-03-03T00:00:00Z", "2026-03-03T18:00:00Z", "2026-03-03T19:00:00Z"},
		{"its begin is skipped", "03:30-05:00", "Europe/Riga", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"all of it is skipped", "Sun 03:10-03:50", "Europe/Riga", "2026-03-28T12:00:00Z", "2026-04-05T00:10:00Z", "2026-04-05T00:50:00Z"},
		{"a fraction of a second before", night, "UTC", "2026-03-02T21:59:59.5Z", "2026-03-02T22:00:00Z", "2026-03-03T06:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := quiet.Parse(test.text, zone(t, test.zone))
			if err != nil {
				t.Fatal(err)
			}
			begin, end, ok := h.Next(at(t, test.at))
			got := [2]string{}
			if ok {
				got = [2]string{begin.Format(time.RFC3339), end.Format(time.RFC3339)}
			}
			if want := [2]string{test.begin, test.end}; got != want {
				t.Errorf("%q after %s: %v, want %v", test.text, test.at, got, want)
			}
		})
	}
}

func TestZeroHours(t *testing.T) {
	if _, isQuiet := (quiet.Hours{}).Until(time.Now()); isQuiet {
		t.Error("the zero value is quiet")
	}
	if h, err := quiet.Parse("00:00-12:00", nil); err != nil {
		t.Error(err)
	} else if _, isQuiet := h.Until(time.Unix(0, 0)); !isQuiet {
		t.Error("a nil location is not UTC")
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"22:00":                             `"22:00": it has no end: write it like 22:00-06:00`,
		"night":                             `"night": it has no end: write it like 22:00-06:00`,
		"-06:00":                            `"-06:00": it has no start: write it like 22:00-06:00`,
		"22:00-06:00; 25:00-26:00":          `"25:00-26:00": 25:00 is not a time of day`,
		"22:60-23:00":                       `"22:60-23:00": 22:60 is not a time of day`,
		"22:00-24:01":                       `"22:00-24:01": 24:01 is not a time of day`,
		"24:00-06:00":                       `"24:00-06:00": a window cannot begin at 24:00: write 00:00 of the next day`,
		"22-06":                             `"22-06": "22" is not a time like 22:00`,
		"22:0-06:00":                        `"22:0-06:00": "22:0" is not a time like 22:00`,
		"22:00-06:00 UTC":                   `"22:00-06:00 UTC": "06:00 UTC" is not a time like 22:00`,
		"22:00-":                            `"22:00-": "" is not a time like 22:00`,
		"22:00-22:00":                       `"22:00-22:00": it ends when it begins: a whole day is 00:00-24:00`,
		"10pm-6am":                          `"10pm-6am": "10pm" is not a time like 22:00`,
		"٢٢:00-06:00":                       `"٢٢:00-06:00": "٢٢:00" is not a time like 22:00`,
		"Sa 22:00-06:00":                    `"Sa 22:00-06:00": "Sa" is not a day like Mon`,
		"Sat Sun 22:00-06:00":               `"Sat Sun 22:00-06:00": "Sat Sun" is not a day like Mon`,
		"Sat, 22:00-06:00":                  `"Sat, 22:00-06:00": "" is not a day like Mon`,
		"Mon.. 22:00-06:00":                 `"Mon.. 22:00-06:00": "" is not a day like Mon`,
		"ſat 22:00-06:00":                   `"ſat 22:00-06:00": "ſat" is not a day like Mon`,
		"Mon-Fri 22:00-06:00":               `"Mon-Fri 22:00-06:00": "Mon" is not a time like 22:00`,
		"2026-12-24 18:00/06:00":            `"2026-12-24 18:00/06:00": "06:00" is not a date and a time like 2026-12-24 18:00`,
		"2026-02-30 18:00/2026-03-01 0:00":  `"2026-02-30 18:00/2026-03-01 0:00": 2026-02-30 is not a date like 2026-12-24`,
		"2026-12-24 18:00/2026-12-24 18:00": `"2026-12-24 18:00/2026-12-24 18:00": it ends before it begins`,
		"2026-12-24 24:00/2026-12-26 18:00": `"2026-12-24 24:00/2026-12-26 18:00": a window cannot begin at 24:00: write 00:00 of the next day`,
		"00:00-24:00":                       "the windows cover all time, so that no alert would ever be sent",
		"06:00-22:00; 22:00-06:00":          "the windows cover all time, so that no alert would ever be sent",
		"Mon..Fri 0:00-24:00\nSat,Sun 0:00-12:00\nSat..Sun 12:00-0:00": "the windows cover all time, so that no alert would ever be sent",
		strings.Repeat("22:00-06:00;", 21):                             "there are more than 20 windows",
	} {
		_, err := quiet.Parse(text, time.UTC)
		typed, ok := errors.AsType[*quiet.Error](err)
		if !ok || typed.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{strings.Repeat("22:00-06:00;", 20), "00:00-23:59", "Mon..Sat 0:00-24:00;Sun 0:00-23:59"} {
		if _, err := quiet.Parse(text, time.UTC); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := quiet.Parse("22:00-06:00; Sat 9-10", nil)
	if diff := cmp.Diff(&quiet.Error{Window: "Sat 9-10", Reason: `"9" is not a time like 22:00`}, err); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse checks that Parse never panics, and that the end of quiet hours is in the future, is not quiet itself, and
// is the same for every instant before it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "22:00-06:00", "Sat,Sun 00:00-24:00", "Mon..Fri 22:00-06:00\n12:00-13:00", "2026-12-24 18:00/2026-12-27 06:00",
		"00:00-23:59", "Mon..Sat 0:00-24:00;Sun 0:00-23:59;2026-03-01 00:00/2027-03-01 00:00", "24:00-25:00", "a-b/c..d,e;",
	} {
		for _, name := range []string{"UTC", "Europe/Riga", "Pacific/Apia", "Australia/Lord_Howe"} {
			f.Add(text, name, int64(1_774_746_000))
		}
	}
	f.Fuzz(func(t *testing.T, text, name string, u int64) {
		loc, err := schedule.LoadLocation(name)
		if err != nil {
			loc = time.UTC
		}
		h, err := quiet.Parse(text, loc)
		if err != nil {
			if typed, ok := errors.AsType[*quiet.Error](err); !ok || typed.Reason == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		begin := time.Unix(u%(1<<34), 0)
		end, isQuiet := h.Until(begin)
		checkNext(t, h, begin)
		if !isQuiet {
			return
		}
		if !end.After(begin) {
			t.Fatalf("%q at %v: until %v", text, begin, end)
		}
		if _, still := h.Until(end); still {
			t.Errorf("%q at %v: until %v, which is quiet", text, begin, end)
		}
		for _, between := range []time.Time{begin.Add(end.Sub(begin) / 2), end.Add(-1)} {
			if again, still := h.Until(between); !still || !again.Equal(end) {
				t.Errorf("%q at %v: until %v, but at %v until %v, %v", text, begin, end, between, again, still)
			}
		}
	})
}

// checkNext compares the next quiet hours after an instant with what Until says about instants around them.
func checkNext(t *testing.T, h quiet.Hours, from time.Time) {
	t.Helper()
	begin, end, ok := h.Next(from)
	if !ok {
		return
	}
	if !begin.After(from) {
		t.Errorf("after %v: quiet hours from %v", from, begin)
	}
	if until, isQuiet := h.Until(begin); !isQuiet || !until.Equal(end) {
		t.Errorf("after %v: quiet hours from %v to %v, but Until says %v, %v", from, begin, end, until, isQuiet)
	}
	since := from
	if now, isQuiet := h.Until(from); isQuiet {
		since = now
	}
	for _, part := range []time.Duration{0, 1, 2, 3} {
		between := since.Add(begin.Sub(since) / 4 * part)
		if _, isQuiet := h.Until(between); isQuiet && between.Before(begin) {
			t.Errorf("after %v: quiet hours from %v, but it is quiet at %v", from, begin, between)
		}
	}
	if _, isQuiet := h.Until(begin.Add(-1)); isQuiet {
		t.Errorf("after %v: quiet hours from %v, but it is quiet before", from, begin)
	}
}

func ExampleHours_Until() {
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := quiet.Parse("22:00-06:00; Sat,Sun 00:00-24:00", riga)
	if err != nil {
		fmt.Println(err)
		return
	}
	friday := time.Date(2026, 3, 6, 21, 0, 0, 0, riga)
	for _, t := range []time.Time{friday, friday.Add(2 * time.Hour)} {
		if end, isQuiet := h.Until(t); isQuiet {
			fmt.Println(t.Format("Mon 15:04"), "is quiet until", end.In(riga).Format("Mon 15:04"))
		} else {
			fmt.Println(t.Format("Mon 15:04"), "is not quiet")
		}
	}
	// Output:
	// Fri 21:00 is not quiet
	// Fri 23:00 is quiet until Mon 06:00
}

func ExampleParse() {
	_, err := quiet.Parse("Mon..Fri 22:00-06:00; Sat 9-18", time.UTC)
	fmt.Println(err)
	// Output: "Sat 9-18": "9" is not a time like 22:00
}
