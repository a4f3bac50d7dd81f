package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// Zoned is a check with a time zone.
type Zoned struct {
	ID uuid.UUID
	// NextAt is when it expects its next ping by the time zone data with which it was saved last, or the zero time.
	NextAt time.Time
}

// History is what the history of a check needs.
type History interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Checks is that of [Admin].
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	// Pings returns, for each of the checks that has a log, its newest pings, newest first, with all their fields but Body
	// and BodyKey. The number of queries does not depend on that of the checks.
	Pings(ctx context.Context, q PingQuery) (map[uuid.UUID][]pings.Ping, error)
	// Events returns, for each of the checks that has some, its transitions and pauses by time. Those of one instant are in
	// the order in which they happened: a pause at the instant of a transition comes after it, unless that transition ended
	// it. Each has the fields with which SaveChecks got it. The number of queries does not depend on that of the checks,
	// unless q has Deliveries.
	Events(ctx context.Context, q EventQuery) (map[uuid.UUID][]checks.Event, error)
	// Months returns the months of a check from that of one instant to that of another, by time.
	Months(ctx context.Context, checkID uuid.UUID, from, to time.Time) ([]Month, error)
	// Unfolded returns up to limit checks that were created before the end of a month and have no folded [Month] of it:
	// those with an ID greater than after, in the order of the bytes of their IDs.
	Unfolded(ctx context.Context, month time.Time, after uuid.UUID, limit int) ([]uuid.UUID, error)
	// Zoned returns up to limit checks with another time zone than UTC: those with an ID greater than after, in the order of the
	// bytes of their IDs.
	Zoned(ctx context.Context, after uuid.UUID, limit int) ([]Zoned, error)
	// Recompile makes the store compile the schedules of all checks again, with the time zone data that are in use now.
	Recompile()
	// PrunePings removes the pings beyond the newest [PingLimit] of their check, and those of deleted
	// checks, and returns how many. The numbers of the remaining pings stay. It calls pause at least once in 500 pings
	// that it removes.
	//
	// A call may do a part of the work, and the next one goes on there. Four calls suffice for a log of a few thousand
	// pings. If each call finds 300 new pings, the log never holds much more than twice the pings to keep.
	//
	// The transaction that removes a ping also removes its upload and queues the removal of its object:
	//   - If the body was uploaded, the removal is due at once.
	//   - If the upload was claimed, its object may appear until the lease ends, or a little later if object storage
	//     completes an abandoned request. The removal is due after that: 2 minutes after the end of the lease is enough.
	//   - If the upload was never claimed, there is no object and no removal.
	PrunePings(ctx context.Context, pause func()) (removed int, err error)
	// PruneFlips removes the flips older than the given instant and returns how many; one of that instant stays. It also
	// removes the pauses before that instant, and the deliveries in a final state that were created before it. Pending
	// deliveries stay, also without their flip.
	PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error)
	// Setting is that of [Admin].
	Setting(ctx context.Context, now time.Time, s Setting) (Setting, error)
}

// HistoryTx is the part of a transaction that package monitor needs.
type HistoryTx interface {
	// LockChecks is that of [IngestTx].
	LockChecks(ctx context.Context, ids []uuid.UUID) ([]*Locked, error)
	// SaveChecks is that of [IngestTx].
	SaveChecks(ctx context.Context, locked []*Locked) error
}
