package schedule_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"pgregory.net/rapid"
)

var deep = flag.Int("deep", 1, "how many random expressions of each language to check at every change of the clock")

// troubledZones have changed their clocks in many ways since 2000: by half an hour, by a day, at midnight, for Ramadan,
// twice a year, for good.
func troubledZones() []string {
	return []string{
		"Africa/Cairo", "Africa/Casablanca", "Africa/Juba", "America/Asuncion", "America/Caracas",
		"America/Havana", "America/Los_Angeles", "America/New_York", "America/Nuuk", "America/Santiago",
		"America/Sao_Paulo", "America/St_Johns", "Antarctica/Casey", "Antarctica/Troll", "Asia/Amman",
		"Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Pyongyang", "Asia/Tehran", "Atlantic/Azores",
		"Australia/Adelaide", "Australia/Lord_Howe", "Europe/Dublin", "Europe/Istanbul", "Europe/London",
		"Europe/Moscow", "Europe/Riga", "Pacific/Apia", "Pacific/Auckland", "Pacific/Chatham",
		"Pacific/Easter", "Pacific/Fiji", "Pacific/Kwajalein", "Pacific/Norfolk", "Pacific/Tongatapu",
	}
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := schedule.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// changes finds the instants at which the offset changes, from the first year to the one before end, by looking at the
// offset only.
func changes(loc *time.Location, first, end int) []int64 {
	offset := func(u int64) int {
		_, o := time.Unix(u, 0).In(loc).Zone()
		return o
	}
	const step = 6 * 3600
	var all []int64
	until := newYear(end)
	for u := newYear(first); u < until; u += step {
		if offset(u) == offset(u+step) {
			continue
		}
		before, after := u, u+step
		for after-before > 1 {
			if middle := (before + after) / 2; offset(middle) == offset(before) {
				before = middle
			} else {
				after = middle
			}
		}
		all = append(all, after)
	}
	return all
}

// newYear returns the start of a year in UTC.
func newYear(year int) int64 {
	return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// genExpr draws an expression that Parse accepts, and its results among minutes.
func genExpr(t *rapid.T) (expr string, results func([]minute) []int64) {
	if rapid.Bool().Draw(t, "cron") {
		expr = genCron(t)
		if _, err := schedule.Parse(expr); err != nil {
			t.Skip("no such day")
		}
		return expr, func(all []minute) []int64 { return cronResults(expr, all) }
	}
	expr = genCalendarLine(t)
	return expr, func(all []minute) []int64 { return calendarResults(expr, all) }
}

// day is the length of a day without a change, in seconds.
const day = 24 * 3600

// checkWindow compares Next with the results of the model, from every result and from an instant between any two.
func checkWindow(expr string, loc *time.Location, all []minute, results []int64, random *rand.Rand) error {
	s, err := schedule.Parse(expr)
	if err != nil {
		return err
	}
	// After one and a half days, the model has enough history.
	start, end := all[0].unix+day*3/2, all[len(all)-1].unix+60
	check := func(from int64) (int64, error) {
		want, ok := after(results, from)
		got := s.Next(time.Unix(from, random.Int64N(1e9)).In(loc))
		if !ok && !got.IsZero() && got.Unix() < end || ok && got.Unix() != want {
			return 0, fmt.Errorf("%q in %v: after %v comes %v, want %v", expr, loc,
				time.Unix(from, 0).In(loc), got, time.Unix(want, 0).In(loc))
		}
		if !ok {
			want = end
		}
		return want, nil
	}
	for from := start; from < end; {
		next, err := check(from)
		if err != nil {
			return err
		}
		if _, err := check(from + random.Int64N(next-from)); err != nil {
			return err
		}
		from = next
	}
	return nil
}

// awkward are expressions with runs near the hours at which clocks change.
func awkward() (cron, calendar []string) {
	cron = []string{
		"*/10 * * * *", "30 * * * *", "*/20 0-4 * * *", "0 */2 * * *", "* 2 * * *",
		"30 2 * * *", "0 0 * * *", "15 0-4,23 * * *", "0-59/15 1-3 * * SUN,FRI", "59 23 * * *", "5 1,2,3 25-31 3,10 *",
	}
	calendar = []string{
		"*:0/10", "02:30", "0:0", "0..4,23:15", "Sat,Sun 1..3:0/15:30", "*-*~1..7 23:59:59", "12:00",
	}
	return cron, calendar
}

// TestChanges compares results with those of the model around every change of the clock from 2000 to 2037.
func TestChanges(t *testing.T) {
	for _, name := range troubledZones() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := mustZone(t, name)
			for i, at := range changes(loc, 2000, 2038) {
				if !testing.Short() || i%4 == 0 {
					checkAround(t, loc, at, i)
				}
			}
		})
	}
}

// TestRuledYears is like TestChanges, for years that the zone data describe only by a rule, and around New Year, where
// package time is not exact.
func TestRuledYears(t *testing.T) {
	for _, name := range []string{"America/New_York", "America/Nuuk", "Australia/Lord_Howe", "Europe/Dublin", "Pacific/Auckland", "Asia/Tokyo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := mustZone(t, name)
			for i, at := range append(changes(loc, 2039, 2045), newYear(2041), newYear(2042), newYear(2097)) {
				checkAround(t, loc, at, i)
			}
		})
	}
}

// checkAround checks the days around an instant with three awkward cron expressions, two awkward OnCalendar lines and
// some random ones.
func checkAround(t *testing.T, loc *time.Location, at int64, i int) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(at), uint64(*deep)))
	all := minutes(loc, at-day*5/2, at+day*3/2)
	cron, calendar := awkward()
	exprs := map[string][]int64{}
	for k := range 3 {
		expr := cron[(i*3+k)%len(cron)]
		exprs[expr] = cronResults(expr, all)
	}
	for k := range 2 {
		expr := calendar[(i*2+k)%len(calendar)]
		exprs[expr] = calendarResults(expr, all)
	}
	for k := range *deep {
		addRandom(exprs, all, int(at)+k)
	}
	for expr, results := range exprs {
		if err := checkWindow(expr, loc, all, results, random); err != nil {
			t.Error(err)
		}
	}
}

func addRandom(exprs map[string][]int64, all []minute, seed int) {
	expr := rapid.Custom(genCron).Example(seed)
	if _, err := schedule.Parse(expr); err == nil {
		exprs[expr] = cronResults(expr, all)
	}
	line := rapid.Custom(genCalendarLine).Example(seed)
	exprs[line] = calendarResults(line, all)
}

// TestNextProperties checks the guarantees of Next for random expressions, zones and instants.
func TestNextProperties(t *testing.T) {
	zones := append(troubledZones(), "UTC", "Asia/Tokyo", "Etc/GMT+12", "Pacific/Kiritimati")
	rapid.Check(t, func(t *rapid.T) {
		expr, model := genExpr(t)
		loc, err := schedule.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		from := time.Unix(rapid.Int64Range(946684800, 2145916800).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(loc)
		next := s.Next(from)
		if next.IsZero() {
			return
		}
		if !next.After(from) || next.Location() != loc || next.Nanosecond() != 0 {
			t.Fatalf("%q: after %v comes %v", expr, from, next)
		}
		between := from.Add(time.Duration(rapid.Int64Range(0, int64(min(next.Sub(from), 1<<62))-1).Draw(t, "between")))
		if got := s.Next(between); !got.Equal(next) {
			t.Fatalf("%q: after %v comes %v, but after %v comes %v", expr, from, next, between, got)
		}
		u := next.Unix()
		results := model(minutes(loc, u-3*day, u+day))
		if got, ok := after(results, u-day*3/2); !ok || got > u {
			t.Fatalf("%q: the model does not have %v", expr, next)
		}
		if got, _ := after(results, max(from.Unix(), u-day*3/2)); got != u {
			t.Fatalf("%q: after %v comes %v, the model has %v", expr, from, next, time.Unix(got, 0).In(loc))
		}
	})
}

// TestCronDayByDay compares results in UTC with a search through all days, which misses none however far apart runs are,
// in all the years that schedules know.
func TestCronDayByDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := genCron(t)
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Skip("no such day")
		}
		year := rapid.OneOf(rapid.IntRange(1970, 2100), rapid.IntRange(1, 9950)).Draw(t, "year")
		at := time.Date(year, 1, 1, 0, rapid.IntRange(0, 366*24*60).Draw(t, "minute"), 0, 0, time.UTC)
		for range 5 {
			want := nextByDay(expr, at)
			got := s.Next(at)
			if !got.Equal(want) {
				t.Fatalf("%q: after %v comes %v, want %v", expr, at, got, want)
			}
			if at = got; at.IsZero() {
				return
			}
		}
	})
}

// TestRareDates is like TestCronDayByDay, for days that are years apart or never occur.
func TestRareDates(t *testing.T) {
	for _, expr := range []string{
		"0 0 29 2 *", "0 0 */28 2 MON#5", "59 23 */28 2 5L", "* * LW 2 */6", "0 12 * 2 5#5", "0 0 */31 * 5L",
		"30 6 */30 4 FRI#5", "0 0 L 2 */7", "0 0 */29 12 1L", "0 0 29 2 MON#5",
	} {
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, year := range []int{1, 1899, 1969, 2026, 2071, 2099, 2100, 2101, 2199, 2371, 2399, 9959} {
			at := time.Date(year, 2, 28, 12, 0, 0, 0, time.UTC)
			for range 3 {
				want := nextByDay(expr, at)
				got := s.Next(at)
				if !got.Equal(want) {
					t.Errorf("%q: after %v comes %v, want %v", expr, at, got, want)
				}
				if at = want; at.IsZero() {
					break
				}
			}
		}
	}
}

// TestExplainTellsLimits checks that an explanation mentions every field that restricts the expression.
func TestExplainTellsLimits(t *testing.T) {
	mentions := func(text string, words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	rapid.Check(t, func(t *rapid.T) {
		expr := genCron(t)
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Skip("no such day")
		}
		text := schedule.Explain(s, nil)
		f := strings.Fields(expr)
		var days, weekdays, hours, months bool // which fields restrict
		for at := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2028; at = at.AddDate(0, 0, 1) {
			w := wallOf(at)
			days = days || !cronDayMatches(f[2], w)
			weekdays = weekdays || !cronWeekdayMatches(f[4], w)
			months = months || !inTerms(f[3], "-", w.month, 1, 12, monthValue)
		}
		for v := range 24 {
			hours = hours || !inTerms(f[1], "-", v, 0, 23, number)
		}
		if months && !mentions(text, "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec") {
			t.Errorf("%q: no month in %q", expr, text)
		}
		if weekdays && f[2] == "*" && !mentions(text, "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday") {
			t.Errorf("%q: no weekday in %q", expr, text)
		}
		if days && f[4] == "*" && !mentions(text, "the ", "odd days", "even days", " on ", " from ") {
			t.Errorf("%q: no day in %q", expr, text)
		}
		if hours && !mentions(text, ":", "hour") {
			t.Errorf("%q: no hour in %q", expr, text)
		}
		if strings.Contains(text, "  ") || strings.Contains(text, ", ,") || strings.HasSuffix(text, " ") {
			t.Errorf("%q: %q", expr, text)
		}
	})
}
