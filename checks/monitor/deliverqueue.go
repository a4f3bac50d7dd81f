package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// DeliveryState says what has become of a delivery.
type DeliveryState string

// The states of a delivery. All but the first are final.
const (
	DeliveryPending    DeliveryState = "pending"    // to be sent, or to be sent again
	DeliverySent       DeliveryState = "sent"       // the receiver has taken it
	DeliveryFailed     DeliveryState = "failed"     // it was given up
	DeliverySuperseded DeliveryState = "superseded" // it could not be sent in time, and a newer alert stands for it
)

// DeliveryQueue is the outbox: deliveries, one for each alert and integration, which [Tx].SaveStates adds. Those of
// one check to one integration are sent one after the other, in the order in which the alerts were raised. All methods
// work whatever has happened to the check and the integration meanwhile.
type DeliveryQueue interface {
	// DeliveryDue reports whether a delivery is due at the given instant. It is asked all the time and must be cheap.
	DeliveryDue(ctx context.Context, now time.Time) (bool, error)
	// ExchangeDeliveries records what has become of deliveries that were claimed, and then claims others, all in one
	// transaction.
	//
	// A result of DeliverySent is recorded as long as the delivery is pending; any other only if, besides, nobody else
	// has claimed the delivery since. When a delivery is over, the next one of its check and integration becomes due.
	// The mark of an integration, [channels.Channel].FailedAt, is set when a delivery to it has failed and taken off
	// when one was sent.
	//
	// Claimed is what is pending and due and has no earlier pending one of the same check and integration, the
	// longest due of an integration first. Where such a delivery has failed before, was made before
	// [DeliveryClaim].Stale and has newer ones behind it, those in between are superseded: only the newest is kept,
	// and if that one tells that the check is up, the first pending one about the last time that it went down. The
	// first that is kept is claimed instead and sums up the flips of those that are not.
	ExchangeDeliveries(ctx context.Context, results []DeliveryResult, claim DeliveryClaim) (DeliveryBatch, error)
	// Alerts returns what there is to tell about claimed deliveries, in any order. Those whose check or integration is
	// gone are left out.
	Alerts(ctx context.Context, claimed []QueuedDelivery) ([]Alert, error)
	// Deliveries returns deliveries, newest first.
	Deliveries(ctx context.Context, q DeliveryQuery) ([]Delivery, error)
	// RetryDeliveries makes failed deliveries of a project pending again, due at the given instant and as if they had
	// never been tried: those with these identifiers, or all when ids is nil. It returns how many. The error is
	// [checks.ErrNotFound], and nothing was changed, when one of ids is not a failed delivery of the project.
	RetryDeliveries(ctx context.Context, projectID uuid.UUID, ids []int64, now time.Time) (int, error)
}

// QueuedDelivery is a delivery that was claimed.
type QueuedDelivery struct {
	// ID is the store's own number of the delivery. It is never given to another one.
	ID int64
	// ChannelID is the integration that it goes to.
	ChannelID uuid.UUID
	// Attempts counts how often it was claimed, this time included. It tells this claim from later ones.
	Attempts int
	// CreatedAt is when the alert was raised.
	CreatedAt time.Time
}

// DeliveryResult says what has become of a delivery that was claimed.
type DeliveryResult struct {
	QueuedDelivery
	// State is the state that the delivery gets; DeliveryPending if it is to be sent again, or is still being sent.
	State DeliveryState
	// Due is when a pending one may be claimed next.
	Due time.Time
	// Uncounted takes the claim back, so that Attempts is what it was before.
	Uncounted bool
	// Error is what went wrong. When it is empty the former text stays, or goes if the delivery was sent.
	Error string
	// Members, unless nil, are the integrations of the group that the delivery went to. One with DeliverySent
	// is then replaced by deliveries to those of them that exist and do not have the same alert already, and
	// fails when none exists.
	Members []uuid.UUID
}

// DeliveryClaim says what is to be claimed.
type DeliveryClaim struct {
	// Now is the time of the results, and what is claimed is due by then. Until is the end of the claim.
	Now, Until time.Time
	// Stale is the instant before which deliveries are superseded that have failed.
	Stale time.Time
	// Limit is how many are claimed at most; with 0 nothing is.
	Limit int
	// PerChannel is how many of one integration are claimed at most, less the number in Busy for it.
	PerChannel int
	Busy       map[uuid.UUID]int
	// After is the integration behind which to begin, so that all have their turn.
	After uuid.UUID
}

// DeliveryBatch is what was claimed.
type DeliveryBatch struct {
	Claimed []QueuedDelivery
	// After is what to pass to the next claim.
	After uuid.UUID
	// More is true when a claim of the same size might find more at once.
	More bool
}

// Alert is what there is to tell about a delivery.
type Alert struct {
	QueuedDelivery
	// Check is the check as it is now, without its integrations, and Project the name of its project.
	Check   checks.Check
	Project string
	// Channel is the integration that the alert goes to.
	Channel channels.Channel
	// Flip is the status change that the alert is about. It is the zero value when it is kept no longer.
	Flip AlertFlip
	// Reminder is 0 for the alert itself, and counts those that repeat it from 1.
	Reminder int
	// DownAt is when the check last went down before a flip up, and UpAt when it first came up after a flip down; the
	// zero time where there is no such flip.
	DownAt, UpAt time.Time
	// Earlier are the flips before this one that the alert sums up, oldest first, [MaxEarlier] of them at most.
	Earlier []AlertFlip
	// Ping is the newest entry of the check's log with no more than [channels.MaxBody] bytes of its body; the zero value
	// if there is none.
	Ping pings.Ping
}

// AlertFlip is a flip with its reason.
type AlertFlip struct {
	At     time.Time
	Up     bool
	Reason checks.Reason
}

// MaxEarlier is how many earlier flips an alert sums up, the newest ones.
const MaxEarlier = 100

// Delivery is an entry of the history of deliveries.
type Delivery struct {
	// ID identifies the delivery within its database.
	ID int64
	// CheckID and CheckName are those of the check that the alert is about.
	CheckID   uuid.UUID
	CheckName string
	// ChannelID, ChannelName and ChannelKind are those of the integration that it goes to.
	ChannelID   uuid.UUID
	ChannelName string
	ChannelKind channels.Kind
	// Status is what the alert tells.
	Status channels.Status
	// Reminder is 0 for the alert itself, and counts those that repeat it from 1.
	Reminder int
	// State says what has become of it.
	State DeliveryState
	// Attempts counts how often it was tried, an attempt that is under way included.
	Attempts int
	// CreatedAt is when the alert was raised, in UTC.
	CreatedAt time.Time
	// Due is when a pending one is tried next; of one that is being sent or waits for an earlier one it is when that
	// is looked at again. It is the zero time for one that is over.
	Due time.Time
	// FinishedAt is when it was over, or the zero time.
	FinishedAt time.Time
	// Error is what went wrong last, at most 500 characters.
	Error string
}

// DeliveryQuery selects deliveries. The zero value of a field is no condition, but for Project.
type DeliveryQuery struct {
	// Project is the project that the deliveries belong to.
	Project uuid.UUID
	// Check and Channel select those of one check and to one integration.
	Check, Channel uuid.UUID
	// State selects those in one state.
	State DeliveryState
	// Before selects those with a lower ID: pass the last one of a page to have the next.
	Before int64
	// Limit is how many are returned at most. Default: 100.
	Limit int
}
