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
// those of API-V3.md section 2.1, as they are when the notification is sent.
type Check struct {
	ID   uuid.UUID
	Name string
	Slug string
	// Tags is the list of tags, separated by blanks.
	Tags string
	Desc string
	// Project is the name of the project that the check belongs to.
	Project string
	// Timing says in English when pings are expected, such as
	// "every hour, 10 minutes of grace" or "0 3 * * * (Europe/Riga), 1 hour of grace".
	Timing string
	// NPings is how many pings there were.
	NPings int64
	// URL is the address of the check in the API, or empty when the sender
	// does not know its own address.
	URL string
}

// A Ping is what a notification says about the last ping of the check.
type Ping struct {
	// At is when the ping came, in UTC; the zero time if none did.
	At time.Time
	// Kind is success, start, fail, log or ign.
	Kind string
	// ExitStatus is the exit status that was signalled, or nil.
	ExitStatus *int
	// Body is the body of the ping, at most [MaxBody] bytes of it. It can be
	// any bytes.
	Body []byte
}

// MaxBody is how many bytes of a ping's body a notification carries at most.
const MaxBody = 10_000

// A Change is a change of a check's status that a notification sums up.
type Change struct {
	Status Status
	// At is when the status changed, in UTC.
	At time.Time
	// Reason says in a few words of English why.
	Reason string
}

// A Notification is one alert: that a check went down, or that it is up again.
type Notification struct {
	// ID is the idempotency key. It stays the same when a delivery is tried
	// again, and differs between channels and between alerts, so a receiver can
	// drop what it has seen.
	ID string
	// Incident stays the same for all alerts about one period of being down, to
	// all channels: a receiver can find by it what the alert that the check is
	// up again puts an end to.
	Incident string
	// Check is the check that the alert is for.
	Check Check
	// Status is the status that the alert tells.
	Status Status
	// At is when the status changed, in UTC.
	At time.Time
	// Ping is the last ping.
	Ping Ping
	// Reason says in a few words of English why the status changed.
	Reason string
	// DownFor is how long the check was down, when Status is [Up]; otherwise 0.
	DownFor time.Duration
	// Reminder is 0 for the alert itself, and counts from 1 for those that tell
	// again that the check is still down.
	Reminder int
	// Over is when the check came up again, when Status is [Down] and it did so
	// before the alert could be sent; otherwise the zero time.
	Over time.Time
	// Earlier are the changes before this one that were not told, because of
	// quiet hours or because the channel could not be reached, oldest first.
	Earlier []Change
	// Test is true for an alert that a user asked for in order to try the
	// channel. All but Check.Project is then made up.
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

// retryError says when to try again.
type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter marks err as one that asks for a pause: the service that the
// channel belongs to takes nothing before the given time has passed. The result
// has the text of err and wraps it. RetryAfter(nil, after) is nil.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return retryError{err, after}
}

// RetryDelay returns the pause that err asks for, if it, or an error that it
// wraps, was marked by [RetryAfter].
func RetryDelay(err error) (after time.Duration, found bool) {
	e, found := errors.AsType[retryError](err)
	return e.after, found
}
