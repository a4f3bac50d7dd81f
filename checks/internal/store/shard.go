package store

import (
	"context"

	"github.com/google/uuid"
)

// Sharder tells how to split work: a transaction is cheapest if all its checks are in the same shard.
type Sharder interface {
	// Shards returns the number of each check's shard, in the order of the checks, or nil if there is only one shard. A
	// check that does not exist is in any shard. The numbers are a hint: transactions may touch several shards.
	Shards(ctx context.Context, checks []uuid.UUID) ([]int, error)
}
