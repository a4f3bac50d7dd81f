package schedule

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// resolve decides what a phrase means, and writes its expression.
func (p *phrase) resolve() (u Understood, err *Error) {
	if p.period != 0 && !p.onClock() {
		if p.days.named || p.months != 0 || p.except != 0 || p.times != nil || p.pastHour || p.part != nil || p.count > 1 {
			return u, p.fault(`every %s is an interval, because the clock has no such times: it counts from the last ping, and cannot be limited to days or times`, spellPeriod(p.period))
		}
		return Understood{Every: p.period}, nil
	}
	if err := p.settleTimes(); err != nil {
		return u, err
	}
	if err := p.settleCount(); err != nil {
		return u, err
	}
	if p.period != 0 || p.unit == unitMinute || p.unit == unitHour || p.unit == unitSecond {
		u.Expression, err = p.often()
	} else {
		u.Expression, err = p.daily()
	}
	u.Taken = strings.Join(p.taken, " ")
	return u, err
}

// fault returns an error about the phrase as a whole.
func (p *phrase) fault(format string, args ...any) *Error {
	err := p.fail(word{}, format, args...)
	err.Offset = -1
	return err
}

// onClock reports whether runs at a distance of the period can have the same times on every day.
func (p *phrase) onClock() bool {
	switch d := p.period; {
	case d < time.Minute:
		return time.Minute%d == 0
	case d < time.Hour:
		return time.Hour%d == 0 && d%time.Minute == 0
	case p.window:
		return d%time.Hour == 0 && d < 24*time.Hour
	default:
		return (24*time.Hour)%d == 0 && d%time.Hour == 0 && d < 24*time.Hour
	}
}

// settleCount compares the number of times in "twice a day" with the times or days that are named.
func (p *phrase) settleCount() *Error {
	if p.count == 0 {
		return nil
	}
	named, what := len(p.times), "times, such as at 6:00 and 18:00"
	switch {
	case p.unit == unitNone && p.period == 0:
		return p.fault("%s in which time? Write a day, a week or a month", plural(p.count, "time"))
	case p.count == 1:
		return nil
	case p.unit == unitHour && 60%p.count == 0:
		return p.fault("at which minutes? Write every %d minutes, or minutes past every hour", 60/p.count)
	case p.unit < unitDay:
		return p.fault("at which times? Write how often, such as every 15 minutes")
	case p.unit == unitWeek:
		named, what = bits.OnesCount8(p.days.weekdays), "days, such as Monday and Thursday at 6:00"
	case p.unit > unitWeek:
		named, what = bits.OnesCount32(p.days.dates)+bits.OnesCount8(p.days.last), "days, such as the 1st and 15th at 6:00"
		for _, set := range p.days.nth {
			named += bits.OnesCount8(set)
		}
		if p.days.lastDay {
			named++
		}
	}
	switch {
	case named == 0:
		return p.fault("which %d of a %s? Write %s", p.count, unitNames[p.unit], what)
	case named != p.count:
		return p.fault("%d a %s, but %d named: write as many %s", p.count, unitNames[p.unit], named, what)
	}
	return nil
}

// often writes what runs several times a day.
func (p *phrase) often() (string, *Error) {
	if p.period == 0 {
		p.period = unitLengths[p.unit]
	}
	hours := p.period >= time.Hour
	switch {
	case p.times != nil && !p.window && hours:
		t := p.times[0]
		return "", p.fail(t.word, `is %s the hour or the minute? Write "every day at %s" or "%d minutes past every hour"`, t.text, hhmm(t.minute/60, t.minute%60), t.minute/60)
	case p.times != nil && !p.window:
		return "", p.fail(p.times[0].word, "write either how often or the times, not both; or a part of the day, such as from 9:00 to 17:00")
	case p.pastHour && !hours:
		return "", p.fault("write either minutes past the hour or a distance in minutes")
	case p.part != nil && !p.window:
		return "", p.fault("from when to when is %s? Write the times, such as from 20:00 to 6:00", p.part.name)
	}
	days, err := p.pickDays(false)
	if err != nil {
		return "", err
	}
	if p.window {
		return p.between(days)
	}
	minute, hour := strconv.Itoa(p.minute), "*"
	switch {
	case p.period < time.Minute:
		seconds := "*:*:" + stepOf("0", int(p.period/time.Second))
		if seconds == "*:*:0/1" {
			seconds = "*:*:*"
		}
		return p.calendarLines(days, []string{seconds})
	case p.period < time.Hour:
		minute = starOf(int(p.period / time.Minute))
	default:
		hour = starOf(int(p.period / time.Hour))
	}
	return p.cron(minute, hour, days)
}

func starOf(n int) string {
	if n == 1 {
		return "*"
	}
	return stepOf("*", n)
}

func stepOf(first string, n int) string { return first + "/" + strconv.Itoa(n) }

// between writes runs in a part of each day.
func (p *phrase) between(days picked) (string, *Error) {
	from, to := p.times[0], p.times[1]
	step, last := int(p.period/time.Minute), to.minute
	switch {
	case step == 0:
		return "", p.fault("seconds cannot be limited to a part of the day: write every minute")
	case to.minute == from.minute:
		return "", p.fail(to.word, "from %s to %s is no time: leave it out for the whole day", from.text, to.text)
	case to.minute < from.minute && to.bare:
		return "", p.fail(to.word, `%s is before %s: write am or pm with both, or hours from 0 to 23, such as from 9:00 to 17:00`, to.text, from.text)
	case to.minute < from.minute && (days.named || p.months != 0):
		return "", p.fail(to.word, "the hours after midnight belong to the next day: write two schedules, or leave out the days")
	case to.minute < from.minute:
		last += 24 * 60
	}
	first := from.minute
	if p.pastHour {
		first += p.minute
	}
	var times []int
	for m := first; m <= last; m += step {
		times = append(times, m%(24*60))
	}
	if len(times) == 0 {
		return "", p.fault("no run falls from %s to %s", from.text, to.text)
	}
	if times[len(times)-1] == to.minute {
		p.take("The last run of a day is at %s.", hhmm(to.minute/60, to.minute%60))
	}
	return p.atTimes(times, days)
}

// daily writes what runs on some days at some times.
func (p *phrase) daily() (string, *Error) {
	switch {
	case p.pastHour:
		return "", p.fault(`past which hour? Write "%d minutes past every hour", or a time such as 3:%02d`, p.minute, p.minute)
	case p.window:
		return "", p.fail(p.times[0].word, "how often from %s to %s? Write every hour or every 15 minutes", p.times[0].text, p.times[1].text)
	}
	days, err := p.pickDays(true)
	if err != nil {
		return "", err
	}
	var times []int
	for _, t := range p.times {
		if t.midnight && (days.named || p.months != 0) {
			p.take("Midnight was read as 00:00, when the day begins.")
		}
		times = append(times, t.minute)
	}
	switch {
	case times == nil && p.part != nil && p.part.name != "night":
		return "", p.fault("at which time of the %s? Write it like at 7:30", p.part.name)
	case times == nil:
		p.take("No time is named, so 00:00 was taken.")
		times = []int{0}
	}
	return p.atTimes(times, days)
}

// pickDays returns the days of a phrase, or those that its frequency means. Without a frequency, daily needs days.
func (p *phrase) pickDays(daily bool) (d picked, err *Error) {
	d = p.days
	if p.except != 0 {
		switch {
		case d.named && d.weekdays == 0:
			return d, p.fault("weekdays cannot be left out of days of the month")
		case !d.named:
			d.named, d.weekdays = true, everyWeekday
		case p.unit == unitDay:
			return d, p.fault("write every day, or the weekdays: not both")
		}
		if d.weekdays &^= p.except; d.weekdays == 0 {
			return d, p.fault("no day is left")
		}
	} else if d.named && p.unit == unitDay {
		return d, p.fault("write every day, or which days: not both")
	}
	monthly := d.dates != 0 || d.lastDay || d.firstWorkday || d.lastWorkday || d.last != 0 || d.nth != [6]uint8{}
	switch {
	case p.unit == unitWeek && (monthly || p.months != 0):
		return d, p.fault("days of a week are weekdays: write Monday to Sunday by name")
	case p.unit == unitWeek && !d.named:
		p.take("No weekday is named, so Monday was taken.")
		d.named, d.weekdays = true, 1<<time.Monday
	case p.unit >= unitMonth && d.weekdays != 0:
		return d, p.fault(`which %s of the month? Write "first %[1]s of the month", or "every %[1]s"`, weekdayNames(d.weekdays)[0])
	case p.unit >= unitMonth:
		d, err = p.pickMonths(d, monthly)
	case daily && p.unit == unitNone && !d.named && p.months != 0:
		name := monthWord(members(uint64(p.months))[0])
		return d, p.fault(`on which days of %s? Write "%[1]s 1st at 3:00", or "every day in %[1]s at 3:00"`, name)
	case daily && p.unit == unitNone && !d.named:
		p.take("No day is named, so every day was taken.")
	}
	if err == nil {
		p.takeGaps(d)
	}
	return d, err
}

// pickMonths returns the days of a month, a quarter or a year, and sets the months.
func (p *phrase) pickMonths(d picked, monthly bool) (picked, *Error) {
	if !monthly {
		if p.unit == unitQuarter && p.times == nil {
			p.take("The quarter was read as one of the year; write every 15 minutes for one of an hour.")
		}
		p.take("No day is named, so the first was taken.")
		d.named, d.dates = true, 1<<1
	}
	atEnd := d.lastDay || d.lastWorkday || d.last != 0
	atStart := d.dates != 0 || d.firstWorkday || d.nth != [6]uint8{}
	switch {
	case p.unit == unitMonth:
		return d, nil
	case p.months != 0 && p.unit == unitYear:
		return d, nil
	case p.months != 0:
		return d, p.fault("write the quarter or the months: not both")
	case atEnd && atStart:
		return d, p.fault("write either the first days or the last ones of a %s", unitNames[p.unit])
	case p.unit == unitYear && d.dates&^(1<<1) != 0:
		return d, p.fault("of which month? Write it like 15 March at 3:00")
	case p.unit == unitYear && atEnd:
		p.months = 1 << 12
	case p.unit == unitYear:
		p.months = 1 << 1
	case atEnd:
		p.months = 1<<3 | 1<<6 | 1<<9 | 1<<12
	default:
		p.months = 1<<1 | 1<<4 | 1<<7 | 1<<10
	}
	return d, nil
}

// takeGaps notes days that some of the months do not have.
func (p *phrase) takeGaps(d picked) {
	if d.nth[5] != 0 {
		p.take("Months without a fifth %s have no run.", weekdayNames(d.nth[5])[0])
	}
	longest := bits.Len32(d.dates) - 1
	for _, m := range members(uint64(p.allMonths())) {
		if m == 2 && longest == 29 && p.months == 1<<2 {
			p.take("Only leap years have a 29 February.")
		} else if longest > monthLength(2001, m) {
			p.take("Months without a %s have no run; write last day of the month for the end of each.", nth(longest))
		} else {
			continue
		}
		return
	}
}

func (p *phrase) allMonths() uint16 {
	if p.months == 0 {
		return everyMonth
	}
	return p.months
}

// atTimes writes runs at times of the day, in minutes: as cron if one expression has them, or else as lines of OnCalendar.
func (p *phrase) atTimes(times []int, days picked) (string, *Error) {
	slices.Sort(times)
	times = slices.Compact(times)
	var hours [24]uint64
	for _, t := range times {
		hours[t/60] |= 1 << (t % 60)
	}
	var minutes []uint64 // different ones, in the order of the day
	at := map[uint64][]int{}
	for h, set := range hours {
		if set != 0 {
			if at[set] == nil {
				minutes = append(minutes, set)
			}
			at[set] = append(at[set], h)
		}
	}
	if len(minutes) == 1 && !days.firstWorkday {
		list := members(minutes[0])
		minute := cronValues(list)
		if step, _ := progression(list); p.window && isCycle(list, 60) && list[0] == 0 {
			minute = stepOf("*", step)
		}
		if len(list) == 60 {
			minute = "*"
		}
		return p.cron(minute, cronValues(at[minutes[0]]), days)
	}
	var clocks []string
	for _, set := range minutes {
		list := members(set)
		if len(list) == 1 && len(at[set]) == 1 {
			clocks = append(clocks, hhmm(at[set][0], list[0]))
			continue
		}
		minute := calendarValues(list)
		if step, _ := progression(list); isCycle(list, 60) && list[0] == 0 {
			minute = stepOf("0", step)
		}
		if len(list) == 1 {
			minute = hhmm(0, list[0])[3:]
		}
		clocks = append(clocks, calendarValues(at[set])+":"+minute)
	}
	return p.calendarLines(days, clocks)
}

// values writes numbers as terms, with a mark between the ends of a range.
func values(list []int, mark string, text func(int) string) string {
	if step, regular := progression(list); regular && step > 1 && len(list) > 4 {
		return stepOf(text(list[0])+mark+text(list[len(list)-1]), step)
	}
	var terms []string
	for _, run := range runs(list) {
		if isRun(run) {
			terms = append(terms, text(run[0])+mark+text(run[len(run)-1]))
		} else {
			terms = append(terms, words(run, text)...)
		}
	}
	return strings.Join(terms, ",")
}

func cronValues(list []int) string     { return values(list, "-", strconv.Itoa) }
func calendarValues(list []int) string { return values(list, "..", strconv.Itoa) }

// weekdayList writes a set of weekdays, from Monday.
func weekdayList(set uint8, mark string) string {
	return values(members(uint64(set>>1|set<<6&(1<<6))), mark, func(i int) string { return weekdayWord((i + 1) % 7)[:3] })
}

// cron writes a cron expression.
func (p *phrase) cron(minute, hour string, d picked) (string, *Error) {
	if d.firstWorkday {
		return p.calendarLines(d, []string{calendarClock(minute, hour)})
	}
	date, month := "*", "*"
	if d.named && d.weekdays == 0 && d.last == 0 && d.nth == [6]uint8{} {
		date = cronValues(members(uint64(d.dates)))
		if d.lastDay {
			date = join(date, ",", "L")
		}
		if d.lastWorkday {
			date = "LW"
		}
	}
	if p.months != 0 && p.months != everyMonth {
		month = values(members(uint64(p.months)), "-", strconv.Itoa)
	}
	return strings.Join([]string{minute, hour, date, month, d.cronWeekdays()}, " "), nil
}

// cronWeekdays writes the field of weekdays.
func (d *picked) cronWeekdays() string {
	var terms []string
	for n, set := range d.nth {
		for _, day := range members(uint64(set)) {
			terms = append(terms, strings.ToUpper(weekdayWord(day)[:3])+"#"+strconv.Itoa(n))
		}
	}
	for _, day := range members(uint64(d.last)) {
		terms = append(terms, strconv.Itoa(day)+"L")
	}
	switch {
	case terms != nil:
		return strings.Join(terms, ",")
	case d.weekdays == 0 || d.weekdays == everyWeekday:
		return "*"
	case d.weekdays&1 != 0: // Sunday ends no range
		return strings.ToUpper(join(weekdayList(d.weekdays&^1, "-"), ",", "Sun"))
	}
	return strings.ToUpper(weekdayList(d.weekdays, "-"))
}

// calendarClock writes the time of a line for two fields of cron.
func calendarClock(minute, hour string) string {
	if first, step, ok := strings.Cut(minute, "/"); ok && first == "*" {
		minute = "0/" + step
	}
	if first, step, ok := strings.Cut(hour, "/"); ok && first == "*" {
		hour = "0/" + step
	}
	return hour + ":" + minute
}

// calendarLines writes a line of OnCalendar for each kind of days and each time.
func (p *phrase) calendarLines(d picked, clocks []string) (string, *Error) {
	days, err := p.calendarDays(d)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, day := range days {
		for _, clock := range clocks {
			lines = append(lines, join(day, " ", clock))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// calendarDays returns the weekdays and dates of lines of OnCalendar.
func (p *phrase) calendarDays(d picked) (days []string, err *Error) {
	month := "*"
	if p.months != 0 && p.months != everyMonth {
		month = calendarValues(members(uint64(p.months)))
	}
	add := func(weekdays uint8, date string) { days = append(days, join(weekdayList(weekdays, ".."), " ", date)) }
	switch {
	case d.lastWorkday:
		return nil, p.fault("the last workday cannot have times that differ in hour and minute: write a schedule for each")
	case d.firstWorkday:
		add(workdays, "*-"+month+"-01")
		add(1<<time.Monday, "*-"+month+"-02,03")
		return days, nil
	}
	for n, set := range d.nth {
		for _, day := range members(uint64(set)) {
			add(1<<day, "*-"+month+"-"+strconv.Itoa(7*n-6)+".."+strconv.Itoa(min(7*n, 31)))
		}
	}
	if d.dates != 0 {
		add(0, "*-"+month+"-"+calendarValues(members(uint64(d.dates))))
	}
	if d.lastDay {
		add(0, "*-"+month+"~01")
	}
	if d.last != 0 {
		add(d.last, "*-"+month+"~07/1")
	}
	switch {
	case days != nil:
	case month != "*":
		add(d.weekdays, "*-"+month+"-*")
	default:
		add(d.weekdays, "")
	}
	return days, nil
}

// spellPeriod writes a period in its largest unit, such as 90 minutes.
func spellPeriod(d time.Duration) string {
	for unit := unitWeek; unit > unitSecond; unit-- {
		if d%unitLengths[unit] == 0 {
			return plural(int(d/unitLengths[unit]), unitNames[unit])
		}
	}
	return plural(int(d/time.Second), "second")
}
