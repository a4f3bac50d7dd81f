package channels

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// A Status is what a notification tells about a check.
type Status string

const (
	// Up tells that the check works again.
	Up Status = "up"
	// Down tells that the check has failed or that its ping is overdue.
	Down Status = "down"
)

// A Check is what a notification says about the check it is for. The fields are
// those of API-V3.md section 2.1, as they were when the status changed.
type Check struct {
	ID   uuid.UUID
	Name string
	Slug string
	// Tags is the list of tags, separated by blanks.
	Tags string
	Desc string
}

// A Notification is one alert: that a check went down, or that it is up again.
type Notification struct {
	// ID is the idempotency key. It stays the same when a delivery is tried
	// again, and differs between channels and between status changes, so a
	// receiver can drop what it has seen.
	ID string
	// Check is the check that the alert is for.
	Check Check
	// Status is the status that the check has now.
	Status Status
	// At is when the status changed, in UTC.
	At time.Time
	// LastPing is when the last ping came, in UTC; the zero time if none did.
	LastPing time.Time
	// Reason says in a few words of English why the status changed.
	Reason string
	// DownFor is how long the check was down, when Status is [Up]; otherwise 0.
	DownFor time.Duration
	// Test is true for an alert that a user asked for in order to try the
	// channel. Check, At and Reason are then made up.
	Test bool
}

// A Notifier delivers notifications to the channels of one kind.
//
// Notify sends n to c and returns nil once the receiver has taken it. An error
// means that the delivery is to be tried again later, with the same n.ID; an
// error made by [Permanent] means that it is not, because it cannot succeed.
// Texts of errors are kept and shown to users, so they must not contain secrets
// of c.Settings.
//
// Notify must return soon after ctx ends, must not change c.Settings or keep it,
// and must be safe for use by several goroutines at once.
type Notifier interface {
	Notify(ctx context.Context, c Channel, n Notification) error
}

// A NotifierFunc is a function that is a [Notifier].
type NotifierFunc func(ctx context.Context, c Channel, n Notification) error

var _ Notifier = NotifierFunc(nil)

// Notify calls f.
func (f NotifierFunc) Notify(ctx context.Context, c Channel, n Notification) error {
	return f(ctx, c, n)
}

// permanentError marks the error that it wraps.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks err as an error that trying again will not cure: the
// recipient does not exist, the webhook answers 410 Gone. The result has the
// text of err and wraps it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether err was marked by [Permanent], or wraps an error
// that was.
func IsPermanent(err error) bool {
	_, found := errors.AsType[permanentError](err)
	return found
}
