package monitor

import (
	"context"
	"time"
)

// Backlog summarizes the pending deliveries.
type Backlog struct {
	// Pending is the number of pending deliveries, including those that wait for a later time, at most 100,000.
	Pending int
	// OldestDue is the due time of the delivery that has been due the longest, or the zero time if none is due. A
	// delivery that waits for an earlier one of its line does not count.
	OldestDue time.Time
}

// Backlog summarizes the pending deliveries. The query is cheap however many there are.
func (m *Monitor) Backlog(ctx context.Context) (Backlog, error) {
	b, err := m.store.Backlog(ctx, m.now())
	return Backlog(b), err
}

// Connections is the state of the pool of connections to the database.
type Connections struct {
	// InUse and Idle are how many connections there are, and Max how many there may be, or 0 for any number.
	InUse, Idle, Max int
	// Waited is how long callers have waited for a connection, all together, since the store was opened.
	Waited time.Duration
	// Session is how much memory a session of PostgreSQL has for one connection, in bytes, without what sessions share. It is 0
	// for SQLite, and if the user of the database may not see it: it must be a superuser or a member of pg_read_all_stats.
	Session int64
}

// Connections returns the state of the pool of connections to the database.
func (m *Monitor) Connections(ctx context.Context) Connections {
	return Connections(m.store.Connections(ctx))
}

// OldestHealthy returns when the alert became due that waits the longest for this process although its channel is healthy,
// or the zero time if there is none. A channel is healthy unless its last attempt, or one that is under way, takes 2 seconds
// or longer, or the receiver has asked for a pause. The result is as of the last look at the outbox, a second ago at most.
func (m *Monitor) OldestHealthy() time.Time { return m.courier.OldestDue() }

// Queued returns the number of pings that wait for their commit.
func (m *Monitor) Queued() int { return m.ingest.Queued() }

// SpoolStats describes the pings in the spool of a [Monitor].
type SpoolStats struct {
	// Pings is how many pings the spool holds, and Bytes how many bytes they take.
	Pings int
	Bytes int64
	// Oldest is when the first of them was received, or the first of those in the database that wait for pings in other
	// spools. It is the zero time if there is none.
	Oldest time.Time
	// Stuck is how many pings wait in the database because they cannot be recorded, while those of other checks can. The
	// monitor tries again every few seconds. Those of other monitors are not counted.
	Stuck int
	// Dropped counts the pings that this monitor has removed from the spool because they had no check or could not be read.
	Dropped int64
}

// Spooled describes the pings that wait in the spool, from memory. ok is false for a monitor without a spool.
func (m *Monitor) Spooled() (stats SpoolStats, ok bool) {
	s, ok := m.ingest.SpoolStats()
	return SpoolStats(s), ok
}
