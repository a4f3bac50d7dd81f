package sqlstore

import (
	"context"
	"sync"
)

// checkpointEvery is how many bytes of bodies start a checkpoint of SQLite.
const checkpointEvery = 4 << 20

// checkpoints copies the bodies of pings from SQLite's write-ahead log to the database file, beside the transactions that
// go on. Other pages change again and again, so that SQLite's own late checkpoint is right for them. Each page of a body
// is written once: waiting for 64 MB of them gains nothing and blocks all pings for a quarter of a second.
type checkpoints struct {
	bytes   int // of bodies since the last checkpoint began; guarded by Store.writing
	running sync.Mutex
}

// checkpointBodies notes bodies that were written, and starts a checkpoint when there are enough. The caller holds
// Store.writing.
func (s *Store) checkpointBodies(size int) {
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
		// A passive checkpoint waits for nobody. If it fails, so does the one that SQLite makes when the log is full, and
		// the writer of that commit gets the error.
		_, _ = s.db.DB.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	}()
}
