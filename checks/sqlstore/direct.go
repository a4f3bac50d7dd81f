package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// avoidWorker is how long the store leaves a worker alone that it cannot reach itself.
	avoidWorker = 10 * time.Second
	// askAddress is how often the store asks the coordinator where a worker is.
	askAddress = time.Minute
)

// errDetour means that a transaction on a worker needs the coordinator, errMoved that the worker is elsewhere, and errPlaced that
// the worker or one of its shards is.
var (
	errDetour = errors.New("sqlstore: the transaction needs the coordinator")
	errMoved  = errors.New("sqlstore: the worker has another address")
	errPlaced = errors.New("sqlstore: the worker or one of its shards is elsewhere")
)

// direct connects to the workers of Citus. A batch of pings that touches one worker and no table of the coordinator takes the
// direct way, in half the CPU time. A worker knows all shards, and passes on what is for one that has moved, but has none of the
// coordinator's own tables, so nothing can be written there that needs two phases. Whatever fails before its commit runs again
// through the coordinator. If the answer to a commit is lost, the coordinator's view of the checks tells what happened.
type direct struct {
	open func(host string, port uint16, check string) *bun.DB // nil if the store cannot connect to other servers

	mu    sync.Mutex
	nodes map[int]*directNode
}

// worker is where a worker of Citus is. check is a query that is true there. It is false on any other node, on a standby, or if
// the name of a table means another one there.
type worker struct {
	host  string
	port  uint16
	check string
}

// directNode is a worker: its pool, if it can be reached, and when to ask the coordinator for it.
type directNode struct {
	pool   *bun.DB
	worker worker // of the pool
	ask    time.Time
}

// close closes the pool.
func (n *directNode) close() (err error) {
	if n.pool != nil {
		err = n.pool.Close()
		n.pool = nil
	}
	return err
}

// Reach lets the store connect to the workers of Citus. open returns a pool for the same database on a worker, each connection
// of which has passed the check, or nil.
func (s *database) Reach(open func(host string, port uint16, check string) *bun.DB) {
	s.direct.open = open
}

// pool returns the pool of a worker and where that is, or nil if the transaction must take the way through the coordinator.
func (s *database) pool(ctx context.Context, node int) (*bun.DB, worker) {
	d := &s.direct
	if d.open == nil || node == 0 {
		return nil, worker{}
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
	if now := time.Now(); !now.Before(n.ask) {
		w, err := s.askWorker(ctx, node)
		if err != nil || w != n.worker {
			_ = n.close()
		}
		n.worker, n.ask = w, now.Add(askAddress)
		switch {
		case err != nil:
			n.ask = now.Add(avoidWorker)
		case n.pool == nil:
			n.pool = d.open(w.host, w.port, w.check)
		}
	}
	return n.pool, n.worker
}

// askWorker asks the coordinator for a worker.
func (s *database) askWorker(ctx context.Context, node int) (w worker, err error) {
	var shard int64
	err = s.db.DB.QueryRowContext(ctx, `SELECT nodename, nodeport, shardid
		FROM pg_catalog.pg_dist_node JOIN pg_catalog.pg_dist_placement USING (groupid) JOIN pg_catalog.pg_dist_shard USING (shardid)
		WHERE groupid = $1 AND noderole = 'primary' AND isactive AND metadatasynced AND logicalrelid = to_regclass('rollcall_states')
		ORDER BY shardid LIMIT 1`, node).Scan(&w.host, &w.port, &shard)
	if err != nil {
		return worker{}, err
	}
	w.check = fmt.Sprintf(`SELECT count(*) > 0 AND NOT pg_is_in_recovery()
		FROM pg_catalog.pg_dist_local_group, pg_catalog.pg_dist_shard
		WHERE groupid = %d AND shardid = %d AND logicalrelid = to_regclass('rollcall_states')`, node, shard)
	return w, nil
}

// avoid closes the pool of a worker. The coordinator is asked again before the next use: the worker may have failed over.
func (d *direct) avoid(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[node]; n != nil && n.pool != nil {
		_ = n.close()
		n.ask = time.Now().Add(avoidWorker)
	}
}

// askAgain makes the next use of a worker ask the coordinator where it is.
func (d *direct) askAgain(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[node]; n != nil {
		n.ask = time.Time{}
	}
}

// close closes all pools.
func (d *direct) close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = nil
	for _, n := range d.nodes {
		err = errors.Join(err, n.close())
	}
	return err
}

// detour decides, after an error of a transaction on a worker, whether to avoid the worker, and returns the context for the
// way through the coordinator.
func (s *database) detour(ctx context.Context, err error) context.Context {
	if errors.Is(err, errPlaced) {
		s.direct.askAgain(store.NodeOf(ctx))
		_ = s.readLayout(ctx) // a failure shows up on the way through the coordinator
	} else if errors.Is(err, errMoved) || away(err) || disconnected(err) || ctx.Err() != nil {
		s.direct.avoid(store.NodeOf(ctx))
	}
	return store.OnNode(ctx, 0)
}

// onWorker runs a transaction on a worker. It takes a connection to the coordinator first, for the keys of pings. If it took one
// while it has locked checks, those could be waiting for it that have all connections.
func (t *transaction) onWorker(ctx context.Context, pool *bun.DB, fn func(ctx context.Context, tx bun.Tx) error) (err error) {
	if t.coordinator, err = t.s.db.DB.Conn(ctx); err != nil {
		return err
	}
	defer t.coordinator.Close()
	return pool.RunInTx(ctx, nil, fn)
}

// reserveDirect returns n identifiers for a transaction on a worker, which has no sequences. It fails if the worker has another
// address since, so that nothing is written to one that has been replaced and runs on. If the transaction uses shards by name, whose
// metadata it has locked, it also fails unless each of them is on this worker and nowhere else: Citus commits a move on the
// coordinator before it releases that lock.
func (t *transaction) reserveDirect(ctx context.Context, next string, n int) (ids []int64, err error) {
	next += ` WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_dist_node
		WHERE groupid = $2 AND nodename = $3 AND nodeport = $4 AND noderole = 'primary' AND isactive)`
	args, elsewhere := []any{n, store.NodeOf(ctx), t.worker.host, int64(t.worker.port)}, errMoved
	if t.named != nil {
		next += ` AND (SELECT count(*) = cardinality($5::bigint[]) AND count(DISTINCT shardid) = count(*) AND bool_and(groupid = $2)
			FROM pg_catalog.pg_dist_placement WHERE shardid = ANY ($5::bigint[]))`
		args, elsewhere = append(args, t.named.ids), errPlaced
	}
	var id int64
	rows, err := t.coordinator.QueryContext(ctx, next, args...)
	if ids, err = scanList(rows, err, &id, &id); err == nil && len(ids) < n {
		err = elsewhere
	}
	return ids, err
}
