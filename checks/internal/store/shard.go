package store

import (
	"context"

	"github.com/google/uuid"
)

// Sharder tells how to split work: a transaction is cheapest if all its checks are on the same node.
type Sharder interface {
	// Nodes returns the number of each check's node, in the order of the checks, or nil if there is only one node. A check
	// that does not exist is on any node. The numbers are a hint: transactions may touch several nodes. As long as layout is
	// the same, each check stays on its node.
	Nodes(ctx context.Context, checks []uuid.UUID) (nodes []int, layout int64, err error)
}
