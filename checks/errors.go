package checks

import (
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// Errors to branch on with errors.Is. The server answers each with its own HTTP status, and the client maps it back.
var (
	// ErrNotFound reports that the check, ping, body, project, key or integration does not exist.
	ErrNotFound = errors.New("not found")
	// ErrKeyExpired is an [ErrNotFound] of an API key that has expired.
	ErrKeyExpired = fmt.Errorf("%w: the API key has expired", ErrNotFound)
	// ErrNotPaused reports a resume of a check that is not paused.
	ErrNotPaused = errors.New("check is not paused")
	// ErrNotDown reports an acknowledgement of a check that is not down.
	ErrNotDown = errors.New("check is not down")
	// ErrAcknowledged reports an acknowledgement of an outage that somebody else has acknowledged.
	ErrAcknowledged = errors.New("already acknowledged")
	// ErrChanged reports that something else has changed the check.
	ErrChanged = errors.New("the check has changed")
	// ErrCheckLimit reports that the account has as many checks as its plan allows.
	ErrCheckLimit = errors.New("the account has reached its check limit")
	// ErrAmbiguousSlug reports a slug that several checks of the project have.
	ErrAmbiguousSlug = errors.New("ambiguous slug")
	// ErrExists reports that the name or the identifier is taken.
	ErrExists = errors.New("already exists")
	// ErrBodyUnavailable reports that object storage is unavailable, so its bodies cannot be read now. The operation may
	// succeed later.
	ErrBodyUnavailable = errors.New("the object storage is unavailable")
	// ErrBodyCorrupt reports that object storage returned something else than the body that the ping had.
	ErrBodyCorrupt = errors.New("the object storage returned another body than the ping had")
	// ErrUnavailable reports that the database or the server cannot be reached or is too busy. The operation may succeed
	// later.
	ErrUnavailable = errors.New("the database is unavailable")
)

// FieldError reports a value that was refused. Its text names the field and the bound, as in "timeout is too small: 59,
// the minimum is 60", and may be shown to the user.
type FieldError struct {
	// Field is the name of the field as in section 2.1 of the API, for example "timeout".
	Field string
	// Reason completes the sentence that begins with the field, for example "is too small: 59, the minimum is 60".
	Reason string
	// Err is the cause, such as a *[schedule.Error] with the place of the fault, or nil. An error that the client read
	// from a response has none.
	Err error
}

// maxReason bounds a reason in the text of a [FieldError], in bytes: it may quote the value.
const maxReason = 1000

// Error returns the field and the reason, which is cut after 1000 bytes.
func (e *FieldError) Error() string { return e.Field + " " + prose.Brief(e.Reason, maxReason) }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// CreateRateError reports that the pings of a project create checks too fast.
type CreateRateError struct {
	// PerMinute is the limit: checks a minute.
	PerMinute int
	// RetryAfter is how long to wait before the next one.
	RetryAfter time.Duration
}

func (e *CreateRateError) Error() string {
	return fmt.Sprintf("too many new checks: pings may create %d a minute", e.PerMinute)
}
