package quiet

import (
	"fmt"
	"time"
)

// MaxWindows is how many windows quiet hours may have.
const MaxWindows = 20

const (
	minutesPerDay = 24 * 60
	daysPerWeek   = 7
	secondsPerDay = 24 * 60 * 60
)

// Hours are quiet hours in a time zone. They are immutable and safe for concurrent use. The zero value is never quiet.
type Hours struct {
	loc    *time.Location
	weekly []weekly
	once   []span
}

// weekly is a window that comes every week on some days.
type weekly struct {
	days     [daysPerWeek]bool // on which it begins; 0 is Sunday
	from, to int               // minutes from the midnight before it begins; to is at most 24 hours after from
}

// span is a stretch of time, in Unix time. end is the first instant after it.
type span struct{ begin, end int64 }

// Error says that quiet hours were refused.
type Error struct {
	// Window is the window that is the cause, as it was given, or "" when it is all of them together.
	Window string
	// Reason says why, for example "25:00 is not a time of the day".
	Reason string
}

func (e *Error) Error() string {
	if e.Window == "" {
		return e.Reason
	}
	return fmt.Sprintf("%q: %s", e.Window, e.Reason)
}

// Until reports whether an instant is in quiet hours, and if so when they end, in UTC. Windows that overlap or adjoin
// count as one.
func (h Hours) Until(t time.Time) (end time.Time, quiet bool) {
	u, quiet := h.windowEnd(t.Unix())
	if !quiet {
		return time.Time{}, false
	}
	// This ends: a week has a minute that no weekly window covers, and the other windows are over some day.
	for more := true; more; {
		var later int64
		if later, more = h.windowEnd(u); more {
			u = later
		}
	}
	return time.Unix(u, 0).UTC(), true
}

// windowEnd returns the latest end of the windows that have an instant in them, and whether there are any.
func (h Hours) windowEnd(u int64) (end int64, found bool) {
	note := func(s span) {
		if s.begin <= u && u < s.end && (!found || s.end > end) {
			end, found = s.end, true
		}
	}
	for _, s := range h.once {
		note(s)
	}
	if len(h.weekly) == 0 {
		return end, found
	}
	today := floorDiv(u+offsetAt(h.loc, u), secondsPerDay)
	// A window may have begun the day before, and a zone that changes sides of the date line skips or repeats a day.
	for day := today - 3; day <= today+1; day++ {
		weekday := mod(day+4, daysPerWeek) // January 1, 1970 was a Thursday
		for _, w := range h.weekly {
			if w.days[weekday] {
				note(h.span(day*secondsPerDay+int64(w.from)*60, day*secondsPerDay+int64(w.to)*60))
			}
		}
	}
	return end, found
}

// span returns the stretch of time between two wall clock times.
func (h Hours) span(from, to int64) span {
	begin, _ := passings(h.loc, from)
	_, end := passings(h.loc, to)
	return span{begin, end}
}

// coverWeek reports whether the windows leave no minute of the week.
func coverWeek(windows []weekly) bool {
	var covered [daysPerWeek * minutesPerDay]bool
	left := len(covered)
	for _, w := range windows {
		for day, begins := range w.days {
			if !begins {
				continue
			}
			for minute := w.from; minute < w.to; minute++ {
				if at := &covered[(day*minutesPerDay+minute)%len(covered)]; !*at {
					*at = true
					left--
				}
			}
		}
	}
	return left == 0
}

func floorDiv(a, b int64) int64 { return (a - mod(a, b)) / b }

func mod(a, b int64) int64 { return (a%b + b) % b }
