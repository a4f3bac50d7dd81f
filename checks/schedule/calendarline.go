package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/wallclock"
)

// calendarLine is one line of an OnCalendar expression.
type calendarLine struct {
	when calendar
	loc  *time.Location // nil where the line names no zone
}

// The fields of a line of an OnCalendar expression. Weekdays are read by the
// function weekday.
var (
	calendarWeekday = field{name: "weekday"}
	calendarYear    = field{name: "year", lo: firstCalendarYear, hi: lastCalendarYear, century: true}
	calendarMonth   = field{name: "month", lo: 1, hi: 12}
	calendarDay     = field{name: "day of month", lo: 1, hi: 31}
	calendarHour    = field{name: "hour", lo: 0, hi: 23}
	calendarMinute  = field{name: "minute", lo: 0, hi: 59}
	calendarSecond  = field{name: "second", lo: 0, hi: 59}
)

// longWeekdays are the full names of the weekdays, from Monday, so that a range
// such as Sat..Sun runs forwards.
var longWeekdays = []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}

// maxFromEnd is the largest single day that can be counted from a month's end,
// so that every month has it.
const maxFromEnd = 28

// shorthands are the words that stand for a whole line.
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

// shorthand returns the line that a word stands for, if it is a shorthand.
func shorthand(word string) (line string, ok bool) {
	for _, s := range shorthands {
		if strings.EqualFold(word, s.word) && isASCII(word) {
			return s.line, true
		}
	}
	return "", false
}

// parseLine reads [weekdays] [date] [time] [zone], or a shorthand and a zone.
func parseLine(line part) (calendarLine, *Error) {
	var l calendarLine
	parts := line.split()
	if len(parts) == 0 {
		return l, &Error{Field: "schedule", Reason: "the line is empty", Offset: line.offset}
	}
	if err := mistaken(parts); err != nil {
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

// isZoneLike tells a zone's name from a date and a time.
func isZoneLike(s string) bool {
	return s[0] != '*' && !isDigit(s[0])
}

// lineZone loads the zone of a line. Where that fails, the part may be something
// else in the wrong place.
func lineZone(p part) (*time.Location, *Error) {
	loc, err := loadLocation(p.text)
	if err == nil {
		return loc, nil
	}
	err.Offset = p.offset
	if _, ok := shorthand(p.text); ok {
		return nil, misplaced(p)
	}
	if _, not := weekday(p); not == nil {
		return nil, calendarWeekday.fail(p, "%s has to stand before the date and the time", p.text)
	}
	return nil, err
}

// misplaced answers a shorthand among other parts.
func misplaced(p part) *Error {
	return &Error{Field: "schedule", Reason: p.text + " has to stand alone or before a time zone", Offset: p.offset}
}

// mistaken answers what is not written in this language but in another one that
// people know.
func mistaken(parts []part) *Error {
	first, n := parts[0].text, len(parts)
	if _, ok := shorthand(first); ok && n > 1 && !isZoneLike(parts[1].text) {
		return misplaced(parts[0])
	}
	if first[0] == '@' {
		reason := bare(first) + " is not supported"
		if _, ok := shorthand(first[1:]); ok {
			reason += ": write " + strings.ToLower(first[1:])
		}
		return &Error{Field: "schedule", Reason: reason, Offset: parts[0].offset}
	}
	number := !isZoneLike(first) && !isDate(first) && !strings.Contains(first, ":")
	if n > 1 && (number && n > 2 || parts[1].text == "*") {
		reason := fmt.Sprintf("a cron expression has %d parts, this one has %d", cronParts, n)
		if n == cronParts {
			reason = "a cron expression has to stand alone, not among other lines"
		}
		return &Error{Field: "schedule", Reason: reason, Offset: parts[0].offset}
	}
	return nil
}

// parseParts reads the parts of a line before its zone. From the last to the
// first: what has a colon is the time, what has a hyphen or a tilde and does
// not begin with a letter is the date, and one part may remain for the weekdays.
func (c *calendar) parseParts(parts []part) *Error {
	c.seconds, c.minutes, c.hours = 1, 1, 1
	c.months, c.days.days = uint16(calendarMonth.every()), uint32(calendarDay.every())
	c.days.weekdays = 0x7f
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
	// The first of them may be the weekdays, or what should stand behind.
	return &Error{Field: "schedule", Reason: bare(parts[1].text) + " is not a date, a time or a time zone", Offset: parts[1].offset}
}

func isDate(s string) bool {
	return strings.ContainsAny(s, "-~") && (s[0] == '*' || isDigit(s[0]))
}

// zone returns the zone of the line, in a schedule asked about in loc.
func (l *calendarLine) zone(loc *time.Location) *time.Location {
	if l.loc != nil {
		return l.loc
	}
	return loc
}

// next returns the first passing after from of a matching wall clock time. Times in a gap do not count, as in systemd.
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
