package schedule

import (
	"math/bits"
	"strings"
)

// cronParts is the number of fields of a cron expression.
const cronParts = 5

// The fields of a cron expression. Sunday is 0 and 7.
var (
	cronMinute = field{name: "minute", lo: 0, hi: 59}
	cronHour   = field{name: "hour", lo: 0, hi: 23}
	cronDay    = field{name: "day of month", lo: 1, hi: 31}
	cronMonth  = field{name: "month", lo: 1, hi: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
		"AUG", "SEP", "OCT", "NOV", "DEC"}}
	cronWeekday = field{name: "weekday", lo: 0, hi: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
)

func parseCron(expr string) (Schedule, *Error) {
	parts := part{expr, 0}.split()
	starred := func(i int) bool { return strings.HasPrefix(parts[i].text, "*") }
	c := &cron{expr: expr, wildcard: starred(0) || starred(1)}
	p := &c.when
	p.seconds, p.days.either = 1, !starred(2) && !starred(4)

	var sets [cronParts]uint64
	special := [cronParts]func(part) (bool, *Error){2: p.days.cronDayTerm, 4: p.days.cronWeekdayTerm}
	for i, f := range [cronParts]*field{&cronMinute, &cronHour, &cronDay, &cronMonth, &cronWeekday} {
		var err *Error
		if sets[i], err = cronSet(f, parts[i], special[i]); err != nil {
			return nil, err
		}
	}
	p.minutes, p.hours, p.months = sets[0], uint32(sets[1]), uint16(sets[3])
	p.days.days, p.days.weekdays = uint32(sets[2]), uint8(sets[4]&everyWeekday|sets[4]>>7)
	if err := p.checkDays(parts[2]); err != nil {
		return nil, err
	}
	if err := c.compile(); err != nil {
		return nil, &Error{Field: "schedule", Reason: err.Error(), Offset: -1}
	}
	return c, nil
}

// cronSet parses a field, which is a list of terms. Unless nil, special parses the terms that only this field has, and
// reports whether a term is one of them.
func cronSet(f *field, p part, special func(part) (bool, *Error)) (uint64, *Error) {
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

// cronTerm parses a star, a value or a range, with or without a step.
func cronTerm(f *field, p part) (uint64, *Error) {
	base, stepPart, stepped := p.cut("/")
	lo, hi := f.lo, f.hi
	if base.text != "*" {
		var err *Error
		if lo, hi, err = f.values(base, "-"); err != nil {
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
		hi = f.hi // a single value with a step starts a range to the end of the field
	}
	return span(lo, hi, step), nil
}

// cronDayTerm parses L, the last day of the month, and LW, its last day from Monday to Friday. It reports whether p is
// one of them. A step after them has no effect.
func (r *dayRule) cronDayTerm(p part) (bool, *Error) {
	base, stepPart, stepped := p.cut("/")
	switch strings.ToUpper(base.text) {
	case "L":
		r.fromEnd = 1 << 1
	case "LW":
		r.lastWorkday = true
	default:
		return false, nil
	}
	if stepped {
		if _, err := cronDay.step(stepPart); err != nil {
			return false, err
		}
	}
	return true, nil
}

// cronWeekdayTerm parses nL, the last such weekday of the month, and n#k, the kth one. It reports whether p is one of
// them.
func (r *dayRule) cronWeekdayTerm(p part) (bool, *Error) {
	if n := len(p.text) - 1; n > 0 && strings.EqualFold(p.text[n:], "L") && isDigit(p.text[0]) {
		day, err := cronWeekday.value(part{p.text[:n], p.offset})
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

// checkDays refuses days that exist in none of the months. They are a mistake even if the weekday can match instead.
func (p *pattern) checkDays(days part) *Error {
	if p.days.fromEnd != 0 || p.days.lastWorkday {
		return nil
	}
	longest := 0 // in a leap year such as 2000
	for _, month := range members(uint64(p.months)) {
		longest = max(longest, monthLength(2000, month))
	}
	if first := bits.TrailingZeros32(p.days.days); first > longest {
		return cronDay.fail(days, "no month of the expression has a day %d", first)
	}
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
