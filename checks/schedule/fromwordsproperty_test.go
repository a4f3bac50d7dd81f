package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// said is a part of a phrase, with the days that it means on a plain calendar.
type said struct {
	text  string
	days  func(time.Time) bool
	daily bool // the text has a frequency
}

// genPhrase draws a phrase, the days that it means, and its minutes of each day.
func genPhrase(t *rapid.T) (text string, days func(time.Time) bool, minutes []int) {
	day := genDays(t)
	clock, minutes := genClock(t, strings.Contains(day.text, "last workday"))
	parts := []string{day.text, clock}
	if rapid.Bool().Draw(t, "time first") {
		slices.Reverse(parts)
	}
	text = strings.Join(parts, rapid.SampledFrom([]string{" ", ", ", "  "}).Draw(t, "between"))
	switch rapid.IntRange(0, 2).Draw(t, "case") {
	case 0:
		text = strings.ToUpper(text)
	case 1:
		text = strings.ToLower(text)
	}
	return text, day.days, minutes
}

// joined writes a list as people do.
func joined(t *rapid.T, items []string) string {
	text := strings.Join(items, rapid.SampledFrom([]string{", ", " and ", " & ", ", and "}).Draw(t, "comma"))
	if len(items) > 2 {
		last := len(items) - 1
		text = strings.Join(items[:last], ", ") + " and " + items[last]
	}
	return text
}

// some draws up to four different numbers in their order.
func some(t *rapid.T, lo, hi int) []int {
	list := rapid.SliceOfNDistinct(rapid.IntRange(lo, hi), 1, 4, rapid.ID[int]).Draw(t, "numbers")
	slices.Sort(list)
	return list
}

func genWeekdayName(t *rapid.T, day int) string {
	name := time.Weekday(day).String()
	return rapid.SampledFrom([]string{name, name + "s", name[:3], name[:3] + "."}).Draw(t, "name")
}

func ordinalText(t *rapid.T, n int) string {
	words := []string{"last", "first", "second", "third", "fourth", "fifth"}
	digits := fmt.Sprintf("%dth", n)
	if suffix := []string{"", "st", "nd", "rd"}; n%10 > 0 && n%10 < 4 && n/10 != 1 {
		digits = fmt.Sprint(n) + suffix[n%10]
	}
	switch {
	case n < 1:
		return words[0]
	case n < len(words) && rapid.Bool().Draw(t, "as a word"):
		return words[n]
	}
	return digits
}

func lastOfMonth(day time.Time) int { return day.AddDate(0, 1, -day.Day()).Day() }

// genMonthDays draws days of a month: by numbers, weekdays or from its end.
func genMonthDays(t *rapid.T) said {
	switch rapid.IntRange(0, 4).Draw(t, "month days") {
	case 0:
		numbers := some(t, 1, 28)
		var items []string
		for _, n := range numbers {
			items = append(items, ordinalText(t, n))
		}
		return said{joined(t, items), func(d time.Time) bool { return slices.Contains(numbers, d.Day()) }, false}
	case 1:
		return said{"last day", func(d time.Time) bool { return d.Day() == lastOfMonth(d) }, false}
	case 2:
		n, day := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(0, 6).Draw(t, "day")
		return said{ordinalText(t, n) + " " + genWeekdayName(t, day), func(d time.Time) bool { return int(d.Weekday()) == day && (d.Day()+6)/7 == n }, false}
	case 3:
		day := rapid.IntRange(0, 6).Draw(t, "day")
		return said{"last " + genWeekdayName(t, day), func(d time.Time) bool { return int(d.Weekday()) == day && d.Day()+7 > lastOfMonth(d) }, false}
	}
	isWork := func(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }
	text, step := "first workday", -1
	if rapid.Bool().Draw(t, "last") {
		text, step = "last workday", 1
	}
	return said{text, func(d time.Time) bool {
		for other := d.AddDate(0, 0, step); other.Month() == d.Month(); other = other.AddDate(0, 0, step) {
			if isWork(other) {
				return false
			}
		}
		return isWork(d)
	}, false}
}

// genDays draws the days of a phrase.
func genDays(t *rapid.T) said {
	months := some(t, 1, 12)
	var names []string
	for _, m := range months {
		name := time.Month(m).String()
		names = append(names, rapid.SampledFrom([]string{name, name[:3]}).Draw(t, "month"))
	}
	inMonths := func(d time.Time) bool { return slices.Contains(months, int(d.Month())) }
	week := genWeek(t)
	switch rapid.IntRange(0, 4).Draw(t, "days") {
	case 0:
		return week
	case 1:
		return said{week.text + " in " + joined(t, names), func(d time.Time) bool { return week.days(d) && inMonths(d) }, false}
	case 2:
		n := rapid.IntRange(1, 28).Draw(t, "date")
		text := rapid.SampledFrom([]string{fmt.Sprintf("%d %s", n, names[0]), names[0] + " " + ordinalText(t, n), ordinalText(t, n) + " of " + names[0]}).Draw(t, "date")
		return said{text, func(d time.Time) bool { return d.Day() == n && int(d.Month()) == months[0] }, false}
	}
	d := genMonthDays(t)
	if rapid.Bool().Draw(t, "every month") {
		return said{fmt.Sprintf(rapid.SampledFrom([]string{"%s of the month", "%s of each month", "the %s"}).Draw(t, "of"), d.text), d.days, false}
	}
	return said{d.text + " of " + joined(t, names), func(at time.Time) bool { return d.days(at) && inMonths(at) }, false}
}

// genWeek draws weekdays.
func genWeek(t *rapid.T) said {
	isWork := func(d time.Time) bool { return d.Weekday() >= time.Monday && d.Weekday() <= time.Friday }
	switch rapid.IntRange(0, 4).Draw(t, "week") {
	case 0:
		return said{rapid.SampledFrom([]string{"every day", "daily", "each day"}).Draw(t, "daily"), func(time.Time) bool { return true }, true}
	case 1:
		return said{rapid.SampledFrom([]string{"weekdays", "every weekday", "on work days", "Monday to Friday", "mon–fri"}).Draw(t, "work"), isWork, false}
	case 2:
		return said{"weekends", func(d time.Time) bool { return !isWork(d) }, false}
	case 3:
		from, n := rapid.IntRange(0, 6).Draw(t, "from"), rapid.IntRange(1, 5).Draw(t, "n")
		return said{genWeekdayName(t, from) + " through " + genWeekdayName(t, (from+n)%7), func(d time.Time) bool { return (int(d.Weekday())-from+7)%7 <= n }, false}
	}
	days := some(t, 0, 6)
	var items []string
	for _, day := range days {
		items = append(items, genWeekdayName(t, day))
	}
	if rapid.Bool().Draw(t, "except") && len(days) < 7 {
		return said{"every day except " + joined(t, items), func(d time.Time) bool { return !slices.Contains(days, int(d.Weekday())) }, true}
	}
	return said{"every " + joined(t, items), func(d time.Time) bool { return slices.Contains(days, int(d.Weekday())) }, false}
}

// genClock draws times of day, or a single one.
func genClock(t *rapid.T, single bool) (text string, minutes []int) {
	marked := rapid.Bool().Draw(t, "12 hours")
	write := func(m int) string {
		if !marked {
			return fmt.Sprintf("%d:%02d", m/60, m%60)
		}
		half := "am"
		if m >= 12*60 {
			half = "p.m."
		}
		if m%60 == 0 {
			return fmt.Sprintf("%d%s", (m/60+11)%12+1, half)
		}
		return fmt.Sprintf("%d:%02d %s", (m/60+11)%12+1, m%60, half)
	}
	if minutes = some(t, 0, 24*60-1); single {
		minutes = minutes[:1]
	}
	var items []string
	for _, m := range minutes {
		items = append(items, write(m))
	}
	return "at " + joined(t, items), minutes
}

// checkRuns compares the next runs with those that a calendar has.
func checkRuns(t *rapid.T, text string, days func(time.Time) bool, minutes []int) {
	u, err := schedule.FromWords(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	s, err := schedule.Read(u.Expression)
	if err != nil {
		t.Fatalf("%q is read as %+v: %v", text, u, err)
	}
	midnight := time.Date(2024, 1, 1+rapid.IntRange(0, 2000).Draw(t, "from"), 0, 0, 0, 0, time.UTC)
	at := midnight.Add(-time.Second)
	for day, runs := 0, 0; day < 1500 && runs < 100; day++ {
		for _, m := range minutes {
			if run := midnight.Add(time.Duration(m) * time.Minute); days(midnight) {
				if next := s.Next(at); !next.Equal(run) {
					t.Fatalf("%q is read as %q: after %v comes %v, want %v", text, u.Expression, at, next, run)
				}
				at = run
				runs++
			}
		}
		midnight = midnight.AddDate(0, 0, 1)
	}
	if next := s.Next(at); next.Before(midnight) && !next.IsZero() {
		t.Fatalf("%q is read as %q: after %v comes %v, want none before %v", text, u.Expression, at, next, midnight)
	}
}

// TestPhrasesMeanTheirDays: the runs of a phrase are those that a plain calendar finds.
func TestPhrasesMeanTheirDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, days, minutes := genPhrase(t)
		checkRuns(t, text, days, minutes)
	})
}

// TestPhrasesMeanTheirTimes: so are those of a frequency, in a part of the day or all of it.
func TestPhrasesMeanTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		week := genWeek(t)
		step, text := 1, ""
		if rapid.Bool().Draw(t, "minutes") {
			step = rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60}).Draw(t, "step")
			text = fmt.Sprintf("every %d minutes", step)
		} else {
			step = rapid.SampledFrom([]int{1, 2, 3, 4, 6, 8, 12}).Draw(t, "step") * 60
			text = fmt.Sprintf("every %d hours", step/60)
		}
		first, last := 0, 24*60-1
		if rapid.Bool().Draw(t, "window") {
			first = rapid.IntRange(0, 23*60).Draw(t, "first")
			last = rapid.IntRange(first+1, 24*60-1).Draw(t, "last")
			text += rapid.SampledFrom([]string{" from %d:%02d to %d:%02d", " between %d:%02d and %d:%02d", " %d:%02d-%d:%02d"}).Draw(t, "form")
			text = fmt.Sprintf(text, first/60, first%60, last/60, last%60)
		}
		days := func(time.Time) bool { return true }
		if !week.daily && rapid.Bool().Draw(t, "some days") {
			text, days = text+" "+week.text, week.days
		}
		var minutes []int
		for m := first; m <= last; m += step {
			minutes = append(minutes, m)
		}
		checkRuns(t, text, days, minutes)
	})
}
