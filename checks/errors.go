package checks

import "errors"

// Errors to branch on with errors.Is. The server maps each to one HTTP status, and the client maps that back.
var (
	// ErrNotFound says that the check, ping, body, project, key or integration does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNotPaused says that a check was to be resumed that is not paused (API-V3.md section 4.6).
	ErrNotPaused = errors.New("check is not paused")
	// ErrCheckLimit says that the account has as many checks as its plan allows (section 4.3).
	ErrCheckLimit = errors.New("the account has reached its check limit")
	// ErrAmbiguousSlug says that several checks of the project have the slug of a ping.
	ErrAmbiguousSlug = errors.New("ambiguous slug")
	// ErrExists says that something with this name exists already.
	ErrExists = errors.New("already exists")
)

// FieldError says that a value was refused: which one, and why. Its text names the field and the bound, as in
// "timeout is too small: 59, the minimum is 60".
type FieldError struct {
	// Field is the name of the field as in API-V3.md section 2.1, for example "timeout".
	Field string
	// Reason continues the field's name to a sentence, for example "is too small: 59, the minimum is 60".
	Reason string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Reason }
