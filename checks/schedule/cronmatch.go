package schedule

import (
	"strconv"
	"strings"
	"time"

	"github.com/gorhill/cronexpr"
)

// compile rewrites the fields for cronexpr with nothing but stars and lists of valid numbers.
//
// On such expressions cronexpr can neither panic nor loop:
//
//   - No field is empty, so each list has the first element that cronexpr reads.
//   - Numbers have no leading zeros. cronexpr reads month 08 as 0, and then nextMonth and nextYear call each other
//     until the stack is full.
//   - With months from 1 to 12, each of these calls moves on to a later month. Years end with 2099, so there are at
//     most 1,560 calls, even for a day that never occurs.
//   - Times are in UTC, where [time.Date] never shifts a time.
func (c *cron) compile() error {
	p := &c.when
	minutes, hours := spell(p.minutes, cronMinute), spell(uint64(p.hours), cronHour)
	days, months, weekdays := p.days.spellDays(), spell(uint64(p.months), cronMonth), p.days.spellWeekdays()
	var err error
	parse := func(days, weekdays string) *cronexpr.Expression {
		expr, failed := cronexpr.Parse(strings.Join([]string{minutes, hours, days, months, weekdays}, " "))
		if failed != nil {
			err = failed
		}
		return expr
	}
	switch {
	case p.days.either && (days == "*" || weekdays == "*"):
		c.match = parse("*", "*")
	case p.days.either || days == "*" || weekdays == "*":
		c.match = parse(days, weekdays)
	default:
		c.match, c.also = parse(days, "*"), parse("*", weekdays)
	}
	return err
}

// spell returns the members of a set as a list, or a star for all values of the field.
func spell(set uint64, f field) string {
	if set == f.every() {
		return "*"
	}
	return strings.Join(words(members(set), strconv.Itoa), ",")
}

func (r *dayRule) spellDays() string {
	if r.days == everyDay {
		return "*"
	}
	terms := words(members(uint64(r.days)), strconv.Itoa)
	if r.fromEnd != 0 {
		terms = append(terms, "L")
	}
	if r.lastWorkday {
		terms = append(terms, "LW")
	}
	return strings.Join(terms, ",")
}

func (r *dayRule) spellWeekdays() string {
	if r.weekdays == everyWeekday {
		return "*"
	}
	terms := words(members(uint64(r.weekdays)), strconv.Itoa)
	for i, set := range r.nth {
		for _, day := range members(uint64(set)) {
			terms = append(terms, strconv.Itoa(day)+"#"+strconv.Itoa(i+1))
		}
	}
	for _, day := range members(uint64(r.last)) {
		terms = append(terms, strconv.Itoa(day)+"L")
	}
	return strings.Join(terms, ",")
}

// nextMatch returns the first time of the wall clock that matches an expression and is not before wall. It gives up after
// the year until.
func nextMatch(expr *cronexpr.Expression, wall int64, until int) (int64, bool) {
	wall = max(wall, firstSecond)
	for year := yearOf(wall); year <= min(until, lastYear); year = yearOf(wall) {
		shift, end := sameCalendar(year)
		own := *expr // Next writes to its Expression, but not to the lists and maps in it
		next := own.Next(time.Unix(wall-shift-1, 0).UTC())
		if at := next.Unix() + shift; !next.IsZero() && at < end {
			return at, true
		}
		wall = end
	}
	return 0, false
}

// The years that cronexpr supports.
const (
	firstCronYear = 1970
	lastCronYear  = 2099
)

// sameCalendar maps a year, and as many of the following years as possible, to years with the same calendar that
// cronexpr supports. It returns by how many seconds the given years are later, and the first second that is not mapped.
func sameCalendar(year int) (shift, end int64) {
	if year >= firstCronYear && year <= lastCronYear {
		return 0, date(lastCronYear+1, 1, 1).Unix()
	}
	// Within a century, calendars repeat every 28 years. Its first year may lack a leap day and is mapped alone.
	last, like, step := year, firstCronYear+2, 1
	if year%100 != 0 {
		last, like, step = year-year%100+99, like+year%4, 4
	}
	for date(like, 1, 1).Weekday() != date(year, 1, 1).Weekday() || monthLength(like, 2) != monthLength(year, 2) {
		like += step
	}
	return date(year, 1, 1).Unix() - date(like, 1, 1).Unix(), date(last+1, 1, 1).Unix()
}
