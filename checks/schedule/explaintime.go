package schedule

import (
	"fmt"
	"slices"
	"strconv"
)

// maxClockTimes is how many times of a day are listed one by one, and
// fewClockTimes how many are so even where they are regular.
const (
	maxClockTimes = 8
	fewClockTimes = 4
)

// clockwork is what a calendar says about the time of day.
type clockwork struct {
	hours, minutes, seconds []int
	// daily is set when every day matches: then hours may run over midnight.
	daily bool
}

func (p *pattern) clockwork() clockwork {
	return clockwork{
		hours:   members(uint64(p.hours)),
		minutes: members(p.minutes),
		seconds: members(p.seconds),
		daily:   p.days.matchesAll() && p.months == everyMonth && p.years == nil,
	}
}

// phrase describes the times. It reports whether they are single times, such as
// "at 09:00", which want a day, rather than "every hour".
func (w clockwork) phrase() (text string, single bool) {
	if len(w.seconds) > 1 || w.seconds[0] != 0 {
		return w.secondsPhrase()
	}
	if len(w.minutes) == 1 {
		return w.hourly(w.minutes[0])
	}
	step, even := cycle(w.minutes, 60) // step is 0 where it is not the same everywhere
	first, last := w.minutes[0], w.minutes[len(w.minutes)-1]
	switch {
	case len(w.minutes)*len(w.hours) <= fewClockTimes:
		return w.clockTimes(), true
	case even && first == 0:
		return everyUnit(step, "minute") + w.window(), false
	case len(w.minutes)*len(w.hours) <= maxClockTimes && !isRun(w.minutes):
		return w.clockTimes(), true
	case even && len(w.minutes) > 3:
		text = everyUnit(step, "minute")
	case len(w.minutes) > 3 && step > 0 || isRun(w.minutes):
		if len(w.hours) == 1 {
			h := w.hours[0]
			return everyUnit(step, "minute") + " from " + hhmm(h, first) + " to " + hhmm(h, last), false
		}
		text = everyUnit(step, "minute")
	default:
		past := list(words(w.minutes, strconv.Itoa), "and") + " minutes past "
		return "at " + past + w.hourTail(), false
	}
	return fmt.Sprintf("%s from minute %d to minute %d of %s", text, first, last, w.hourTail()), false
}

func isRun(values []int) bool {
	step, ok := progression(values)
	return ok && step == 1 && len(values) > 2
}

// hourly describes the times at which the minute hand stands at one place.
func (w clockwork) hourly(minute int) (text string, single bool) {
	first, last := w.hours[0], w.hours[len(w.hours)-1]
	step, even := progression(w.hours)
	switch {
	case len(w.hours) == 24 && minute == 0:
		return "every hour", false
	case len(w.hours) == 24:
		return "at " + plural(minute, "minute") + " past every hour", false
	case even && first == 0 && minute == 0 && step*len(w.hours) == 24 && len(w.hours) > 2:
		return everyUnit(step, "hour"), false
	case even && len(w.hours) > 3:
		return everyUnit(step, "hour") + " from " + hhmm(first, minute) + " to " + hhmm(last, minute), false
	}
	return w.clockTimes(), true
}

// clockTimes lists all times of a day.
func (w clockwork) clockTimes() string {
	var times []string
	for _, h := range w.hours {
		for _, m := range w.minutes {
			for _, s := range w.seconds {
				if text := hhmm(h, m); len(w.seconds) == 1 && s == 0 {
					times = append(times, text)
				} else {
					times = append(times, fmt.Sprintf("%s:%02d", text, s))
				}
			}
		}
	}
	return "at " + list(times, "and")
}

// window tells to which hours a frequency is limited; it is empty if to none.
func (w clockwork) window() string {
	if len(w.hours) == 24 {
		return ""
	}
	if step, ok := cycle(w.hours, 24); ok && len(w.hours) > 2 {
		return " during " + everyOther(step, w.hours)
	}
	parts := runs(w.hours)
	if n := len(parts) - 1; w.daily && n > 0 && parts[0][0] == 0 && w.hours[len(w.hours)-1] == 23 {
		// The first run goes on from the last.
		parts[n] = slices.Concat(parts[n], parts[0])
		parts = parts[1:]
	}
	if len(parts) > 3 {
		return " during " + w.hourTail()
	}
	spans := make([]string, len(parts))
	for i, run := range parts {
		spans[i] = "from " + hhmm(run[0], 0) + " to " + hhmm(run[len(run)-1], 59)
	}
	return " " + list(spans, "and")
}

// hourTail names the hours, for sentences such as "17 minutes past every hour".
func (w clockwork) hourTail() string {
	first, last := w.hours[0], w.hours[len(w.hours)-1]
	if len(w.hours) == 24 {
		return "every hour"
	}
	if step, ok := cycle(w.hours, 24); ok && len(w.hours) > 2 {
		return everyOther(step, w.hours)
	}
	if isRun(w.hours) {
		return "every hour from " + hhmm(first, 0) + " to " + hhmm(last, 59)
	}
	two := func(h int) string { return fmt.Sprintf("%02d", h) }
	if len(w.hours) == 1 {
		return "the hour of " + two(first)
	}
	return "the hours of " + list(ranges(w.hours, two), "and")
}

// everyOther describes hours at an even distance, all day long.
func everyOther(step int, hours []int) string {
	text := "every " + ordinal(step) + " hour"
	if hours[0] != 0 {
		text += " from " + hhmm(hours[0], 0)
	}
	return text
}

// secondsPhrase is phrase for times that are not all full minutes.
func (w clockwork) secondsPhrase() (text string, single bool) {
	if len(w.hours)*len(w.minutes)*len(w.seconds) <= maxClockTimes {
		return w.clockTimes(), true
	}
	step, even := cycle(w.seconds, 60)
	regular := even && w.seconds[0] == 0
	frequency := everyUnit(step, "second")
	past := "at " + list(ranges(w.seconds, strconv.Itoa), "and") + " seconds past "
	if len(w.seconds) == 1 {
		past = "at " + plural(w.seconds[0], "second") + " past "
	}
	if len(w.minutes) == 60 {
		if regular {
			return frequency + w.window(), false
		}
		return past + "every minute" + w.window(), false
	}
	if first, last := w.minutes[0], w.minutes[len(w.minutes)-1]; regular && len(w.hours) == 1 && last-first < len(w.minutes) {
		h := w.hours[0]
		return frequency + " from " + hhmm(h, first) + ":00 to " + hhmm(h, last) + ":59", false
	}
	var minutes string
	if step, ok := cycle(w.minutes, 60); ok && w.minutes[0] == 0 && len(w.minutes) > 4 {
		minutes = "every " + ordinal(step) + " minute"
	} else if len(w.minutes) == 1 {
		minutes = "minute " + strconv.Itoa(w.minutes[0])
	} else {
		minutes = "minutes " + list(ranges(w.minutes, strconv.Itoa), "and")
	}
	if regular {
		return frequency + " in " + minutes + " of " + w.hourTail(), false
	}
	return past + minutes + " of " + w.hourTail(), false
}
