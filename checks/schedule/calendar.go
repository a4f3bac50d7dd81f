package schedule

import (
	"math/bits"
	"time"
)

// A calendar is a set of wall clock seconds: those whose second, minute, hour,
// month and year are in the sets, on days that the day rule allows. It knows
// nothing of time zones: a wall clock second is counted like Unix time, as if
// the wall clock were that of UTC.
//
// Sets hold value v in bit v.
type calendar struct {
	seconds, minutes uint64
	hours            uint32
	months           uint16
	years            *yearSet // nil for every year
	days             dayRule
}

// The years of which calendars have days. Go's time package and RFC 3339 agree
// on their meaning from year 1 to year 9999.
const (
	firstYear = 1
	lastYear  = 9999
)

// firstSecond is the first second of firstYear, and endSecond the one after the
// last of lastYear, in Unix time.
const (
	firstSecond = -62135596800
	endSecond   = 253402300800
)

const secondsPerDay = 24 * 60 * 60

// next returns the first member that is not before wall, looking no further
// than the end of the given year.
func (c *calendar) next(wall int64, untilYear int) (int64, bool) {
	wall = max(wall, firstSecond)
	if wall >= endSecond {
		return 0, false
	}
	t := time.Unix(wall, 0).UTC()
	year, month, day := t.Date()
	if year > untilYear {
		return 0, false
	}
	midnight := wall - wall%secondsPerDay
	if wall%secondsPerDay < 0 {
		midnight -= secondsPerDay
	}
	if c.hasMonth(year, month) {
		days := c.days.in(newMonth(year, month))
		if days>>day&1 == 1 {
			if clock, ok := c.clockFrom(t.Clock()); ok {
				return midnight + clock, true
			}
		}
		if later, ok := nextBit(uint64(days), day+1); ok {
			return midnight + int64(later-day)*secondsPerDay + c.firstClock(), true
		}
	}
	return c.nextMonths(year, month+1, min(untilYear, lastYear))
}

// nextMonths returns the first member on or after the first of the given month,
// which may be the thirteenth.
func (c *calendar) nextMonths(year int, month time.Month, untilYear int) (int64, bool) {
	for year <= untilYear {
		if c.years != nil {
			y, ok := c.years.from(year)
			if !ok || y > untilYear {
				return 0, false
			}
			if y > year {
				year, month = y, time.January
			}
		}
		weekday := firstWeekday(year)
		for m, ok := nextBit(uint64(c.months), int(month)); ok; m, ok = nextBit(uint64(c.months), m+1) {
			days := c.days.in(monthOf(year, time.Month(m), weekday))
			if days != 0 {
				first := time.Date(year, time.Month(m), bits.TrailingZeros32(days), 0, 0, 0, 0, time.UTC)
				return first.Unix() + c.firstClock(), true
			}
		}
		year, month = year+1, time.January
	}
	return 0, false
}

func (c *calendar) hasMonth(year int, month time.Month) bool {
	return c.months>>month&1 == 1 && (c.years == nil || c.years.has(year))
}

// firstClock returns the first matching time of a day, in seconds since
// midnight.
func (c *calendar) firstClock() int64 {
	return clock(bits.TrailingZeros32(c.hours), bits.TrailingZeros64(c.minutes), bits.TrailingZeros64(c.seconds))
}

// clockFrom returns the first matching time of a day that is not before the
// given one.
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

// has reports whether the wall clock second is a member.
func (c *calendar) has(wall int64) bool {
	found, ok := c.next(wall, lastYear)
	return ok && found == wall
}

// horizonYears is how far ahead an expression without years is searched for a
// match. The rarest dates, such as a Monday, 29 February, are at most 40 years
// apart; what falls into a gap each time for that long does so for ever, as the
// rules of zones repeat with the calendar.
const horizonYears = 100

// yearOf returns the year of a wall clock second.
func yearOf(wall int64) int {
	return time.Unix(wall, 0).UTC().Year()
}

// A yearSet is a set of the years that OnCalendar knows.
type yearSet [4]uint64

// The years of an OnCalendar expression, as in systemd.
const (
	firstCalendarYear = 1970
	lastCalendarYear  = 2199
)

func (s *yearSet) add(year int) {
	i := year - firstCalendarYear
	s[i/64] |= 1 << (i % 64)
}

func (s *yearSet) has(year int) bool {
	i := year - firstCalendarYear
	return i >= 0 && i < len(s)*64 && s[i/64]>>(i%64)&1 == 1
}

// from returns the first member that is not before year.
func (s *yearSet) from(year int) (int, bool) {
	for i := max(year-firstCalendarYear, 0); i < len(s)*64; i = (i/64 + 1) * 64 {
		if bit, ok := nextBit(s[i/64], i%64); ok {
			return firstCalendarYear + i/64*64 + bit, true
		}
	}
	return 0, false
}
