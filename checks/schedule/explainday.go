package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// dayPhrase describes the days, with the blank or the comma that leads over
// from the times before it. Single times are told that they come every day.
func (p *pattern) dayPhrase(single bool) string {
	r := &p.days
	anyDay, anyWeekday := r.anyDay(), r.anyWeekday()
	lead := ", "
	if single {
		lead = " "
	}
	switch {
	case r.matchesAll():
		limits := p.limits()
		if single {
			return " every day" + limits
		}
		if limits != "" {
			return "," + limits
		}
		return ""
	case anyDay:
		return p.weekdayPhrase(lead, single)
	case anyWeekday:
		return lead + p.datePhrase()
	case r.either:
		return lead + r.onDays() + " of " + p.monthsText("and") + " and " +
			r.weekdayText() + p.inMonths() + p.inYears()
	}
	return lead + p.bothPhrase() + p.inYears()
}

func (r *dayRule) anyDay() bool     { return r.days == everyDay }
func (r *dayRule) anyWeekday() bool { return r.weekdays == everyWeekday }

// matchesAll reports whether the rule allows every day.
func (r *dayRule) matchesAll() bool {
	if r.either {
		return r.anyDay() || r.anyWeekday()
	}
	return r.anyDay() && r.anyWeekday()
}

// weekdayPhrase describes days that depend on the weekday only.
func (p *pattern) weekdayPhrase(lead string, single bool) string {
	r := &p.days
	limits := p.limits()
	if r.last != 0 || r.nth != [5]uint8{} {
		// No year: this is cron.
		if r.weekdays == 0 {
			return lead + "on " + r.nthText("and") + " of " + p.monthsText("and")
		}
		if limits == "" {
			limits = " of every month"
		}
		return lead + r.weekdayText() + limits
	}
	if from, to, ok := weekdayRange(r.weekdays); ok {
		if limits != "" {
			limits = "," + limits
		}
		return ", " + weekdayWords[from] + " to " + weekdayWords[to] + limits
	}
	names := weekdayList(r.weekdays)
	if single {
		return " every " + list(names, "and") + limits
	}
	for i := range names {
		names[i] += "s"
	}
	return ", on " + list(names, "and") + limits
}

// datePhrase describes days that depend on the day of the month only.
func (p *pattern) datePhrase() string {
	months := members(uint64(p.months))
	r := &p.days
	if len(months) > 1 || r.fromEnd != 0 || r.lastWorkday || bits.OnesCount32(r.days) > 7 {
		return r.onDays() + " of " + p.monthsText("and") + p.inYears()
	}
	days := members(uint64(r.days))
	text := "on " + list(ranges(days, strconv.Itoa), "and")
	if isRun(days) {
		text = "from " + strconv.Itoa(days[0]) + " to " + strconv.Itoa(days[len(days)-1])
	}
	text += " " + monthWords[months[0]]
	switch {
	case p.years != nil:
		if years := p.years.list(); len(years) == 1 {
			return text + " " + strconv.Itoa(years[0])
		}
		return text + p.inYears()
	case months[0] == 2 && r.days == 1<<29:
		return text + " in leap years"
	}
	return text + " every year"
}

// bothPhrase describes days that depend on the day of the month and on the
// weekday.
func (p *pattern) bothPhrase() string {
	r := &p.days
	plain := r.last == 0 && r.nth == [5]uint8{}
	if plain && bits.OnesCount8(r.weekdays) == 1 && !r.lastWorkday {
		name := weekdayWords[bits.TrailingZeros8(r.weekdays)]
		if n := p.week(); n != "" {
			return "on the " + n + " " + name + " of " + p.monthsText("and")
		}
		if r.fromEnd == 0 && bits.OnesCount32(r.days) == 1 {
			return "every " + name + " the " + nth(bits.TrailingZeros32(r.days)) + p.inMonths()
		}
	}
	subject := r.nthText("or")
	if r.weekdays != 0 {
		weekdays := "a " + list(weekdayList(r.weekdays), "or")
		if from, to, ok := weekdayRange(r.weekdays); ok {
			weekdays = "a day from " + weekdayWords[from] + " to " + weekdayWords[to]
		}
		if subject != "" {
			weekdays += " or "
		}
		subject = weekdays + subject
	}
	months := "the month"
	if p.months != everyMonth {
		months = p.monthsText("or")
	}
	return "when " + subject + " falls on " + r.daysText("or") + " of " + months
}

// week returns which of its weekday in a month the days amount to, if they are
// a week: the second one from the 8th to the 14th, the last one from the 25th to
// the 31st of October.
func (p *pattern) week() string {
	r := &p.days
	if r.fromEnd != 0 {
		if r.days == 0 && r.fromEnd == 0x7f<<1 {
			return "last"
		}
		return ""
	}
	for i := range 4 {
		if r.days == 0x7f<<(7*i+1) {
			return ordinal(i + 1)
		}
	}
	for _, m := range members(uint64(p.months)) {
		if m == 2 || r.days != 0x7f<<(monthLength(2000, m)-6) {
			return ""
		}
	}
	return "last"
}

// onDays names the days of the month with the word before them, for sentences
// such as "on the 1st and 15th of every month".
func (r *dayRule) onDays() string {
	days := members(uint64(r.days))
	if isRun(days) && r.fromEnd == 0 && !r.lastWorkday {
		return "from the " + nth(days[0]) + " to the " + nth(days[len(days)-1])
	}
	return "on " + r.daysText("and")
}

// The days with odd numbers, and those with even numbers.
const (
	oddDays  = 0xaaaaaaaa
	evenDays = everyDay &^ oddDays
)

// daysText names the days of the month, for sentences such as "the 1st and 15th
// of every month".
func (r *dayRule) daysText(word string) string {
	var items []string
	days := members(uint64(r.days))
	step, regular := progression(days)
	switch {
	case r.days == oddDays && word == "or":
		items = append(items, "an odd day")
	case r.days == evenDays && word == "or":
		items = append(items, "an even day")
	case r.days == oddDays:
		items = append(items, "odd days")
	case r.days == evenDays:
		items = append(items, "even days")
	case regular && step > 1 && len(days) > 4 && word == "and":
		items = append(items, "every "+ordinal(step)+" day from the "+nth(days[0])+" to the "+nth(days[len(days)-1]))
	case len(days) > 0:
		items = append(items, ranges(days, nth)...)
		items[0] = "the " + items[0]
	}
	fromEnd := members(uint64(r.fromEnd))
	switch n := len(fromEnd); {
	case n > 1 && fromEnd[n-1] == n:
		items = append(items, "the last "+cardinal(n)+" days")
	case n > 0:
		names := ranges(fromEnd, daysFromEnd)
		names[0] = "the " + names[0]
		names[len(names)-1] += " day"
		if n > 1 && word == "and" {
			names[len(names)-1] += "s"
		}
		items = append(items, names...)
	}
	if r.lastWorkday {
		items = append(items, "the last weekday (Monday to Friday)")
	}
	return list(items, word)
}

func daysFromEnd(n int) string {
	if n == 1 {
		return "last"
	}
	return ordinal(n) + "-to-last"
}

// weekdayText names weekdays, all of them and the nth ones.
func (r *dayRule) weekdayText() string {
	var text string
	if from, to, ok := weekdayRange(r.weekdays); ok {
		text = "every day from " + weekdayWords[from] + " to " + weekdayWords[to]
	} else if r.weekdays != 0 {
		text = "every " + list(weekdayList(r.weekdays), "and")
	}
	if special := r.nthText("and"); special != "" {
		if text != "" {
			text += " and "
		}
		text += "on " + special
	}
	return text
}

// nthText names the nth weekdays of a month.
func (r *dayRule) nthText(word string) string {
	var items []string
	for i, set := range r.nth {
		for _, name := range weekdayList(set) {
			items = append(items, ordinal(i+1)+" "+name)
		}
	}
	for _, name := range weekdayList(r.last) {
		items = append(items, "last "+name)
	}
	if len(items) == 0 {
		return ""
	}
	return "the " + list(items, word)
}

// weekdayList names the weekdays of a set, from Monday.
func weekdayList(set uint8) []string {
	var names []string
	for i := range 7 {
		if d := (i + 1) % 7; set>>d&1 == 1 {
			names = append(names, weekdayWords[d])
		}
	}
	return names
}

// weekdayRange reports whether a set is a run of three to six weekdays, perhaps
// over the end of the week.
func weekdayRange(set uint8) (from, to int, ok bool) {
	n := bits.OnesCount8(set)
	if n < 3 || n > 6 {
		return 0, 0, false
	}
	for first := range 7 {
		run := uint32(1<<n-1) << first
		if uint8(run&everyWeekday|run>>7) == set {
			return first, (first + n - 1) % 7, true
		}
	}
	return 0, 0, false
}

// monthsText names the months, for sentences such as "the 1st of every month".
func (p *pattern) monthsText(word string) string {
	if p.months == everyMonth {
		return "every month"
	}
	months := members(uint64(p.months))
	if isRun(months) {
		return "every month from " + monthWords[months[0]] + " to " + monthWords[months[len(months)-1]]
	}
	return list(ranges(months, monthWord), word)
}

// inMonths limits a sentence to the months.
func (p *pattern) inMonths() string {
	if p.months == everyMonth {
		return ""
	}
	months := members(uint64(p.months))
	if isRun(months) {
		return " from " + monthWords[months[0]] + " to " + monthWords[months[len(months)-1]]
	}
	return " in " + list(ranges(months, monthWord), "and")
}

// limits limits a sentence to the months and the years.
func (p *pattern) limits() string {
	months, years := p.inMonths(), p.inYears()
	if months != "" && strings.HasPrefix(years, " from") {
		return months + "," + years
	}
	return months + years
}

func monthWord(m int) string { return monthWords[m] }

// inYears limits a sentence to the years.
func (p *pattern) inYears() string {
	if p.years == nil {
		return ""
	}
	years := p.years.list()
	first, last := years[0], years[len(years)-1]
	step, ok := progression(years)
	switch {
	case !ok || len(years) < 3 || step > 1 && len(years) == 3:
		return " in " + list(ranges(years, strconv.Itoa), "and")
	case step == 1:
		return " from " + strconv.Itoa(first) + " to " + strconv.Itoa(last)
	case last+step > lastCalendarYear:
		return " " + everyUnit(step, "year") + " from " + strconv.Itoa(first)
	}
	return fmt.Sprintf(" %s from %d to %d", everyUnit(step, "year"), first, last)
}

// list returns the members in ascending order.
func (s *yearSet) list() []int {
	var years []int
	for y, ok := s.from(firstCalendarYear); ok; y, ok = s.from(y + 1) {
		years = append(years, y)
	}
	return years
}
