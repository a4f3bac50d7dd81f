package schedule

import (
	"fmt"
	"slices"
	"strconv"
)

// A phrase lists up to maxClockTimes irregular times of a day one by one, and up to fewClockTimes regular ones.
const (
	maxClockTimes = 8
	fewClockTimes = 4
)

// clockwork is the time of day of a pattern.
type clockwork struct {
	hours, minutes, seconds []int
	daily                   bool // every day matches, so hours may continue after midnight
}

func (p *pattern) clockwork() clockwork {
	return clockwork{
		hours:   members(uint64(p.hours)),
		minutes: members(p.minutes),
		seconds: members(p.seconds),
		daily:   p.days.matchesAll() && p.months == everyMonth && p.years == nil,
	}
}

// phrase describes the times. single is true for times such as "at 09:00", false for a frequency such as "every hour".
func (w clockwork) phrase() (text string, single bool) {
	if len(w.seconds) > 1 || w.seconds[0] != 0 {
		return w.secondsPhrase()
	}
	if len(w.minutes) == 1 {
		return w.hourly(w.minutes[0])
	}
	step, regular := progression(w.minutes)
	frequency, times := everyUnit(step, "minute"), len(w.minutes)*len(w.hours)
	switch first := w.minutes[0]; {
	case times <= fewClockTimes:
		return w.clockTimes(), true
	case isCycle(w.minutes, 60) && first == 0:
		return frequency + w.window(), false
	case times <= maxClockTimes && !isRun(w.minutes):
		return w.clockTimes(), true
	case !regular || len(w.minutes) <= 3 && !isRun(w.minutes):
		return "at " + list(words(w.minutes, strconv.Itoa), "and") + " minutes past " + w.hourTail(), false
	case len(w.hours) == 1:
		return frequency + " " + fromTo(w.minutes, func(m int) string { return hhmm(w.hours[0], m) }), false
	}
	minute := func(m int) string { return "minute " + strconv.Itoa(m) }
	return frequency + " " + fromTo(w.minutes, minute) + " of " + w.hourTail(), false
}

// hourly describes the times of a pattern with a single minute.
func (w clockwork) hourly(minute int) (text string, single bool) {
	step, regular := progression(w.hours)
	switch {
	case len(w.hours) == 24 && minute == 0:
		return "every hour", false
	case len(w.hours) == 24:
		return "at " + plural(minute, "minute") + " past every hour", false
	case isCycle(w.hours, 24) && w.hours[0] == 0 && minute == 0 && len(w.hours) > 2:
		return everyUnit(step, "hour"), false
	case regular && len(w.hours) > 3:
		return everyUnit(step, "hour") + " " + fromTo(w.hours, func(h int) string { return hhmm(h, minute) }), false
	}
	return w.clockTimes(), true
}

// clockTimes lists all times of a day.
func (w clockwork) clockTimes() string {
	var times []string
	for _, h := range w.hours {
		for _, m := range w.minutes {
			for _, s := range w.seconds {
				text := hhmm(h, m)
				if len(w.seconds) > 1 || s != 0 {
					text += fmt.Sprintf(":%02d", s)
				}
				times = append(times, text)
			}
		}
	}
	return "at " + list(times, "and")
}

// window returns the hours as a limit of a frequency, such as " from 09:00 to 17:59", or "" for all.
func (w clockwork) window() string {
	if len(w.hours) == 24 {
		return ""
	}
	if isCycle(w.hours, 24) && len(w.hours) > 2 {
		return " during " + w.hourTail()
	}
	parts := runs(w.hours)
	if n := len(parts) - 1; w.daily && n > 0 && w.hours[0] == 0 && w.hours[len(w.hours)-1] == 23 {
		// The last run continues with the first after midnight.
		parts[n] = slices.Concat(parts[n], parts[0])
		parts = parts[1:]
	}
	if len(parts) > 3 {
		return " during " + w.hourTail()
	}
	spans := make([]string, len(parts))
	for i, run := range parts {
		spans[i] = wholeHours(run)
	}
	return " " + list(spans, "and")
}

// hourTail names the hours, for sentences such as "17 minutes past every hour".
func (w clockwork) hourTail() string {
	switch step, _ := progression(w.hours); {
	case len(w.hours) == 24:
		return "every hour"
	case isCycle(w.hours, 24) && len(w.hours) > 2 && w.hours[0] == 0:
		return "every " + ordinal(step) + " hour"
	case isCycle(w.hours, 24) && len(w.hours) > 2:
		return "every " + ordinal(step) + " hour from " + hhmm(w.hours[0], 0)
	case isRun(w.hours):
		return "every hour " + wholeHours(w.hours)
	}
	hours := list(ranges(w.hours, func(h int) string { return fmt.Sprintf("%02d", h) }), "and")
	if len(w.hours) == 1 {
		return "the hour of " + hours
	}
	return "the hours of " + hours
}

// wholeHours returns a text such as "from 09:00 to 17:59".
func wholeHours(run []int) string {
	return "from " + hhmm(run[0], 0) + " to " + hhmm(run[len(run)-1], 59)
}

// secondsPhrase is like phrase, for times with seconds.
func (w clockwork) secondsPhrase() (text string, single bool) {
	if len(w.hours)*len(w.minutes)*len(w.seconds) <= maxClockTimes {
		return w.clockTimes(), true
	}
	step, _ := progression(w.seconds)
	regular := isCycle(w.seconds, 60) && w.seconds[0] == 0
	first, last := w.minutes[0], w.minutes[len(w.minutes)-1]
	if regular && len(w.minutes) < 60 && len(w.hours) == 1 && last-first < len(w.minutes) {
		return fmt.Sprintf("%s from %s:00 to %s:59", everyUnit(step, "second"), hhmm(w.hours[0], first), hhmm(w.hours[0], last)), false
	}
	var minutes, tail string
	switch minuteStep, _ := progression(w.minutes); {
	case len(w.minutes) == 60:
		minutes, tail = "every minute", w.window()
	case isCycle(w.minutes, 60) && first == 0 && len(w.minutes) > 4:
		minutes, tail = "every "+ordinal(minuteStep)+" minute", " of "+w.hourTail()
	case len(w.minutes) == 1:
		minutes, tail = "minute "+strconv.Itoa(first), " of "+w.hourTail()
	default:
		minutes, tail = "minutes "+list(ranges(w.minutes, strconv.Itoa), "and"), " of "+w.hourTail()
	}
	switch {
	case regular && len(w.minutes) == 60:
		return everyUnit(step, "second") + tail, false
	case regular:
		return everyUnit(step, "second") + " in " + minutes + tail, false
	case len(w.seconds) == 1:
		return "at " + plural(w.seconds[0], "second") + " past " + minutes + tail, false
	}
	return "at " + list(ranges(w.seconds, strconv.Itoa), "and") + " seconds past " + minutes + tail, false
}
