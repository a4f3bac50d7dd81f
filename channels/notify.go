package channels

import (
	"context"
	"errors"
	"slices"
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

// A Check is the part of a notification about the check: the fields of section 2.1 of the API at the time of sending.
type Check struct {
	ID uuid.UUID
	// Name is what people call the check: its name, or else its slug, or else the first 8 digits of its ID.
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
	// TZ is the IANA name of the check's time zone, in which text for people says times. "" is UTC.
	TZ string
	// NPings is the number of pings received.
	NPings int64
	// URL is the address of a page about the check, or empty if there is none.
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
	// Duration is how long the run took that the ping ended, or 0 if it is unknown.
	Duration time.Duration
	// Body is the body of the ping, cut at [MaxBody]: text in UTF-8, whatever the job sent, or any bytes if that is no text or came
	// by e-mail.
	Body []byte
	// End is the end of the body, at most [MaxEnd]: text or bytes like Body. The last lines of a job's output say what went wrong.
	// It is empty for a ping by e-mail.
	End []byte
	// BodyCut is how many bytes of the middle of the body were left out when it was received.
	BodyCut int64
}

// MaxBody is the maximum length of a ping's body in a notification, and MaxEnd that of its end, in bytes.
const MaxBody, MaxEnd = 10_000, 4_000

// A Change is an earlier change of status that a notification also reports.
type Change struct {
	Status Status
	// At is when the status changed, in UTC.
	At time.Time
	// Reason says why, in a few words of English.
	Reason string
}

// A Notification is one alert: a check went down, or is up again, or during a storm several checks.
type Notification struct {
	// ID is the idempotency key: the same in every attempt to deliver the alert to the channel, and different for other
	// alerts and channels. Receivers can use it to drop repeated alerts.
	ID string
	// Incident identifies one outage of the check. All alerts about it share the value, on all channels. It suits threads
	// of messages. Incidents that must be closed have the key Check.ID instead; see [IncidentNotifier].
	Incident string
	Check    Check
	// Status is the new status.
	Status Status
	// At is when the status changed, in UTC.
	At   time.Time
	Ping Ping
	// Reason says why the status changed, in a few words of English: "the job reported a failure, exit status 2". It holds
	// no text from jobs, so that templates may put it between quotes.
	Reason string
	// Cause is the line of the job's output that says why the job failed, or "" if the output does not say. It may hold any
	// markup and quotes.
	Cause string
	// Verdict says since when the check has its status and why, in sentences with dates in the zone of the check. It may
	// hold any markup, and is empty if nothing is known.
	Verdict string
	// AckURL is the address at which people acknowledge the outage, those of all checks for one that combines several, or "". Anybody
	// who knows it can do so.
	AckURL string
	// DownFor is how long the check was down, if Status is [Up]; otherwise 0.
	DownFor time.Duration
	// Reminder is 0 for the alert itself, and counts from 1 for reminders that the check is still down.
	Reminder int
	// Over is when the check came up, if Status is [Down] and the check recovered before the alert could be sent;
	// otherwise the zero time. An outage that a pause has ended was not over by itself, so it has none.
	Over time.Time
	// Earlier are the preceding changes that were not reported, oldest first: because of quiet hours, because a queued ping
	// made them, or because the channel could not be reached.
	Earlier []Change
	// Combined are the notifications that this one combines, at least two, if its channel's [Type] combines them; see
	// [Combine]. It is nil for a notification about one check.
	Combined []Notification
	// Closed is true if the notification closes an incident without an alert; see [IncidentNotifier]. Status is then Up,
	// although the check may be paused or deleted, and Reason says what happened.
	Closed bool
	// Done lists the recipients that accepted the alert in earlier attempts, as [Partial] named them.
	Done []string
	// Recipient is the only recipient that the alert is for, as [Rest] named it, or "" if it is for all that are not Done.
	Recipient string
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

// An IncidentNotifier is a [Notifier] whose receivers keep an incident open until it is closed, such as PagerDuty. There
// is at most one open incident for each check and channel, so its key is Check.ID.
//
// The monitor calls NotifyIncident in place of Notify. It stores what is open, and closes what was opened even if no
// alert says that the check is up: because of quiet hours, because a newer alert superseded that alert, or because the
// check was paused or deleted.
type IncidentNotifier interface {
	Notifier
	// NotifyIncident delivers n like Notify. open is the result of the last call for the same check and channel, or "" if
	// no incident is open: the key of the incident, its number, its labels. The result is what is open now, of at most
	// [MaxIncident] bytes, or "" if nothing is. It counts with an error, too.
	NotifyIncident(ctx context.Context, c Channel, n Notification, open string) (nowOpen string, err error)
	// Refresh returns how often NotifyIncident must report an incident that stays open, or 0 for never.
	Refresh() time.Duration
}

// MaxIncident is the maximum length of what an [IncidentNotifier] returns, in bytes.
const MaxIncident = 16_000

type partialError struct {
	error
	done []string
}

func (e partialError) Unwrap() error { return e.error }

// Partial marks err with the recipients that have accepted the alert. The next attempt has them in [Notification].Done.
// A name may be any text of at most 200 bytes, at most 100 for one alert. The result wraps err and has its text.
// Partial(nil, done...) is nil.
func Partial(err error, done ...string) error {
	if err == nil || len(done) == 0 {
		return err
	}
	return partialError{err, done}
}

// Accepted returns the recipients with which [Partial] marked err or an error that it wraps.
func Accepted(err error) []string {
	e, _ := errors.AsType[partialError](err)
	return e.done
}

// Unsent is a recipient that [Each] could not send to, with the error.
type Unsent struct {
	Recipient string
	Err       error
}

type unsentError struct {
	error
	list []Unsent
}

func (e unsentError) Unwrap() error { return e.error }

// Rest returns the recipients that an error of [Each] is about, in their order.
func Rest(err error) []Unsent {
	e, _ := errors.AsType[unsentError](err)
	return e.list
}

// To returns those of the recipients of a channel that n is for: n.Recipient, or else all that are not in n.Done. There may be
// none, if the channel has changed.
func (n Notification) To(recipients []string) []string {
	return slices.DeleteFunc(slices.Clone(recipients), func(r string) bool {
		return slices.Contains(n.Done, r) || n.Recipient != "" && n.Recipient != r
	})
}

// Each sends a notification to each of the recipients that it is for, as [Notification.To] says. If an attempt to send it to one of them fails for
// now, the error is the first such one. Otherwise, if recipients refused it for good, Each returns their errors, marked by
// [Permanent]. [Partial] marks both with the recipients that have accepted it, so that a retry by hand leaves them out, too.
//
// [Rest] names the others, so one of them delays no other: if any recipient has accepted the alert, the monitor retries for
// each that failed for now by itself, in the order of its alerts, and goes on with the next alert for the rest.
//
// If it leaves out all of them, the error is [ErrNobody].
func Each(n Notification, recipients []string, send func(recipient string) error) error {
	done := slices.Clone(n.Done)
	var retryable error
	var permanent []error
	var rest []Unsent
	to := n.To(recipients)
	if len(to) == 0 && len(recipients) > 0 {
		return ErrNobody
	}
	for _, r := range to {
		err := send(r)
		if err == nil {
			done = append(done, r)
			continue
		}
		rest = append(rest, Unsent{r, err})
		if IsPermanent(err) {
			permanent = append(permanent, err)
		} else if retryable == nil {
			retryable = err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	if retryable == nil {
		retryable = Permanent(errors.Join(permanent...))
	}
	return Partial(unsentError{retryable, rest}, done...)
}

// ErrNobody means that a notification goes to none of the recipients, because every one has it already or gets it separately. A monitor
// does not count that as a failure.
var ErrNobody = errors.New("every recipient has the notification already, or gets it separately")

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
