package quiet

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/wallclock"
)

// maxWindows is the largest number of windows in quiet hours.
const maxWindows = 20

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

// A weekly window occurs on some days of each week.
type weekly struct {
	days     [daysPerWeek]bool // on which it begins; 0 is Sunday
	from, to int               // minutes since midnight of that day; to is later, by 24 hours at most
}

// A span is a stretch of time from the instant begin up to, but not including, end.
type span struct{ begin, end int64 }

// Error says why quiet hours are invalid.
type Error struct {
	// Window is the window at fault, as written, or "" if the fault is in all windows together.
	Window string
	// Reason says why, for example "25:00 is not a time of day".
	Reason string
}

// Error returns the window in quotation marks and the reason, or the reason alone.
func (e *Error) Error() string {
	if e.Window == "" {
		return e.Reason
	}
	return fmt.Sprintf("%q: %s", e.Window, e.Reason)
}

// Until reports whether the instant t is in quiet hours, and returns when they end, in UTC. Overlapping and adjacent
// windows count as one. Outside quiet hours, end is the zero Time.
func (h Hours) Until(t time.Time) (end time.Time, quiet bool) {
	u, quiet := h.windowEnd(t.Unix())
	if !quiet {
		return time.Time{}, false
	}
	// The loop ends: Parse leaves a minute of the week that no weekly window covers, and the other windows are finite.
	for more := true; more; {
		var later int64
		if later, more = h.windowEnd(u); more {
			u = later
		}
	}
	return time.Unix(u, 0).UTC(), true
}

// Next returns the first stretch of quiet hours that begins after the instant t, in UTC. Overlapping and adjacent windows
// count as one. If none begins any more, ok is false.
func (h Hours) Next(t time.Time) (begin, end time.Time, ok bool) {
	u := t.Unix()
	if end, quiet := h.Until(t); quiet {
		u = end.Unix() - 1 // no window contains the end, so none begins there
	}
	first, found := h.windowBegin(u)
	if !found {
		return time.Time{}, time.Time{}, false
	}
	begin = time.Unix(first, 0).UTC()
	end, _ = h.Until(begin)
	return begin, end, true
}

// windowBegin returns the earliest begin of a window after the instant u, and whether there is such a window.
func (h Hours) windowBegin(u int64) (begin int64, found bool) {
	consider := func(s span) {
		if s.begin > u && s.begin < s.end && (!found || s.begin < begin) {
			begin, found = s.begin, true
		}
	}
	if len(h.weekly) > 0 {
		today := floorDiv(wallclock.At(h.loc, u).Wall(u), secondsPerDay)
		// A clock that is set forward can skip the window of one week.
		for day := today - 1; day <= today+2*daysPerWeek+1 && !found; day++ {
			h.begins(day, consider)
		}
	}
	for _, s := range h.once {
		consider(s)
	}
	return begin, found
}

// begins passes the weekly windows that begin on a day, counted from January 1, 1970, to a function.
func (h Hours) begins(day int64, to func(span)) {
	weekday := mod(day+4, daysPerWeek) // January 1, 1970 was a Thursday
	for _, w := range h.weekly {
		if w.days[weekday] {
			to(h.span(day*secondsPerDay+int64(w.from)*60, day*secondsPerDay+int64(w.to)*60))
		}
	}
}

// windowEnd returns the latest end of the windows that contain the instant u, and whether there is such a window.
func (h Hours) windowEnd(u int64) (end int64, found bool) {
	extend := func(s span) {
		if s.begin <= u && u < s.end && (!found || s.end > end) {
			end, found = s.end, true
		}
	}
	for _, s := range h.once {
		extend(s)
	}
	if len(h.weekly) == 0 {
		return end, found
	}
	today := floorDiv(wallclock.At(h.loc, u).Wall(u), secondsPerDay)
	// A window may have begun the day before, and a zone that crosses the date line skips or repeats a day.
	for day := today - 3; day <= today+1; day++ {
		h.begins(day, extend)
	}
	return end, found
}

// span returns the stretch of time between two times of the wall clock, from the first instant of one to the last
// instant of the other.
func (h Hours) span(from, to int64) span {
	begin, _, _ := wallclock.Passings(h.loc, from)
	_, end, _ := wallclock.Passings(h.loc, to)
	return span{begin, end}
}

// coverWeek reports whether windows cover every minute of the week.
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
