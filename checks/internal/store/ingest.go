package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Ingest is what package ingest needs.
type Ingest interface {
	// Update runs fn in a transaction. If fn returns nil, Update commits: when it returns nil, all that fn wrote is
	// durable. If fn fails, Update changes nothing, not even in a cache, and returns fn's own error unchanged.
	//
	// Update may run fn again, for example after a deadlock. So fn has no side effects outside of the transaction. It
	// uses the store only through tx, because the store may have no second connection.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Probe is that of [Health].
	Probe(ctx context.Context, write bool) error
}

// IngestTx is the part of a transaction that package ingest needs.
type IngestTx interface {
	// LockChecks locks checks and returns those that exist, in any order and without their Channels. Each ID comes once.
	// Transactions that pass the same IDs in another order must not block each other for good: the store sorts them, or
	// Update runs fn again.
	LockChecks(ctx context.Context, ids []uuid.UUID) ([]*Locked, error)
	// SaveChecks writes locked checks: their state and all that is new in [Locked], also if nothing is. A Row of nil is
	// a new check, of which it also writes the settings and Channels; the error is [checks.ErrExists] for an ID that is
	// in use. From [checks.Check.Wake] on, LockDue finds the check.
	//
	// For each of Alerts and each of the check's channels that exists, SaveChecks adds a [checks.DeliveryPending] delivery with
	// no Attempts to the outbox. The check's channels are those after this call and, until the instant of OnAlertUntil,
	// [OnAlert]. CreatedAt and Due are RaisedAt of the alert. The IDs of one check's deliveries grow in the order of its
	// Alerts, and those of one alert have no order.
	//
	// A delivery refers to the flip that its alert is about: the one of Transitions with the Status and the At of the
	// alert. Both lists are in the same order, and several of their items may have the same instant. If there is none,
	// it is the newest stored flip to that status. If that was pruned, the delivery refers to no flip.
	//
	// With MovedFrom, SaveChecks moves the check, with all that belongs to it, to the project ProjectID, which exists. It
	// removes the deliveries of the check, in any state, but for those to [OnAlert]. Couriers that add copies to groups
	// meanwhile leave none behind.
	//
	// The store may keep the checks in a cache, so the caller must not change their slices afterwards.
	SaveChecks(ctx context.Context, locked []*Locked) error
	// Spools returns all states whose SettledAt is not [SpoolClosed], and the time of the oldest ping that AddSpooled has
	// added and TakeSpooled has not removed, or the zero time.
	Spools(ctx context.Context) (states []SpoolState, oldest time.Time, err error)
	// SaveSpool adds or replaces a state. The number that is recorded for its run stays.
	SaveSpool(ctx context.Context, s SpoolState) error
	// AddSpooled adds pings out of a spool, which the database keeps until those of other spools have joined them. Of a
	// Run it adds those with a Number above the recorded one, which then is the largest Number of the list. Transactions
	// that add pings of one run run one after the other. Pings without a Run are added anyway.
	AddSpooled(ctx context.Context, now time.Time, list []SpooledPing) error
	// TakeSpooled removes and returns the oldest of them up to an instant, in the order of their times, and of AddSpooled
	// for equal ones, without Run and Number: at most limit, and at most as many as have maxBytes of data, but at least
	// one if there is any. Transactions that take pings run one after the other.
	TakeSpooled(ctx context.Context, upTo time.Time, limit, maxBytes int) ([]SpooledPing, error)
	// SetRecorded records the number of the last ping of a run that the database has, at an instant. It adds a closed
	// state if the run has none.
	SetRecorded(ctx context.Context, run uuid.UUID, number int64, now time.Time) error
}
