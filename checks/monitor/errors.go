package monitor

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Error says what an error of a [Monitor], a [Project] or one of the services is about, as in "monitor: check 3f…: not
// found". The errors that the methods name are below it: branch on them with [errors.Is] and [errors.As].
type Error struct {
	// About is the subject of the operation, such as "check 3f…".
	About string
	// Err is what went wrong.
	Err error
}

func (e *Error) Error() string { return "monitor: " + e.About + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Bare returns Err, for those who say themselves what it is about.
func (e *Error) Bare() error { return e.Err }

// about says what an error is about, unless it is nil or says so already.
func about(kind string, subject any, err error) error {
	if _, said := errors.AsType[*Error](err); err == nil || said {
		return err
	}
	return &Error{About: fmt.Sprintf("%s %v", kind, subject), Err: err}
}

// describe is about for the error of a method, in a deferred call.
func describe(err *error, kind string, subject any) { *err = about(kind, subject, *err) }

// StopError means that [Monitor.Stop] has not finished what was due when it was called.
type StopError struct {
	// Alerts is how many alerts remain: those that were due and were not sent in time, and those whose attempts have failed,
	// which are retried later. They stay in the outbox, so another monitor on the database, or this one at its next Start,
	// delivers them. It is -1 if it is unknown how many there are, because the database does not answer.
	Alerts int
	// Pings is how many pings were taken from jobs or from callers of [Monitor.Ping] and are not recorded: those that are lost
	// when the program ends, unless the database has just taken them, and those that jobs have lost before, because the
	// database refused them or too many waited.
	Pings int
	// Err is why: the error of the database or of the context of Stop, or [context.DeadlineExceeded] after
	// Config.StopTimeout. It is nil if Stop had the time: receivers refused the alerts, or pings were
	// lost before.
	Err error
}

func (e *StopError) Error() string {
	text := "monitor: stopped before all was done"
	switch {
	case e.Alerts < 0:
		text += "; alerts that remain: unknown"
	case e.Alerts > 0:
		text += fmt.Sprintf("; alerts that remain: %d", e.Alerts)
	}
	if e.Pings > 0 {
		text += fmt.Sprintf("; pings that are not recorded: %d", e.Pings)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *StopError) Unwrap() error { return e.Err }

// taken returns the error of an identifier that is in use.
func taken(field string, id uuid.UUID) error {
	return &checks.FieldError{Field: field, Reason: "is taken: " + id.String(), Err: checks.ErrExists}
}

// roomForOne refuses one more of something in a project that may have up to most of it, such as its channels.
func roomForOne(have, most int, things string) error {
	if have >= most {
		return &checks.FieldError{Field: "project", Reason: fmt.Sprintf("has %d %s, the maximum", have, things)}
	}
	return nil
}
