package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

const (
	// workers is the number of workers of Citus, beside the coordinator.
	workers = 2
	// recoverEvery is how often Citus ends commits in doubt: so often that clients find few checks locked.
	recoverEvery = 2 * time.Second
)

// startCitus starts a cluster of Citus and distributes the database over its workers.
func (s *site) startCitus(ctx context.Context, binary string) (err error) {
	s.nodes, err = pgserver.NewCitus(ctx, filepath.Join(s.dir, "citus"), "rollcall", workers, "fsync=off", "rollcall.accepts=fsync",
		fmt.Sprintf("citus.recover_2pc_interval=%dms", recoverEvery.Milliseconds()), "citus.node_connection_timeout=2s",
		"wal_level=logical", "citus.defer_shard_delete_interval=1s")
	if err != nil {
		return err
	}
	s.database = s.nodes[0].URL("rollcall")
	out, err := program.Command(ctx, binary, "migrate", "--distribute", "--database", s.database).CombinedOutput()
	if err != nil {
		return fmt.Errorf("distribute: %w\n%s", err, out)
	}
	return nil
}

// nodeKills kills the nodes of a cluster in turn.
type nodeKills struct {
	*site
	limit int    // kills of all nodes
	done  int    // of them
	over  func() // is called after the last one
}

func newNodeKills(s *site, o options, over func()) *nodeKills {
	return &nodeKills{site: s, limit: int(o.NodeKills) * len(s.nodes), over: over}
}

// While nodes are killed, beaconPingers ping the beacons, each several times a second.
const beacons, beaconPingers, beaconPause = 200, 64, 150 * time.Millisecond

// runCitus is runHistories while the nodes of Citus are killed in turn. Beacons are pinged so often that batches are large.
func runCitus(ctx context.Context, s *site, o options) (report string, err error) {
	list, err := s.create(ctx, "beacon", beacons, checks.MinPeriod)
	if err != nil {
		return "", err
	}
	shining, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i := range beaconPingers {
		by := pinger{number: i, server: i % len(s.servers), pause: func() time.Duration { return beaconPause }}
		group.Go(func() { s.pingAll(shining, list[i:], by) })
	}
	k := newNodeKills(s, o, stop)
	s.ordeal = k.ordeal
	o.Kills = int64(k.limit)
	report, err = runHistories(ctx, s, o)
	stop()
	group.Wait()
	if err == nil {
		err = s.auditPings(ctx, list, func(beacon *subject, rec record) {
			s.auditUp(beacon, rec)
			s.auditOrder(beacon, rec)
		})
	}
	return fmt.Sprintf("%s; %d pings of beacons", report, len(s.results)), err
}

// auditOrder checks that no ping is recorded before one that was answered before it was sent.
func (s *site) auditOrder(subject *subject, rec record) {
	sent := make(map[string]result)
	for _, r := range s.results {
		if r.subject == subject {
			sent[r.name] = r
		}
	}
	var latest result // of those before, by the time when it was sent
	for _, p := range rec.log {
		r := sent[p.UserAgent]
		if r.status == http.StatusOK && r.ret < latest.call {
			s.problem("check %s: %q is recorded after %q, which was sent later", subject.slug, r.name, latest.name)
		}
		if r.call > latest.call {
			latest = r
		}
	}
}

// ordeal is the ordeal of the site: it kills one node after the other, until there were enough kills. When it returns, no
// commit is in doubt.
func (k *nodeKills) ordeal(_ *site, ctx context.Context, seed uint64, calm time.Duration) {
	moving, stop := context.WithCancel(ctx)
	var moves sync.WaitGroup
	moves.Go(func() { k.move(moving, rand.New(rand.NewPCG(seed, 1<<62)), calm) })
	rng := rand.New(rand.NewPCG(seed, 1<<63))
	for k.done < k.limit && sleep(ctx, calm/2+time.Duration(rng.Int64N(int64(calm)+1))) {
		if err := k.kill(context.WithoutCancel(ctx), time.Duration(rng.Int64N(int64(calm)+1))); err != nil {
			k.problem("%v", err)
			break
		}
	}
	stop()
	moves.Wait()
	if k.done == k.limit && k.over != nil {
		k.over()
	}
	if err := k.awaitCertainty(context.WithoutCancel(ctx)); err != nil {
		k.problem("%v", err)
	}
}

// move moves shards between the workers, one after the other, until ctx ends. Half of the moves block writes for as long as they
// take; the others replicate first. A move that meets a kill fails.
func (k *nodeKills) move(ctx context.Context, rng *rand.Rand, calm time.Duration) {
	for sleep(ctx, time.Duration(rng.Int64N(int64(calm)/2+1))) {
		mode := []string{"block_writes", "force_logical"}[rng.IntN(2)]
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), moveWithin)
		_, err := k.db.NewRaw(`SELECT citus_move_shard_placement(shardid, a.nodename, a.nodeport, b.nodename, b.nodeport, ?)
			FROM (SELECT shardid, groupid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
				WHERE logicalrelid = 'rollcall_states'::regclass ORDER BY shardid OFFSET ? LIMIT 1) AS s
			JOIN pg_dist_node AS a USING (groupid) JOIN pg_dist_node AS b ON b.groupid NOT IN (0, a.groupid)`,
			mode, rng.IntN(2*workers)).Exec(within)
		cancel()
		if err == nil {
			k.count.moves.Add(1)
		}
	}
}

// moveWithin bounds a move, which may meet a node that is away.
const moveWithin = 20 * time.Second

// kill kills the next node and starts it again after a pause.
func (k *nodeKills) kill(ctx context.Context, pause time.Duration) error {
	node := k.nodes[k.done%len(k.nodes)]
	k.done++
	k.count.restarts.Add(1)
	node.Kill()
	if node != k.nodes[0] {
		k.auditReadiness(ctx)
	}
	sleep(ctx, pause)
	return node.Start(ctx)
}

// auditReadiness checks that each server soon says that a worker is away, and goes on taking pings.
func (k *nodeKills) auditReadiness(ctx context.Context) {
	want := fmt.Sprintf("database: cannot reach 1 of %d workers of Citus; ", len(k.nodes)-1)
	for i := range k.servers {
		var a answer
		said, err := await(ctx, answerWithin+k.slack, func() (_ bool, err error) {
			a, err = k.send(ctx, request{server: i, method: http.MethodGet, path: "/readyz?verbose"})
			return a.status == http.StatusOK && strings.Contains(string(a.body), want), err
		})
		if !said {
			k.problem("without a worker, /readyz of server %d answers %d: %s, error %v", i+1, a.status, a.body, err)
		}
	}
}

// awaitCertainty waits until Citus has ended all commits that kills have left in doubt.
func (k *nodeKills) awaitCertainty(ctx context.Context) error {
	certain, err := await(ctx, patience, func() (bool, error) {
		var prepared int
		err := k.db.NewRaw("SELECT sum(result::int) FROM run_command_on_all_nodes('SELECT count(*) FROM pg_prepared_xacts') AS n").Scan(ctx, &prepared)
		return prepared == 0, err
	})
	if err == nil && !certain {
		k.problem("commits are in doubt %v after the last kill", patience)
	}
	return err
}
