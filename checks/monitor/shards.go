package monitor

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// concurrentShards is how many shards a batch is written to at once. With a spool it is one, because the spool needs
// pings to be committed in the order of their numbers.
const concurrentShards = 4

// writeByShard writes a batch shard by shard, so that each transaction touches one: a worker that is down then fails
// only its own pings. The pings of one check stay in order, because a check is in one shard.
func (w *writer) writeByShard(batch []*queuedPing) {
	parts := w.byShard(batch)
	if len(parts) < 2 || w.spooling != nil {
		for _, part := range parts {
			w.write(part)
		}
		return
	}
	var writers sync.WaitGroup
	free := make(chan struct{}, concurrentShards)
	for _, part := range parts {
		free <- struct{}{}
		writers.Go(func() {
			w.write(part)
			<-free
		})
	}
	writers.Wait()
}

// byShard splits a batch by the shards of its checks. It does not split the batch if the store has no shards or cannot
// tell them.
func (w *writer) byShard(batch []*queuedPing) [][]*queuedPing {
	whole := [][]*queuedPing{batch}
	if w.sharder == nil || len(batch) < 2 || w.spooling.isActive() {
		return whole
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	ids := make([]uuid.UUID, len(batch))
	for i, p := range batch {
		ids[i] = p.check
	}
	shards, err := w.sharder.Shards(ctx, ids)
	if err != nil || shards == nil {
		return whole
	}
	at := make(map[int]int) // index in parts
	var parts [][]*queuedPing
	for i, p := range batch {
		part, ok := at[shards[i]]
		if !ok {
			part = len(parts)
			at[shards[i]], parts = part, append(parts, nil)
		}
		parts[part] = append(parts[part], p)
	}
	return parts
}

// sharderOf returns a store as a Sharder, or nil if it is none.
func sharderOf(s store.Store) store.Sharder {
	sharder, _ := s.(store.Sharder)
	return sharder
}
