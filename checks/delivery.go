package checks

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
)

// DeliveryState is the state of a [Delivery].
type DeliveryState string

// The states of a delivery. All but DeliveryPending are final.
const (
	DeliveryPending    DeliveryState = "pending"    // to be sent, being sent, or to be sent again
	DeliverySent       DeliveryState = "sent"       // the receiver has accepted it
	DeliveryFailed     DeliveryState = "failed"     // it was given up
	DeliverySuperseded DeliveryState = "superseded" // it was late, and a newer alert replaced it
	// DeliverySkipped: the channel does not want alerts about that status, or the gate dropped it. A dropped reminder leaves no delivery.
	DeliverySkipped DeliveryState = "skipped"
)

// Delivery is an alert on its way to one channel, or what became of it.
type Delivery struct {
	// ID identifies the delivery within its database.
	ID int64
	// CheckID and CheckName are those of the check that the alert is about: its ID and its [Check.DisplayName].
	CheckID   uuid.UUID
	CheckName string
	// ChannelID, ChannelName and ChannelKind are those of the channel that it goes to.
	ChannelID   uuid.UUID
	ChannelName string
	ChannelKind channels.Kind
	// Recipient is the one of several recipients of the channel that the delivery is for alone, because an earlier attempt to
	// send to it failed, or "". A long one is a hash.
	Recipient string
	// Status is the status that the alert reports.
	Status channels.Status
	// Reason says why the status changed. It is "" if the flip was pruned.
	Reason flips.Reason
	// Close says why the delivery closes an incident at its receiver without an alert, such as "the check was paused". It is
	// "" for an alert.
	Close string
	// Reminder is 0 for the alert itself and counts the reminders from 1.
	Reminder int
	State    DeliveryState
	// Attempts counts the attempts to send it, including one in progress.
	Attempts int
	// CreatedAt is when the alert was raised, in UTC.
	CreatedAt time.Time
	// Due is when a pending delivery can be claimed next. It is the zero time in a final state.
	Due time.Time
	// FinishedAt is when the delivery reached its final state, or the zero time.
	FinishedAt time.Time
	// Held is the policy of the gate that keeps a pending delivery back until Due, or that has dropped a skipped one, and HeldBy
	// whom or what it names, such as the note of a maintenance window; see [gate.Why.Words]. Both are "" for others.
	Held   gate.Why
	HeldBy string
	// Error is the error of the last attempt, or why the gate dropped a skipped delivery, at most 500 characters.
	Error string
	// Batch is the same for the deliveries that one message stands for, in a storm of alerts: the lowest ID of them. It is 0
	// for one that is sent alone.
	Batch int64
	// InPart says that some of the recipients have the alert already, or deliveries of their own.
	InPart bool
}

// DeliveryQuery selects deliveries of a project. The zero value of a field selects all.
type DeliveryQuery struct {
	// IDs selects the deliveries with these identifiers.
	IDs []int64
	// Check and Channel select the deliveries of one check and to one channel.
	Check, Channel uuid.UUID
	// Batch selects the deliveries that one message stands for.
	Batch int64
	// State selects the deliveries in one state.
	State DeliveryState
	// Before selects lower identifiers.
	Before int64
	// Limit bounds the number of deliveries.
	Limit int
}

// Event is a transition or a pause of a check, which has no Reason.
type Event struct {
	Transition
	// CheckID is the identifier of the check.
	CheckID uuid.UUID
	// ID is the number of a recorded transition within its database, and otherwise 0. It grows in the order of the commits, also
	// if the clock was set back.
	ID int64
	// Deliveries are those of the alert about the transition and of its reminders, newest first, at most 100. Of more, it
	// has those of the alert itself and the newest. It is empty for a pause, and if nobody was to be told.
	Deliveries []Delivery
}
