package schedule

import (
	"errors"
	"regexp"
	"time"
)

// maxPhrase bounds a phrase, in bytes.
const maxPhrase = 200

// Understood is what [FromWords] makes of a text. Either Expression or Every is set.
type Understood struct {
	// Expression is a cron or OnCalendar expression, which [Read] accepts, or "" for an interval.
	Expression string
	// Every is the time between two runs, in whole seconds, if no expression says the same, as for "every 90 minutes"; otherwise 0.
	Every time.Duration
	// Taken says in full sentences what the text leaves open and how it was read, such as the hour of "every Monday". It is empty
	// if the text can mean only one thing.
	Taken string
}

// FromWords reads a schedule in English words, such as "every day at 3" or "first Monday of the month 9:00". Section Words of
// the package comment has the grammar. A text that [Read] accepts is an expression, and is returned unchanged. FromWords is for
// what people type; programs should take expressions, by [Parse] or [Read].
//
// The error is an [*Error] with the place at fault. It asks if the text can mean several things, and says what can be written
// if FromWords does not understand it. A phrase has at most 200 bytes.
func FromWords(text string) (Understood, error) {
	_, err := Read(text)
	if err == nil {
		return Understood{Expression: text}, nil
	}
	if !mayBeWords.MatchString(text) || ofExpressions.MatchString(text) {
		return Understood{}, err
	}
	u, failed := understand(text)
	if failed == nil {
		return u, nil
	}
	if isEnglish(text) {
		err = failed
	}
	return Understood{}, err
}

var (
	// mayBeWords matches texts with a letter, and dates such as 3/4.
	mayBeWords = regexp.MustCompile(`\pL|^\s*\d+/\d+(/\d+)?\s*$`)
	// ofExpressions matches what only expressions have, in this or in another dialect.
	ofExpressions = regexp.MustCompile("[*#=~_()<>\"`$\\\\]|\\.\\.|@\\pL|\\d-\\d+-\\d")
	wordForm      = regexp.MustCompile(`\pL[\pL.'’]*`)
)

// isEnglish reports whether an error about words helps more than one about an expression: unless the text looks like cron, or
// like a time with a zone, and has no word that these do not have.
func isEnglish(text string) bool {
	for _, found := range wordForm.FindAllString(text, -1) {
		switch w := wordOf(found); w.class {
		case classUnknown, classWeekday, classMonth:
		default:
			if len(w.text) > 1 {
				return true
			}
		}
	}
	parts := part{text, 0}.split()
	isZone := isDigit(parts[0].text[0]) && similarZone(parts[len(parts)-1].text) != ""
	return !isZone && (len(parts) < cronParts || !looksLikeCron(parts))
}

// understand reads a phrase.
func understand(text string) (Understood, *Error) {
	if len(text) > maxPhrase {
		return Understood{}, &Error{Field: "schedule", Reason: "the phrase is too long: the maximum is 200 bytes", Offset: -1}
	}
	p := phrase{text: text}
	var err *Error
	if p.words, err = split(text); err != nil {
		return Understood{}, err
	}
	if err := p.parse(); err != nil {
		return Understood{}, err
	}
	u, err := p.resolve()
	if err != nil || u.Expression == "" {
		return u, err
	}
	if _, err := Read(u.Expression); err != nil { // a day that no month has
		reason := err.Error()
		if e, ok := errors.AsType[*Error](err); ok {
			reason = e.Reason
		}
		return Understood{}, &Error{Field: "schedule", Reason: reason, Offset: -1}
	}
	return u, nil
}

// writeWords ends the error of what is not understood.
const writeWords = `; write it like "every day at 3:00", "weekdays 7:30", "first Monday of the month 9:00" or "every 90 minutes", or as cron or OnCalendar`
