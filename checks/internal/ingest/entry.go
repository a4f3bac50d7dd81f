package ingest

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

const entryVersion = 1

// entry is a ping in the spool, as JSON.
type entry struct {
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

// entryOf returns a ping as the spool keeps it.
func entryOf(run uuid.UUID, p *queued) entry {
	return entry{
		Version: entryVersion, Run: run, Number: p.number, AtMicros: p.at.UnixMicro(), Check: p.check, Slug: p.slug, Signal: p.signal,
	}
}

func (e entry) encode() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("monitor: cannot spool a ping: %w", err)
	}
	return text, nil
}

func decode(text []byte) (e entry, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return entry{}, fmt.Errorf("monitor: a ping in the spool cannot be read: %w", err)
	}
	if e.Version != entryVersion {
		return e, fmt.Errorf("monitor: a ping in the spool has version %d, this program knows %d", e.Version, entryVersion)
	}
	if _, err := e.Signal.Normalized(); err != nil { // earlier versions accepted a kind that contradicts the exit status
		e.Signal.ExitStatus = nil
	}
	if _, err := e.Signal.Normalized(); err != nil { // and counted a signal of an unknown scheme by its kind
		e.Signal.Scheme, e.Signal.Method, e.Signal.Mail, e.Signal.Filtered = "", "", nil, nil
	}
	return e, nil
}
