package store

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrSpoolFull means that a [Spool] has no room for further entries.
var ErrSpoolFull = errors.New("the spool is full")

// ErrSpoolDamaged means that a [Spool] has found its file damaged, and that no method but Size works any more. The error
// around it says what to do.
var ErrSpoolDamaged = errors.New("the spool is damaged")

// Spool is a durable queue on the machine of a monitor. It keeps pings while the database is unavailable. The monitor
// decides what the entries hold. All methods are safe for concurrent use. Package spool has an implementation in a file.
type Spool interface {
	// ID identifies the spool. It is the same each time that the spool is opened.
	ID() uuid.UUID
	// Append adds entries at the end. When it returns nil, they survive a crash of the process and of the machine. On an
	// error, which is [ErrSpoolFull] if they do not fit and [ErrReplaced] if they would be lost, it has added none.
	Append(entries [][]byte) error
	// Oldest returns the first entries in the order of Append: at most limit, and at most as many as have maxBytes in
	// total, but at least one if there is any.
	Oldest(limit, maxBytes int) ([]SpoolEntry, error)
	// Remove removes all entries up to and including one.
	Remove(upTo uint64) error
	// Probe fails if the spool takes no pings because its file is no longer there: the error is [ErrReplaced]. With write, it
	// also fails if it cannot write.
	Probe(write bool) error
	// Size returns the number of entries and the bytes in them, from memory.
	Size() (entries int, bytes int64)
}

// SpoolEntry is an entry of a [Spool].
type SpoolEntry struct {
	// Key identifies the entry. Later entries have larger keys.
	Key  uint64
	Data []byte
}

// SpoolState is the progress of a monitor with a [Spool]. Each run of the monitor has its own, which the others on
// the database read.
type SpoolState struct {
	// ID identifies the run, and SpoolID its spool.
	ID, SpoolID uuid.UUID
	// SettledAt is an instant before which the monitor has received no ping that is not in the database, where it may wait
	// for TakeSpooled.
	SettledAt time.Time
	// SeenAt is when the monitor last saved its state.
	SeenAt time.Time
	// MissingSince is when another monitor noticed that this one no longer saves its state, or the zero time.
	MissingSince time.Time
	// Forget and ForgetClosed make SaveSpool remove the states that were saved before Forget, and those with SettledAt
	// equal to [SpoolClosed] that were saved before ForgetClosed, with the numbers that are recorded for their runs. They
	// are not read back.
	Forget, ForgetClosed time.Time
}

// SpooledPing is a ping out of a [Spool]. The monitor decides what its data holds.
type SpooledPing struct {
	At   time.Time
	Data []byte // nil for a ping that is dropped: it only counts as recorded
	// Run is the run of the monitor that received the ping, and Number that of the ping in the run.
	Run    uuid.UUID
	Number int64
}

// SpoolClosed is the SettledAt of a monitor that has stopped with an empty spool.
var SpoolClosed = time.UnixMicro(1 << 60).UTC()
