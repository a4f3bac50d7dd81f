package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// concurrentShards is how many shards a batch is written to at once. With a spool it is one, because the spool needs
// pings to be committed in the order of their numbers.
const concurrentShards = 4

// sharded returns a commit that takes a batch shard by shard, so that each transaction touches one: a worker that is down
// then fails only its own pings. The pings of one check stay in order, because a check is in one shard. s may be nil.
func sharded(sharder store.Sharder, timeout time.Duration, s *spool, next commit) commit {
	workers := concurrentShards
	if s != nil {
		workers = 1
	}
	return func(batch []*queued, fail func([]*queued, error)) {
		parts := [][]*queued{batch}
		if len(batch) > 1 && (s == nil || !s.active.Load()) {
			parts = byShard(sharder, timeout, batch)
		}
		if len(parts) == 1 {
			next(batch, fail)
			return
		}
		var group sync.WaitGroup
		free := make(chan struct{}, workers)
		for _, part := range parts {
			free <- struct{}{}
			group.Go(func() {
				next(part, fail)
				<-free
			})
		}
		group.Wait()
	}
}

// byShard splits a batch by the shards of its checks. It does not split the batch if there is one shard, or if the store
// cannot tell them.
func byShard(sharder store.Sharder, timeout time.Duration, batch []*queued) [][]*queued {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ids := make([]uuid.UUID, len(batch))
	for i, p := range batch {
		ids[i] = p.check
	}
	shards, err := sharder.Shards(ctx, ids)
	if err != nil || shards == nil {
		return [][]*queued{batch}
	}
	at := make(map[int]int) // index in parts
	var parts [][]*queued
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
