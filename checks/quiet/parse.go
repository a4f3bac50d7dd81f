package quiet

import (
	"fmt"
	"strings"
	"time"
)

// Parse parses quiet hours in the time zone loc, or in UTC if loc is nil. A text without windows means never quiet. Parse
// accepts windows in the past. It refuses weekly windows that together cover all time.
//
// The error is an [*Error] about the first window at fault. It does not depend on loc.
func Parse(text string, loc *time.Location) (Hours, error) {
	if loc == nil {
		loc = time.UTC
	}
	h := Hours{loc: loc}
	windows := 0
	for text := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		window := strings.TrimSpace(text)
		if window == "" {
			continue
		}
		if windows++; windows > maxWindows {
			return Hours{}, &Error{Reason: fmt.Sprintf("there are more than %d windows", maxWindows)}
		}
		if err := h.add(window); err != nil {
			return Hours{}, &Error{Window: window, Reason: err.Error()}
		}
	}
	if coverWeek(h.weekly) {
		return Hours{}, &Error{Reason: "the windows cover all time, so that no alert would ever be sent"}
	}
	return h, nil
}

// add parses one window.
func (h *Hours) add(window string) error {
	if from, to, found := strings.Cut(window, "/"); found {
		return h.addOnce(from, to)
	}
	from, to, found := strings.Cut(window, "-")
	if !found {
		return fmt.Errorf("it has no end: write it like 22:00-06:00")
	}
	fields := strings.Fields(from)
	if len(fields) == 0 {
		return fmt.Errorf("it has no start: write it like 22:00-06:00")
	}
	last := len(fields) - 1
	w := weekly{days: [daysPerWeek]bool{true, true, true, true, true, true, true}}
	var err error
	if last > 0 {
		if w.days, err = parseDays(strings.Join(fields[:last], " ")); err != nil {
			return err
		}
	}
	if w.from, err = parseBegin(fields[last]); err != nil {
		return err
	}
	if w.to, err = parseTime(strings.TrimSpace(to)); err != nil {
		return err
	}
	switch {
	case w.to == w.from:
		return fmt.Errorf("it ends when it begins: a whole day is 00:00-24:00")
	case w.to < w.from:
		w.to += minutesPerDay
	}
	h.weekly = append(h.weekly, w)
	return nil
}

// addOnce parses a window that occurs once, from its two ends.
func (h *Hours) addOnce(from, to string) error {
	begin, err := parseDate(from, parseBegin)
	if err != nil {
		return err
	}
	end, err := parseDate(to, parseTime)
	if err != nil {
		return err
	}
	if end <= begin {
		return fmt.Errorf("it ends before it begins")
	}
	h.once = append(h.once, h.span(begin, end))
	return nil
}

// parseDate reads a date and a time of the wall clock.
func parseDate(text string, parse func(string) (int, error)) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, fmt.Errorf("%q is not a date and a time like 2026-12-24 18:00", strings.TrimSpace(text))
	}
	date, err := time.Parse(time.DateOnly, fields[0])
	if err != nil {
		return 0, fmt.Errorf("%s is not a date like 2026-12-24", fields[0])
	}
	minutes, err := parse(fields[1])
	return date.Unix() + int64(minutes)*60, err
}

// parseBegin reads the time of day at which a window begins, in minutes since midnight.
func parseBegin(text string) (int, error) {
	minutes, err := parseTime(text)
	if err == nil && minutes == minutesPerDay {
		return 0, fmt.Errorf("a window cannot begin at 24:00: write 00:00 of the next day")
	}
	return minutes, err
}

// parseTime reads a time of day from 0:00 to 24:00, in minutes since midnight.
func parseTime(text string) (int, error) {
	hour, minute, found := strings.Cut(text, ":")
	h, hourOK := parseNumber(hour)
	m, minuteOK := parseNumber(minute)
	if !found || !hourOK || !minuteOK || len(minute) != 2 {
		return 0, fmt.Errorf("%q is not a time like 22:00", text)
	}
	if h*60+m > minutesPerDay || m > 59 {
		return 0, fmt.Errorf("%s is not a time of day", text)
	}
	return h*60 + m, nil
}

// parseNumber reads one or two digits.
func parseNumber(text string) (n int, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = 10*n + int(text[i]-'0')
	}
	return n, len(text) == 1 || len(text) == 2
}

// parseDays reads a list of days and ranges of days.
func parseDays(text string) (days [daysPerWeek]bool, err error) {
	for item := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(item, "..")
		first, err := parseDay(from)
		if err != nil {
			return days, err
		}
		last := first
		if isRange {
			if last, err = parseDay(to); err != nil {
				return days, err
			}
		}
		for day := first; ; day = (day + 1) % daysPerWeek {
			days[day] = true
			if day == last {
				break
			}
		}
	}
	return days, nil
}

// parseDay reads the name of a day; Sunday is 0.
func parseDay(text string) (int, error) {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text) // strings.EqualFold would take the long s of Unicode for an s
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := strings.ToLower(day.String()); lower == name || lower == name[:3] {
			return int(day), nil
		}
	}
	return 0, fmt.Errorf("%q is not a day like Mon", text)
}
