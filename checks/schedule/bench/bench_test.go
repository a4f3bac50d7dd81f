// Package bench compares checks/schedule with other cron libraries. It is a
// module of its own so that nobody inherits them.
package bench

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// comparison is an expression that all three libraries accept. They do not
// agree on what it means: only checks/schedule follows Debian's cron.
type comparison struct{ name, expr, zone string }

func comparisons() []comparison {
	return []comparison{
		{"minutes", "*/5 * * * *", "UTC"},
		{"minutes-zone", "*/5 * * * *", "Europe/Riga"},
		{"daily-zone", "0 3 * * *", "Europe/Riga"},
		{"weekdays-zone", "0 9 * * 1-5", "America/New_York"},
		{"leap-monday", "0 0 29 2 MON", "UTC"},
		{"leap", "0 0 29 2 *", "UTC"},
	}
}

// run asks on from each answer, from the start again after some decades.
func run(b *testing.B, zone string, next func(time.Time) time.Time) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		b.Fatal(err)
	}
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, loc)
	at := from
	b.ReportAllocs()
	for b.Loop() {
		if at = next(at); at.IsZero() || at.Year() > 2060 {
			at = from
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range comparisons() {
		b.Run(c.name+"/schedule", func(b *testing.B) {
			s, err := schedule.Parse(c.expr)
			if err != nil {
				b.Fatal(err)
			}
			run(b, c.zone, s.Next)
		})
		b.Run(c.name+"/robfig", func(b *testing.B) {
			s, err := cron.ParseStandard(c.expr)
			if err != nil {
				b.Fatal(err)
			}
			run(b, c.zone, s.Next)
		})
		b.Run(c.name+"/gronx", func(b *testing.B) {
			run(b, c.zone, func(t time.Time) time.Time {
				next, err := gronx.NextTickAfter(c.expr, t, false)
				if err != nil {
					return time.Time{}
				}
				return next
			})
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range comparisons() {
		b.Run(c.name+"/schedule", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = schedule.Parse(c.expr)
			}
		})
		b.Run(c.name+"/robfig", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = cron.ParseStandard(c.expr)
			}
		})
		b.Run(c.name+"/gronx", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				// It parses at each question; this is its check of an expression.
				gronx.IsValid(c.expr)
			}
		})
	}
}
