package schedule_test

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// This file is a second, naive implementation of both languages, for valid expressions only. It shares neither code nor
// approach with the package: it matches the text against each value, and finds results by trying every minute.

// wall is what a wall clock shows.
type wall struct {
	year, month, day, hour, minute int
	weekday                        int // 0 is Sunday
}

func wallOf(t time.Time) wall {
	y, m, d := t.Date()
	return wall{y, int(m), d, t.Hour(), t.Minute(), int(t.Weekday())}
}

func (w wall) monthLength() int {
	return time.Date(w.year, time.Month(w.month)+1, 0, 12, 0, 0, 0, time.UTC).Day()
}

// A matcher reports whether an expression matches what a wall clock shows.
type matcher func(w wall) bool

// table computes the answer for each value once.
func table(lo, hi int, ask func(int) bool) []bool {
	answers := make([]bool, hi+1)
	for v := lo; v <= hi; v++ {
		answers[v] = ask(v)
	}
	return answers
}

// onceADay caches the answer for the last day.
func onceADay(ask matcher) matcher {
	var asked wall
	var answer bool
	return func(w wall) bool {
		w.hour, w.minute = 0, 0
		if w != asked {
			asked, answer = w, ask(w)
		}
		return answer
	}
}

// inTerms reports whether v is in a list of terms such as a, a-b, a/n, a-b/n, * and */n, where mark stands for the hyphen.
func inTerms(list, mark string, v, lo, hi int, value func(string) int) bool {
	for _, term := range strings.Split(list, ",") {
		base, stepText, stepped := strings.Cut(term, "/")
		from, to := lo, hi
		if base != "*" {
			a, b, ranged := strings.Cut(base, mark)
			from = value(a)
			switch {
			case ranged:
				to = value(b)
			case !stepped:
				to = from
			}
			// Cron reads a range of one value with a step as the value alone.
			if ranged && stepped && mark == "-" && from == to {
				to = hi
			}
		}
		step := 1
		if stepped {
			step = value(stepText)
		}
		if v >= from && v <= to && (v-from)%step == 0 {
			return true
		}
	}
	return false
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("the model reads valid expressions only: " + s)
	}
	return n
}

// named reads a number or one of the names, the first of which stands for first.
func named(first int, names ...string) func(string) int {
	return func(s string) int {
		if i := slices.Index(names, strings.ToLower(s)[:min(3, len(s))]); i >= 0 {
			return first + i
		}
		return number(s)
	}
}

var (
	monthValue   = named(1, "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
	cronDayValue = named(0, "sun", "mon", "tue", "wed", "thu", "fri", "sat")
	fromMonday   = named(1, "mon", "tue", "wed", "thu", "fri", "sat", "sun")
)

// cronModel returns the matcher of a cron expression, and whether it has a wildcard in the minute or the hour.
func cronModel(expr string) (matcher, bool) {
	date, clock := cronParts(expr)
	f := strings.Fields(expr)
	return func(w wall) bool { return clock(w) && date(w) }, f[0][0] == '*' || f[1][0] == '*'
}

// cronParts returns the matchers of the date and of the time of day.
func cronParts(expr string) (date, clock matcher) {
	f := strings.Fields(expr)
	minutes := table(0, 59, func(v int) bool { return inTerms(f[0], "-", v, 0, 59, number) })
	hours := table(0, 23, func(v int) bool { return inTerms(f[1], "-", v, 0, 23, number) })
	date = onceADay(func(w wall) bool {
		if !inTerms(f[3], "-", w.month, 1, 12, monthValue) {
			return false
		}
		day, weekday := cronDayMatches(f[2], w), cronWeekdayMatches(f[4], w)
		if f[2][0] == '*' || f[4][0] == '*' {
			return day && weekday
		}
		return day || weekday
	})
	return date, func(w wall) bool { return minutes[w.minute] && hours[w.hour] }
}

// nextByDay looks through all days after an instant in UTC for the first run of a cron expression, for 41 years.
func nextByDay(expr string, from time.Time) time.Time {
	date, clock := cronParts(expr)
	for midnight := from.Truncate(day * time.Second); midnight.Year() <= min(from.Year()+41, 9999); midnight = midnight.AddDate(0, 0, 1) {
		if !date(wallOf(midnight)) {
			continue
		}
		for at := midnight; at.Day() == midnight.Day(); at = at.Add(time.Minute) {
			if at.After(from) && clock(wallOf(at)) {
				return at
			}
		}
	}
	return time.Time{}
}

func cronDayMatches(field string, w wall) bool {
	for _, term := range strings.Split(strings.ToUpper(field), ",") {
		base, _, _ := strings.Cut(term, "/")
		switch base {
		case "L":
			if w.day == w.monthLength() {
				return true
			}
		case "LW":
			last := time.Date(w.year, time.Month(w.month)+1, 0, 12, 0, 0, 0, time.UTC)
			for last.Weekday() == time.Saturday || last.Weekday() == time.Sunday {
				last = last.AddDate(0, 0, -1)
			}
			if w.day == last.Day() {
				return true
			}
		default:
			if inTerms(term, "-", w.day, 1, 31, number) {
				return true
			}
		}
	}
	return false
}

func cronWeekdayMatches(field string, w wall) bool {
	for _, term := range strings.Split(strings.ToUpper(field), ",") {
		if base, last := strings.CutSuffix(term, "L"); last {
			if number(base)%7 == w.weekday && w.day+7 > w.monthLength() {
				return true
			}
		} else if name, nth, found := strings.Cut(term, "#"); found {
			if cronDayValue(name)%7 == w.weekday && (w.day+6)/7 == number(nth) {
				return true
			}
		} else if inTerms(term, "-", w.weekday, 0, 7, cronDayValue) ||
			w.weekday == 0 && inTerms(term, "-", 7, 0, 7, cronDayValue) {
			return true
		}
	}
	return false
}

// calendarModel returns the matcher of an OnCalendar line without zone, which ignores seconds, and the seconds that match.
func calendarModel(line string) (matches matcher, seconds []int64) {
	weekdays, date, clock := "", "*-*-*", "00:00:00"
	for _, p := range strings.Fields(line) {
		switch {
		case strings.Contains(p, ":"):
			clock = p
		case p[0] == '*' || p[0] >= '0' && p[0] <= '9':
			date = p
		default:
			weekdays = strings.ReplaceAll(strings.TrimSuffix(p, ","), "-", "..")
		}
	}
	if strings.Count(clock, ":") == 1 {
		clock += ":0"
	}
	fromEnd := strings.Contains(date, "~")
	if date = strings.ReplaceAll(date, "~", "-"); strings.Count(date, "-") == 1 {
		date = "*-" + date
	}
	c, d := strings.Split(clock, ":"), strings.Split(date, "-")
	hours := table(0, 23, func(v int) bool { return inTerms(c[0], "..", v, 0, 23, number) })
	minutes := table(0, 59, func(v int) bool { return inTerms(c[1], "..", v, 0, 59, number) })
	for v := range 60 {
		if inTerms(c[2], "..", v, 0, 59, number) {
			seconds = append(seconds, int64(v))
		}
	}
	days := onceADay(func(w wall) bool {
		if weekdays != "" && !inTerms(weekdays, "..", (w.weekday+6)%7+1, 1, 7, fromMonday) {
			return false
		}
		return inTerms(d[0], "..", w.year, 1970, 2199, number) &&
			inTerms(d[1], "..", w.month, 1, 12, number) &&
			calendarDayMatches(d[2], fromEnd, w)
	})
	return func(w wall) bool {
		return minutes[w.minute] && hours[w.hour] && days(w)
	}, seconds
}

func calendarDayMatches(field string, fromEnd bool, w wall) bool {
	if !fromEnd {
		return inTerms(field, "..", w.day, 1, 31, number)
	}
	// Steps lead towards the end of the month, that is, to smaller numbers.
	fromLast := w.monthLength() + 1 - w.day
	for _, term := range strings.Split(field, ",") {
		base, stepText, stepped := strings.Cut(term, "/")
		low, high, ranged := strings.Cut(base, "..")
		if !ranged {
			high = low
			if stepped {
				low = "1"
			}
		}
		step := 1
		if stepped {
			step = number(stepText)
		}
		if fromLast >= number(low) && fromLast <= number(high) && (number(high)-fromLast)%step == 0 {
			return true
		}
	}
	return false
}

// A minute is an instant in a zone.
type minute struct {
	unix int64
	wall wall
	// again is set when the wall clock has shown this minute before.
	again bool
	// gap are the minutes of the wall clock that are skipped right before.
	gap []wall
}

// minutes lists the minutes of loc in [from, until). It must begin more than a day before anything of interest.
func minutes(loc *time.Location, from, until int64) []minute {
	var all []minute
	highest := int64(-1 << 62) // latest minute that the wall clock has shown
	for u := from - from%60; u < until; u += 60 {
		t := time.Unix(u, 0).In(loc)
		_, offset := t.Zone()
		shown := u + int64(offset)
		m := minute{unix: u, wall: wallOf(t), again: shown <= highest}
		if len(all) > 0 {
			for skipped := highest + 60; skipped < shown; skipped += 60 {
				m.gap = append(m.gap, wallOf(time.Unix(skipped, 0).UTC()))
			}
		}
		highest = max(highest, shown)
		all = append(all, m)
	}
	return all
}

// cronResults lists the runs of a cron expression among minutes.
func cronResults(expr string, all []minute) []int64 {
	matches, wildcard := cronModel(expr)
	var results []int64
	for i := range all {
		m := &all[i]
		found := matches(m.wall) && (wildcard || !m.again)
		if !wildcard {
			found = found || slices.ContainsFunc(m.gap, matches)
		}
		if found {
			results = append(results, m.unix)
		}
	}
	return results
}

// calendarResults lists the runs of an OnCalendar line among minutes.
func calendarResults(line string, all []minute) []int64 {
	matches, seconds := calendarModel(line)
	var results []int64
	for i := range all {
		if m := &all[i]; !m.again && matches(m.wall) {
			for _, second := range seconds {
				results = append(results, m.unix+second)
			}
		}
	}
	return results
}

// after returns the first of sorted results after u.
func after(results []int64, u int64) (int64, bool) {
	i := sort.Search(len(results), func(i int) bool { return results[i] > u })
	if i == len(results) {
		return 0, false
	}
	return results[i], true
}
