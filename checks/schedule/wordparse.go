package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// A phrase is a schedule in words, with what its words have said up to the present place.
type phrase struct {
	text  string
	words []word
	at    int // the present place

	unit   int           // that recurs, or none
	period time.Duration // of "every 90 minutes", or 0
	count  int           // of "twice a day", or 0
	minute int           // past every hour, if pastHour

	months   uint16
	days     picked
	except   uint8
	times    []timeOfDay
	window   bool       // times are the first and the last of a part of the day
	part     *partOfDay // or nil
	pastHour bool
	taken    []string // what the phrase leaves open
}

// picked are the days that a phrase names.
type picked struct {
	named                                  bool
	weekdays                               uint8
	nth                                    [6]uint8 // the weekdays that are the first to the fifth of the month, at 1 to 5
	last                                   uint8    // the weekdays that are the last of the month
	dates                                  uint32   // days of the month
	lastDay, firstWorkday, lastWorkday, in bool     // in: the dates belong to months by name
}

// timeOfDay is a time that a phrase names.
type timeOfDay struct {
	word
	minute   int    // of the day
	half     string // am, pm or ""
	bare     bool   // an hour alone, which may mean the morning or the afternoon
	midnight bool   // by name
}

func (p *phrase) fail(at word, format string, args ...any) *Error {
	return &Error{Field: "schedule", Reason: fmt.Sprintf(format, args...), Offset: at.offset}
}

// word returns a word beyond the present place. After the end it has no text.
func (p *phrase) word(ahead int) word {
	if p.at+ahead < len(p.words) {
		return p.words[p.at+ahead]
	}
	return word{offset: len(p.text)}
}

// accept skips a small word if it is one of some.
func (p *phrase) accept(texts ...string) bool {
	found := p.word(0).is(texts...)
	if found {
		p.at++
	}
	return found
}

func (p *phrase) parse() *Error {
	for p.at < len(p.words) {
		if err := p.clause(); err != nil {
			return err
		}
	}
	switch last := p.words[len(p.words)-1]; {
	case last.class == classAnd, last.class == classDash, last.is("on", "in", "of", "the", "every", "each"):
		return p.fail(last, "something is missing after %s", quote(last.text))
	}
	return nil
}

// clause reads one statement: how often, on which days, in which months, or when.
func (p *phrase) clause() *Error {
	w, next := p.word(0), p.word(1)
	switch {
	case w.class == classAnd && p.at > 0, w.is("on", "in", "of", "the"):
		p.at++
	case w.is("every", "each"):
		p.at++
		return p.every(w)
	case w.is("a", "an", "per"):
		if p.at++; next.class != classUnit {
			return p.unknown(next)
		}
	case w.is("once", "twice", "thrice"), w.class == classNumber && next.is("times", "x"):
		return p.howOften()
	case w.is("from", "between"):
		return p.span(w)
	case w.is("except", "but"):
		return p.exceptions()
	case w.is("at"), p.isTime(0):
		return p.clock()
	case w.class == classNumber, w.class == classDecimal, w.class == classClock:
		return p.number()
	case w.class == classUnit, w.class == classOften:
		return p.recurs(w)
	case w.class == classOrdinal:
		return p.ordinals(false)
	case w.class == classWeekday, w.is("work", "working", "business"):
		return p.weekdays()
	case w.class == classMonth:
		return p.monthNames()
	case w.class == classPart:
		return p.partOfDay()
	default:
		return p.unknown(w)
	}
	return nil
}

// span reads what follows "from" and "between": a range.
func (p *phrase) span(w word) *Error {
	first := p.word(1)
	p.at++
	switch to := p.word(1); {
	case first.class != classWeekday && first.class != classMonth && first.class != classOrdinal:
		return p.clock()
	case w.is("between") || to.class != classDash && !to.is("to", "until", "till", "through", "thru"):
		return p.fail(w, "after %s the last one is missing: write it like Monday to Friday", quote(w.text+" "+first.text))
	}
	return p.clause()
}

// unknown returns the error of a word that is not understood.
func (p *phrase) unknown(w word) *Error {
	switch {
	case w.text == "":
		return p.fail(w, "something is missing at the end%s", writeWords)
	case w.class != classUnknown:
		return p.fail(w, "%s is not understood here%s", quote(w.text), writeWords)
	}
	switch w.text {
	case "fortnight", "fortnightly", "biweekly", "bi", "bimonthly", "semimonthly", "semiweekly":
		return p.fail(w, `%s has no fixed days: write "every 2 weeks" for 14 days after the last ping, or days such as "1st and 15th at 3:00"`, quote(w.text))
	case "sunrise", "sunset", "dawn", "dusk":
		return p.fail(w, "%s is no fixed time: write one, such as 7:30", quote(w.text))
	case "reboot", "boot", "startup":
		return p.fail(w, "%s is no time at which a run can be expected: choose an interval", quote(w.text))
	case "utc", "gmt", "est", "edt", "cst", "pst", "cet", "cest", "eet", "zone", "timezone":
		return p.fail(w, "a phrase has no time zone: leave out %s and choose the time zone of the check", quote(w.text))
	}
	if similar := similarWord(w.text); similar != "" {
		return p.fail(w, "%s is not understood: did you mean %s?", quote(w.text), similar)
	}
	return p.fail(w, "%s is not understood%s", quote(w.text), writeWords)
}

// similarWord returns the word of which a text is likely a slip, or "".
func similarWord(text string) string {
	if len(text) < 4 || len(text) > 12 {
		return ""
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(vocabulary())), func(word string) bool { return len(word) < 4 })
	return prose.Similar(text, slices.Values(known))
}

// recurs reads a unit that recurs: month in "every month" and "of the month", or daily. A phrase has one, but "of the week" and
// "of the month" may follow a day.
func (p *phrase) recurs(w word) *Error {
	p.at++
	before := word{}
	if p.at > 1 {
		before = p.words[p.at-2]
	}
	switch {
	case w.class == classUnit && before.class != classNumber && len(w.text) > 1 && w.text[len(w.text)-1] == 's':
		return p.fail(w, "how many %s? Write it like every 2 %s", unitNames[w.n]+"s", unitNames[w.n]+"s")
	case w.class == classUnit && before.class != classNumber && !before.is("every", "each", "a", "an", "per", "the"):
		return p.unknown(w)
	case w.class == classUnit && p.unit != unitNone && p.unit <= unitDay && w.n >= p.unit && before.is("the"):
		return nil
	case p.unit != unitNone || p.period != 0:
		return p.fail(w, "%s is a second frequency: name one", quote(w.text))
	}
	if p.unit = w.n; w.text == "nightly" {
		p.part = &partsOfDay[len(partsOfDay)-1]
	}
	return nil
}

// every reads what follows "every".
func (p *phrase) every(every word) *Error {
	w := p.word(0)
	switch {
	case w.is("other"):
		p.at++
		return p.step(2, w)
	case w.is("half"):
		p.at++
		p.accept("a", "an")
		return p.hourPart(w, time.Hour/2)
	case w.class == classUnit && w.n == unitQuarter:
		hour := 1
		for p.word(hour).is("of", "an", "a") {
			hour++
		}
		if p.word(hour).n == unitHour && p.word(hour).class == classUnit {
			p.at += hour
			return p.hourPart(w, time.Hour/4)
		}
		return p.recurs(w)
	case w.class == classOrdinal:
		return p.ordinals(true)
	case w.class == classNumber || w.class == classDecimal:
		return p.interval()
	case w.class == classPart:
		if err := p.recurs(word{class: classUnit, n: unitDay, text: w.text, offset: w.offset}); err != nil {
			return err
		}
		p.at--
		return p.partOfDay()
	case w.class == classUnit, w.class == classWeekday, w.class == classMonth, w.is("work", "working", "business"):
		return p.clause()
	case w.text == "":
		return p.fail(every, "something is missing after %s%s", quote(every.text), writeWords)
	}
	return p.unknown(w)
}

// hourPart reads the hour of "half an hour".
func (p *phrase) hourPart(w word, period time.Duration) *Error {
	if unit := p.word(0); unit.class != classUnit || unit.n != unitHour {
		return p.unknown(unit)
	}
	p.at++
	return p.setPeriod(w, period)
}

func (p *phrase) setPeriod(w word, period time.Duration) *Error {
	if p.unit != unitNone || p.period != 0 {
		return p.fail(w, "%s is a second frequency: name one", quote(w.text))
	}
	if period < time.Second || period%time.Second != 0 {
		return p.fail(w, "%s is not a whole number of seconds", quote(w.text))
	}
	p.period = period
	return nil
}

// step reads what follows "every other" and "every third": the nth of each n.
func (p *phrase) step(n int, at word) *Error {
	w := p.word(0)
	p.at++
	switch {
	case w.class == classUnit && w.n <= unitHour:
		return p.setPeriod(w, time.Duration(n)*unitLengths[w.n])
	case w.class == classUnit && w.n == unitMonth:
		return p.everyMonths(n, w)
	case w.class == classUnit && w.n == unitDay:
		return p.fail(at, `days cannot be counted from one month into the next: write "every %d days" for the time since the last ping, or name the weekdays`, n)
	case w.class == classUnit && w.n == unitWeek, w.class == classWeekday:
		return p.fail(at, `weeks cannot be counted: write "every %d weeks" for the time since the last ping, or which of a month, such as "second Monday of the month 9:00"`, n)
	case w.class == classUnit:
		return p.fail(at, "%ss cannot be counted: name the months", w.text)
	}
	return p.unknown(w)
}

// everyMonths makes every nth month recur, from January.
func (p *phrase) everyMonths(n int, w word) *Error {
	if n < 1 || 12%n != 0 {
		return p.fail(w, "a year is not a multiple of %d months: name the months", n)
	}
	if p.unit != unitNone || p.period != 0 || p.months != 0 {
		return p.fail(w, "%s is a second frequency: name one", quote(w.text))
	}
	p.unit = unitMonth
	for m := 1; m <= 12; m += n {
		p.months |= 1 << m
	}
	switch n {
	case 1:
	case 12:
		p.take("No month is named, so January was taken.")
	default:
		p.take("No month is named, so %s were taken.", list(words(members(uint64(p.months)), monthWord), "and"))
	}
	return nil
}

// take notes how something was read that the phrase leaves open.
func (p *phrase) take(format string, args ...any) {
	p.taken = append(p.taken, fmt.Sprintf(format, args...))
}

// longestInterval is far above what a check takes, and far below what a Duration can hold.
const longestInterval = 30_000 * 24 * time.Hour

// interval reads periods such as 2 h 30 min.
func (p *phrase) interval() *Error {
	first, n := p.word(0), 0
	var sum time.Duration
	for ; ; n++ {
		w, unit := p.word(0), p.word(1)
		more := n == 0 && (w.class == classNumber || w.class == classDecimal) && unit.class == classUnit || p.isPeriod(0)
		if !more && n > 0 {
			break
		}
		switch {
		case !more && unit.class == classUnknown && unit.text != "":
			return p.unknown(unit)
		case !more && (unit.class == classMonth || w.class == classNumber && unit.class == classAnd):
			return p.fail(w, `%s what? Write "every month on the %s" for a day of the month`, w.text, nth(max(w.n, 1)))
		case !more:
			return p.fail(w, "%s what? Write a unit, such as %s minutes or %s days", w.text, w.text, w.text)
		case w.n < 1 && w.class == classNumber:
			return p.fail(w, "%s is no interval", quote(w.text+" "+unit.text))
		case unit.n > unitWeek || w.class == classNumber && w.n == 1 && n == 0 && !p.isPeriod(2) && (p.word(2).class != classAnd || !p.isPeriod(3)):
			return p.everyUnits(w, unit)
		}
		length := time.Duration(w.n) * unitLengths[unit.n]
		if w.class == classDecimal {
			value, _ := strconv.ParseFloat(w.text, 64)
			length = time.Duration(value * float64(unitLengths[unit.n])).Round(time.Microsecond)
		}
		if sum += length; sum > longestInterval {
			return p.fail(w, "%s is too long", quote(w.text+" "+unit.text))
		}
		p.at += 2
		if p.word(0).class == classAnd && p.isPeriod(1) {
			p.at++
		}
	}
	return p.setPeriod(first, sum)
}

// isPeriod reports whether a number with a unit follows.
func (p *phrase) isPeriod(ahead int) bool {
	w, unit := p.word(ahead), p.word(ahead+1)
	return (w.class == classNumber || w.class == classDecimal) && unit.class == classUnit && unit.n <= unitWeek && !p.word(ahead+2).is("past")
}

// everyUnits reads one unit, or some of those that differ in length.
func (p *phrase) everyUnits(w, unit word) *Error {
	if p.at++; w.class == classNumber && w.n == 1 {
		return p.recurs(unit)
	}
	p.at++
	if w.class == classDecimal {
		return p.fail(w, "%ss differ in length: write days", unitNames[unit.n])
	}
	months := w.n
	switch unit.n {
	case unitQuarter:
		months *= 3
	case unitYear:
		return p.fail(w, "years cannot be counted: write an interval in days, or an OnCalendar expression with the years")
	}
	return p.everyMonths(months, w)
}

// howOften reads "twice" and "3 times".
func (p *phrase) howOften() *Error {
	w := p.word(0)
	p.at++
	n := w.n
	switch {
	case w.is("once"):
		n = 1
	case w.is("twice"):
		n = 2
	case w.is("thrice"):
		n = 3
	default:
		p.at++
	}
	if p.count != 0 || n < 1 {
		return p.fail(w, "%s is not understood here%s", quote(w.text), writeWords)
	}
	p.count = n
	return nil
}

// number reads what begins with a number that is no time of day by itself.
func (p *phrase) number() *Error {
	w, next := p.word(0), p.word(1)
	switch {
	case w.class == classClock && w.n < 0:
		return p.minutePast(w, w.m, 1)
	case w.class == classNumber && next.is("past"):
		return p.minutePast(w, w.n, 2)
	case w.class == classNumber && next.class == classUnit && next.n == unitMinute && p.word(2).is("past"):
		return p.minutePast(w, w.n, 3)
	case next.class == classUnit:
		return p.interval()
	case w.class == classNumber && next.class == classMonth:
		p.at += 2
		return p.date(w, next)
	case w.class == classNumber && len(w.text) == 4 && isDigit(w.text[0]):
		return p.fail(w, "a phrase has no year: leave out %s, or write an OnCalendar expression such as 2027-03-01 9:00", w.text)
	case w.class == classNumber && w.n <= 12:
		return p.fail(w, "is %s an hour? Write at %d:00, or at %d pm", w.text, w.n, max(w.n, 1))
	case w.class == classNumber && w.n < 24:
		return p.fail(w, "is %s an hour? Write at %d:00", w.text, w.n)
	}
	return p.unknown(w)
}

// minutePast sets the minute of each hour.
func (p *phrase) minutePast(w word, minute, skip int) *Error {
	if p.at += skip; p.pastHour || minute > 59 {
		return p.fail(w, "%s is no minute of an hour", quote(w.text))
	}
	p.pastHour, p.minute = true, minute
	return nil
}

// partOfDay reads morning, afternoon, evening or night.
func (p *phrase) partOfDay() *Error {
	w := p.word(0)
	if p.at++; p.part != nil {
		return p.fail(w, "%s is a second part of the day: name one", quote(w.text))
	}
	p.part = &partsOfDay[w.n]
	return nil
}

// isTime reports whether a time of day begins at a word, without "at".
func (p *phrase) isTime(ahead int) bool {
	w, next := p.word(ahead), p.word(ahead+1)
	switch {
	case w.is("noon", "midday", "midnight"), w.class == classClock && w.n >= 0:
		return true
	case w.is("half"):
		return next.is("past")
	case w.class == classUnit && w.n == unitQuarter:
		return next.is("past", "to")
	case w.class == classDecimal:
		return next.is("am", "pm")
	case w.class != classNumber:
		return false
	case next.is("past"):
		return p.word(ahead+2).class == classNumber
	case next.class == classDash, next.is("to", "until", "till"):
		end := p.word(ahead + 2)
		return end.class == classNumber || end.class == classClock
	case len(w.text) == 4 && w.text[0] == '0':
		return true
	}
	return next.is("am", "pm", "oclock", "noon", "midnight") || next.is("in", "at") && p.partAhead(ahead+1) > 0
}

// partAhead returns how many words "in the morning" or "at night" has, or 0.
func (p *phrase) partAhead(ahead int) int {
	n := 0
	if p.word(ahead).is("in", "at") {
		n++
	}
	if p.word(ahead + n).is("the") {
		n++
	}
	if n == 0 || p.word(ahead+n).class != classPart {
		return 0
	}
	return n + 1
}
