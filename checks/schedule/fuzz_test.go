package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// checkParse checks the guarantees of Parse for any string. It returns the schedule, or nil.
func checkParse(t *testing.T, expr string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(expr)
	if err != nil {
		var e *schedule.Error
		if !errors.As(err, &e) {
			t.Fatalf("Parse(%q): the error is a %T", expr, err)
		}
		if e.Field == "" || e.Reason == "" || !utf8.ValidString(e.Error()) || len(e.Error()) > 400 {
			t.Fatalf("Parse(%q): %#v", expr, e)
		}
		if e.Offset < -1 || e.Offset > len(expr) {
			t.Fatalf("Parse(%q): offset %d is not in the expression", expr, e.Offset)
		}
		return nil
	}
	if s.String() != expr {
		t.Fatalf("Parse(%q).String() = %q", expr, s.String())
	}
	if text := schedule.Explain(s, time.UTC); text == "" || strings.Contains(text, "  ") || strings.Contains(text, "%!") {
		t.Fatalf("Explain(%q) = %q", expr, text)
	}
	return s
}

// checkNext checks the guarantees of Next for any schedule and instant, and returns the next run.
func checkNext(t *testing.T, s schedule.Schedule, from time.Time) time.Time {
	t.Helper()
	next := s.Next(from)
	if next.IsZero() {
		return next
	}
	if !next.After(from) || next.Location() != from.Location() {
		t.Fatalf("%q: after %v comes %v", s, from, next)
	}
	// Sub saturates after 292 years.
	if gap := next.Sub(from); gap > 1 {
		for _, between := range []time.Time{from.Add(gap / 2), from.Add(gap - 1)} {
			if got := s.Next(between); between.Before(next) && !got.Equal(next) {
				t.Fatalf("%q: after %v comes %v, but after %v comes %v", s, from, next, between, got)
			}
		}
	}
	return next
}

func addVectors(f *testing.F, name string, add func(v vector)) {
	f.Helper()
	seen := map[string]bool{}
	for _, v := range readVectors(f, name) {
		if key := v.Class + map[bool]string{true: "!"}[v.Error]; len(v.Expr) < 100 && !seen[key+v.Expr[:min(1, len(v.Expr))]] {
			seen[key+v.Expr[:min(1, len(v.Expr))]] = true
			add(v)
		}
	}
}

func FuzzParseCron(f *testing.F) {
	addVectors(f, "cron.jsonl", func(v vector) {
		if fields := strings.Fields(v.Expr); len(fields) == 5 {
			f.Add(fields[0], fields[1], fields[2], fields[3], fields[4])
		}
	})
	f.Fuzz(func(t *testing.T, minute, hour, day, month, weekday string) {
		expr := strings.Join([]string{minute, hour, day, month, weekday}, " ")
		if s := checkParse(t, expr); s != nil {
			checkNext(t, s, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
		}
	})
}

func FuzzParseOnCalendar(f *testing.F) {
	addVectors(f, "oncalendar.jsonl", func(v vector) { f.Add(v.Expr) })
	f.Fuzz(func(t *testing.T, expr string) {
		if s := checkParse(t, expr); s != nil {
			checkNext(t, s, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
		}
	})
}

func FuzzNext(f *testing.F) {
	for _, name := range []string{"cron.jsonl", "oncalendar.jsonl"} {
		addVectors(f, name, func(v vector) {
			if !v.Error {
				f.Add(v.Expr, v.TZ, v.From.Unix(), int64(v.From.Nanosecond()))
			}
		})
	}
	f.Add("* * * * *", "Africa/Juba", int64(1<<62), int64(0))
	f.Add("0 0 * * *", "Asia/Manila", int64(-1<<62), int64(1))
	f.Add("0 0 29 2 *", "America/Juneau", int64(253402300799), int64(999999999))
	f.Fuzz(func(t *testing.T, expr, zone string, sec, nsec int64) {
		s, err := schedule.Parse(expr)
		if err != nil {
			return
		}
		loc, err := schedule.LoadLocation(zone)
		if err != nil {
			// Any other number serves as a fixed offset.
			loc = time.FixedZone("odd", int(int32(nsec)))
		}
		at := time.Unix(sec, nsec).In(loc)
		for range 3 {
			if at = checkNext(t, s, at); at.IsZero() {
				return
			}
		}
		for _, o := range schedule.Upcoming(s, at, 2) {
			if !o.Time.After(at) {
				t.Fatalf("%q: Upcoming from %v has %v", expr, at, o.Time)
			}
		}
	})
}

// FuzzRead checks that Read takes what Parse takes, that its schedules can be evaluated, and that entries of crontabs have an
// expression that Read takes.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"@daily", "OnCalendar=daily # x", "CRON_TZ=UTC 0 3 * * * x", "cron(0 3 ? * 2 *)", "0 0 3 * * ? *", "H 3 * * *", "# x\n0 3 * * *", "@every 1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := schedule.Read(expr)
		if _, parseErr := schedule.Parse(expr); err != nil {
			e, ok := errors.AsType[*schedule.Error](err)
			if !ok || parseErr == nil || !utf8.ValidString(e.Error()) || len(e.Error()) > 400 || e.Offset < -1 || e.Offset > len(expr) {
				t.Fatalf("Read(%q): %#v, Parse: %v", expr, err, parseErr)
			}
		} else if plain := checkParse(t, schedule.Plain(expr)); plain == nil || s.String() != expr {
			t.Fatalf("Read(%q) is %q, and plain %v", expr, s, plain)
		} else {
			checkNext(t, s, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		}
		if entry, ok := schedule.ReadEntry(expr); ok {
			if _, err := schedule.Read(entry.Schedule); err != nil || entry.TZ+entry.Command == "" {
				t.Fatalf("ReadEntry(%q): %+v, %v", expr, entry, err)
			}
		}
	})
}
