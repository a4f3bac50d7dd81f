package schedule

import (
	"math/bits"
	"time"
)

// pick notes that the phrase names days, which it does once.
func (p *phrase) pick(w word) *Error {
	if p.days.named {
		return p.fail(w, "%s follows other days: name all days before the time, or write a line of OnCalendar for each", quote(w.text))
	}
	p.days.named = true
	return nil
}

// weekdays reads a list such as Monday, Wednesday to Friday.
func (p *phrase) weekdays() *Error {
	if err := p.pick(p.word(0)); err != nil {
		return err
	}
	set, err := p.weekdaySet()
	p.days.weekdays = set
	return err
}

func (p *phrase) weekdaySet() (set uint8, err *Error) {
	for {
		w := p.word(0)
		day, ok := p.weekday()
		if !ok {
			return 0, p.unknown(w)
		}
		if p.isRange(func(ahead int) bool { return p.word(ahead).class == classWeekday }) {
			end, _ := p.weekday()
			if bits.OnesCount8(day) != 1 || bits.OnesCount8(end) != 1 {
				return 0, p.fail(w, "%s is no single day with which a range begins or ends", quote(w.text))
			}
			for ; day != end; day = (day<<1 | day>>6) & everyWeekday {
				set |= day
			}
			day = end
		}
		set |= day
		isDay := func(ahead int) bool {
			return p.word(ahead).class == classWeekday || p.word(ahead).is("work", "working", "business")
		}
		if !p.another(isDay, "on", "the", "every") {
			return set, nil
		}
	}
}

// weekday reads a weekday, weekdays, weekends, or work days.
func (p *phrase) weekday() (uint8, bool) {
	w := p.word(0)
	p.at++
	switch unit := p.word(0); {
	case w.class == classWeekday:
		return uint8(w.n), true
	case unit.class == classUnit && unit.n == unitDay:
		p.at++
		return workdays, true
	}
	return 0, false
}

// isRange skips "to" if what follows it ends a range.
func (p *phrase) isRange(end func(ahead int) bool) bool {
	w := p.word(0)
	skip := 1
	if p.word(1).is("the") {
		skip = 2
	}
	if w.class != classDash && !w.is("to", "until", "till", "through", "thru") || !end(skip) {
		return false
	}
	p.at += skip
	return true
}

// another skips what separates the items of a list, and some words in front of an item, if another one follows.
func (p *phrase) another(item func(ahead int) bool, before ...string) bool {
	ahead := 0
	for p.word(ahead).class == classAnd {
		ahead++
	}
	if ahead == 0 && p.word(0).class != classWeekday { // Mon Wed Fri
		return false
	}
	for p.word(ahead).is(before...) {
		ahead++
	}
	if !item(ahead) {
		return false
	}
	p.at += ahead
	return true
}

// exceptions reads weekdays that are left out.
func (p *phrase) exceptions() *Error {
	w := p.word(0)
	p.at++
	for p.accept("on", "not", "the") {
	}
	set, err := p.weekdaySet()
	if err != nil {
		return err
	}
	if p.except != 0 {
		return p.fail(w, "%s is there twice", quote(w.text))
	}
	p.except = set
	return nil
}

// ordinals reads days by their numbers: 1st and 15th, first Monday, last day. After "every", "second" may count.
func (p *phrase) ordinals(every bool) *Error {
	first, afterThe := p.word(0), p.at > 0 && p.words[p.at-1].is("the")
	var numbers []int
	for {
		w := p.word(0)
		p.at++
		if w.n < -1 || w.n == 0 || w.n > 31 {
			return p.fail(w, "%s is no day of a month", quote(w.text))
		}
		numbers = append(numbers, w.n)
		if p.isRange(func(ahead int) bool { return p.word(ahead).class == classOrdinal }) {
			end := p.word(0)
			if p.at++; w.n < 0 || end.n <= w.n || end.n > 31 {
				return p.fail(end, "a range of days ends with a later one: not %s", quote(end.text))
			}
			for n := w.n + 1; n <= end.n; n++ {
				numbers = append(numbers, n)
			}
		}
		if !p.another(func(ahead int) bool { return p.word(ahead).class == classOrdinal }, "on", "the") {
			break
		}
	}
	noun := p.word(0)
	isDay := noun.class == classUnit && noun.n == unitDay
	isWork := noun.is("work", "working", "business") || noun.class == classWeekday && noun.n == workdays
	counts := every && len(numbers) == 1 && numbers[0] > 1
	switch {
	case counts && noun.class == classUnit && (!isDay || !p.word(1).is("of")),
		counts && noun.class == classWeekday && !p.ofMonth(1):
		return p.step(numbers[0], first)
	case counts && isDay:
		return p.fail(first, `%s may count or be the %s alone: write "the %s at 3:00", or name all days`, quote("every "+first.text+" day"), nth(numbers[0]), nth(numbers[0]))
	case counts && first.text == "second" && !isWork && noun.class != classMonth && noun.class != classWeekday:
		return p.setPeriod(first, time.Second)
	}
	if noun.class == classMonth && len(numbers) == 1 && numbers[0] > 0 {
		p.at++
		return p.date(first, noun)
	}
	if err := p.pick(first); err != nil {
		return err
	}
	switch {
	case isDay:
		p.at++
		return p.dates(numbers)
	case isWork:
		return p.nthWorkday(first, numbers)
	case noun.class == classWeekday && bits.OnesCount8(uint8(noun.n)) == 1:
		p.at++
		return p.nthWeekday(first, numbers, uint8(noun.n))
	case noun.class == classUnit || noun.class == classWeekday:
		return p.fail(noun, "%s names no day: write days, such as the 1st or the last Friday", quote(first.text+" "+noun.text))
	case !isDigit(first.text[0]) && numbers[0] > 0 && noun.class != classMonth && !p.ofMonth(0) && !afterThe:
		return p.fail(first, "the %s what? Write the %[1]s day or the %[1]s Friday of the month", first.text)
	case numbers[len(numbers)-1] < 0:
		return p.fail(first, "the last what? Write the last day or the last Friday of the month")
	}
	return p.dates(numbers)
}

// ofMonth reports whether "of the month", of a quarter, a year or a month by name follows.
func (p *phrase) ofMonth(ahead int) bool {
	if !p.word(ahead).is("of", "in") {
		return false
	}
	for ahead++; p.word(ahead).is("the", "every", "each", "a"); {
		ahead++
	}
	w := p.word(ahead)
	return w.class == classMonth || w.class == classUnit && w.n >= unitMonth
}

// dates adds days of the month.
func (p *phrase) dates(numbers []int) *Error {
	for _, n := range numbers {
		if n < 0 {
			p.days.lastDay = true
		} else {
			p.days.dates |= 1 << n
		}
	}
	return nil
}

// nthWeekday adds the first or another Monday of a month.
func (p *phrase) nthWeekday(first word, numbers []int, weekday uint8) *Error {
	for _, n := range numbers {
		switch {
		case n < 0:
			p.days.last |= weekday
		case n > 5:
			return p.fail(first, "a month has at most five of a weekday: there is no %s", nth(n))
		default:
			p.days.nth[n] |= weekday
		}
	}
	return nil
}

// nthWorkday sets the first or the last day from Monday to Friday.
func (p *phrase) nthWorkday(first word, numbers []int) *Error {
	p.weekday()
	switch {
	case len(numbers) == 1 && numbers[0] == 1:
		p.days.firstWorkday = true
	case len(numbers) == 1 && numbers[0] == -1:
		p.days.lastWorkday = true
	default:
		return p.fail(first, "of the workdays of a month only the first and the last can be written")
	}
	return nil
}

// monthNames reads a list of months, or a month with a day: March and May, March 1st.
func (p *phrase) monthNames() *Error {
	w, next := p.word(0), p.word(1)
	isDay := next.class == classOrdinal && next.n > 0 || next.class == classNumber && len(next.text) < 3 && !p.isTime(1)
	if isDay && !p.word(2).is("times", "x") && p.word(2).class != classUnit {
		p.at += 2
		return p.date(next, w)
	}
	if p.months != 0 {
		return p.fail(w, "%s follows other months: name all months together", quote(w.text))
	}
	for {
		from := p.word(0).n
		p.at++
		to := from
		isMonth := func(ahead int) bool { return p.word(ahead).class == classMonth }
		if p.isRange(isMonth) {
			to = p.word(0).n
			p.at++
		}
		for m := from; ; m = m%12 + 1 {
			p.months |= 1 << m
			if m == to {
				break
			}
		}
		if !p.another(isMonth, "in", "of", "every") {
			return nil
		}
	}
}

// date adds a day of a month. Several dates may follow each other if they have the same day.
func (p *phrase) date(day, month word) *Error {
	if day.n < 1 || day.n > 31 {
		return p.fail(day, "%s is no day of a month", quote(day.text))
	}
	if !p.days.in || p.days.dates != 1<<day.n {
		if err := p.pick(day); err != nil {
			return err
		}
		if p.months != 0 {
			return p.fail(month, "%s follows other months: name all months together", quote(month.text))
		}
	}
	p.days.dates, p.days.in = 1<<day.n, true
	p.months |= 1 << month.n
	return nil
}
