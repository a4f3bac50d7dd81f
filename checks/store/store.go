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

// Store is the database of a monitor. Package sqlstore has one for PostgreSQL and SQLite; package storetest tests the
// contract of any other. A store is safe for concurrent use. A method for one thing returns [checks.ErrNotFound] if it
// does not exist; a method for several returns an empty list. Times are UTC in whole microseconds.
type Store interface {
	CheckReader
	LogReader
	ChannelReader
	ProjectReader
	Pruner
	DeliveryReader

	// Update runs fn in a transaction, commits it if fn returns nil, and rolls it back otherwise. When Update returns
	// nil, all that fn wrote is durable. It may run fn again, for example after a deadlock. So fn must have no side
	// effects outside the transaction, and must use the store only through tx.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

	// Probe runs a test query. With write, it also commits a transaction that writes. It also
	// fails if the schema is older than this version of the store needs.
	Probe(ctx context.Context, write bool) error

	// Setting returns a named value of the installation. If there is none, it stores and returns the initial one; all
	// callers get the same value.
	Setting(ctx context.Context, name, initial string) (string, error)
}

// CheckFilter selects checks. A nil field matches all.
type CheckFilter struct {
	ID        *uuid.UUID
	ProjectID *uuid.UUID
	UniqueKey *string
	BadgeKey  *uuid.UUID
	Slug      *string
	// Tags selects the checks with all of these tags, compared as whole words.
	Tags []string
}

// CheckReader reads checks.
type CheckReader interface {
	// Checks returns checks with their Channels, oldest first. The filter has an ID, a ProjectID or a BadgeKey.
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	CheckFinder
}

// CheckFinder finds checks by their settings.
type CheckFinder interface {
	// FindChecks returns the checks of a project that m selects, oldest first.
	FindChecks(ctx context.Context, projectID uuid.UUID, m Match) ([]uuid.UUID, error)
}

// LogReader reads pings and flips.
type LogReader interface {
	// Pings returns the newest pings of a check, newest first, without their bodies.
	Pings(ctx context.Context, checkID uuid.UUID, limit int) ([]pings.Ping, error)
	// Ping returns ping number n, if it is among the newest limit pings of the check. It has the body or the key of the
	// body's object.
	Ping(ctx context.Context, checkID uuid.UUID, n int64, limit int) (pings.Ping, error)
	// Flips returns the flips of a check after and before the given instants, both exclusive, newest first. A
	// zero time is no bound.
	Flips(ctx context.Context, checkID uuid.UUID, after, before time.Time) ([]flips.Flip, error)
	// LastDurations returns the duration of the last finished run of each check of a project. It may leave out a check
	// if other pings followed that run.
	LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error)
}

// ChannelReader reads channels.
type ChannelReader interface {
	// Channels returns the channels of a project, oldest first.
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
	// Projects returns projects by name.
	Projects(ctx context.Context, f ProjectFilter) ([]checks.Project, error)
	// Keys returns API keys, oldest first.
	Keys(ctx context.Context, f KeyFilter) ([]checks.Key, error)
}

// Pruner removes expired data. A call may do a part of the work; the monitor calls again and again. Between steps that
// take no longer than writing a batch of pings, and outside of transactions, the methods call pause unless it is nil.
// It returns when the next step may begin.
type Pruner interface {
	// PrunePings removes pings beyond the newest [checks.Project.PingLimit] of their check, and pings of deleted
	// checks. It returns how many it removed. The same transaction queues their objects for removal. If an upload may
	// be in progress, the removal is due when that upload must have ended.
	PrunePings(ctx context.Context, pause func()) (removed int, err error)
	// PruneFlips removes flips older than the given instant, and finished deliveries created before it. It returns how many
	// flips it removed.
	PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error)
}

// Tx is a transaction of a [Store]. Its methods must not be called by two goroutines at once.
type Tx interface {
	CheckFinder
	ChannelReader
	DeliveryQueue

	// LockAccount locks the account of a project until the transaction ends, and returns the project. It guards what
	// depends on all checks of the account: limits, uniqueness and the set of channels. A transaction that also locks
	// checks takes this lock first.
	LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error)
	// CountChecks returns how many checks the account of a project has.
	CountChecks(ctx context.Context, projectID uuid.UUID) (int, error)

	// LockCheck locks a check until the transaction ends and returns it with its Channels.
	LockCheck(ctx context.Context, id uuid.UUID) (*Locked, error)
	// LockChecks locks checks until the transaction ends. Transactions that lock the same checks in another order must not
	// block each other for good. It returns the checks that exist, in any order and without their Channels.
	LockChecks(ctx context.Context, ids []uuid.UUID) ([]*Locked, error)
	// LockDue locks and returns up to limit checks whose deadline or next alert may have come at the given instant. It
	// skips those that another transaction has locked, sets Due, and does not set Channels. If a check has nothing to
	// settle yet, SaveChecks hides it from LockDue until [checks.Check.Wake].
	LockDue(ctx context.Context, now time.Time, limit int) ([]*Locked, error)
	// SaveChecks writes the state of checks with their new pings, uploads and flips. It adds one delivery for each
	// alert and channel to the outbox, those of one check in the order of its alerts, and those to [OnAlert]. A delivery refers to the flip to
	// the status of its alert: one that this call writes, or else the newest that is stored. It is added even if that flip
	// was pruned. If SettingsChanged is set, SaveChecks also writes the settings and Channels. If Row is
	// nil, it adds the check; the error is [checks.ErrExists] for an ID that is in use. From [checks.Check.Wake] on,
	// LockDue finds the check.
	SaveChecks(ctx context.Context, locked []*Locked) error
	// DeleteCheck removes a locked check and all that belongs to it. Nobody can read its pings from then on, although
	// PrunePings may remove them later.
	DeleteCheck(ctx context.Context, l *Locked) error

	// InsertProject adds a project, and its account if that is new. The error is [checks.ErrExists] for a name in use.
	InsertProject(ctx context.Context, p checks.Project) error
	// DeleteProject removes a project and all that belongs to it.
	DeleteProject(ctx context.Context, id uuid.UUID) error
	// CountProjects returns the number of projects. It makes other callers wait until the transaction ends, so that
	// only one of them adds the first project.
	CountProjects(ctx context.Context) (int, error)
	// InsertKey adds an API key. The error is [checks.ErrExists] for a hash in use.
	InsertKey(ctx context.Context, k checks.Key) error
	// DeleteKey removes an API key of a project. The error is [checks.ErrNotFound] for the key of another project.
	DeleteKey(ctx context.Context, projectID, id uuid.UUID) error
	// SaveChannel adds a channel, or writes the name, the settings and their sources of the one with its ID. The project
	// and the kind of a channel never change. The error is [checks.ErrNotFound] for the ID of another project's channel.
	SaveChannel(ctx context.Context, c channels.Channel) error
	// DeleteChannel removes a channel of a project and takes it from all checks. The error is [checks.ErrNotFound] for the
	// channel of another project.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
}

// Match selects the checks that an upsert may update. A nil field matches all. Texts are
// compared as a whole and byte for byte.
type Match struct {
	Name, Slug *string
	Tags       []string       // all of them, in this order; empty and not nil for checks without tags
	Timeout    *time.Duration // only Simple checks have one
	Grace      *time.Duration
}

// Locked is a check that a transaction has locked, with the changes that SaveChecks writes.
type Locked struct {
	checks.Check
	// Row is the store's private data about the check; nil for a new check.
	Row any
	// Due is set when LockDue returned the check.
	Due bool
	// SettingsChanged makes SaveChecks write the settings and Channels.
	SettingsChanged bool
	// Pings, Transitions and Alerts are new.
	Pings       []pings.Ping
	Transitions []checks.Transition
	Alerts      []checks.Alert
	// Uploads are the numbers of those Pings whose bodies move to object storage, in ascending order.
	Uploads []int64
}

// Apply sets the state after an event and adds the event's effects to what SaveChecks writes.
func (l *Locked) Apply(c checks.Check, effects checks.Effects) {
	l.Check = c
	l.Transitions = append(l.Transitions, effects.Transitions...)
	l.Alerts = append(l.Alerts, effects.Alerts...)
}
