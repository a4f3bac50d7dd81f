package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func TestParseErrors(t *testing.T) {
	for _, test := range []struct {
		expr   string
		want   string
		offset int
	}{
		{"", "schedule: the expression is empty", -1},
		{" \n\t", "schedule: the expression is empty", -1},
		{"60 * * * *", "minute: 60 is not in 0–59", 0},
		{"0 25 * * *", "hour: 25 is not in 0–23", 2},
		{"0 025 * * *", "hour: 25 is not in 0–23", 2},
		{"* 5,0-24 * * *", "hour: 24 is not in 0–23", 6},
		{"0 0 0 * *", "day of month: 0 is not in 1–31", 4},
		{"* * * 13 *", "month: 13 is not in 1–12", 6},
		{"* * * * 8", "weekday: 8 is not in 0–7", 8},
		{"* * * * 8L", "weekday: 8 is not in 0–7", 8},
		{"5-1 * * * *", "minute: the range from 5 to 1 runs backwards", 0},
		{"*/0 * * * *", "minute: a step must be at least 1", 2},
		{"1,,2 * * * *", "minute: a value is missing", 2},
		{"*/ * * * *", "minute: a value is missing", 2},
		{"a * * * *", "minute: a is not a number", 0},
		{"* * * JANUARY *", "month: JANUARY is neither a number nor a name from JAN to DEC", 6},
		{"* * * * MON#6", "weekday: 6 after # is not in 1–5", 12},
		{"* * * * MON#", `weekday: "" after # is not a number from 1 to 5`, 12},
		{"* * L/0 * *", "day of month: a step must be at least 1", 6},
		{"* * 15W * *", "day of month: 15W is not supported: W only follows L, as in LW, the last workday of the month", 4},
		{"0 0 30 2 MON", "day of month: no month of the expression has a day 30", 4},
		{"0 0 31 4,6,9,11 *", "day of month: no month of the expression has a day 31", 4},
		{"\t١ * * * *", `minute: "١" is not a number`, 1},
		{"* * * *", "schedule: a cron expression has 5 parts, this one has 4", 0},
		{"0 0 * * * *", "schedule: a cron expression has 5 parts, this one has 6: write 0 * * * *, without the seconds, or 0 0 * * *, without the year", 0},
		{"@daily", "schedule: @daily is not supported: write daily", 0},
		{"@reboot", "schedule: @reboot names no time, so no run can be expected: give the check a timeout instead of a schedule", 0},
		{"25:00", "hour: 25 is not in 0–23", 0},
		{"12:60", "minute: 60 is not in 0–59", 3},
		{"12:00:61", "second: 61 is not in 0–59", 6},
		{"12:00:00.5", "second: 00.5 has a fraction, which is not supported", 6},
		{"1969-01-01", "year: 1969 is not in 1970–2199", 0},
		{"*-13-1", "month: 13 is not in 1–12", 2},
		{"*-*~29", "day of month: 29 after ~ is not in 1–28", 4},
		{"*:*/5", "minute: a * cannot be part of a list, a range or a step (write 0/5, not */5)", 2},
		{"*-*~1/0", "day of month: a step must be at least 1", 6},
		{"Fri..Mon", "weekday: the range Fri..Mon runs backwards: the week ends on Sunday", 0},
		{"Mo 12:00", "weekday: Mo is not a weekday such as Mon or Monday", 0},
		{"12:00 Mon", "weekday: Mon must come before the date and the time", 6},
		{"12:00 *-*-*", "schedule: 12:00 must follow the date", 0},
		{"daily 12:00", "schedule: daily must stand alone or before a time zone", 0},
		{"Mon daily", "schedule: daily must stand alone or before a time zone", 4},
		{"12:00 Europe/Nowhere", `tz: "Europe/Nowhere" is not a time zone of the IANA database`, 6},
		{"12:00 riga", `tz: "riga" is not a time zone of the IANA database; did you mean Europe/Riga?`, 6},
		{"12:00\n25:00", "line 2: hour: 25 is not in 0–23", 6},
		{"\n12:00\n25:00\n", "line 3: hour: 25 is not in 0–23", 7},
		{"12:00\n\n13:00", "line 2: schedule: the line is empty", 6},
		{"daily\n*/5 * * * *", "line 2: schedule: a cron expression cannot be one of several lines", 6},
		{strings.Repeat("9", 99) + ":00", `hour: "999999999999999999999999…" is not in 0–23`, 0},
	} {
		_, err := schedule.Parse(test.expr)
		var e *schedule.Error
		if !errors.As(err, &e) {
			t.Errorf("Parse(%q) = %v, want an *Error", test.expr, err)
			continue
		}
		if e.Error() != test.want || e.Offset != test.offset {
			t.Errorf("Parse(%q)\n got %s, at %d\nwant %s, at %d", test.expr, e, e.Offset, test.want, test.offset)
		}
	}
}

func TestErrorFields(t *testing.T) {
	_, err := schedule.Parse("12:00\n 13:00\nMon 25:00")
	want := &schedule.Error{Field: "hour", Reason: "25 is not in 0–23", Offset: 17, Line: 3}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

func TestDetect(t *testing.T) {
	for expr, want := range map[string]schedule.Kind{
		"* * * * *":                 schedule.KindCron,
		"\n a b\tc  d e \r\n":       schedule.KindCron,
		"0\u00a00 * * *":            schedule.KindCron,
		"":                          schedule.KindOnCalendar,
		"daily":                     schedule.KindOnCalendar,
		"* * * * * *":               schedule.KindOnCalendar,
		"* * * *":                   schedule.KindOnCalendar,
		"* *\n* * *":                schedule.KindOnCalendar,
		"* * * * *\n* * * * *":      schedule.KindOnCalendar,
		"Mon *-*-* 12:00 UTC extra": schedule.KindCron,
	} {
		if got := schedule.Detect(expr); got != want {
			t.Errorf("Detect(%q) = %q, want %q", expr, got, want)
		}
	}
}

// TestSpeed limits Parse to one millisecond and Next to five, which leaves room for the race detector on a busy machine.
func TestSpeed(t *testing.T) {
	riga := mustZone(t, "Europe/Riga")
	best := func(f func()) time.Duration {
		least := time.Hour
		for range 20 {
			start := time.Now()
			f()
			least = min(least, time.Since(start))
		}
		return least
	}
	for _, expr := range []string{
		strings.Repeat("Sun 3~7/1 3:0\n", 6) + "Sun 3~7/1 3:0",
		strings.Repeat("0:0 Cuba\n", 10) + "0:0 Cuba",
		"0 0 */31 * 5L", "* 3 * 3 7L", "0 0 */28 2 MON#5",
		strings.Repeat(",", 92) + " * * * *", strings.Repeat("\xff", 100), strings.Repeat("\n", 100),
		"12:00 " + strings.Repeat("A/", 47),
	} {
		if took := best(func() { _, _ = schedule.Parse(expr) }); took > time.Millisecond {
			t.Errorf("Parse(%q) takes %v", expr, took)
		}
		s, err := schedule.Parse(expr)
		if err != nil {
			continue
		}
		if took := best(func() { s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, riga)) }); took > 5*time.Millisecond {
			t.Errorf("%q: Next takes %v", expr, took)
		}
	}
}

// TestBounds calls Next near the years 1 and 9999.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		expr string
		from time.Time
		want time.Time
	}{
		{"* * * * *", time.Time{}, time.Date(1, 1, 1, 0, 1, 0, 0, time.UTC)},
		{"* * * * *", time.Unix(-1<<60, 0).UTC(), time.Date(1, 1, 1, 0, 1, 0, 0, time.UTC)},
		{"0 0 1 1 *", time.Date(1899, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"0 0 29 2 *", time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2104, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"* * * * *", time.Date(9999, 12, 31, 23, 58, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC)},
		{"* * * * *", time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC), time.Time{}},
		{"* * * * *", time.Unix(1<<60, 0).UTC(), time.Time{}},
		{"* * * * *", time.Date(10000, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)), time.Time{}},
		{"daily", time.Unix(1<<60, 0).UTC(), time.Time{}},
		{"daily", time.Time{}, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"*:*:*", time.Date(2199, 12, 31, 23, 59, 58, 999, time.UTC), time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"*:*:*", time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC), time.Time{}},
	} {
		s, err := schedule.Parse(test.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Next(test.from); !got.Equal(test.want) {
			t.Errorf("%q: after %v comes %v, want %v", test.expr, test.from, got, test.want)
		}
	}
}

// TestDetail leaves out the field that a sentence about a schedule or a time zone names already.
func TestDetail(t *testing.T) {
	for expr, want := range map[string]string{
		"0 3":                       "3 is not a date, a time or a time zone",
		"61 * * * *":                "minute: 61 is not in 0–59",
		"Mon *-*-* 03:00\nnonsense": "line 2: nonsense is not a weekday, a date or a time",
	} {
		_, err := schedule.Read(expr)
		if err == nil || schedule.Detail(err) != want {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
	if _, err := schedule.LoadLocation("Mars"); schedule.Detail(err) != `"Mars" is not a time zone of the IANA database` {
		t.Error(err)
	}
	if err := errors.New("schedule: x"); schedule.Detail(err) != "schedule: x" {
		t.Error(schedule.Detail(err))
	}
}
