package schedule_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorhill/cronexpr"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"pgregory.net/rapid"
)

// An oracle evaluates a cron expression in UTC with gorhill/cronexpr. That
// library reads the five-field language in its own way and, given a day that does
// not come, never returns; so the expression is spelled out for it in numbers.
type oracle struct {
	// A day matches if all of these match.
	all []*cronexpr.Expression
}

// spell lists the values of a field that the terms match.
func spell(field string, lo, hi int, value func(string) int) string {
	var values []string
	for v := lo; v <= hi; v++ {
		if field != "" && inTerms(field, "-", v, lo, hi, value) {
			values = append(values, strconv.Itoa(v))
		}
	}
	return strings.Join(values, ",")
}

// splitTerms separates the terms of a field that the library spells alike from
// those to be listed.
func splitTerms(field string, special func(string) (string, bool)) (plain string, specials []string) {
	var rest []string
	for _, term := range strings.Split(strings.ToUpper(field), ",") {
		if text, ok := special(term); ok {
			specials = append(specials, text)
		} else {
			rest = append(rest, term)
		}
	}
	return strings.Join(rest, ","), specials
}

func spellDays(field string) string {
	plain, specials := splitTerms(field, func(term string) (string, bool) {
		base, _, _ := strings.Cut(term, "/")
		return base, base == "L" || base == "LW"
	})
	return strings.Trim(strings.Join(append(specials, spell(plain, 1, 31, number)), ","), ",")
}

func spellWeekdays(field string) string {
	plain, specials := splitTerms(field, func(term string) (string, bool) {
		name, suffix, nth := strings.Cut(term, "#")
		if !nth {
			name, nth = strings.CutSuffix(term, "L")
			suffix = "L"
		} else {
			suffix = "#" + suffix
		}
		if !nth {
			return "", false
		}
		return strconv.Itoa(cronDayValue(name)%7) + suffix, true
	})
	values := spell(plain, 0, 7, cronDayValue)
	if rest, found := strings.CutSuffix(values, "7"); found {
		values = strings.TrimSuffix(strings.TrimPrefix(rest, "0,"), ",")
		values = strings.TrimSuffix("0,"+values, ",")
	}
	return strings.Trim(strings.Join(append(specials, values), ","), ",")
}

func newOracle(t testing.TB, expr string) *oracle {
	t.Helper()
	f := strings.Fields(expr)
	days, weekdays := spellDays(f[2]), spellWeekdays(f[4])
	o := &oracle{}
	add := func(days, weekdays string) {
		text := strings.Join([]string{"0", spell(f[0], 0, 59, number), spell(f[1], 0, 23, number), days,
			spell(f[3], 1, 12, monthValue), weekdays, "2000-2099"}, " ")
		e, err := cronexpr.Parse(text)
		if err != nil {
			t.Fatalf("cronexpr.Parse(%q): %v", text, err)
		}
		o.all = append(o.all, e)
	}
	if f[2][0] == '*' || f[4][0] == '*' {
		add(days, "*")
		add("*", weekdays)
	} else {
		add(days, weekdays)
	}
	return o
}

// next leaps from one expression to the other until they meet.
func (o *oracle) next(t time.Time) time.Time {
	next := o.all[0].Next(t)
	for i := 1; !next.IsZero(); i++ {
		met := o.all[i%len(o.all)].Next(next.Add(-time.Second))
		if met.Equal(next) {
			return next
		}
		next = met
	}
	return next
}

// TestCronexpr compares results with an implementation of other authors.
func TestCronexpr(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		expr := genCron(rt)
		s, err := schedule.Parse(expr)
		if err != nil {
			rt.Skip("no such day")
		}
		at := time.Unix(rapid.Int64Range(946684800, 2145916800).Draw(rt, "from"), 0).UTC()
		if s.Next(at).IsZero() {
			rt.Skip("cronexpr does not return")
		}
		o := newOracle(t, expr)
		for range 5 {
			want := o.next(at)
			got := s.Next(at)
			if got.Year() > 2099 || want.IsZero() {
				return
			}
			if !got.Equal(want) {
				rt.Fatalf("%q: after %v comes %v, cronexpr has %v", expr, at, got, want)
			}
			at = got
		}
	})
}
