package schedule

import (
	"math/bits"
	"time"
)

// A calendar finds the times of the wall clock that an OnCalendar line matches. It knows no time zones.
type calendar struct{ pattern }

// next returns the first matching time of the wall clock that is not before wall.
func (c *calendar) next(wall int64) (int64, bool) {
	t := time.Unix(max(wall, 0), 0).UTC() // 0 starts firstCalendarYear
	year, month, day := t.Date()
	clock, ok := c.clockFrom(t.Clock())
	if !ok {
		day++ // perhaps one beyond the month's end
	}
	found, ok := c.dateFrom(year, int(month), day)
	if !ok {
		return 0, false
	}
	if found.After(t) {
		clock, _ = c.clockFrom(0, 0, 0)
	}
	return found.Unix() + clock, true
}

// dateFrom returns the first matching date that is not before the given one.
func (c *calendar) dateFrom(year, month, day int) (time.Time, bool) {
	until := lastCalendarYear
	if c.years == nil {
		until = min(until, year+rarestYears)
	}
	for ; year <= until; year, month, day = year+1, 1, 1 {
		if c.years != nil {
			y, ok := c.years.from(year)
			if !ok {
				break
			}
			if y > year {
				year, month, day = y, 1, 1
			}
		}
		for m, ok := nextBit(uint64(c.months), month); ok; m, ok = nextBit(uint64(c.months), m+1) {
			if m > month {
				day = 1
			}
			if d, ok := nextBit(uint64(c.daysOf(year, m)), day); ok {
				return date(year, m, d), true
			}
		}
	}
	return time.Time{}, false
}

// daysOf returns the matching days of a month as a set.
func (c *calendar) daysOf(year, month int) uint32 {
	length, first := monthLength(year, month), date(year, month, 1).Weekday()
	days := c.days.days
	if c.days.fromEnd != 0 {
		// Day d is the (length+1-d)th from the end: the set, mirrored.
		days |= uint32(uint64(bits.Reverse32(c.days.fromEnd)) << 1 >> (31 - length))
	}
	// Rotate the week so that bit 0 is the weekday of the first of the month, then repeat it for the whole month.
	week := (uint64(c.days.weekdays)>>first | uint64(c.days.weekdays)<<(7-first)) & everyWeekday
	const weeks = 1<<1 | 1<<8 | 1<<15 | 1<<22 | 1<<29
	return days & uint32(week*weeks) & (1<<(length+1) - 2)
}

// clockFrom returns the first matching time of a day that is not before the given one, in seconds since midnight.
func (c *calendar) clockFrom(hour, minute, second int) (int64, bool) {
	if c.hours>>hour&1 == 1 {
		if c.minutes>>minute&1 == 1 {
			if s, ok := nextBit(c.seconds, second); ok {
				return clock(hour, minute, s), true
			}
		}
		if m, ok := nextBit(c.minutes, minute+1); ok {
			return clock(hour, m, bits.TrailingZeros64(c.seconds)), true
		}
	}
	if h, ok := nextBit(uint64(c.hours), hour+1); ok {
		return clock(h, bits.TrailingZeros64(c.minutes), bits.TrailingZeros64(c.seconds)), true
	}
	return 0, false
}

func clock(hour, minute, second int) int64 {
	return int64(hour*3600 + minute*60 + second)
}
