package declare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds how many errors of a file are told.
const maxErrors = 100

// Position is a place in a file. Both numbers count from 1; the zero Position is unknown.
type Position struct {
	Line   int
	Column int // in characters
}

// Error says what is wrong with a file, and where. Its text is fit to be shown to anyone: it has no secret.
type Error struct {
	// File is the name of the file, as given to [Parse].
	File string
	Position
	// Text says what is wrong.
	Text string
}

// Error returns the text with its place, as in "checks.yaml:12:5: timeout is too small: 59, the minimum is 60".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Errors are the errors of one file, in the order of their lines.
type Errors []*Error

// Error returns the errors, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors one by one.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// report collects the errors of a file.
type report struct {
	file string
	list Errors
}

func (r *report) add(at Position, format string, args ...any) {
	if len(r.list) < maxErrors {
		r.list = append(r.list, &Error{File: r.file, Position: at, Text: fmt.Sprintf(format, args...)})
	}
}

// err returns what was collected, or nil.
func (r *report) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.list
}
