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

type nodeKey struct{}

// OnNode returns a context for an Update whose checks are all on one node, so that it may run there. 0 means no node.
func OnNode(ctx context.Context, node int) context.Context {
	return context.WithValue(ctx, nodeKey{}, node)
}

// NodeOf returns the node of a context, or 0.
func NodeOf(ctx context.Context) int {
	node, _ := ctx.Value(nodeKey{}).(int)
	return node
}
