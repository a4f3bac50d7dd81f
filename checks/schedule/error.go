package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error says why an expression or the name of a time zone is not valid.
type Error struct {
	// Field is the field at fault: "minute", "hour", "day of month", "month", "weekday", "year", "second", "tz", or
	// "schedule" for the expression as a whole.
	Field string
	// Reason says what is wrong, for example "25 is not in 0–23".
	Reason string
	// Offset is the byte offset of the fault in the argument of [Parse], or -1 if no single place is at fault. In errors
	// of [LoadLocation] it is -1.
	Offset int
	// Line is the number of the line at fault, from 1, or 0 if the expression has a single line.
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

// Detail returns the text of an error of this package for a sentence that names the schedule or the time zone already: an [*Error] about
// either as a whole is without its field. The text of any other error is unchanged.
func Detail(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Field != "schedule" && e.Field != "tz" {
		return err.Error()
	}
	return strings.Replace(e.Error(), e.Field+": ", "", 1)
}

func (p part) fail(field, format string, args ...any) *Error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...), Offset: p.offset}
}

// quotedLimit is the maximum length of user input in an error, in characters.
const quotedLimit = 24

// quote formats user input for an error: in quotation marks, escaped where it is not printable, and cut if it is long.
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

// bare returns user input without quotation marks if it is short, printable ASCII without blanks. Otherwise it quotes it.
func bare(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if s == "" || len(s) > quotedLimit || strings.ContainsFunc(s, odd) {
		return quote(s)
	}
	return s
}
