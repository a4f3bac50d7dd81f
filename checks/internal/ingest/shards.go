package ingest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// nodeQueues are the queues behind the queue of a database on several nodes, one for each node. Each batch then touches one node. A
// node that is down fails only its own pings. The pings of one check stay in order, because they take the same one.
//
// The queues go in step: the queue before them passes on a batch to all, and takes the next one when they have committed it. Callers
// of one node would otherwise return while the others commit, and all batches would be small.
type nodeQueues struct {
	sharder store.Sharder
	timeout time.Duration
	open    func(node int) *queue // makes one
	layout  int64                 // that the queues have pings of

	mu     sync.Mutex
	queues map[int]*queue // by node

	skip map[int]int // steps that do not wait for a node; only the queue before them uses it
}

// minStep and maxStep bound how long a step waits for nodes.
const minStep, maxStep = maxWait, 10 * maxWait

// pass puts a batch of the queue before them into those of its checks, and returns it by node. If it cannot tell them, the pings
// fail.
func (n *nodeQueues) pass(batch []*queued, front *queue) (step map[int][]*queued) {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	nodes, layout, err := nodesOf(ctx, n.sharder, batch)
	if err != nil {
		err = outage(ctx, err)
		front.fail(batch, err)
		front.progressed(false, err)
		for _, p := range batch {
			close(p.done)
		}
		return nil
	}
	if layout != n.layout { // a check may have moved to another node
		for _, p := range n.waiting() {
			<-p.done
		}
		n.layout = layout
	}
	step = make(map[int][]*queued)
	for i, p := range batch {
		step[nodes[i]] = append(step[nodes[i]], p)
	}
	for node, part := range step {
		refused, _ := n.at(node).add(part...) // each has its error
		for _, p := range refused {
			front.events.PingRefused()
			close(p.done)
		}
	}
	return step
}

// await waits until the queues have committed a step. It waits at most twice as long as their last commits took, and then leaves a
// queue that is late alone for the next steps: a node that is down must not hold up the others. It reports how many pings were
// committed before the last ones, and whether all were.
func (n *nodeQueues) await(step map[int][]*queued) (early int, all bool) {
	limit := minStep
	for node := range step {
		limit = max(limit, 2*n.at(node).lastTook())
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(limit, maxStep))
	defer cancel()
	all = true
	last := 0 // pings of the node that was awaited last
	for node, part := range step {
		early += len(part)
		switch {
		case n.skip[node] > 0:
			n.skip[node]--
			all = false
		case !slices.ContainsFunc(part, (*queued).waits):
		case slices.ContainsFunc(part, func(p *queued) bool { return p.lateFor(ctx) }):
			n.skip[node], all = maxSkipped, false
		default:
			last = len(part)
		}
	}
	return early - last, all
}

// waits reports whether a ping is not committed yet.
func (p *queued) waits() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// lateFor waits until a ping is committed, or ctx ends, and reports whether it still waits.
func (p *queued) lateFor(ctx context.Context) bool {
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return p.waits()
}

// at returns the queue of a node.
func (n *nodeQueues) at(node int) *queue {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.queues[node] == nil {
		n.queues[node] = n.open(node)
	}
	return n.queues[node]
}

// all returns the queues. Of nil it returns none.
func (n *nodeQueues) all() []*queue {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.queues))
}

// onNode is a store whose transactions touch one node.
type onNode struct {
	store.Ingest
	node int
}

func (s onNode) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	return s.Ingest.Update(store.OnNode(ctx, s.node), fn)
}

// waiting returns the pings in the queues that are not committed yet.
func (n *nodeQueues) waiting() (list []*queued) {
	for _, q := range n.all() {
		list = append(list, q.waiting()...)
	}
	return list
}

// byNode returns a commit that takes a batch node by node. It is for a monitor with a spool, which has no queues of nodes: the spool
// needs pings to be committed in the order of their numbers.
func byNode(sharder store.Sharder, timeout time.Duration, s *spool, next commit) commit {
	return func(batch []*queued, fail func([]*queued, error)) {
		if len(batch) == 1 || s.active.Load() {
			next(batch, fail)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		nodes, _, err := nodesOf(ctx, sharder, batch)
		if err != nil {
			next(batch, fail)
			return
		}
		parts := make(map[int][]*queued)
		for i, p := range batch {
			parts[nodes[i]] = append(parts[nodes[i]], p)
		}
		for _, node := range slices.Sorted(maps.Keys(parts)) {
			next(parts[node], fail)
		}
	}
}

// nodesOf returns the node of each ping's check, which is 0 for all if there is only one.
func nodesOf(ctx context.Context, sharder store.Sharder, batch []*queued) (nodes []int, layout int64, err error) {
	ids := make([]uuid.UUID, len(batch))
	for i, p := range batch {
		ids[i] = p.check
	}
	nodes, layout, err = sharder.Nodes(ctx, ids)
	if err == nil && nodes == nil {
		nodes = make([]int, len(batch))
	}
	return nodes, layout, err
}
