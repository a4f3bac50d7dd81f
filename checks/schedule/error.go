package schedule

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says why an expression or the name of a time zone is not valid.
type Error struct {
	// Field is the field at fault: "minute", "hour", "day of month", "month",
	// "weekday", "year", "second", "date", "time", "tz", or "schedule" where
	// the fault is in the expression as a whole.
	Field string
	// Reason says what is wrong, in words that fit after "field: ", for
	// example "25 is not in 0–23".
	Reason string
	// Offset is the byte offset of the fault in the expression as it was given
	// to [Parse], or -1 where no single place is at fault. For [LoadLocation]
	// it is always -1.
	Offset int
	// Line is the number of the line at fault, from 1, in an OnCalendar
	// expression of several lines. It is 0 for all others.
	Line int
}

// Error returns the field and the reason, for example "hour: 25 is not in
// 0–23", after the line's number where there is one.
func (e *Error) Error() string {
	text := e.Field + ": " + e.Reason
	if e.Line > 0 {
		text = "line " + strconv.Itoa(e.Line) + ": " + text
	}
	return text
}

// quotedLimit is how many runes of the user's text an error repeats.
const quotedLimit = 24

// quote returns the user's text as it may stand in an error: in quotation
// marks, escaped where it is not printable, and cut where it is long.
func quote(s string) string {
	if utf8.RuneCountInString(s) > quotedLimit {
		runes := 0
		for i := range s {
			if runes == quotedLimit {
				s = s[:i] + "…"
				break
			}
			runes++
		}
	}
	return strconv.Quote(s)
}

// bare returns the user's text without quotation marks if it is short and
// consists of plain letters, digits and punctuation, else as quote does.
func bare(s string) string {
	plain := func(r rune) bool { return r > ' ' && r < 0x7f }
	if s == "" || len(s) > quotedLimit || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return quote(s)
	}
	return s
}
