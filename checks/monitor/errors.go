package monitor

import "fmt"

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

// about says what an error is about. It leaves nil alone.
func about(kind string, subject any, err error) error {
	if err == nil {
		return nil
	}
	return &Error{About: fmt.Sprintf("%s %v", kind, subject), Err: err}
}
