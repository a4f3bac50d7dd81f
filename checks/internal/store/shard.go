package store

import (
	"context"

	"github.com/google/uuid"
)

// Sharder is a store whose transactions are cheapest if all checks of one are in the same shard. It is optional: the
// monitor finds out by a type assertion whether its [Store] is one.
type Sharder interface {
	// Shards returns the number of each check's shard, in the order of the checks, or nil if there is only one shard. A
	// check that does not exist is in any shard. The numbers are a hint: transactions may touch several shards.
	Shards(ctx context.Context, checks []uuid.UUID) ([]int, error)
}
