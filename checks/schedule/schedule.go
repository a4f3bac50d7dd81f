package schedule

import (
	"strings"
	"time"
	"unicode"
)

// Schedule tells when runs of a job are expected. Every Schedule of this
// package is immutable and safe for concurrent use.
type Schedule interface {
	// Next returns the first instant strictly after t at which a run is
	// expected, in t's location. The wall clock is that of t.Location(); a line
	// of an OnCalendar expression that names its own zone is evaluated there
	// instead. The zero Time means that there is no such instant.
	Next(t time.Time) time.Time

	// String returns the expression exactly as it was given to [Parse]; for a
	// schedule made by [Period] it is the text of the duration, such as "1h0m0s".
	String() string
}

// Kind names the language of a schedule.
type Kind string

// The kinds of schedules.
const (
	// KindPeriod is a fixed period, made by [Period].
	KindPeriod Kind = "period"
	// KindCron is a cron expression of five fields.
	KindCron Kind = "cron"
	// KindOnCalendar is one or more lines of systemd's OnCalendar language.
	KindOnCalendar Kind = "oncalendar"
)

// Detect returns the language in which [Parse] reads expr (API-V3.md, 2.1,
// field schedule): [KindCron] for a single line of five parts separated by
// blanks, [KindOnCalendar] for anything else. Blanks around the expression, line
// breaks among them, do not count. The expression need not be valid.
func Detect(expr string) Kind {
	trimmed := strings.TrimSpace(expr)
	if strings.Contains(trimmed, "\n") || countParts(trimmed) != cronParts {
		return KindOnCalendar
	}
	return KindCron
}

// Parse reads a cron or OnCalendar expression; [Detect] says which of the two
// it takes expr for (API-V3.md, 2.1, field schedule). Any string of any length
// gets an answer; the error is always an [*Error] that names the field and,
// where it is known, the place.
//
// An expression that is well formed but never fires, such as "2001-01-01" or
// "0 0 */31 * 5L", is accepted: its Next returns the zero Time.
//
// Each zone that an OnCalendar expression names is loaded anew, see
// [LoadLocation]; [Zones.Parse] keeps them.
func Parse(expr string) (Schedule, error) {
	return parse(expr, loadLocation)
}

func parse(expr string, load zoneLoader) (Schedule, error) {
	if Detect(expr) == KindCron {
		return parseCron(expr)
	}
	return parseOnCalendar(expr, load)
}

// zoneLoader is loadLocation or another function that answers the same.
type zoneLoader func(name string) (*time.Location, *Error)

// part is a piece of an expression and its byte offset in the whole.
type part struct {
	text   string
	offset int
}

// appendParts appends to parts the pieces of s between its blanks. The first
// byte of s is at the given offset of the whole expression.
func appendParts(parts []part, s string, offset int) []part {
	start := -1
	for i, r := range s {
		switch blank := unicode.IsSpace(r); {
		case blank && start >= 0:
			parts = append(parts, part{s[start:i], offset + start})
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	if start >= 0 {
		parts = append(parts, part{s[start:], offset + start})
	}
	return parts
}

// countParts counts the pieces that appendParts would find, up to one more than
// a cron expression has.
func countParts(s string) int {
	n, inside := 0, false
	for _, r := range s {
		blank := unicode.IsSpace(r)
		if !blank && !inside {
			if n++; n > cronParts {
				break
			}
		}
		inside = !blank
	}
	return n
}

// cut splits a part at the first sep, like strings.Cut.
func (p part) cut(sep string) (before, after part, found bool) {
	i := strings.Index(p.text, sep)
	if i < 0 {
		return p, part{}, false
	}
	return part{p.text[:i], p.offset}, part{p.text[i+len(sep):], p.offset + i + len(sep)}, true
}

// trim removes blanks on both sides of a part.
func (p part) trim() part {
	left := strings.TrimLeftFunc(p.text, unicode.IsSpace)
	return part{strings.TrimRightFunc(left, unicode.IsSpace), p.offset + len(p.text) - len(left)}
}
