package schedule

import "strings"

// A calendarTerm is a value or a range of values, with a step.
type calendarTerm struct {
	lo, hi, step int
	single       bool // a value, not a range
	open         bool // a value with a step, which stands for a range without end
	base         part // the text before the step
}

// eachTerm parses a list of terms and calls add for each.
func eachTerm(f *field, p part, add func(calendarTerm) *Error) *Error {
	for more := true; more; {
		var term part
		term, p, more = p.cut(",")
		if strings.Contains(term.text, "*") {
			return f.fail(term, "a * cannot be part of a list, a range or a step (write %d/5, not */5)", f.lo)
		}
		base, step, stepped := term.cut("/")
		t := calendarTerm{step: 1, base: base, single: !strings.Contains(base.text, "..")}
		t.open = stepped && t.single
		var err *Error
		if t.lo, t.hi, err = f.values(base, ".."); err == nil && stepped {
			t.step, err = f.step(step)
		}
		if err == nil {
			err = add(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRange parses a list of terms with ascending steps.
func eachRange(f *field, p part, add func(lo, hi, step int)) *Error {
	return eachTerm(f, p, func(t calendarTerm) *Error {
		if t.open {
			t.hi = f.hi
		}
		add(t.lo, t.hi, t.step)
		return nil
	})
}

// calendarSet parses a field other than the weekdays and the year: a star, or a list of terms.
func calendarSet(f *field, p part) (set uint64, err *Error) {
	if p.text == "*" {
		return f.every(), nil
	}
	err = eachRange(f, p, func(lo, hi, step int) { set |= span(lo, hi, step) })
	return set, err
}

// parseTime parses hour:minute or hour:minute:second.
func (c *calendar) parseTime(p part) *Error {
	hourPart, rest, _ := p.cut(":")
	minutePart, secondPart, hasSeconds := rest.cut(":")
	hours, err := calendarSet(&calendarHour, hourPart)
	if err != nil {
		return err
	}
	c.hours = uint32(hours)
	if c.minutes, err = calendarSet(&calendarMinute, minutePart); err != nil || !hasSeconds {
		return err
	}
	c.seconds, err = calendarSet(&calendarSecond, secondPart)
	return err
}

// parseDate parses year-month-day or month-day. With ~ instead of the last hyphen, the day counts from the end of the
// month.
func (c *calendar) parseDate(p part) *Error {
	var fields [2]part // before the day
	n, fromEnd := 0, false
	for n < len(fields) && !fromEnd {
		i := strings.IndexAny(p.text, "-~")
		if i < 0 {
			break
		}
		fromEnd = p.text[i] == '~'
		fields[n] = part{p.text[:i], p.offset}
		p = part{p.text[i+1:], p.offset + i + 1}
		n++
	}
	if n == 2 {
		if err := c.parseYears(fields[0]); err != nil {
			return err
		}
	}
	months, err := calendarSet(&calendarMonth, fields[n-1])
	if err != nil {
		return err
	}
	c.months = uint16(months)
	if fromEnd {
		return c.parseFromEnd(p)
	}
	days, err := calendarSet(&calendarDay, p)
	c.days.days = uint32(days)
	return err
}

// parseFromEnd parses the days after a tilde, where 1 is the last day of the month. Steps lead towards the end of the
// month.
func (c *calendar) parseFromEnd(p part) *Error {
	if p.text == "*" {
		return nil
	}
	c.days.days = 0
	return eachTerm(&calendarDay, p, func(t calendarTerm) *Error {
		if t.single && t.hi > maxFromEnd {
			return calendarDay.fail(t.base, "%d after ~ is not in 1–%d", t.hi, maxFromEnd)
		}
		if t.open {
			t.lo = calendarDay.lo
		}
		for d := t.hi; d >= t.lo; d -= t.step {
			c.days.fromEnd |= 1 << d
		}
		return nil
	})
}

// parseYears parses a star or a list of years. Years of two digits are 1970 to 2069.
func (c *calendar) parseYears(p part) *Error {
	if p.text == "*" {
		return nil
	}
	c.years = new(yearSet)
	return eachRange(&calendarYear, p, func(lo, hi, step int) {
		for year := lo; year <= hi; year += step {
			c.years.add(year)
		}
	})
}

// parseWeekdays parses a list of weekdays and ranges of weekdays. A comma may follow the list.
func (c *calendar) parseWeekdays(p part) *Error {
	if strings.Contains(p.text, ":") {
		return p.fail("schedule", "%s must follow the date", bare(p.text))
	}
	if !strings.ContainsAny(p.text[:1], "FMSTWfmstw") {
		return p.fail("schedule", "%s is not a weekday, a date or a time", bare(p.text))
	}
	p.text = strings.TrimSuffix(p.text, ",")
	var set uint64
	for more := true; more; {
		var term part
		term, p, more = p.cut(",")
		from, to, ranged := term.cut("..")
		if !ranged {
			from, to, ranged = term.cut("-")
		}
		var lo, hi int
		var err *Error
		if lo, err = weekday(from); err == nil {
			if hi = lo; ranged {
				hi, err = weekday(to)
			}
		}
		if err == nil && hi < lo {
			err = calendarWeekday.fail(term, "the range %s runs backwards: the week ends on Sunday", term.text)
		}
		if err != nil {
			return err
		}
		set |= span(lo, hi, 1)
	}
	c.days.weekdays = uint8(set<<1&everyWeekday | set>>6) // from Monday first to Sunday first
	return nil
}

// weekday parses a weekday's name, short or full, in any case. Monday is 0.
func weekday(p part) (int, *Error) {
	for i, long := range longWeekdays {
		if sameWord(long, p.text) || sameWord(long[:3], p.text) {
			return i, nil
		}
	}
	if p.text == "" {
		return 0, calendarWeekday.fail(p, "a name is missing")
	}
	return 0, calendarWeekday.fail(p, "%s is not a weekday such as Mon or Monday", bare(p.text))
}
