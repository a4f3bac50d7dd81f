package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// TestRead compares what people paste with the expression that it means.
func TestRead(t *testing.T) {
	riga := mustZone(t, "Europe/Riga")
	for pasted, plain := range map[string]string{
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", " @DAILY\n": "0 0 * * *", "@hourly": "0 * * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@every_minute": "* * * * *", "@hourly # often": "0 * * * *",
		"OnCalendar=daily":                               "daily",
		"OnCalendar = Mon 03:00":                         "Mon 03:00",
		"OnCalendar=Mon 03:00\nOnCalendar=Tue 04:00 UTC": "Mon 03:00\nTue 04:00 UTC",
		"0 3 * * * # nightly":                            "0 3 * * *",
		"0 3 * * MON#2 #":                                "0 3 * * MON#2",
		"# nightly\n0 3 * * *":                           "0 3 * * *",
		"Mon 03:00 # first\nTue 04:00 # second":          "Mon 03:00\nTue 04:00",
		"0 3 * * *":                                      "0 3 * * *",
	} {
		got, err := schedule.Read(pasted)
		if err != nil {
			t.Errorf("Read(%q): %v", pasted, err)
			continue
		}
		want, err := schedule.Parse(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != pasted || schedule.Detect(pasted) != schedule.Detect(plain) || schedule.Explain(got, riga) != schedule.Explain(want, riga) {
			t.Errorf("Read(%q) is %q, %s: %s", pasted, got, schedule.Detect(pasted), schedule.Explain(got, riga))
		}
		from := time.Date(2026, 3, 27, 12, 0, 0, 0, riga)
		for range 100 {
			next := got.Next(from)
			if !next.Equal(want.Next(from)) {
				t.Fatalf("Read(%q): after %v comes %v, want %v", pasted, from, next, want.Next(from))
			}
			from = next
		}
	}
}

// TestReadRefuses: what Parse refuses, Read refuses too, but for the words of crontabs.
func TestReadRefuses(t *testing.T) {
	for _, file := range []string{"cron.jsonl", "oncalendar.jsonl"} {
		for _, v := range readVectors(t, file) {
			s, err := schedule.Read(v.Expr)
			if known := v.Expr == "@daily" || v.Expr == "@hourly"; (err != nil) != (v.Error && !known) {
				t.Errorf("Read(%q): %v, %v", v.Expr, s, err)
			}
		}
	}
}

// TestAdvice: each error says what to write instead.
func TestAdvice(t *testing.T) {
	const interval, generic = " is an interval, not a schedule: give the check a timeout of ", "write five fields without seconds and years, and weekdays by their names"
	for expr, want := range map[string]string{
		"TZ=Europe/London 0 9 * * *":        `a cron expression has no time zone: write "Europe/London" as the time zone and "0 9 * * *" as the schedule`,
		"CRON_TZ=Europe/London 0 9 * * *":   `write "Europe/London" as the time zone and "0 9 * * *" as the schedule`,
		"CRON_TZ=Europe/London\n0 9 * * *":  `write "Europe/London" as the time zone and "0 9 * * *" as the schedule`,
		"TZ='Europe/London' @daily":         `write "Europe/London" as the time zone and "@daily" as the schedule`,
		"0 3 * * * /usr/bin/backup --all":   `this is a line of a crontab with a command: write "0 3 * * *" alone`,
		"0 3 * * * root backup":             `write "0 3 * * *" alone`,
		"@daily /usr/bin/backup":            `write "@daily" alone`,
		"cron(0 3 * * ? *)":                 "cron(…) is the form of AWS: write 0 3 * * *",
		"cron(0/15 8 ? * 2-6 *)":            "write 0/15 8 * * MON-FRI",
		"cron(0 8 ? * 6#1 *)":               "write 0 8 * * FRI#1",
		"cron(0 8 ? * 6L *)":                generic,
		"cron(0 8 1 1 ? 2027)":              generic,
		"rate(5 minutes)":                   "rate(5 minutes)" + interval + "5 minutes instead",
		"@every 1h":                         "@every 1h" + interval + "1h instead",
		"0 9 * * 1-5 America/New_York":      `write "America/New_York" as the time zone and "0 9 * * 1-5" as the schedule`,
		"every 5 minutes":                   interval + "5 minutes instead",
		"1h30m":                             interval + "1h30m instead",
		"OnUnitActiveSec=15min":             interval + "15min instead",
		"@reboot":                           "@reboot names no time",
		"@reboot /usr/bin/x":                "@reboot names no time",
		"0 0 3 * * *":                       "this one has 6: write 0 3 * * *, without the seconds, or 0 0 3 * *, without the year",
		"0 30 3 * * MON-FRI":                "write 30 3 * * MON-FRI, without the seconds",
		"* * * * * *":                       "this one has 6: write * * * * *",
		"0 0 3 ? * MON":                     "write 0 3 * * MON, without the seconds",
		"0 0 3 ? * 2":                       generic,
		"0 0 3 * * ? *":                     "this one has 7: write 0 3 * * *",
		"0 0 3 ? * 2 *":                     "write 0 3 * * MON",
		"0 0 3 1 1 ? 2027":                  generic,
		"0 3 1 1 * 2027":                    generic,
		"0 3 ? * *":                         "day of month: ? is the form of Quartz: write *",
		"0 3 * * ?":                         "weekday: ? is the form of Quartz: write *",
		"H 3 * * *":                         "minute: H leaves the choice to Jenkins: write a number",
		"H/15 * * * *":                      "minute: H/15 leaves the choice to Jenkins",
		"H(0-29)/10 * * * *":                "minute: H(0-29)/10 leaves the choice to Jenkins",
		"0~59 3 * * *":                      "minute: 0~59 is a random time: write its first value",
		`"0 3 * * *"`:                       "the expression is in quotation marks: write 0 3 * * *",
		"`@daily`":                          "in quotation marks: write @daily",
		"0 3 * * MON #2":                    generic,
		"@every " + strings.Repeat("x", 99): "…",
	} {
		if _, err := schedule.Read(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v\nwant %s", expr, err, want)
		}
	}
}

func TestReadEntry(t *testing.T) {
	for line, want := range map[string]schedule.Entry{
		"0 3 * * * /usr/bin/backup --all # all":          {Schedule: "0 3 * * *", Command: "/usr/bin/backup --all"},
		"\t*/5  1 * *\tMON-FRI root cd / && run-parts x": {Schedule: "*/5  1 * *\tMON-FRI", Command: "root cd / && run-parts x"},
		"CRON_TZ=Europe/Riga 0 3 * * *":                  {Schedule: "0 3 * * *", TZ: "Europe/Riga"},
		"TZ=Europe/Riga 0 3 * * * backup":                {Schedule: "0 3 * * *", TZ: "Europe/Riga", Command: "backup"},
		"@daily backup":                                  {Schedule: "@daily", Command: "backup"},
		"0 3 * * *":                                      {},
		"0 9 * * * Europe/Riga":                          {Schedule: "0 9 * * *", TZ: "Europe/Riga"},
		"0 3 * * * # nightly":                            {},
		"0 0 3 * * *":                                    {},
		"0 0 3 * * MON-FRI":                              {},
		"0 3 * * * 2027":                                 {},
		"60 3 * * * backup":                              {},
		"Mon 03:00 UTC":                                  {},
		"@reboot backup":                                 {},
		"TZ=Europe/Riga":                                 {},
		"0 3 * * * a\n0 4 * * * b":                       {},
		"":                                               {},
	} {
		got, ok := schedule.ReadEntry(line)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != schedule.Entry{}) {
			t.Errorf("ReadEntry(%q): %v (-want +got):\n%s", line, ok, diff)
		}
	}
}
