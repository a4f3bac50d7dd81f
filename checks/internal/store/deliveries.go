package store

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// OnAlert is the channel of the deliveries to the function OnAlert of a monitor's configuration. Every store has it,
// but no list of channels does, no check is assigned to it, it has no mark and cannot be deleted. Deliveries to it differ
// from others only in how they come about; see [CourierTx].OnAlertUntil.
var OnAlert = channels.Channel{ID: uuid.UUID{15: 1}, Kind: channels.Function, Name: "OnAlert"}

// QueuedDelivery is a delivery in the outbox.
type QueuedDelivery struct {
	// ID is the store's number of the delivery. It grows, and is never reused.
	ID int64
	// ChannelID is the channel that the delivery goes to.
	ChannelID uuid.UUID
	// State is checks.DeliveryPending when the delivery was claimed.
	State checks.DeliveryState
	// Attempts counts the claims, unless a result has written another number. It tells one claim from the next.
	Attempts int
	// CreatedAt is when the alert was raised.
	CreatedAt time.Time
	// Reminder is 0 for the alert itself and numbers a reminder from 1: as the check has raised it, but in an [Alert] without those before
	// it in the line that were neither sent nor given up.
	Reminder int
	// Due is when a pending delivery may be claimed next. While it is being sent, that is the end of the lease. While it
	// waits for an earlier one of its line, the store may put Due off, up to the end of that one's lease.
	Due time.Time
	// Since is the instant from which the alert sums up earlier flips, that instant included. It is Since of the alert
	// or a value that a result has written. The zero time sums up none.
	Since time.Time
	// Error is the error of the last attempt, or "".
	Error string
	// Done are the recipients that have accepted the alert; see [channels.Partial].
	Done []string
	// Handed are the recipients that get the alert by separate deliveries.
	Handed []string
	// Recipient is the recipient that the delivery is for alone, as [channels.Rest] named it, or "" for all that are neither
	// Done nor Handed. Its line is separate.
	Recipient string
	// Held is the policy that keeps the delivery back, or did last, or "" if none ever has, and HeldBy whom or what it names; see
	// [gate.Decision]. HeldUntil is when the gate is asked again, or was, or the zero time. The delivery is kept back while Due
	// is HeldUntil.
	Held      gate.Why
	HeldBy    string
	HeldUntil time.Time
	// Batch is the lowest ID of the deliveries that one message stands for, or 0 for one that is sent alone.
	Batch int64
	// Origin is the ID of the delivery that a delivery for one recipient was handed over from, or 0.
	Origin int64
}

// Handover is the delivery of an alert to one of several recipients, in that recipient's line.
type Handover struct {
	Recipient string
	// Attempts, Due and Error are those of the new delivery.
	Attempts int
	Due      time.Time
	Error    string
}

// DeliveryResult is what became of a claimed delivery.
type DeliveryResult struct {
	// QueuedDelivery is the delivery afterwards: RecordResults writes State, Attempts, Due, Since, Error, Done, Held, HeldBy,
	// HeldUntil, Batch and Reminder.
	QueuedDelivery
	// Claim is the number of Attempts under which the delivery was claimed.
	Claim int
	// Forget says that the delivery leaves no row: a reminder that the gate has dropped, and that was never tried.
	Forget bool
	// Copies are further channels for the alert. Each gets a new pending delivery with no Attempts, due now, and with
	// CreatedAt, Since, Held, HeldUntil, the flip and the reminder of the original. A channel gets none if it no longer exists or has the
	// same alert already: a delivery that was not skipped, for the same check and flip, a reminder like the original or none like it, and
	// raised at the same instant or later, whose incident was not closed since.
	Copies []uuid.UUID
	// Handovers are the recipients that get a pending delivery of their own, each at most one of the same Origin. All else is
	// that of the original.
	Handovers []Handover
	// Mark is the new [channels.Channel].FailedAt and Error of the channel, or nil to leave them.
	Mark *ChannelMark
	// Incident is an incident to save, or nil.
	Incident *Incident
}

// WaitingDelivery is a delivery in a line, with the flip that it is about.
type WaitingDelivery struct {
	QueuedDelivery
	// FlipID is the store's number of the flip. A later flip of the check has a higher one.
	FlipID int64
	// FlipAt is the instant of the flip, or CreatedAt if the flip was pruned.
	FlipAt time.Time
	// FlipUp reports whether the check went up, or whether the delivery closes an incident. It is false if the flip was
	// pruned.
	FlipUp bool
}

// DeliveryClaim says which deliveries to claim.
type DeliveryClaim struct {
	// Now is the instant by which a delivery must be due, and Until the end of the lease. It may be Now, for a claim that
	// only finds the lines.
	Now, Until time.Time
	// Room lists the channels to claim for, each once.
	Room []ChannelRoom
}

// DueChannel is a channel that has deliveries to claim.
type DueChannel struct {
	Channel uuid.UUID
	// Project is the project of the channel, or Channel for one that has none, such as OnAlert.
	Project uuid.UUID
	// Due is when the first of the deliveries became due.
	Due time.Time
}

// ChannelRoom is the largest number of deliveries to claim for a channel.
type ChannelRoom struct {
	Channel uuid.UUID
	N       int
}

// ChannelMark says since when and why a channel fails. The zero value is a channel that works.
type ChannelMark struct {
	FailedAt time.Time
	Error    string
}

// Alert is the content of a delivery.
type Alert struct {
	// QueuedDelivery is the delivery as it was passed to Alerts.
	QueuedDelivery
	// Check is the current check without its channels, and Project the name of its project.
	Check   checks.Check
	Project string
	// Storm says when alerts of the project leave together.
	Storm gate.Storm
	// Channel is the channel that the alert goes to.
	Channel channels.Channel
	// Members are the members of a group that exist (see package selection), oldest first. It is nil for a channel
	// of another kind.
	Members []uuid.UUID
	// Apart are the recipients that have pending deliveries of their own from earlier alerts about the check.
	Apart []string
	// Governed says that a policy may keep the alert back or drop it: without it, the gate sends it.
	Governed bool
	// Unheard says of an alert that the check is up that nobody who gets it knows of an outage: in its line, the last of what somebody
	// may have heard, which is what was sent or tried, does not say that the check is down, or there is none. One that was not sent has
	// not said that it is up. An alert that sums up quiet hours counts as heard, unless the gate has dropped the last before it.
	Unheard bool
	// Replaced says of an alert that the check is down that a pause has ended the outage, and its line has told of a later one.
	Replaced bool
	// Flip is the status change that the alert is about, or the zero value if it was pruned.
	Flip AlertFlip
	// Told is when an alert or reminder about the same flip was sent last in the line of a reminder, or the zero time.
	Told time.Time
	// DownAt is when the check last went down before a flip up. UpAt is when it came up after a flip down, which
	// ended that outage: after a pause it may go down again before. Each is the zero time if there is no such flip.
	DownAt, UpAt time.Time
	// Earlier are the flips from Since on and before this one, oldest first. If there are more than [MaxEarlier], it has
	// the newest. It goes by the stored Since, not by the one that was passed.
	Earlier []AlertFlip
	// Close says why the delivery closes an incident. It is "" for an alert; see [Incident].
	Close string
	// Open is what is open at the receiver, by the incident of the check and the channel.
	Open string
	// Ping is the newest entry of the check's log, with its BodySize and the first [channels.MaxBody] bytes of its body,
	// or its BodyKey. It is the zero value if the log is empty.
	Ping pings.Ping
	// BodyEnd is the last [AlertEnd] bytes of the body of Ping, or empty if Ping has a BodyKey.
	BodyEnd []byte
}

// Early reports of a reminder whether it is too early for it at an instant: less than nine tenths of the time between two have passed since
// one was sent last.
func (a *Alert) Early(now time.Time) bool {
	return !a.Told.IsZero() && a.Told.Add(a.Check.RepeatEvery-a.Check.RepeatEvery/10).After(now)
}

// AlertEnd is how many bytes of the end of a body the courier gets: enough for [channels.MaxEnd] bytes of text in every
// character set.
const AlertEnd = 4 * channels.MaxEnd

// AlertFlip is a flip with the reason of its [checks.Transition] and, of one that is down, the clock of its outage.
type AlertFlip struct {
	ID     int64
	At     time.Time
	Up     bool
	Reason flips.Reason
	Clock  gate.Clock
}

// MaxEarlier bounds the earlier flips that an alert sums up. It sums up the newest.
const MaxEarlier = 100

// Waiting sums up the alerts that wait for a channel, without those that the gate keeps back.
type Waiting struct {
	// Alerts counts them, and Attempts is the most that one of them had.
	Alerts, Attempts int
	// Oldest and Newest are when the first and the last of them could leave: when they were raised, or at the end of their
	// HeldUntil.
	Oldest, Newest time.Time
	// Error is that of the newest one with an error.
	Error string
}

// MaxPending bounds [Backlog].Pending, which keeps the query cheap.
const MaxPending = 100_000

// Backlog summarizes the pending deliveries.
type Backlog struct {
	// Pending is the number of pending deliveries, including those that wait for a later time, at most [MaxPending].
	Pending int
	// OldestDue is the due time of the delivery that has been due the longest, or the zero time if none is due. A
	// delivery that waits for an earlier one of its line does not count.
	OldestDue time.Time
}
