package store

import (
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
	// Close says why a delivery, due at CloseAt, closes the incident. It is "" for none, and is not read back.
	Close   string
	CloseAt time.Time
	// Waiting reports whether the check has pending deliveries to the channel. Only LockIncident sets it.
	Waiting bool
	// Channel is the channel. DueIncidents sets it, and SaveIncident ignores it.
	Channel channels.Channel
}
