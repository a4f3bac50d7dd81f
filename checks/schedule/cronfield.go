package schedule

import (
	"math/bits"
	"strings"
)

// cronParts is the number of fields of a cron expression.
const cronParts = 5

var (
	monthNames   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

// The fields of a cron expression. Sunday is 0 and 7.
var (
	cronMinute  = field{name: "minute", lo: 0, hi: 59}
	cronHour    = field{name: "hour", lo: 0, hi: 23}
	cronDay     = field{name: "day of month", lo: 1, hi: 31}
	cronMonth   = field{name: "month", lo: 1, hi: 12, names: monthNames}
	cronWeekday = field{name: "weekday", lo: 0, hi: 7, names: weekdayNames}
)

func parseCron(expr string) (Schedule, error) {
	var space [cronParts]part
	parts := appendParts(space[:0], expr, 0)
	c := &cron{expr: expr}
	c.when.seconds = 1
	starred := func(i int) bool { return strings.HasPrefix(parts[i].text, "*") }
	c.wildcard = starred(0) || starred(1)
	c.when.days.either = !starred(2) && !starred(4)

	var err *Error
	if c.when.minutes, err = cronSet(&cronMinute, parts[0], nil); err != nil {
		return nil, err
	}
	hours, err := cronSet(&cronHour, parts[1], nil)
	if err != nil {
		return nil, err
	}
	days, err := cronSet(&cronDay, parts[2], c.when.days.cronDayTerm)
	if err != nil {
		return nil, err
	}
	months, err := cronSet(&cronMonth, parts[3], nil)
	if err != nil {
		return nil, err
	}
	weekdays, err := cronSet(&cronWeekday, parts[4], c.when.days.cronWeekdayTerm)
	if err != nil {
		return nil, err
	}
	c.when.hours, c.when.months = uint32(hours), uint16(months)
	c.when.days.days, c.when.days.weekdays = uint32(days), foldSunday(weekdays)
	if err := c.checkDays(parts[2]); err != nil {
		return nil, err
	}
	return c, nil
}

// cronSet reads one field: a list of terms. The function special reads the terms
// that only this field has, and reports whether p is one.
func cronSet(f *field, p part, special func(p part) (bool, *Error)) (uint64, *Error) {
	var set uint64
	for more := true; more; {
		var term part
		term, p, more = p.cut(",")
		if special != nil {
			if done, err := special(term); err != nil {
				return 0, err
			} else if done {
				continue
			}
		}
		values, err := cronTerm(f, term)
		if err != nil {
			return 0, err
		}
		set |= values
	}
	return set, nil
}

// cronTerm reads a star, a value or a range, and a step behind it.
func cronTerm(f *field, p part) (uint64, *Error) {
	base, stepPart, stepped := p.cut("/")
	lo, hi := f.lo, f.hi
	if base.text != "*" {
		from, to, ranged := base.cut("-")
		var err *Error
		if ranged {
			lo, hi, err = f.interval(from, to)
		} else {
			lo, err = f.value(base)
			hi = lo
		}
		if err != nil {
			return 0, err
		}
	}
	if !stepped {
		return span(lo, hi, 1), nil
	}
	step, err := f.step(stepPart)
	if err != nil {
		return 0, err
	}
	if lo == hi {
		// A single value with a step starts a range that has no end.
		hi = f.hi
	}
	return span(lo, hi, step), nil
}

// cronDayTerm reads L, the last day of the month, and LW, its last day from
// Monday to Friday. A step behind them is checked and has no effect.
func (r *dayRule) cronDayTerm(p part) (bool, *Error) {
	base, stepPart, stepped := p.cut("/")
	workday := strings.EqualFold(base.text, "LW")
	if !workday && !strings.EqualFold(base.text, "L") {
		return false, nil
	}
	if stepped {
		if _, err := cronDay.step(stepPart); err != nil {
			return false, err
		}
	}
	if workday {
		r.lastWorkday = true
	} else {
		r.fromEnd |= 1 << 1
	}
	return true, nil
}

// cronWeekdayTerm reads nL, the last such weekday of the month, and n#k, the
// kth one.
func (r *dayRule) cronWeekdayTerm(p part) (bool, *Error) {
	if n := len(p.text); n > 1 && (p.text[n-1] == 'L' || p.text[n-1] == 'l') && isDigit(p.text[0]) {
		day, err := cronWeekday.value(part{p.text[:n-1], p.offset})
		if err != nil {
			return false, err
		}
		r.last |= 1 << (day % 7)
		return true, nil
	}
	name, nthPart, found := p.cut("#")
	if !found {
		return false, nil
	}
	day, err := cronWeekday.value(name)
	if err != nil {
		return false, err
	}
	nth, err := cronWeekday.number(nthPart)
	if err != nil {
		return false, cronWeekday.fail(nthPart, "%s after # is not a number from 1 to 5", quote(nthPart.text))
	}
	if nth < 1 || nth > len(r.nth) {
		return false, cronWeekday.fail(nthPart, "%s after # is not in 1–5", trimZeros(nthPart.text))
	}
	r.nth[nth-1] |= 1 << (day % 7)
	return true, nil
}

// checkDays refuses days that none of the months has, even where the weekday could
// match instead: it is a mistake all the same.
func (c *cron) checkDays(p part) *Error {
	r := &c.when.days
	if r.fromEnd != 0 || r.lastWorkday {
		return nil
	}
	longest := 0
	for m, ok := nextBit(uint64(c.when.months), 1); ok; m, ok = nextBit(uint64(c.when.months), m+1) {
		longest = max(longest, longestMonth(m))
	}
	if first := bits.TrailingZeros32(r.days); first > longest {
		return cronDay.fail(p, "no month of the expression has a day %d", first)
	}
	return nil
}

// longestMonth returns the length of a month in leap years.
func longestMonth(m int) int {
	if m == 2 {
		return 29
	}
	return int(daysBefore[m] - daysBefore[m-1])
}

// foldSunday turns weekday 7 into weekday 0.
func foldSunday(set uint64) uint8 {
	return uint8(set&0x7f | set>>7)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
