package monitor

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// spoolVersion is the version of spooledPing.
const spoolVersion = 1

// spooledPing is a ping in the spool, as JSON.
type spooledPing struct {
	Version int
	// Run is the monitor that received the ping, and Number its number there. Both together identify the ping.
	Run    uuid.UUID
	Number int64
	// AtMicros is the time of receipt, in microseconds since 1970.
	AtMicros int64
	// Check is the check, or the zero value if only Slug is known.
	Check  uuid.UUID
	Slug   slugTarget
	Signal pings.Signal
}

// slugTarget names the check of a ping by slug that nobody has looked up yet.
type slugTarget struct {
	PingKey, Slug string
	Create        bool
}

func encodeSpooled(run uuid.UUID, p *queuedPing) ([]byte, error) {
	return spooledPing{
		Version: spoolVersion, Run: run, Number: p.number, AtMicros: p.at.UnixMicro(), Check: p.check, Slug: p.slug, Signal: p.signal.Cleaned(),
	}.encode()
}

func (p spooledPing) encode() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("monitor: cannot spool a ping: %w", err)
	}
	return text, nil
}

func decodeSpooled(text []byte) (p spooledPing, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return spooledPing{}, fmt.Errorf("monitor: a ping in the spool cannot be read: %w", err)
	}
	if p.Version != spoolVersion {
		return p, fmt.Errorf("monitor: a ping in the spool has version %d, this program knows %d", p.Version, spoolVersion)
	}
	return p, nil
}
