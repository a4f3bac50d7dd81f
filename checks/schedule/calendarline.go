package schedule

import (
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

// A calendarLine is a line of an OnCalendar expression.
type calendarLine struct {
	when calendar
	loc  *time.Location // nil if the line names no zone
}

// The fields of a line. The function weekday parses weekdays.
var (
	calendarWeekday = field{name: "weekday"}
	calendarYear    = field{name: "year", lo: firstCalendarYear, hi: lastCalendarYear, century: true}
	calendarMonth   = field{name: "month", lo: 1, hi: 12}
	calendarDay     = field{name: "day of month", lo: 1, hi: 31}
	calendarHour    = field{name: "hour", lo: 0, hi: 23}
	calendarMinute  = field{name: "minute", lo: 0, hi: 59}
	calendarSecond  = field{name: "second", lo: 0, hi: 59}
)

// longWeekdays begin with Monday, so that a range such as Sat..Sun runs forwards.
var longWeekdays = []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}

// maxFromEnd is the largest single day counted from the end of a month. It exists in every month.
const maxFromEnd = 28

// shorthands are words that stand for weekdays, date and time.
var shorthands = [...]struct{ word, line string }{
	{"minutely", "*-*-* *:*:00"},
	{"hourly", "*-*-* *:00:00"},
	{"daily", "*-*-* 00:00:00"},
	{"weekly", "Mon *-*-* 00:00:00"},
	{"monthly", "*-*-01 00:00:00"},
	{"quarterly", "*-01,04,07,10-01 00:00:00"},
	{"semiannually", "*-01,07-01 00:00:00"},
	{"yearly", "*-01-01 00:00:00"},
	{"annually", "*-01-01 00:00:00"},
}

// shorthand returns the line that a word stands for.
func shorthand(word string) (line string, ok bool) {
	for _, s := range shorthands {
		if sameWord(s.word, word) {
			return s.line, true
		}
	}
	return "", false
}

// parseLine parses [weekdays] [date] [time] [zone], or a shorthand and an optional zone.
func parseLine(line part) (calendarLine, *Error) {
	var l calendarLine
	parts := line.split()
	if len(parts) == 0 {
		return l, line.fail("schedule", "the line is empty")
	}
	if err := checkLanguage(parts); err != nil {
		return l, err
	}
	if last := parts[len(parts)-1]; len(parts) > 1 && isZoneLike(last.text) {
		loc, err := lineZone(last)
		if err != nil {
			return l, err
		}
		l.loc, parts = loc, parts[:len(parts)-1]
	}
	if len(parts) == 1 {
		if long, ok := shorthand(parts[0].text); ok {
			parts = part{long, 0}.split()
		}
	}
	return l, l.when.parseParts(parts)
}

// isZoneLike reports whether a part may be a zone, but not a date or a time.
func isZoneLike(s string) bool {
	return s[0] != '*' && !isDigit(s[0])
}

// lineZone loads the zone of a line. If there is no such zone, p may be another part in the wrong place.
func lineZone(p part) (*time.Location, *Error) {
	loc, err := LoadLocation(p.text)
	if err == nil {
		return loc, nil
	}
	if _, ok := shorthand(p.text); ok {
		return nil, misplacedShorthand(p)
	}
	if _, not := weekday(p); not == nil {
		return nil, calendarWeekday.fail(p, "%s must come before the date and the time", p.text)
	}
	refused := err.(*Error) // LoadLocation returns no other
	refused.Offset = p.offset
	return nil, refused
}

// misplacedShorthand returns the error of a shorthand among other parts.
func misplacedShorthand(p part) *Error {
	return p.fail("schedule", "%s must stand alone or before a time zone", p.text)
}

// checkLanguage returns an error if the parts look like cron or have a misplaced shorthand.
func checkLanguage(parts []part) *Error {
	first, n := parts[0].text, len(parts)
	if _, ok := shorthand(first); ok && n > 1 && !isZoneLike(parts[1].text) {
		return misplacedShorthand(parts[0])
	}
	if first[0] == '@' {
		if _, ok := shorthand(first[1:]); ok {
			return parts[0].fail("schedule", "%s is not supported: write %s", first, strings.ToLower(first[1:]))
		}
		return parts[0].fail("schedule", "%s is not supported", bare(first))
	}
	number := !isZoneLike(first) && !isDate(first) && !strings.Contains(first, ":")
	if n > 1 && (number && n > 2 || parts[1].text == "*") {
		if n == cronParts {
			return parts[0].fail("schedule", "a cron expression cannot be one of several lines")
		}
		return parts[0].fail("schedule", "a cron expression has %d parts, this one has %d", cronParts, n)
	}
	return nil
}

// parseParts parses the parts of a line before its zone, from the last to the first. A part with a colon is the time. A
// part with a hyphen or a tilde that begins with a digit or a star is the date. Any remaining part is the weekdays.
func (c *calendar) parseParts(parts []part) *Error {
	c.seconds, c.minutes, c.hours = 1, 1, 1
	c.months, c.days.days = uint16(calendarMonth.every()), uint32(calendarDay.every())
	c.days.weekdays = everyWeekday
	if n := len(parts); strings.Contains(parts[n-1].text, ":") {
		if err := c.parseTime(parts[n-1]); err != nil {
			return err
		}
		parts = parts[:n-1]
	}
	if n := len(parts); n > 0 && isDate(parts[n-1].text) {
		if err := c.parseDate(parts[n-1]); err != nil {
			return err
		}
		parts = parts[:n-1]
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return c.parseWeekdays(parts[0])
	}
	return parts[1].fail("schedule", "%s is not a date, a time or a time zone", bare(parts[1].text))
}

func isDate(s string) bool {
	return strings.ContainsAny(s, "-~") && (s[0] == '*' || isDigit(s[0]))
}

// zone returns the zone that the line names, or else loc.
func (l *calendarLine) zone(loc *time.Location) *time.Location {
	if l.loc != nil {
		return l.loc
	}
	return loc
}

// next returns the first instant after from of a matching wall clock time. Like systemd, it skips times in a gap.
func (l *calendarLine) next(from int64, loc *time.Location) (int64, bool) {
	loc = l.zone(loc)
	wall := max(wallclock.Unseen(loc, from), 0)
	for limit := wall + horizon; wall < limit || l.when.years != nil; {
		found, ok := l.when.next(wall)
		if !ok {
			break
		}
		at, _, skipped := wallclock.Passings(loc, found)
		if !skipped {
			return at, true
		}
		wall = wallclock.At(loc, at).Wall(at)
	}
	return 0, false
}
