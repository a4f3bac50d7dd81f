package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
)

// Incident is what a receiver keeps open about a check; see [channels.IncidentNotifier]. It outlives the check, so that a
// deleted check leaves nothing open, but not the channel.
type Incident struct {
	// CheckID and ChannelID identify the incident.
	CheckID, ChannelID uuid.UUID
	// CheckName is the name of the check when the incident was last saved, for the time after the check.
	CheckName string
	// DeliveryID is the delivery that last reported the check down to the channel.
	DeliveryID int64
	// Open is what the notifier remembers of the incident. It is "" when nothing is open: saving that removes the incident.
	Open string
	// DownAt is when the check went down.
	DownAt time.Time
	// Due is when the monitor next looks at the incident.
	Due time.Time
	// Attempts counts the attempts to close the incident without an alert.
	Attempts int
	// Channel is the channel. DueIncidents sets it, and SaveIncident ignores it.
	Channel channels.Channel
}

// IncidentReader reads incidents.
type IncidentReader interface {
	// DueIncidents returns up to limit incidents that are due at an instant, those first that are due the longest. The
	// monitor polls it, so it must be cheap if nothing is due.
	DueIncidents(ctx context.Context, now time.Time, limit int) ([]Incident, error)
}

// IncidentKeeper changes incidents inside a transaction.
type IncidentKeeper interface {
	// LockIncident locks and returns the incident of a check and a channel, or [checks.ErrNotFound].
	LockIncident(ctx context.Context, checkID, channelID uuid.UUID) (Incident, error)
	// SaveIncident adds or replaces an incident, or removes it if its Open is "". It ignores an incident whose channel does
	// not exist.
	SaveIncident(ctx context.Context, i Incident) error
	// Waiting reports whether a check has pending deliveries to a channel.
	Waiting(ctx context.Context, checkID, channelID uuid.UUID) (bool, error)
	// CloseIncident adds a delivery that closes the incident of a locked check at a channel, without an alert. It is due at
	// an instant and waits in the line of the check and the channel. It refers to the newest flip of the check, if there is
	// one. CloseIncident adds nothing if the channel does not exist.
	CloseIncident(ctx context.Context, checkID, channelID uuid.UUID, reason string, due time.Time) error
}
