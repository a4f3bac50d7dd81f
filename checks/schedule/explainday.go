package schedule

import (
	"math/bits"
	"strconv"
	"strings"
)

// dayPhrase describes the days. It begins with the blank or the comma that separates them from the time of day. A single
// time, such as "at 09:00", needs a day even if all days match. A frequency, such as "every hour", does not.
func (p *pattern) dayPhrase(single bool) string {
	r := &p.days
	lead := ", "
	if single {
		lead = " "
	}
	switch {
	case r.matchesAll() && single:
		return " every day" + p.limits()
	case r.matchesAll():
		return afterComma(p.limits())
	case r.days == everyDay:
		return p.weekdayPhrase(single, lead)
	case r.weekdays == everyWeekday:
		return lead + p.datePhrase()
	case r.either:
		return lead + r.onDays() + p.ofMonths("and") + " and " + r.weekdayText() + p.inMonths()
	}
	return lead + p.bothPhrase() + p.inYears()
}

func afterComma(text string) string {
	if text == "" {
		return ""
	}
	return "," + text
}

// matchesAll reports whether every day matches.
func (r *dayRule) matchesAll() bool {
	anyDay, anyWeekday := r.days == everyDay, r.weekdays == everyWeekday
	return anyDay && anyWeekday || r.either && (anyDay || anyWeekday)
}

// weekdayPhrase describes days that depend on the weekday only.
func (p *pattern) weekdayPhrase(single bool, lead string) string {
	r, limits := &p.days, p.limits()
	if special := r.nthText("and"); special != "" {
		switch {
		case r.weekdays == 0:
			return lead + "on " + special + p.ofMonths("and")
		case limits == "":
			limits = " of every month"
		}
		return lead + r.weekdayText() + limits
	}
	if span := weekdaySpan(r.weekdays); span != "" {
		return ", " + span + afterComma(limits)
	}
	names := list(weekdayNames(r.weekdays), "and")
	if single {
		return " every " + names + limits
	}
	return ", on " + strings.ReplaceAll(names, "day", "days") + limits
}

// datePhrase describes days that depend on the day of the month only.
func (p *pattern) datePhrase() string {
	months, r := members(uint64(p.months)), &p.days
	if len(months) > 1 || r.fromEnd != 0 || r.lastWorkday || bits.OnesCount32(r.days) > 7 {
		return r.onDays() + p.ofMonths("and") + p.inYears()
	}
	days := members(uint64(r.days))
	text := "on " + list(ranges(days, strconv.Itoa), "and")
	if isRun(days) {
		text = fromTo(days, strconv.Itoa)
	}
	text += " " + monthWord(months[0])
	switch {
	case p.years != nil && len(p.years.list()) == 1:
		return text + " " + strconv.Itoa(p.years.list()[0])
	case p.years != nil:
		return text + p.inYears()
	case months[0] == 2 && r.days == 1<<29:
		return text + " in leap years"
	}
	return text + " every year"
}

// bothPhrase describes days that must match in the day of the month and in the weekday.
func (p *pattern) bothPhrase() string {
	r := &p.days
	subject := r.nthText("or")
	if subject == "" && bits.OnesCount8(r.weekdays) == 1 && !r.lastWorkday {
		name := weekdayNames(r.weekdays)[0]
		if which := p.week(); which != "" {
			return "on the " + which + " " + name + p.ofMonths("and")
		}
		if r.fromEnd == 0 && bits.OnesCount32(r.days) == 1 {
			return "every " + name + " the " + nth(bits.TrailingZeros32(r.days)) + p.inMonths()
		}
	}
	if r.weekdays != 0 {
		weekdays := "a " + list(weekdayNames(r.weekdays), "or")
		if span := weekdaySpan(r.weekdays); span != "" {
			weekdays = "a day from " + span
		}
		subject = join(weekdays, " or ", subject)
	}
	months := " of the month"
	if p.months != everyMonth {
		months = p.ofMonths("or")
	}
	return "when " + subject + " falls on " + r.daysText("or") + months
}

// week returns which occurrence of a weekday in the month the days allow, such as "second" for days 8 to 14, or "last"
// for days 25 to 31 of October. It returns "" if there is no such word.
func (p *pattern) week() string {
	const week = 1<<7 - 1
	r := &p.days
	if r.fromEnd != 0 {
		if r.days == 0 && r.fromEnd == week<<1 {
			return "last"
		}
		return ""
	}
	for i := range 4 {
		if r.days == week<<(7*i+1) {
			return ordinal(i + 1)
		}
	}
	for _, m := range members(uint64(p.months)) {
		if m == 2 || r.days != week<<(monthLength(2000, m)-6) {
			return ""
		}
	}
	return "last"
}

// onDays returns the days of the month with a preposition, such as "on the 1st and 15th".
func (r *dayRule) onDays() string {
	days := members(uint64(r.days))
	if isRun(days) && r.fromEnd == 0 && !r.lastWorkday {
		return fromTo(days, theNth)
	}
	return "on " + r.daysText("and")
}

// Sets of the days with odd and with even numbers.
const (
	oddDays  = 0xaaaaaaaa
	evenDays = everyDay &^ oddDays
)

// daysText returns the days of the month, such as "the 1st and 15th".
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
		items = append(items, "every "+ordinal(step)+" day "+fromTo(days, theNth))
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

// weekdayText returns the weekdays and the nth weekdays, such as "every Monday and on the last Friday".
func (r *dayRule) weekdayText() string {
	var text string
	if span := weekdaySpan(r.weekdays); span != "" {
		text = "every day from " + span
	} else if r.weekdays != 0 {
		text = "every " + list(weekdayNames(r.weekdays), "and")
	}
	if special := r.nthText("and"); special != "" {
		text = join(text, " and ", "on "+special)
	}
	return text
}

// nthText returns the nth weekdays of a month, such as "the second Tuesday and last Friday".
func (r *dayRule) nthText(word string) string {
	var items []string
	for i, set := range r.nth {
		for _, name := range weekdayNames(set) {
			items = append(items, ordinal(i+1)+" "+name)
		}
	}
	for _, name := range weekdayNames(r.last) {
		items = append(items, "last "+name)
	}
	if len(items) == 0 {
		return ""
	}
	return "the " + list(items, word)
}

// weekdayNames returns the weekdays of a set, from Monday.
func weekdayNames(set uint8) []string {
	var names []string
	for i := range 7 {
		if day := (i + 1) % 7; set>>day&1 == 1 {
			names = append(names, weekdayWord(day))
		}
	}
	return names
}

// weekdaySpan returns a text such as "Monday to Friday" for three to six consecutive weekdays, which may cross the end of
// the week. It returns "" for other sets.
func weekdaySpan(set uint8) string {
	n := bits.OnesCount8(set)
	if n < 3 || n > 6 {
		return ""
	}
	for first := range 7 {
		run := uint32(1<<n-1) << first
		if uint8(run&everyWeekday|run>>7) == set {
			return weekdayWord(first) + " to " + weekdayWord((first+n-1)%7)
		}
	}
	return ""
}

// ofMonths returns the months for a phrase about their days, such as " of every month".
func (p *pattern) ofMonths(word string) string {
	months := members(uint64(p.months))
	switch {
	case p.months == everyMonth:
		return " of every month"
	case isRun(months):
		return " of every month " + fromTo(months, monthWord)
	}
	return " of " + list(ranges(months, monthWord), word)
}

// inMonths returns the months as a limit, such as " in May", or "" for all.
func (p *pattern) inMonths() string {
	months := members(uint64(p.months))
	switch {
	case p.months == everyMonth:
		return ""
	case isRun(months):
		return " " + fromTo(months, monthWord)
	}
	return " in " + list(ranges(months, monthWord), "and")
}

// limits returns the months and the years as a limit.
func (p *pattern) limits() string {
	months, years := p.inMonths(), p.inYears()
	if months != "" && strings.HasPrefix(years, " from") {
		return months + "," + years
	}
	return months + years
}

// inYears returns the years as a limit, such as " in 2026", or "" for all.
func (p *pattern) inYears() string {
	if p.years == nil {
		return ""
	}
	years := p.years.list()
	step, regular := progression(years)
	switch {
	case !regular || len(years) < 3 || step > 1 && len(years) == 3:
		return " in " + list(ranges(years, strconv.Itoa), "and")
	case step == 1:
		return " " + fromTo(years, strconv.Itoa)
	case years[len(years)-1]+step > lastCalendarYear:
		return " " + everyUnit(step, "year") + " from " + strconv.Itoa(years[0])
	}
	return " " + everyUnit(step, "year") + " " + fromTo(years, strconv.Itoa)
}

// list returns the members in ascending order.
func (s *yearSet) list() []int {
	var years []int
	for y, ok := s.from(firstCalendarYear); ok; y, ok = s.from(y + 1) {
		years = append(years, y)
	}
	return years
}
