package discover

import (
	"fmt"
	"strings"
)

// cronSpec is the schedule of a line of a crontab, as the daemon understands it.
type cronSpec struct {
	fields [5]cronField
	// either says that a day of the month or a weekday is enough; otherwise a day must match both.
	either bool
}

// macros are the words of crontabs that stand for five fields.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// byStars decides whether both days must match, as cron and cronie do.
func (c *cronSpec) byStars() {
	c.either = !c.fields[dayField].star && !c.fields[weekdayField].star
	for _, i := range []int{dayField, weekdayField} { // Rollcall decides by the first character
		if f := &c.fields[i]; c.either && strings.HasPrefix(f.text, "*") {
			f.text = listed(cronRanges[i], f.set)
		}
	}
}

// byUse decides it as busybox does, by whether a field leaves out a value.
func (c *cronSpec) byUse() {
	day, weekday := &c.fields[dayField], &c.fields[weekdayField]
	everyDate, everyWeekday := day.set == 1<<32-1, fold(cronRanges[weekdayField], weekday.set) == cronRanges[weekdayField].all()
	c.either = !everyDate && !everyWeekday
	day.set &^= 1
	for i := range c.fields {
		f := &c.fields[i]
		f.star = false // it means nothing to busybox
		f.wording(cronRanges[i], f.text)
		if i != dayField && i != weekdayField {
			continue
		}
		if c.either && strings.HasPrefix(f.text, "*") {
			f.text = listed(cronRanges[i], f.set)
		} else if !c.either && fold(cronRanges[i], f.set) == cronRanges[i].all() {
			f.text = "*"
		}
	}
}

// listed writes a set without a star in front.
func listed(r *cronRange, set uint64) string {
	if text := valueList(r, set, "-"); text != "*" {
		return text
	}
	return fmt.Sprintf("%d-%d", r.lo, r.hi)
}

// settle removes days that cannot match. It returns why the schedule never fires, or "".
func (c *cronSpec) settle() (never string) {
	day, weekday := &c.fields[dayField], &c.fields[weekdayField]
	for i, f := range c.fields {
		if f.set == 0 && !(c.either && (i == dayField || i == weekdayField)) {
			return "empty range"
		}
	}
	if !c.exists() {
		if !c.either || weekday.set == 0 {
			return c.missingDay()
		}
		*day, c.either = anyValue(cronRanges[dayField]), false
	}
	if c.either && weekday.set == 0 {
		*weekday, c.either = anyValue(cronRanges[weekdayField]), false
	}
	return ""
}

func anyValue(r *cronRange) cronField { return cronField{set: r.all(), text: "*", star: true} }

// exists reports whether a month has one of the days.
func (c *cronSpec) exists() bool {
	for month, last := range []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if c.fields[monthField].set>>(month+1)&1 == 1 && c.fields[dayField].set&(2<<last-1) != 0 {
			return true
		}
	}
	return false
}

func (c *cronSpec) missingDay() string {
	if c.fields[dayField].set == 0 {
		return "empty range"
	}
	return fmt.Sprintf("no month of the line has a day %s", c.fields[dayField].text)
}

// String is the schedule in Rollcall's language.
func (c *cronSpec) String() string {
	texts := make([]string, len(c.fields))
	for i, f := range c.fields {
		texts[i] = f.text
	}
	text := strings.Join(texts, " ")
	if len(text) <= maxSchedule {
		return text
	}
	for i, f := range c.fields { // the same in fewer letters
		if !f.star {
			texts[i] = listed(cronRanges[i], f.set)
		}
	}
	return strings.Join(texts, " ")
}

// maxSchedule bounds the schedule of a check, in characters.
const maxSchedule = 100

// calendarDays are the weekdays of OnCalendar, whose ranges begin with Monday.
var calendarDays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// calendar writes the schedule as lines of OnCalendar, one or two.
func (c *cronSpec) calendar(zone string) []string {
	list := func(i int) string { return valueList(cronRanges[i], c.fields[i].set, "..") }
	weekdays := weekdayList(fold(cronRanges[weekdayField], c.fields[weekdayField].set))
	date := "*-" + list(monthField) + "-" + list(dayField)
	rest := twoDigits(list(hourField)) + ":" + twoDigits(list(minuteField))
	if zone != "" {
		rest += " " + zone
	}
	line := func(weekdays, date string) string {
		var parts []string
		if weekdays != "" {
			parts = append(parts, weekdays)
		}
		if date != "*-*-*" {
			parts = append(parts, date)
		}
		return strings.Join(append(parts, rest), " ")
	}
	if c.either {
		return []string{line("", date), line(weekdays, "*-"+list(monthField)+"-*")}
	}
	return []string{line(weekdays, date)}
}

// twoDigits writes an hour or a minute as clocks show it, if it is one number.
func twoDigits(list string) string {
	if len(list) == 1 && isDigit(list[0]) {
		return "0" + list
	}
	return list
}

// weekdayList writes weekdays by name, "" for all. Sunday is bit 0.
func weekdayList(set uint64) string {
	fromMonday := set>>1 | set&1<<6
	if fromMonday == 0x7f {
		return ""
	}
	var terms []string
	for first := 0; first < 7; first++ {
		last := first
		for last < 7 && fromMonday>>last&1 == 1 {
			last++
		}
		switch last - first {
		case 0:
			continue
		case 1:
			terms = append(terms, calendarDays[first])
		default:
			terms = append(terms, calendarDays[first]+".."+calendarDays[last-1])
		}
		first = last
	}
	return strings.Join(terms, ",")
}

// zoned is a schedule of one line with its zone.
type zoned struct {
	spec cronSpec
	expr string // of the spec
	zone string
}

// maxUnion bounds the schedules of one job. More do not fit into the schedule of a check.
const maxUnion = 100

// union returns one expression that fires whenever one of several lines does, and its zone.
func union(lines []zoned) (expr, zone string) {
	zone = lines[0].zone
	merged := []zoned{lines[0]}
	sameZone := true
	for _, line := range lines[1:] {
		sameZone = sameZone && line.zone == zone
		merged = mergeInto(merged, line)
	}
	if len(merged) == 1 {
		return merged[0].spec.String(), zone
	}
	var all []string
	for _, m := range merged {
		own := m.zone
		if sameZone {
			own = ""
		}
		all = append(all, m.spec.calendar(own)...)
	}
	return strings.Join(all, "\n"), zone
}

// mergeInto adds a line to one that differs in one field only, or as another.
func mergeInto(list []zoned, line zoned) []zoned {
	for i, other := range list {
		if field, ok := other.differs(line); ok {
			f := &list[i].spec.fields[field]
			f.set |= line.spec.fields[field].set
			f.text = listed(cronRanges[field], f.set)
			return list
		}
	}
	return append(list, line)
}

// differs returns the only field in which two lines differ, if one expression of cron can say both.
func (a zoned) differs(b zoned) (field int, ok bool) {
	if a.zone != b.zone || a.spec.either || b.spec.either {
		return 0, false
	}
	field, n := 0, 0
	for i := range a.spec.fields {
		f, g := a.spec.fields[i], b.spec.fields[i]
		if f.star != g.star {
			return 0, false
		}
		if fold(cronRanges[i], f.set) != fold(cronRanges[i], g.set) {
			field, n = i, n+1
		}
	}
	return field, n <= 1 && !a.spec.fields[field].star
}
