package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Watch is what package watch needs.
type Watch interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Outlook returns the earliest instant for which LockDue returns a check that nobody has locked, or the zero time if
	// there is none, and what Spools returns. It must be cheap however many checks there are.
	Outlook(ctx context.Context) (next time.Time, states []SpoolState, oldest time.Time, err error)
}

// WatchTx is the part of a transaction that package watch needs.
type WatchTx interface {
	// LockDue locks and returns up to limit checks whose [checks.Check.Wake] is at or before the given instant. It skips
	// those that another transaction has locked. It sets Due, and does not set Channels. It returns no check whose Wake
	// is the zero time.
	//
	// A store may keep an earlier instant than Wake, so that a ping that puts the deadline off writes less. LockDue then
	// returns the check too early. That happens once: after SaveChecks with Due set, LockDue does not return the check
	// before its Wake.
	LockDue(ctx context.Context, now time.Time, limit int) ([]*Locked, error)
	// SaveChecks is that of [IngestTx].
	SaveChecks(ctx context.Context, locked []*Locked) error
	// Spools is that of [IngestTx].
	Spools(ctx context.Context) (states []SpoolState, oldest time.Time, err error)
	// SaveSpool is that of [IngestTx].
	SaveSpool(ctx context.Context, s SpoolState) error
}

// Health is what the health of a monitor needs.
type Health interface {
	// Probe fails if the database does not answer, or if its schema is older than this version of the store needs. With
	// write, it also fails if a transaction that writes cannot be committed.
	Probe(ctx context.Context, write bool) error
	// Newer reports whether a newer version has migrated the database, as far as the store has noticed. What it left alone still
	// works.
	Newer() bool
	// Slowed says why pings cost the database more than they need to, or "".
	Slowed() string
	// Workers returns how many servers each keep a part of the checks, such as the workers of Citus, and the addresses of those
	// that do not answer. It takes a few seconds at most, while the database itself answers. If one server keeps all,
	// Workers returns 0 and asks nobody.
	Workers(ctx context.Context) (all int, away []string, err error)
	// Connections returns the state of the pool of connections. It asks the database for the memory of a session alone.
	Connections(ctx context.Context) Connections
	// Backlog summarizes the pending deliveries at an instant. It must be cheap however many there are.
	Backlog(ctx context.Context, now time.Time) (Backlog, error)
	// Durability says which setting of the database lets a crash of the machine lose what was committed, or "". A database in
	// memory has none.
	Durability(ctx context.Context) (problem string, err error)
	// Unalerted returns up to limit checks, the oldest first and without their state, that are neither paused nor record only, and
	// whose alerts go nowhere at an instant: neither to a channel, apart from the deaf ones, nor to OnAlert.
	Unalerted(ctx context.Context, now time.Time, deaf []uuid.UUID, limit int) ([]checks.Check, error)
	// NewChecks returns up to limit checks that are new and were created up to an instant, the oldest first.
	NewChecks(ctx context.Context, until time.Time, limit int) ([]checks.Check, error)
	// GivenUp returns the channels, and OnAlert, for which the last alert that ended by an attempt was given up, and when an alert
	// to any was last sent, as far as the newest deliveries tell.
	GivenUp(ctx context.Context) (list []channels.Channel, sent time.Time, err error)
	// DueChannels is that of [Courier].
	DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) ([]DueChannel, error)
}

// Connections is that of package monitor.
type Connections struct {
	InUse, Idle, Max int
	Waited           time.Duration
	Session          int64
}
