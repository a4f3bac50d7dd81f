package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// ownCitus is a fixture on a cluster of two workers that a test has for itself.
func ownCitus(t *testing.T, settings ...string) fixture {
	t.Helper()
	opened, err := postgres.Open(t.Context(), startCitus(t, append(settings, "rollcall.accepts=fsync")...)[0].URL("rollcall"))
	must(t, err)
	t.Cleanup(func() { opened.Close() })
	_, err = opened.Database().Distribute(t.Context())
	must(t, err)
	return newFixture(t, opened.Database())
}

// startCitus starts a coordinator and two workers for a test.
func startCitus(t *testing.T, settings ...string) []*pgserver.Server {
	t.Helper()
	needCitus(t)
	dir, err := os.MkdirTemp("", "rollcall-citus-")
	must(t, errors.Join(err, os.Chmod(dir, 0o755)))
	nodes, err := pgserver.NewCitus(t.Context(), dir, "rollcall", 2, append(settings, "fsync=off")...)
	t.Cleanup(func() {
		for _, node := range nodes {
			node.Stop()
		}
		os.RemoveAll(dir)
	})
	must(t, err)
	return nodes
}

// TestMoveInDoubt moves shards while a commit that has written to them is in doubt: the coordinator has made it, and a worker has it
// prepared. The move waits for the worker. Otherwise, it would copy the shards without what was acknowledged, which would then reach
// those that were left.
func TestMoveInDoubt(t *testing.T) {
	f := ownCitus(t, "citus.recover_2pc_interval=-1")
	c, due, long, large := f.create(t, checks.Spec{}), f.create(t, everyMinute()), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	for _, id := range []uuid.UUID{c.ID, due.ID} {
		f.ping(t, id, pings.Signal{}, noon)
	}
	f.pingMany(t, long.ID, paidPings+20)
	f.pingLarge(t, large.ID, noon, []byte("body"))
	uploads := f.claim(t, noon, 1)
	fresh, err := checks.New(f.project.ID, checks.Spec{}, noon)
	must(t, err)
	for _, op := range []struct {
		name  string
		check uuid.UUID
		do    func()
		lost  string // counts what is lost of the check with the key $1
	}{
		{"a ping", c.ID, func() { f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon.Add(time.Second)) },
			"SELECT 2 - n_pings FROM rollcall_states WHERE check_id = $1"},
		{"a check", fresh.ID, func() {
			f.update(t, func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, fresh) })
		}, "SELECT 1 - count(*) FROM rollcall_states WHERE check_id = $1"},
		{"a deadline", due.ID, func() { f.sweep(t, noon.Add(time.Hour), 1) },
			"SELECT count(watch_at) FROM rollcall_states WHERE check_id = $1"},
		{"pruning", long.ID, func() {
			_, err := f.PrunePings(t.Context(), nil)
			must(t, err)
		}, "SELECT count(*) - 1000 FROM rollcall_pings WHERE check_id = $1"},
		{"an upload", large.ID, func() { f.finish(t, uploads...) }, "SELECT 1 - count(object) FROM rollcall_pings WHERE check_id = $1"},
		{"a deletion", c.ID, func() { f.deleteCheck(t, c.ID) }, "SELECT count(*) FROM rollcall_states WHERE check_id = $1"},
	} {
		t.Run(op.name, func(t *testing.T) {
			key, node := f.key(t, op.check)
			f.inDoubt(t, op.do)
			if key == 0 {
				key, node = f.key(t, op.check)
			}
			moved := make(chan error, 1)
			go func() {
				_, err := f.Pool().ExecContext(t.Context(), moveShards, node)
				moved <- err
			}()
			eventually(t, "the move waits for the commit", func() bool { return len(moved) > 0 || f.shardsAwaited(t) })
			if len(moved) > 0 {
				t.Error("the move does not wait")
			}
			f.exec(t, "SELECT recover_prepared_transactions()")
			must(t, <-moved)
			var lost int
			must(t, f.Pool().QueryRowContext(t.Context(), op.lost, key).Scan(&lost))
			if lost != 0 {
				t.Errorf("%d rows lost or left", lost)
			}
		})
	}
}

// inDoubt leaves the commit of an operation in doubt: it cuts the connections to the workers between the commit of the coordinator,
// which a standby that is not there holds up, and theirs. The operation succeeds.
func (f fixture) inDoubt(t *testing.T, do func()) {
	t.Helper()
	f.exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	f.exec(t, "SELECT pg_reload_conf()")
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	var committing int64
	eventually(t, "the coordinator commits", func() bool {
		must(t, f.Pool().QueryRowContext(t.Context(), `SELECT coalesce(min(citus_calculate_gpid(nodeid, pid)), 0)
			FROM pg_stat_activity, pg_dist_node WHERE wait_event = 'SyncRep' AND groupid = 0`).Scan(&committing))
		return committing != 0
	})
	f.exec(t, fmt.Sprintf(`SELECT run_command_on_workers('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = ''citus_internal gpid=%d''')`, committing))
	f.exec(t, "ALTER SYSTEM RESET synchronous_standby_names")
	f.exec(t, "SELECT pg_reload_conf()")
	<-done
	f.Pool().SetMaxIdleConns(0) // those of the sessions that have lost theirs to the workers
	f.Pool().SetMaxIdleConns(4)
	var prepared int
	must(t, f.Pool().QueryRowContext(t.Context(), `SELECT sum(result::int) FROM run_command_on_workers(
		'SELECT count(*) FROM pg_prepared_xacts')`).Scan(&prepared))
	if prepared == 0 {
		t.Fatal("no commit is in doubt")
	}
}

// TestPingAfterSplit splits the shard of a check under a store that has not noticed it, and pings the check on each way.
func TestPingAfterSplit(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			f, c, node, _ := directly(t, func(*sql.DB) {})
			f.pingOn(t, node, c, noon.Add(time.Second), func() {}) // opens the pool
			key, _ := f.key(t, c.ID)
			f.exec(t, `SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
					ARRAY[n.nodeid, n.nodeid]::int[], 'block_writes')
				FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS n USING (groupid)
				WHERE shardid = get_shard_id_for_distribution_column('rollcall_states', $1::bigint)`, key)
			if !direct {
				node = 0
			}
			f.pingOn(t, node, c, noon.Add(2*time.Second), func() {})
			if log := f.log(t, c.ID); len(log) != 3 || log[0].N != 3 {
				t.Errorf("the log has %d pings, want 3", len(log))
			}
		})
	}
}

// TestMovesUnderLoad moves shards to and fro, by both ways that Citus has, splits one, alters their tables and rebalances the cluster,
// while a monitor takes pings. Each check then has the pings that were acknowledged, in its state and in its log.
func TestMovesUnderLoad(t *testing.T) {
	f := ownCitus(t, "wal_level=logical", "citus.defer_shard_delete_interval=1s")
	mon, err := monitor.New(f.Database, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	ids := f.createMany(t, 400)
	acknowledged := make([]atomic.Int64, len(ids))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for caller := range 32 {
		group.Go(func() {
			for i := caller; ctx.Err() == nil; i += 7 {
				if n := i % len(ids); acknowledged[n].Load() < paidPings/2 {
					if _, err := mon.Ping(context.WithoutCancel(ctx), ids[n], pings.Signal{Kind: pings.Success}); err != nil {
						t.Errorf("a ping is refused: %v", err)
						return
					}
					acknowledged[n].Add(1)
				}
			}
		})
	}
	moves := f.shakeShards(t)
	stop()
	group.Wait()
	sum := int64(0)
	for i, id := range ids {
		want := int(acknowledged[i].Load())
		f.sums(t, checks.Check{ID: id}, want)
		sum += int64(want)
	}
	t.Logf("%d moves, %d pings acknowledged", moves, sum)
}

// shakeShards moves shards of two workers until there were enough moves. Among them are a split, a migration that alters both tables, and
// a rebalance.
func (f fixture) shakeShards(t *testing.T) (moves int) {
	t.Helper()
	exec := func(query string, args ...any) error {
		_, err := f.Pool().ExecContext(t.Context(), query, args...)
		return err
	}
	const enough = 24
	for i := 0; i < enough; i++ {
		mode := []string{"block_writes", "force_logical"}[i%2]
		must(t, exec(`SELECT citus_move_shard_placement(shardid, a.nodename, a.nodeport, b.nodename, b.nodeport, $1)
			FROM (SELECT shardid, groupid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
				WHERE logicalrelid = 'rollcall_states'::regclass ORDER BY shardid OFFSET $2 LIMIT 1) AS s
			JOIN pg_dist_node AS a USING (groupid) JOIN pg_dist_node AS b ON b.groupid NOT IN (0, a.groupid)`, mode, i%3))
		switch i {
		case enough / 3:
			must(t, exec(splitFirst))
		case enough / 2:
			_, _, err := f.MigrateFurther(t.Context(), furtherColumns)
			must(t, err)
		case enough * 2 / 3:
			must(t, exec("SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')"))
		}
	}
	return enough
}

// splitFirst splits the first shard on its worker.
const splitFirst = `SELECT citus_split_shard_by_split_points(shardid, ARRAY[(shardminvalue::bigint + 1000000000)::text],
		ARRAY[n.nodeid, n.nodeid]::int[], 'block_writes')
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS n USING (groupid)
	WHERE logicalrelid = 'rollcall_states'::regclass ORDER BY shardid LIMIT 1`

// exec runs a statement.
func (f fixture) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := f.Pool().ExecContext(t.Context(), query, args...)
	must(t, err)
}

// key returns the key of a check and where Citus has it, or 0 if it does not exist.
func (f fixture) key(t *testing.T, id uuid.UUID) (key int64, node int) {
	t.Helper()
	err := f.Pool().QueryRowContext(t.Context(), `SELECT id, groupid FROM rollcall_checks, pg_dist_placement
		WHERE uuid = $1 AND shardid = get_shard_id_for_distribution_column('rollcall_states', id)`, id).Scan(&key, &node)
	if !errors.Is(err, sql.ErrNoRows) {
		must(t, err)
	}
	return key, node
}
