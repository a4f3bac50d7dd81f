package schedule

import (
	"math/bits"
	"time"
)

// A dayRule says which days of a month match. Sets of days hold day d in bit d,
// sets of weekdays have Sunday in bit 0.
type dayRule struct {
	// Days of the month: by number, counted from the end (bit 1 is the last
	// day), and the last one from Monday to Friday.
	days, fromEnd uint32
	lastWorkday   bool

	// Weekdays: all of them, the nth of the month (nth[0] is the first), and
	// the last of the month.
	weekdays uint8
	nth      [5]uint8
	last     uint8

	// either is set when it is enough that the day of the month or the weekday
	// matches; otherwise both have to.
	either bool
}

// A month is what a dayRule has to know of one.
type month struct {
	length int
	first  time.Weekday
}

// in returns the days of the month that match.
func (r *dayRule) in(m month) uint32 {
	byNumber := r.days
	if r.fromEnd != 0 {
		// Day d is the (length+1-d)th from the end: the set, mirrored.
		byNumber |= uint32(uint64(bits.Reverse32(r.fromEnd)) << 1 >> (31 - m.length))
	}
	if r.lastWorkday {
		byNumber |= 1 << m.lastWorkday()
	}
	byWeekday := m.spread(r.weekdays)
	for i, set := range r.nth {
		if set != 0 {
			byWeekday |= m.rotate(set) << (7*i + 1)
		}
	}
	if r.last != 0 {
		lastWeek := month{first: (m.first + time.Weekday(m.length)) % 7}
		byWeekday |= lastWeek.rotate(r.last) << (m.length - 6)
	}
	valid := uint32(1<<(m.length+1) - 2)
	if r.either {
		return (byNumber | byWeekday) & valid
	}
	return byNumber & byWeekday & valid
}

// rotate turns a set of weekdays so that bit 0 stands for the weekday of the
// first.
func (m month) rotate(set uint8) uint32 {
	return (uint32(set)>>m.first | uint32(set)<<(7-m.first)) & 0x7f
}

// spread returns all days whose weekday is in the set.
func (m month) spread(set uint8) uint32 {
	const weeks = 1<<1 | 1<<8 | 1<<15 | 1<<22 | 1<<29
	return uint32(uint64(m.rotate(set)) * weeks)
}

// lastWorkday returns the last day of the month that is neither a Saturday nor
// a Sunday.
func (m month) lastWorkday() int {
	switch (m.first + time.Weekday(m.length-1)) % 7 {
	case time.Saturday:
		return m.length - 1
	case time.Sunday:
		return m.length - 2
	}
	return m.length
}

func newMonth(year int, m time.Month) month {
	return monthOf(year, m, firstWeekday(year))
}

// monthOf returns a month of a year that begins on the given weekday.
func monthOf(year int, m time.Month, newYear time.Weekday) month {
	before := daysBefore[m-1]
	length := daysBefore[m] - before
	if isLeap(year) {
		if m > time.February {
			before++
		} else if m == time.February {
			length++
		}
	}
	return month{length: int(length), first: (newYear + time.Weekday(before)) % 7}
}

// daysBefore holds the days of a common year before each month's end.
var daysBefore = [...]uint16{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

// firstWeekday returns the weekday of the first of January of a year from 1 on.
// The calendar is the Gregorian one, backwards too.
func firstWeekday(year int) time.Weekday {
	y := year - 1
	return time.Weekday((1 + y + y/4 - y/100 + y/400) % 7)
}

func isLeap(year int) bool {
	return year%4 == 0 && (year%100 != 0 || year%400 == 0)
}
