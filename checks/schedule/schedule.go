package schedule

import (
	"strings"
	"time"
	"unicode"
)

// A Schedule says when runs of a job are expected. [Parse] makes one. It is immutable and safe for concurrent use.
type Schedule interface {
	// Next returns the first instant strictly after t at which a run is expected, in t's location. It reads the
	// expression in t's location, except for a line of an OnCalendar expression that names its own zone. The zero Time
	// means that no further run is expected.
	Next(t time.Time) time.Time

	// String returns the expression exactly as it was given to [Parse].
	String() string

	explain(loc *time.Location) string
	rules() []rule
}

var (
	_ Schedule = (*cron)(nil)
	_ Schedule = (*onCalendar)(nil)
)

// Kind names the language of an expression.
type Kind string

const (
	// KindCron is a cron expression of five fields.
	KindCron Kind = "cron"
	// KindOnCalendar is systemd's OnCalendar language, in one or more lines.
	KindOnCalendar Kind = "oncalendar"
)

// Detect returns the language in which [Read] reads expr, and [Parse] if it accepts it: [KindCron] for a single line of five
// parts separated by blanks, [KindOnCalendar] for anything else. It ignores blanks and line breaks around the expression. The
// expression need not be valid.
func Detect(expr string) Kind { return detect(Plain(expr)) }

func detect(expr string) Kind {
	trimmed := strings.TrimSpace(expr)
	if strings.Contains(trimmed, "\n") || len(strings.Fields(trimmed)) != cronParts {
		return KindOnCalendar
	}
	return KindCron
}

// Parse parses an expression in the language that [Detect] returns. The string may have any length and content. The
// error is an [*Error], which names the field and the place at fault.
//
// Parse accepts a well-formed expression that never fires, such as "2001-01-01" or "0 0 */31 * 5L". The Next of such a
// Schedule returns the zero Time.
//
// Parse loads each zone that an OnCalendar expression names, see [LoadLocation]. For what people paste, use [Read].
func Parse(expr string) (Schedule, error) {
	s, err := parse(expr)
	if err != nil {
		return nil, advise(expr, err)
	}
	return s, nil
}

func parse(expr string) (Schedule, *Error) {
	if detect(expr) == KindCron {
		return parseCron(expr)
	}
	return parseOnCalendar(expr)
}

// nextAfter calls next to get the first Unix time after t, and keeps the arguments and the result in the years 1 to 9999.
func nextAfter(t time.Time, next func(from int64, loc *time.Location) (int64, bool)) time.Time {
	from := t.Unix()
	if from >= endSecond {
		return time.Time{}
	}
	at, ok := next(max(from, firstSecond), t.Location())
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).In(t.Location())
}

// A part is a piece of an expression.
type part struct {
	text   string
	offset int // of its first byte in the expression
}

// split returns the pieces of p between its blanks.
func (p part) split() []part {
	var parts []part
	start := -1
	for i, r := range p.text + " " {
		switch blank := unicode.IsSpace(r); {
		case blank && start >= 0:
			parts = append(parts, part{p.text[start:i], p.offset + start})
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return parts
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
