package channels

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// A Status is the status of a check that a notification reports.
type Status string

const (
	// Up means that the check works again.
	Up Status = "up"
	// Down means that the check has failed or that its ping is overdue.
	Down Status = "down"
)

// A Check is the part of a notification about the check: the fields of server/API.md section 2.1 at the time of
// sending.
type Check struct {
	ID   uuid.UUID
	Name string
	Slug string
	// Tags are the tags as they were given. Text for people has one blank between two; if a client of the API sent other
	// white space, that is kept here.
	Tags []string
	Desc string
	// Project is the name of the check's project.
	Project string
	// Timing says in English when pings are expected, such as "every hour, 10 minutes of grace" or "0 3 * * *
	// (Europe/Riga), 1 hour of grace".
	Timing string
	// NPings is the number of pings received.
	NPings int64
	// URL is the address of the check in the API, or empty if unknown.
	URL string
}

// A Ping is the part of a notification about the last ping of the check.
type Ping struct {
	// At is when the ping was received, in UTC; the zero time if there was none.
	At time.Time
	// Kind is success, start, fail, log or ign.
	Kind string
	// ExitStatus is the exit status that the ping reported, or nil.
	ExitStatus *int
	// Body is the body of the ping: any bytes, cut at [MaxBody].
	Body []byte
}

// MaxBody is the maximum length of a ping's body in a notification, in bytes.
const MaxBody = 10_000

// A Change is an earlier change of status that a notification also reports.
type Change struct {
	Status Status
	// At is when the status changed, in UTC.
	At time.Time
	// Reason says why, in a few words of English.
	Reason string
}

// A Notification is one alert: a check went down, or is up again.
type Notification struct {
	// ID is the idempotency key: the same in every attempt to deliver the alert to the channel, and different for other
	// alerts and channels. Receivers can use it to drop repeated alerts.
	ID string
	// Incident identifies one outage of the check. All alerts about it share the value, on all channels, so a receiver
	// can find the alert that an Up resolves.
	Incident string
	Check    Check
	// Status is the new status.
	Status Status
	// At is when the status changed, in UTC.
	At   time.Time
	Ping Ping
	// Reason says why the status changed, in a few words of English.
	Reason string
	// Verdict says since when the check has its status and why, in sentences with dates in the zone of the check. It may
	// hold any markup, and is empty if nothing is known.
	Verdict string
	// DownFor is how long the check was down, if Status is [Up]; otherwise 0.
	DownFor time.Duration
	// Reminder is 0 for the alert itself, and counts from 1 for reminders that the check is still down.
	Reminder int
	// Over is when the check came up, if Status is [Down] and the check recovered before the alert could be sent;
	// otherwise the zero time.
	Over time.Time
	// Earlier are the preceding changes that were not reported, oldest first: because of quiet hours, because a queued ping
	// made them, or because the channel could not be reached.
	Earlier []Change
	// Test is true if a user sends the alert to try the channel. Everything but Check.Project is then made up.
	Test bool
}

// A Notifier delivers notifications to the channels of one kind.
//
// Notify sends n to c and returns nil once the receiver has accepted it. After an error, the delivery is retried later
// with the same n.ID, unless [Permanent] marks the error. Errors are stored and shown to users, so they must not
// contain secrets of c.Settings.
//
// Notify must return soon after ctx ends, must not change or keep c.Settings, and must be safe for concurrent use.
type Notifier interface {
	Notify(ctx context.Context, c Channel, n Notification) error
}

// A NotifierFunc is a function that implements [Notifier].
type NotifierFunc func(ctx context.Context, c Channel, n Notification) error

var _ Notifier = NotifierFunc(nil)

// Notify calls f.
func (f NotifierFunc) Notify(ctx context.Context, c Channel, n Notification) error {
	return f(ctx, c, n)
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks err as an error that no retry will cure: the recipient does not exist, the webhook answers 410 Gone.
// The result wraps err and has its text. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether err, or an error that it wraps, was marked by [Permanent].
func IsPermanent(err error) bool {
	_, found := errors.AsType[permanentError](err)
	return found
}

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter marks err with the pause that the service asks for before the next attempt. The result wraps err and has
// its text. RetryAfter(nil, after) is nil.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return retryError{err, after}
}

// RetryDelay returns the pause with which [RetryAfter] marked err or an error that it wraps.
func RetryDelay(err error) (after time.Duration, found bool) {
	e, found := errors.AsType[retryError](err)
	return e.after, found
}
