package sqlstore

import (
	"context"
	"sync"
)

// checkpointEvery is the number of body bytes after which the store starts a checkpoint of SQLite.
const checkpointEvery = 4 << 20

// checkpoints copies the bodies of pings from SQLite's write-ahead log to the database file, concurrently with
// transactions. Other pages change often, so SQLite's own late checkpoint suits them. A page of a body never changes: a
// checkpoint of 64 MB of bodies saves no write and blocks all pings for a quarter of a second.
type checkpoints struct {
	bytes   int // body bytes since the last checkpoint began; guarded by Store.writing
	running sync.Mutex
}

// checkpointBodies counts written bodies, and starts a checkpoint when they reach checkpointEvery. The caller holds
// Store.writing.
func (s *database) checkpointBodies(size int) {
	if s.d.postgres {
		return
	}
	s.checkpoints.bytes += size
	if s.checkpoints.bytes < checkpointEvery || !s.checkpoints.running.TryLock() {
		return
	}
	s.checkpoints.bytes = 0
	go func() {
		defer s.checkpoints.running.Unlock()
		// A passive checkpoint blocks nobody. Ignore its error: if the fault lasts, SQLite's own checkpoint fails too
		// and reports it to a writer.
		_, _ = s.db.DB.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	}()
}
