package schedule

import "time"

// A pattern holds the values that an expression allows in each field. In sets, bit v stands for value v.
type pattern struct {
	seconds, minutes uint64
	hours            uint32
	months           uint16
	years            *yearSet // nil for every year
	days             dayRule
}

// A dayRule holds the days that an expression allows. In sets of weekdays, Sunday is bit 0.
type dayRule struct {
	// days holds days of the month, fromEnd days counted from its end. Bit 1 of fromEnd is the last day.
	days, fromEnd uint32
	weekdays      uint8

	// Only cron expressions set the fields below.

	// lastWorkday allows the last day of the month from Monday to Friday.
	lastWorkday bool
	// nth[0] holds the weekdays whose first occurrence in the month is allowed, nth[1] those whose second one is, and so
	// on. last holds those whose last occurrence is allowed.
	nth  [5]uint8
	last uint8
	// either is true if a day needs to match only the day of the month or the weekday.
	either bool
}

const (
	everyMonth   = 1<<13 - 2
	everyDay     = 1<<32 - 2
	everyWeekday = 1<<7 - 1
)

// Years of an OnCalendar expression, the same as in systemd.
const (
	firstCalendarYear = 1970
	lastCalendarYear  = 2199
)

// A yearSet is a set of years from firstCalendarYear on.
type yearSet [4]uint64

func (s *yearSet) add(year int) {
	i := year - firstCalendarYear
	s[i/64] |= 1 << (i % 64)
}

// from returns the first member that is not before year. year must not be before firstCalendarYear.
func (s *yearSet) from(year int) (int, bool) {
	for i := year - firstCalendarYear; i < len(s)*64; i = (i/64 + 1) * 64 {
		if bit, ok := nextBit(s[i/64], i%64); ok {
			return firstCalendarYear + i/64*64 + bit, true
		}
	}
	return 0, false
}

// rarestYears is the longest time between matching dates of an expression without years: from one 29 February on a
// Monday to the next, across a year such as 2100.
const rarestYears = 40

// horizon is how far ahead a schedule looks for a time that is not in a gap, in seconds: 100 years. A time that is in a
// gap for so long is always in a gap, because the rules of a zone repeat with the calendar.
const horizon = 100 * 366 * 24 * 60 * 60

// Results lie in the years 1 to 9999, in which package time and RFC 3339 agree: from firstSecond up to, but not
// including, endSecond.
const (
	lastYear    = 9999
	firstSecond = -62135596800
	endSecond   = 253402300800
)

// yearOf returns the year of a wall clock time.
func yearOf(wall int64) int {
	return time.Unix(wall, 0).UTC().Year()
}

// date returns midnight of a day on a wall clock.
func date(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

// monthLength returns the number of days of a month.
func monthLength(year, month int) int {
	return date(year, month+1, 0).Day()
}
