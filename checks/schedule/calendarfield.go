package schedule

import "strings"

// calendarSet reads one field of an OnCalendar line, other than the weekdays
// and the year: a star alone, or a list of values, ranges and steps.
func calendarSet(f *field, p part) (uint64, *Error) {
	if p.text == "*" {
		return f.every(), nil
	}
	var set uint64
	err := eachTerm(f, p, func(lo, hi, step int) { set |= span(lo, hi, step) })
	return set, err
}

// eachTerm reads a list of values, ranges and steps. A value with a step is a
// range without end. Values are read by f.
func eachTerm(f *field, p part, add func(lo, hi, step int)) *Error {
	for more := true; more; {
		var term part
		term, p, more = p.cut(",")
		if strings.Contains(term.text, "*") {
			return f.fail(term, "a * cannot be part of a list, a range or a step (write %d/5, not */5)", f.lo)
		}
		lo, hi, step, err := calendarTerm(f, term)
		if err != nil {
			return err
		}
		add(lo, hi, step)
	}
	return nil
}

func calendarTerm(f *field, p part) (lo, hi, step int, err *Error) {
	base, stepPart, stepped := p.cut("/")
	from, to, ranged := base.cut("..")
	if ranged {
		lo, hi, err = f.interval(from, to)
	} else {
		lo, err = f.value(base)
		hi = lo
	}
	step = 1
	if err == nil && stepped {
		if step, err = f.step(stepPart); !ranged {
			hi = f.hi
		}
	}
	return lo, hi, step, err
}

// parseTime reads hour:minute or hour:minute:second.
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

// parseDate reads year-month-day or month-day, where ~ in place of the last
// hyphen counts the day from the end of the month.
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

// parseFromEnd reads the days after a tilde, where 1 is the last day of the
// month. A step leads towards the end of the month.
func (c *calendar) parseFromEnd(p part) *Error {
	if p.text == "*" {
		return nil
	}
	c.days.days = 0
	for more := true; more; {
		var term part
		term, p, more = p.cut(",")
		base, stepPart, stepped := term.cut("/")
		from, to, ranged := base.cut("..")
		lo, hi, step := 0, 0, 1
		var err *Error
		if ranged {
			lo, hi, err = calendarDay.interval(from, to)
		} else {
			hi, err = calendarDay.value(base)
			if lo = hi; err == nil && hi > maxFromEnd {
				err = calendarDay.fail(base, "%d after ~ is not in 1–%d", hi, maxFromEnd)
			}
		}
		if err == nil && stepped {
			if step, err = calendarDay.step(stepPart); !ranged {
				lo = 1
			}
		}
		if err != nil {
			return err
		}
		for d := hi; d >= lo; d -= step {
			c.days.fromEnd |= 1 << d
		}
	}
	return nil
}

// parseYears reads a set of years; the two-digit ones are 1970–2069.
func (c *calendar) parseYears(p part) *Error {
	if p.text == "*" {
		return nil
	}
	c.years = new(yearSet)
	return eachTerm(&calendarYear, p, func(lo, hi, step int) {
		for y := lo; y <= hi; y += step {
			c.years.add(y)
		}
	})
}

// parseWeekdays reads names and ranges of weekdays; a comma behind them does
// not matter.
func (c *calendar) parseWeekdays(p part) *Error {
	if strings.Contains(p.text, ":") {
		return &Error{Field: "schedule", Reason: bare(p.text) + " has to stand behind the date", Offset: p.offset}
	}
	if !startsLikeWeekday(p.text) {
		return &Error{Field: "schedule", Reason: bare(p.text) + " is not a weekday, a date or a time", Offset: p.offset}
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
			err = calendarWeekday.fail(term, "the range %s runs backwards: a week ends with Sunday", term.text)
		}
		if err != nil {
			return err
		}
		set |= span(lo, hi, 1)
	}
	// Days of a calendar count from Sunday.
	c.days.weekdays = uint8(set<<1&0x7f | set>>6)
	return nil
}

func startsLikeWeekday(s string) bool {
	for _, name := range longWeekdays {
		if len(s) >= 1 && strings.EqualFold(s[:1], name[:1]) {
			return true
		}
	}
	return false
}

// weekday reads a weekday's name, short or full, in any case; Monday is 0.
func weekday(p part) (int, *Error) {
	for i, long := range longWeekdays {
		if isASCII(p.text) && (strings.EqualFold(p.text, long) || strings.EqualFold(p.text, long[:3])) {
			return i, nil
		}
	}
	if p.text == "" {
		return 0, calendarWeekday.fail(p, "a name is missing")
	}
	return 0, calendarWeekday.fail(p, "%s is not a weekday such as Mon or Monday", bare(p.text))
}
