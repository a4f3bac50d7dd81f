package sqlstore

import (
	"context"
	"sync"
)

// checkpointEvery is after how many bytes of bodies a checkpoint of SQLite begins.
const checkpointEvery = 4 << 20

// checkpoints copy what bodies have brought into the write-ahead log of SQLite to its place in the file, beside the
// transactions that go on. Most pings change the same pages again and again, so that the later a checkpoint comes, the
// less there is to copy: SQLite's own, in one commit of many, is the right one for them. The pages of bodies are each
// written once. There is nothing to gain from waiting for 64 MB of them, and all pings would wait a quarter of a second
// for the commit that copies them.
type checkpoints struct {
	bytes   int // of bodies since the last one began; whoever writes to SQLite has it
	running sync.Mutex
}

// checkpointBodies begins a checkpoint if enough bodies have been written since the last one. The caller is the only one
// who writes.
func (s *Store) checkpointBodies(c changes) {
	s.checkpoints.bytes += bodyBytes(c.pings)
	if s.checkpoints.bytes < checkpointEvery || !s.checkpoints.running.TryLock() {
		return
	}
	s.checkpoints.bytes = 0
	go func() {
		defer s.checkpoints.running.Unlock()
		// It waits for nobody, and copies only what no reader needs in the log any more. What goes wrong goes wrong for
		// the checkpoint that SQLite makes itself when the log is full, too, and so is heard of by those who write.
		_, _ = s.db.DB.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	}()
}
