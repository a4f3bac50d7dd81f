package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// ErrUnavailable means that the database cannot be reached or is too busy, and that the operation may succeed later. A
// store wraps the errors of its driver in it. Package monitor has the same value under the same name.
var ErrUnavailable = errors.New("the database is unavailable")

// Store is the database of a monitor. The package comment says what holds for all methods.
type Store interface {
	CheckReader
	LogReader
	ChannelReader
	ProjectReader
	MonthReader
	Pruner
	DeliveryReader
	IncidentReader
	StatusPageReader

	// Update runs fn in a transaction. If fn returns nil, Update commits: when it returns nil, all that fn wrote is
	// durable. If fn fails, Update changes nothing, not even in a cache, and returns fn's own error unchanged.
	//
	// Update may run fn again, for example after a deadlock. So fn has no side effects outside of the transaction. It
	// uses the store only through tx, because the store may have no second connection.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

	// Probe fails if the database does not answer, or if its schema is older than this version of the store needs. With
	// write, it also fails if a transaction that writes cannot be committed.
	Probe(ctx context.Context, write bool) error

	// Setting returns a named value of the installation. If there is none, it stores and returns the initial one. All
	// callers get the same value, also those that call at once.
	Setting(ctx context.Context, name, initial string) (string, error)

	// EndSession notes that a session has ended, until an instant after which nobody asks any more, and forgets those whose
	// instant has passed. To end a session again does nothing.
	EndSession(ctx context.Context, id uuid.UUID, now, until time.Time) error
	// SessionEnded reports whether EndSession was called for a session.
	SessionEnded(ctx context.Context, id uuid.UUID) (bool, error)

	// Lease returns the lease of a task, which one of several servers at a time should do. If nobody else holds the lease
	// at the instant now, mine becomes the lease. So it does if the lease ends after mine would: the clock of the holder was
	// wrong. Times have microseconds.
	Lease(ctx context.Context, task string, now time.Time, mine Lease) (Lease, error)
}

// Lease says who does a task, and until when nobody else should.
type Lease struct {
	Holder uuid.UUID
	Until  time.Time
}

// CheckFilter selects checks. A nil field matches all.
type CheckFilter struct {
	ID        *uuid.UUID
	ProjectID *uuid.UUID
	UniqueKey *string // the result of [checks.Check.UniqueKey]
	BadgeKey  *uuid.UUID
	Slug      *string
	// Tags selects the checks with all of these tags; see [checks.Settings.HasTags].
	Tags []string
}

// CheckReader reads checks.
type CheckReader interface {
	// Checks returns checks with their Channels. The filter has an ID, a ProjectID or a BadgeKey. Each check has its
	// compiled schedule; see [checks.Plans.Attach].
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	// BySlug returns the project with a ping key and the IDs of its checks with a slug, the first added first. The error is
	// [checks.ErrNotFound] if there is no such project.
	BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error)
	CheckFinder
}

// CheckFinder finds checks by their settings.
type CheckFinder interface {
	// FindChecks returns the IDs of the checks of a project that m selects, the first added first.
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
}

// Match selects checks by whole values, for example those that an upsert may update. A nil field matches all.
type Match struct {
	Name, Slug *string
	Tags       []string       // all of them, in this order; empty and not nil for checks without tags
	Timeout    *time.Duration // only Simple checks have one
	Grace      *time.Duration
}

// OlderPings is how many pings in a row must be older than an instant before [LogReader].RecentPings takes all further
// ones for older. A ping that waited in a queue stands where it arrived, with an earlier time than the pings before it.
const OlderPings = 10

// LogReader reads pings and flips.
type LogReader interface {
	// Pings returns the newest pings of a check, newest first, with all their fields but Body and BodyKey.
	Pings(ctx context.Context, checkID uuid.UUID, limit int) ([]pings.Ping, error)
	// Ping returns ping number n, if it is among the newest limit pings of the check. It has its Body, or a BodyKey if
	// [BodyQueue].SettleBodies has moved the body. It is [checks.ErrNotFound] as soon as the check is deleted.
	Ping(ctx context.Context, checkID uuid.UUID, n int64, limit int) (pings.Ping, error)
	// Flips returns the flips of a check after and before the given instants, both exclusive, newest first. A
	// zero time is no bound; others may lie before 1970.
	Flips(ctx context.Context, checkID uuid.UUID, after, before time.Time) ([]flips.Flip, error)
	// Transitions returns, for each of the checks that has some, the transitions and the pauses at or after an instant, by
	// time. The zero time selects all. Those of one instant are in the order in which they happened; see [MergePauses].
	// Each has the fields with which SaveChecks got it.
	Transitions(ctx context.Context, checkIDs []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error)
	// RecentPings returns, for each of the checks that has a log, its newest pings, newest first and up to limit, with N,
	// Kind, At, RunID, ExitStatus, Duration and BodySize. It stops after [OlderPings] pings in a row that are older than
	// since. The number of queries does not depend on that of the checks.
	RecentPings(ctx context.Context, checkIDs []uuid.UUID, since time.Time, limit int) (map[uuid.UUID][]pings.Ping, error)
	// History returns the newest transitions and pauses of a check in the reverse order of Transitions, each transition
	// with its deliveries. It returns up to q.Limit and, so that the next page can begin before the last one, all others at
	// the instant of the last one.
	History(ctx context.Context, checkID uuid.UUID, q HistoryQuery) ([]Event, error)
	// LastDurations returns, for each check of a project, the Duration of the newest ping that has one. It may leave out
	// a check if more than one ping came after that.
	LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error)
}

// HistoryQuery selects transitions and pauses.
type HistoryQuery struct {
	// Before selects earlier instants. The zero time selects all.
	Before time.Time
	// Limit bounds the number of events. It is positive.
	Limit int
}

// Event is a transition or a pause of a check.
type Event struct {
	checks.Transition
	// Deliveries are those that refer to the transition, highest ID first. Of more than [MaxEventDeliveries] it has those
	// of the alert itself before the newest reminders.
	Deliveries []Delivery
}

// MaxEventDeliveries bounds the deliveries of an [Event].
const MaxEventDeliveries = 100

// ChannelReader reads channels.
type ChannelReader interface {
	// Channels returns the channels of a project with the marks that SaveDeliveries has set, oldest first.
	Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error)
}

// ProjectFilter selects projects. A nil field matches all.
type ProjectFilter struct {
	ID       *uuid.UUID
	Name     *string
	PingKey  *string
	BadgeKey *string
}

// KeyFilter selects API keys. A nil field matches all.
type KeyFilter struct {
	ProjectID *uuid.UUID
	Hash      *[sha256.Size]byte
}

// ProjectReader reads projects and API keys.
type ProjectReader interface {
	// Projects returns projects by name. Their MaxChecks is that of their account; see [Tx].InsertProject.
	Projects(ctx context.Context, f ProjectFilter) ([]checks.Project, error)
	// Keys returns API keys, oldest first.
	Keys(ctx context.Context, f KeyFilter) ([]checks.Key, error)
}

// Pruner removes expired data. The methods call pause, unless it is nil, between steps that take no longer than writing
// a batch of pings. They hold no transaction meanwhile, so that others can write; pause itself may use the store.
type Pruner interface {
	// PrunePings removes the pings beyond the newest [checks.Project.PingLimit] of their check, and those of deleted
	// checks, and returns how many. The numbers of the remaining pings stay. It calls pause at least once in 500 pings
	// that it removes.
	//
	// A call may do a part of the work, and the next one goes on there. Four calls suffice for a log of a few thousand
	// pings. If each call finds 300 new pings, the log never holds much more than twice the pings to keep.
	//
	// In a [BodyQueue], the transaction that removes a ping also removes its upload and queues the removal of its object:
	//   - If the body was uploaded, the removal is due at once.
	//   - If the upload was claimed, its object may appear until the lease ends, or a little later if object storage
	//     completes an abandoned request. The removal is due after that: 2 minutes after the end of the lease is enough.
	//   - If the upload was never claimed, there is no object and no removal.
	PrunePings(ctx context.Context, pause func()) (removed int, err error)
	// PruneFlips removes the flips older than the given instant and returns how many; one of that instant stays. It also
	// removes the pauses before that instant, and the deliveries in a final state that were created before it. Pending
	// deliveries stay, also without their flip.
	PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error)
}

// Tx is a transaction of a [Store]. Its methods must not be called by two goroutines at once.
type Tx interface {
	CheckFinder
	ChannelReader
	DeliveryQueue
	IncidentKeeper
	StatusPageReader
	StatusPageWriter
	SpoolKeeper

	// LockAccount locks the account of a project and returns the project. The lock guards what depends on all checks of
	// the account: limits, uniqueness and the set of channels.
	LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error)
	// CountChecks returns how many checks the account of a project has, in all its projects.
	CountChecks(ctx context.Context, projectID uuid.UUID) (int, error)

	// LockCheck locks a check and returns it with its Channels and its compiled schedule.
	LockCheck(ctx context.Context, id uuid.UUID) (*Locked, error)
	// LockChecks locks checks and returns those that exist, in any order and without their Channels. Each ID comes once.
	// Transactions that pass the same IDs in another order must not block each other for good: the store sorts them, or
	// Update runs fn again.
	LockChecks(ctx context.Context, ids []uuid.UUID) ([]*Locked, error)
	// LockDue locks and returns up to limit checks whose [checks.Check.Wake] has come at the given instant. It skips
	// those that another transaction has locked. It sets Due, and does not set Channels. It returns no check whose Wake
	// is the zero time.
	//
	// A store may keep an earlier instant than Wake, so that a ping that puts the deadline off writes less. LockDue then
	// returns the check too early. That happens once: after SaveChecks with Due set, LockDue does not return the check
	// before its Wake.
	LockDue(ctx context.Context, now time.Time, limit int) ([]*Locked, error)
	// SaveChecks writes locked checks: their state and all that is new in [Locked], also if nothing is. A Row of nil is
	// a new check, of which it also writes the settings and Channels; the error is [checks.ErrExists] for an ID that is
	// in use. From [checks.Check.Wake] on, LockDue finds the check.
	//
	// For each of Alerts and each of the check's channels that exists, SaveChecks adds a [DeliveryPending] delivery with
	// no Attempts to the outbox. The check's channels are those after this call and, until the instant of OnAlertUntil,
	// [OnAlert]. CreatedAt and Due are RaisedAt of the alert. The IDs of one check's deliveries grow in the order of its
	// Alerts, and those of one alert have no order.
	//
	// A delivery refers to the flip that its alert is about: the one of Transitions with the Status and the At of the
	// alert. Both lists are in the same order, and several of their items may have the same instant. If there is none,
	// it is the newest stored flip to that status. If that was pruned, the delivery refers to no flip.
	//
	// SettingsChanged with another ProjectID moves the check, with all that belongs to it, to that project, which exists.
	// Before, the caller removes deliveries to the channels of the old project with DeleteDeliveries.
	//
	// The store may keep the checks in a cache, so the caller must not change their slices afterwards.
	SaveChecks(ctx context.Context, locked []*Locked) error
	// DeleteDeliveries removes the deliveries of a locked check, in any state, but for those to [OnAlert]. Couriers that
	// add copies to groups meanwhile leave none behind.
	DeleteDeliveries(ctx context.Context, l *Locked) error
	// DeleteCheck removes a locked check with its flips, totals and deliveries. Nobody can read its pings from then on,
	// although PrunePings may remove them later. Another check with the same ID may be added.
	DeleteCheck(ctx context.Context, l *Locked) error

	// InsertProject adds a project. The error is [checks.ErrExists] for a name in use.
	//
	// The account of a project is its Account with its Plan: two projects belong to one account if both are equal. A
	// MaxChecks above 0 becomes that of the account, and so of all its projects. With 0 the account keeps what it has.
	InsertProject(ctx context.Context, p checks.Project) error
	// DeleteProject removes a project with its checks, as DeleteCheck does, its channels, its status pages
	// and its API keys.
	DeleteProject(ctx context.Context, id uuid.UUID) error
	// CountProjects returns the number of projects. It makes other callers of CountProjects wait until the transaction
	// ends, so that only one of them adds the first project.
	CountProjects(ctx context.Context) (int, error)
	// InsertKey adds an API key. The error is [checks.ErrExists] for a hash in use. The caller sees to it that the
	// project exists: for an unknown one, the store may return any other error or none.
	InsertKey(ctx context.Context, k checks.Key) error
	// DeleteKey removes an API key of a project. The error is [checks.ErrNotFound] for the key of another project.
	DeleteKey(ctx context.Context, projectID, id uuid.UUID) error
	// SaveChannel adds a channel, or writes the Name, the Settings and the Sources of the one with its ID. The project,
	// the kind and CreatedAt of a channel never change, and only SaveDeliveries writes FailedAt and Error. The error is
	// [checks.ErrNotFound] for the ID of another project's channel.
	SaveChannel(ctx context.Context, c channels.Channel) error
	// DeleteChannel removes a channel of a project and its deliveries, and takes it from all checks. Transactions that
	// add deliveries meanwhile leave none behind. The error is [checks.ErrNotFound] for the channel of another project.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
}

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
	// Uploads are the numbers of those Pings whose bodies move to object storage, in ascending order. It is empty for a
	// store that is no [BodyQueue].
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

// MergePauses returns the transitions of a check and its pauses in one list, in the order in which they happened. Each of
// the two has that order already. A pause at the instant of a transition comes after it, unless that transition ended it.
func MergePauses[E any](transitions, pauses []E, transition func(E) checks.Transition) []E {
	merged := make([]E, 0, len(transitions)+len(pauses))
	var status checks.Status
	for len(transitions) > 0 && len(pauses) > 0 {
		t, pause := transition(transitions[0]), transition(pauses[0])
		endedEarlier := status == checks.StatusPaused && pause.From == t.To // t ended the pause before this one
		if pause.At.Before(t.At) || t.EndsAtOnce(pause) && !endedEarlier {
			merged, pauses, status = append(merged, pauses[0]), pauses[1:], checks.StatusPaused
		} else {
			merged, transitions, status = append(merged, transitions[0]), transitions[1:], t.To
		}
	}
	return append(append(merged, transitions...), pauses...)
}
