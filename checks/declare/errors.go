package declare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds the errors reported for one file.
const maxErrors = 100

// Position is a place in a file. Both numbers count from 1; the zero Position stands for an unknown place.
type Position struct {
	Line   int
	Column int // in characters
}

// Error is an error at a position of a file. It contains no secrets.
type Error struct {
	// File is the name of the file, as given to [Parse].
	File string
	Position
	// Text says what is wrong.
	Text string
}

// Error returns the position, if there is a file, and the text, such as "checks.yaml:12:5: timeout is too small: 59, the minimum is 60".
func (e *Error) Error() string {
	if e.File == "" {
		return e.Text
	}
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Errors are the errors of one file, in order of their positions.
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

// add adds an error, unless it repeats the previous one: aliases can reach the same place many times.
func (r *report) add(at Position, format string, args ...any) {
	e := Error{File: r.file, Position: at, Text: fmt.Sprintf(format, args...)}
	if n := len(r.list); n < maxErrors && (n == 0 || *r.list[n-1] != e) {
		r.list = append(r.list, &e)
	}
}

// err returns the collected errors in order, or nil.
func (r *report) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.list
}
