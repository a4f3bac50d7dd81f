package ingest

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// MaxBody is the maximum size of a ping's body in bytes. It also bounds the bodies of one batch, which keeps its
// transaction short.
const MaxBody = 8 << 20

// queued is a signal that waits for its commit.
type queued struct {
	check  uuid.UUID
	slug   slugTarget // instead of check, if only the replay can look it up
	signal pings.Signal
	at     time.Time
	again  bool  // it was queued before, and at is when it was received
	number int64 // ascends in the order of the commits, while there is a spool

	done chan struct{} // closed once ping and err are set
	ping pings.Ping
	err  error
}

// slugTarget names the check of a ping by slug that nobody has looked up yet.
type slugTarget struct {
	PingKey, Slug string
	Create        bool
}

// Events are functions that metrics count by. Package monitor documents the functions. None is nil.
type Events struct {
	PingsWritten  func(kinds map[pings.Kind]int, took time.Duration)
	PingsFailed   func(size int)
	PingsSpooled  func(size int)
	PingsReplayed func(recorded, dropped int)
	SpoolHeld     func()
	PingRefused   func()
}
