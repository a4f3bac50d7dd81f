package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// benchFrom is where benchmarks begin. Each call continues from the previous result.
func benchFrom(b *testing.B, zone string) time.Time {
	b.Helper()
	return time.Date(2026, 3, 1, 12, 0, 0, 0, mustZone(b, zone))
}

func BenchmarkNext(b *testing.B) {
	for _, bench := range []struct{ name, expr, zone string }{
		{"cron/minutes", "*/5 * * * *", "UTC"},
		{"cron/minutes-zone", "*/5 * * * *", "Europe/Riga"},
		{"cron/daily-zone", "0 3 * * *", "Europe/Riga"},
		{"cron/weekdays-zone", "0 9 * * 1-5", "America/New_York"},
		{"cron/leap-monday", "0 0 29 2 MON", "Europe/Riga"},
		{"cron/both-days", "0 0 */2 * MON", "Europe/Riga"},
		{"cron/rarest", "0 0 */28 2 MON#5", "Europe/Riga"},
		{"cron/never", "0 0 */31 * 5L", "Europe/Riga"},
		{"cron/always-in-gap", "* 3 * 3 7L", "Europe/Riga"},
		{"oncalendar/weekdays-zone", "Mon..Fri 09:00", "Europe/Riga"},
		{"oncalendar/own-zone", "Mon..Fri 09:00 America/New_York", "Europe/Riga"},
		{"oncalendar/last-second", "2199-12-31 23:59:59", "Europe/Riga"},
		{"oncalendar/always-in-gap", "Sun *-3~7/1 03:00", "Europe/Riga"},
		{"oncalendar/all-in-gap", "Sun *-3~7/1 3:*:*", "Europe/Riga"},
		{"oncalendar/never", "*-02-30", "Europe/Riga"},
		{"oncalendar/worst-of-100-bytes", strings.Repeat("Sun 3~7/1 3:0\n", 6) + "Sun 3~7/1 3:0", "Europe/Riga"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := schedule.Parse(bench.expr)
			if err != nil {
				b.Fatal(err)
			}
			from := benchFrom(b, bench.zone)
			at := from
			b.ReportAllocs()
			for b.Loop() {
				if at = s.Next(at); at.IsZero() || at.Year() > 2090 {
					at = from
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct{ name, expr string }{
		{"cron/minutes", "*/5 * * * *"},
		{"cron/weekdays", "0 9 * JAN-JUN MON-FRI"},
		{"cron/lists", "5,10,15-25/2 1,3,5-20 1-15/3,L 1,2,3 1,2#1,5L"},
		{"cron/error", "0 25 * * *"},
		{"cron/long", "0 0 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 * FRI"},
		{"oncalendar/weekdays", "Mon..Fri 09:00"},
		{"oncalendar/all-fields", "Mon,Wed..Fri 2025..2030-1,4,7-1..7 8..17:0/15:30"},
		{"oncalendar/zone", "Mon..Fri 09:00 Europe/Riga"},
		{"oncalendar/ten-zones", strings.Repeat("0:0 Japan\n", 9) + "0:0 Japan"},
		{"oncalendar/error", "Mon..Fri 25:00"},
		{"oncalendar/no-zone", "Mon..Fri 09:00 Europe/Nowhere"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = schedule.Parse(bench.expr)
			}
		})
	}
}

func BenchmarkLoadLocation(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schedule.LoadLocation("Europe/Kiev"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExplain(b *testing.B) {
	s, err := schedule.Parse("*/5 9-17 * * 1-5")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		schedule.Explain(s, time.UTC)
	}
}
