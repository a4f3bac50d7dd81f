package sqlstore_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestMoveBehindLock moves shards while a transaction has locked a check and not yet written it, on each way: the move waits. It would
// leave the lock behind, and two pings would write the same state.
func TestMoveBehindLock(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			f, c, node, _ := directly(t, func(*sql.DB) {})
			f.pingOn(t, node, c, noon.Add(time.Second), func() {}) // opens the pool
			done, on := make(chan error, 1), 0
			if direct {
				on = node
			}
			f.pingOn(t, on, c, noon.Add(2*time.Second), func() {
				go func() {
					_, err := f.Pool().ExecContext(t.Context(), moveShards, node)
					done <- err
				}()
				eventually(t, "the move waits for the ping", func() bool { return len(done) > 0 || f.shardsAwaited(t) })
				if len(done) > 0 {
					t.Error("the move does not wait")
				}
			})
			must(t, <-done)
			f.pingOn(t, 0, c, noon.Add(3*time.Second), func() {})
			if log := f.log(t, c.ID); len(log) != 4 || log[0].N != 4 {
				t.Errorf("the log has %d pings, want 4", len(log))
			}
		})
	}
}

// shardsAwaited reports whether somebody waits for a lock of Citus, on any node.
func (f fixture) shardsAwaited(t *testing.T) (waits bool) {
	t.Helper()
	must(t, f.Pool().QueryRowContext(t.Context(), `SELECT sum(result::int) > 0 FROM run_command_on_all_nodes(
		'SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = ''advisory''')`).Scan(&waits))
	return waits
}

// TestPruneShards prunes a log on Citus shard by shard, to the end of each, before and after a split: what is expired, the logs of
// deleted checks, and nothing else. It fails on a version of Citus that is not known.
func TestPruneShards(t *testing.T) {
	f, first, _, _ := directly(t, func(*sql.DB) {})
	free := newProject("free")
	free.Plan = "free"
	f.project = f.addProject(t, free)
	kept, gone := f.createMany(t, 16), f.createMany(t, 8)
	prune := func(when string, shards, want int) {
		t.Helper()
		must(t, f.ReadLayout(t.Context()))
		if parts := f.PruneParts(t.Context()); len(parts) != shards || slices.Contains(parts, "rollcall_pings") {
			t.Errorf("%s: PrunePings reads %q, want %d shards", when, parts, shards)
		}
		for _, id := range kept {
			f.pingMany(t, id, freePings+20)
		}
		removed := 0
		for range 2 * (shards + 1) {
			n, err := f.PrunePings(t.Context(), nil)
			must(t, err)
			removed += n
		}
		if removed != want {
			t.Errorf("%s: removed %d pings, want %d", when, removed, want)
		}
		for _, id := range kept {
			if log := f.log(t, id); len(log) != freePings {
				t.Errorf("%s: a check has %d pings, want %d", when, len(log), freePings)
			}
		}
		if log := f.log(t, first.ID); len(log) != 1 {
			t.Errorf("%s: the only ping of a check is gone", when)
		}
	}
	for _, id := range gone {
		f.pingMany(t, id, 3)
		f.deleteCheck(t, id)
	}
	prune("at first", 8, len(kept)*20+len(gone)*3)
	_, err := f.Pool().ExecContext(t.Context(), `SELECT citus_split_shard_by_split_points(shardid,
			ARRAY[(shardminvalue::bigint + 1000000)::text], ARRAY[n.nodeid, n.nodeid]::int[], 'block_writes')
		FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS n USING (groupid)
		WHERE logicalrelid = 'rollcall_states'::regclass ORDER BY shardid LIMIT 1`)
	must(t, err)
	prune("after a split", 9, len(kept)*(freePings+20))
}

// TestPruneCopiedShard has a shard that is being copied: its log is there and not yet its states. Nothing of a check that exists is
// removed, and the log of a deleted one is.
func TestPruneCopiedShard(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	pool := db.Bun(t)
	s := dbtest.OpenOn(t, pool).Database()
	f := newFixture(t, s)
	kept, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.ping(t, kept.ID, pings.Signal{}, noon)
	f.ping(t, gone.ID, pings.Signal{}, noon)
	f.deleteCheck(t, gone.ID)
	_, err := pool.DB.ExecContext(t.Context(), "CREATE TABLE rollcall_commits (n BIGINT); CREATE TABLE copied (LIKE rollcall_states)")
	must(t, err)
	s.SpreadByName(db.Bun(t), [2]string{"copied", "rollcall_pings"})
	if n := f.pruneAll(t); n != 1 {
		t.Errorf("removed %d pings, want 1", n)
	}
	if logs := f.pings(t, store.PingQuery{Checks: []uuid.UUID{kept.ID}, Limit: 2}); len(logs[kept.ID]) != 1 {
		t.Error("the ping of a check that exists is gone")
	}
}

// TestPruneLostShard has a shard that was dropped after it had moved. The whole log is pruned instead.
func TestPruneLostShard(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	pool := db.Bun(t)
	s := dbtest.OpenOn(t, pool).Database()
	f := newFixture(t, s)
	c := f.create(t, checks.Spec{})
	f.pingMany(t, c.ID, paidPings+20)
	_, err := pool.DB.ExecContext(t.Context(), "CREATE TABLE rollcall_commits (n BIGINT)")
	must(t, err)
	s.SpreadByName(db.Bun(t), [2]string{"rollcall_states", "dropped"})
	if n := f.pruneAll(t); n != 20 {
		t.Errorf("removed %d pings, want 20", n)
	}
}
