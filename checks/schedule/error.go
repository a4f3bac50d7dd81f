package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says why an expression or the name of a time zone is not valid.
type Error struct {
	// Field is the field at fault: "minute", "hour", "day of month", "month", "weekday", "year", "second", "tz", or
	// "schedule" if it is none of these.
	Field string
	// Reason says what is wrong, for example "25 is not in 0–23".
	Reason string
	// Offset is the byte offset of the fault in the expression that [Parse] was given, or -1 if no single place is at
	// fault. In errors of [LoadLocation] it is -1.
	Offset int
	// Line is the number of the line at fault, from 1, if the expression has several lines. Otherwise it is 0.
	Line int
}

// Error returns the line if there is one, the field and the reason, for example "hour: 25 is not in 0–23".
func (e *Error) Error() string {
	text := e.Field + ": " + e.Reason
	if e.Line > 0 {
		text = "line " + strconv.Itoa(e.Line) + ": " + text
	}
	return text
}

// fail returns an error about p.
func (p part) fail(field, format string, args ...any) *Error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...), Offset: p.offset}
}

// quotedLimit is how many runes of the user's text an error repeats.
const quotedLimit = 24

// quote returns the user's text for an error: in quotation marks, escaped where it is not printable, and cut if it is
// long.
func quote(s string) string {
	runes := 0
	for i := range s {
		if runes == quotedLimit {
			s = s[:i] + "…"
			break
		}
		runes++
	}
	return strconv.Quote(s)
}

// bare returns the user's text without quotation marks if it is short and printable ASCII without blanks, else as quote
// does.
func bare(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if s == "" || len(s) > quotedLimit || strings.ContainsFunc(s, odd) {
		return quote(s)
	}
	return s
}
