package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// avoidWorker is how long the store leaves a worker alone that it cannot reach itself.
const avoidWorker = 10 * time.Second

// errDetour means that a transaction on a worker needs the coordinator.
var errDetour = errors.New("sqlstore: the transaction needs the coordinator")

// direct connects to the workers of Citus. A batch of pings that touches one worker and no table of the coordinator takes the
// direct way, in half the CPU time. A worker knows all shards, but has none of the coordinator's own tables, so nothing can be
// written there that needs two phases. Whatever fails before its commit runs again through the coordinator.
type direct struct {
	open func(host string, port uint16) *bun.DB // nil if the store cannot connect to other servers

	mu    sync.Mutex
	nodes map[int]*directNode
}

// directNode is a worker: its pool, or since when it is avoided.
type directNode struct {
	pool   *bun.DB
	failed time.Time
}

// Reach lets the store connect to the workers of Citus. open returns a pool for the same database on another server.
func (s *database) Reach(open func(host string, port uint16) *bun.DB) { s.direct.open = open }

// pool returns the pool of a worker, or nil if the transaction must take the way through the coordinator.
func (s *database) pool(ctx context.Context, node int) *bun.DB {
	d := &s.direct
	if d.open == nil || node == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes == nil {
		d.nodes = make(map[int]*directNode)
	}
	n := d.nodes[node]
	if n == nil {
		n = new(directNode)
		d.nodes[node] = n
	}
	if n.pool == nil && time.Since(n.failed) >= avoidWorker {
		var host string
		var port uint16
		err := s.db.DB.QueryRowContext(ctx, `SELECT nodename, nodeport FROM pg_catalog.pg_dist_node
			WHERE groupid = $1 AND noderole = 'primary' AND isactive AND metadatasynced`, node).Scan(&host, &port)
		if err == nil {
			n.pool = d.open(host, port)
		} else {
			n.failed = time.Now()
		}
	}
	return n.pool
}

// avoid closes the pool of a worker. Its address is read again before the next use: it may have failed over.
func (d *direct) avoid(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[node]; n != nil && n.pool != nil {
		_ = n.pool.Close()
		n.pool, n.failed = nil, time.Now()
	}
}

// close closes all pools.
func (d *direct) close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = nil
	for _, n := range d.nodes {
		if n.pool != nil {
			err = errors.Join(err, n.pool.Close())
			n.pool = nil
		}
	}
	return err
}

// detour decides, after an error of a transaction on a worker, whether to avoid the worker, and returns the context for the
// way through the coordinator.
func (s *database) detour(ctx context.Context, err error) context.Context {
	if away(err) || disconnected(err) || ctx.Err() != nil {
		s.direct.avoid(store.NodeOf(ctx))
	}
	return store.OnNode(ctx, 0)
}
