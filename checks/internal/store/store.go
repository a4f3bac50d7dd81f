package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/pings"
)

// ErrUnavailable is [checks.ErrUnavailable]. A store wraps the errors of its driver in it.
var ErrUnavailable = checks.ErrUnavailable

// ErrPartly is an [ErrUnavailable] of a database that answers: a transaction failed and had no effect, but one on other rows
// may succeed.
var ErrPartly = fmt.Errorf("%w", ErrUnavailable)

// Fault is an error that says in words for people what is wrong with a database, such as "is damaged".
type Fault string

func (f Fault) Error() string { return "the database " + string(f) }

// ErrRefused means that the database refuses the data of a transaction, such as a value out of range. Trying again does not
// help, unless somebody has added a constraint.
var ErrRefused = errors.New("the database refuses the data")

// ErrNewer means that a newer version has migrated the database, in a way that an operation of this one does not work with.
var ErrNewer = errors.New("a newer version of rollcall has migrated this database; upgrade this program")

// ErrReplaced means that the file that a store or a [Spool] has open is no longer the one at its path, so that what it writes
// would be gone at the next start.
var ErrReplaced = errors.New("the file was replaced or removed while it is in use; stop the server, put the right file there, and start the server again")

// Away reports whether an error means that the whole database is unavailable.
func Away(err error) bool { return errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrPartly) }

// Store is the database of a monitor. The package comment says what holds for all methods.
type Store interface {
	Ingest
	Watch
	Courier
	Admin
	History
	Lists
	Health
	BodyQueue
	Notifier
	Records

	// Sharder returns what tells the nodes of checks, or nil on a database that cannot have several.
	Sharder() Sharder
}

// Tx is a transaction of a [Store]. Its methods must not be called by two goroutines at once.
type Tx interface {
	IngestTx
	WatchTx
	CourierTx
	AdminTx
	HeldTx
	HistoryTx
	records.Tx
}

// Setting is a value of the whole installation, such as a secret or the holder of a lease.
type Setting struct {
	Name, Value string
	// Until is when the setting ends, or the zero time if it never does.
	Until time.Time
}

// CheckFilter selects checks. A nil field matches all.
type CheckFilter struct {
	ID        *uuid.UUID
	IDs       []uuid.UUID // any of them
	ProjectID *uuid.UUID
	UniqueKey *string // the result of [checks.Check.UniqueKey]
	BadgeKey  *uuid.UUID
	Slug      *string
	// Tags selects the checks with all of these tags; see [checks.Settings.HasTags].
	Tags []string
}

// Match selects checks by whole values, for example those that an upsert may update. A nil field matches all.
type Match struct {
	Name, Slug *string
	Tags       []string       // all of them, in this order; empty and not nil for checks without tags
	Timeout    *time.Duration // only Simple checks have one
	Grace      *time.Duration
}

// PingQuery selects pings.
type PingQuery struct {
	// Checks are the checks. Without any, they are those of the Project.
	Checks  []uuid.UUID
	Project uuid.UUID
	// Limit bounds the pings of each check: a ping that is not among the newest Limit of its check is not found.
	Limit int
	// Since ends the list of a check after [OlderPings] pings in a row that are older. It may lie before 1970.
	Since time.Time
	// Brief leaves out all but N, Kind, At, RunID, ExitStatus, Duration and BodySize.
	Brief bool
	// Timed selects only the newest ping that has a Duration, and is Brief.
	Timed bool
	// Failed selects only the newest failure, with the last [FailedBody] bytes of its Body. It has no Body if
	// [BodyQueue].RecordBodies has moved that.
	Failed bool
	// Number, unless nil, selects only the ping with this number. It comes with its Body, or with a BodyKey if
	// [BodyQueue].RecordBodies has moved the body. It is not found any more as soon as the check is deleted.
	Number *int64
}

// OlderPings is how many pings in a row must be older than [PingQuery].Since before all further ones count as older. A
// ping that waited in a queue stands where it arrived, with an earlier time than the pings before it.
const OlderPings = 10

// FailedBody bounds the bodies of [PingQuery].Failed in bytes.
const FailedBody = 8 << 10

// EventQuery selects transitions and pauses of checks.
type EventQuery struct {
	Checks []uuid.UUID
	// From and Until select From <= At < Until. The zero time is no bound. Others may lie before 1970.
	From, Until time.Time
	// Limit, unless 0, selects the newest of all the checks together: up to Limit and, so that the next page can begin before
	// the oldest of them, all others at its instant. Of many checks, a From keeps the query cheap.
	Limit int
	// Deliveries adds their Deliveries to the events.
	Deliveries bool
}

// MaxEventDeliveries bounds the deliveries of a [checks.Event].
const MaxEventDeliveries = 100

// Locked is a check that a transaction has locked, with the changes that SaveChecks writes. It is of use only in that
// transaction.
type Locked struct {
	// Check is the check as the last transaction that held its lock has left it. Change it by assignment only: the store
	// may share its slices with a cache.
	checks.Check
	// Row is the store's private data about the check; nil for a new check.
	Row any
	// Due is set when LockDue returned the check.
	Due bool
	// SettingsChanged makes SaveChecks write the settings and Channels. Otherwise it leaves them alone.
	SettingsChanged bool
	// Awaits says that the check is to get the first channel of its project, which has none. SaveChecks writes it with Channels,
	// and SaveChannel of that channel assigns it.
	Awaits bool
	// MovedFrom is the former project of a check whose ProjectID has changed at MovedAt. It needs SettingsChanged.
	MovedFrom uuid.UUID
	MovedAt   time.Time
	// Pings, Transitions and Alerts are new, in the order in which they happened. The log takes Pings as they are.
	Pings       []pings.Ping
	Transitions []checks.Transition
	Alerts      []checks.Alert
	// Days are totals that SaveChecks adds to those of earlier days. A day can come several times.
	Days []checks.Day
	// Folds are months whose times SaveChecks sets, for which the totals of their days stay. Saving a Fold again changes
	// nothing.
	Folds []Fold
	// Pauses are new changes to paused, which write no flip and have no Reason.
	Pauses []checks.Transition
	// Unpaused are the instants of pauses that are undone, as if they had not been.
	Unpaused []time.Time
	// Uploads are the numbers of those Pings whose bodies move to object storage, in ascending order.
	Uploads []int64
}

// Apply sets the state after an event and adds the event's effects to what SaveChecks writes.
func (l *Locked) Apply(c checks.Check, effects checks.Effects) {
	l.Check = c
	l.Transitions = append(l.Transitions, effects.Transitions...)
	l.Alerts = append(l.Alerts, effects.Alerts...)
	l.Days = append(l.Days, effects.Days...)
}

// Pause pauses the check and adds the pause, unless it was paused already, to what SaveChecks writes.
func (l *Locked) Pause(now time.Time) {
	before := l.Stored
	c, effects := l.Check.Pause(now)
	for _, t := range effects.Transitions { // an overdue check goes down first
		before = t.To
	}
	l.Apply(c, effects)
	if before != checks.StatusPaused {
		l.Pauses = append(l.Pauses, checks.Transition{From: before, To: checks.StatusPaused, At: c.StoredSince})
	}
}
