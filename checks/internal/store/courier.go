package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
)

// Courier is what package courier needs: the outbox, which holds one delivery for each alert and channel. SaveChecks adds
// them.
type Courier interface {
	// Update is that of [Ingest].
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// DueChannels returns up to limit channels that have a delivery to claim at the given instant: those with an ID
	// greater than after, in the order of the bytes of their IDs. It may also return a channel whose due deliveries all
	// wait in their lines, but no longer after a claim for that channel that took fewer than there was room for. Couriers
	// poll DueChannels, so it must be cheap if nothing is due.
	DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) ([]DueChannel, error)
	// Remaining counts, by channel, the pending deliveries that were created at or before raised, and that are due at or
	// before due or have failed before. It counts at most [MaxPending] in all.
	Remaining(ctx context.Context, raised, due time.Time) (map[uuid.UUID]int, error)
	// Alerts returns the content of deliveries, whatever their state, in any order. Only the IDs of claimed matter; each
	// alert has its QueuedDelivery as it was passed. Alerts leaves out a delivery whose check or channel no longer
	// exists.
	Alerts(ctx context.Context, claimed []QueuedDelivery) ([]Alert, error)
	// Deliveries returns deliveries of a project, highest ID first. It leaves out those whose check or channel no longer
	// exists. The query has a Limit.
	Deliveries(ctx context.Context, projectID uuid.UUID, q checks.DeliveryQuery) ([]checks.Delivery, error)
	// Waiting sums up, by channel, the pending alerts of a project that were tried without success, or could leave before an
	// instant, which is in the past. Those that the gate keeps back do not count, nor does what is behind them in their lines.
	Waiting(ctx context.Context, projectID uuid.UUID, before time.Time) (map[uuid.UUID]Waiting, error)
	// FirstGivenUp returns when the first alert of a project to a channel could leave that was given up, of those with an ID greater
	// than after. It is the zero time if there is none.
	FirstGivenUp(ctx context.Context, projectID, channel uuid.UUID, after int64) (time.Time, error)
	// Channels is that of [Lookup].
	Channels(ctx context.Context, f ChannelFilter) ([]channels.Channel, error)
	// Checks is that of [Admin].
	Checks(ctx context.Context, f CheckFilter) ([]checks.Check, error)
	// Related is that of [Lookup].
	Related(ctx context.Context, projectID uuid.UUID, names []string) ([]selection.Node, error)
	// Told returns those of some checks that are down with an alert about the present outage that was sent, or is on its way: raised
	// after fresh, or not kept back any more since then, or waiting for a check that it follows in turn, or for a step of the
	// escalation policy.
	Told(ctx context.Context, ids []uuid.UUID, fresh, now time.Time) (map[uuid.UUID]bool, error)
	// DueIncidents returns up to limit incidents that are due at an instant, those first that are due the longest. The
	// monitor polls it, so it must be cheap if nothing is due.
	DueIncidents(ctx context.Context, now time.Time, limit int) ([]Incident, error)
}

// CourierTx is the part of a transaction that package courier needs: the outbox, and the incidents. The pending deliveries of one check
// to one channel, and for one Recipient, form a line in the order of their IDs, with the reminders that were Held at its end. Only the
// first of a line can be claimed, so alerts arrive in the order in which they were raised. A delivery that becomes pending again takes the place of its ID.
type CourierTx interface {
	// ClaimDeliveries leases deliveries that are due and the first of their line: it adds 1 to Attempts, sets Due to the
	// end of the lease, and returns them with both. For each channel it takes those that are due the longest, as many as
	// there is room for. Those that wait in their lines take up no room, however many are due before. It skips deliveries
	// that another transaction has locked. When a lease has ended, another claim can take the delivery.
	ClaimDeliveries(ctx context.Context, c DeliveryClaim) ([]QueuedDelivery, error)
	// RecordResults writes results of claimed deliveries, and of others in their lines, each with what it entails. A result
	// counts only if its delivery is pending and its claim is the latest; that a delivery was sent counts under any claim.
	// Each delivery comes once.
	//
	// Where one of them reaches a final state, the first of its line that is left becomes due at now, unless it is due
	// already or has Attempts. One with Attempts keeps its Due: it was claimed before, or it took over the claim of the
	// deliveries that it supersedes, with their attempts. A claim in the same transaction finds the one that is due.
	RecordResults(ctx context.Context, now time.Time, results []DeliveryResult) error
	// RetryDeliveries makes those of the deliveries that have failed pending again, without Error and due at an
	// instant, and returns how many. Of several Attempts one stays: the alert may have been heard.
	RetryDeliveries(ctx context.Context, ids []int64, due time.Time) (retried int, err error)
	// LockPolicies keeps the policies of projects from changing until the commit: the ReleaseHeld of others waits for it, and
	// it for theirs.
	LockPolicies(ctx context.Context, projectIDs []uuid.UUID) error
	// Windows is that of [Lookup].
	Windows(ctx context.Context, f WindowFilter) ([]Window, error)
	// Escalations is that of [Lookup].
	Escalations(ctx context.Context, projects []uuid.UUID) (map[uuid.UUID][]gate.Step, error)
	// SaveClocks writes the clocks of outages, by the ID of their flips.
	SaveClocks(ctx context.Context, clocks map[int64]gate.Clock) error
	// LockLines locks the lines that begin with these claimed deliveries. It returns each line, in its order, by the ID
	// of its claimed delivery.
	LockLines(ctx context.Context, ids []int64) (map[int64][]WaitingDelivery, error)
	// OnAlertUntil makes SaveChecks add one more delivery, to [OnAlert], for each alert that is raised at or before an
	// instant, in whatever transaction. The latest instant of all calls that were committed counts.
	OnAlertUntil(ctx context.Context, until time.Time) error
	// LockIncident locks and returns the incident of a check and a channel, with Waiting, or [checks.ErrNotFound].
	LockIncident(ctx context.Context, checkID, channelID uuid.UUID) (Incident, error)
	// SaveIncident adds or replaces an incident, or removes it if its Open is "". It ignores an incident whose channel does
	// not exist.
	//
	// With a Close, it also adds a delivery that closes the incident of a locked check at the channel, without an alert. It
	// is due at CloseAt and waits in the line of the check and the channel. It refers to the newest flip of the check, if
	// there is one.
	SaveIncident(ctx context.Context, i Incident) error
	// LockCheck locks a check and returns it with its Channels and its compiled schedule.
	LockCheck(ctx context.Context, id uuid.UUID) (*Locked, error)
	// Channels is that of [Lookup].
	Channels(ctx context.Context, f ChannelFilter) ([]channels.Channel, error)
}
