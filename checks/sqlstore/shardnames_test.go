package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
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

// moveShards moves the shards of a node to the other worker, in a transaction that is open when it returns. The old shards stay for
// a while.
func (f fixture) moveShards(ctx context.Context, node int, mode string) (*sql.Tx, error) {
	tx, err := f.Pool().BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(eachShard, "citus_move_shard_placement"), node, mode)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// eachShard calls a function for each shard of a node, with the other worker and a mode.
const eachShard = `SELECT %s(shardid, a.nodename, a.nodeport, b.nodename, b.nodeport, $2)
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS a USING (groupid)
	JOIN pg_dist_node AS b ON b.groupid NOT IN (0, a.groupid)
	WHERE logicalrelid = 'rollcall_states'::regclass AND a.groupid = $1 ORDER BY shardid`

// shardsAwaited reports whether somebody waits for a lock of Citus, on any node.
func (f fixture) shardsAwaited(t *testing.T) (waits bool) {
	t.Helper()
	must(t, f.Pool().QueryRowContext(t.Context(), `SELECT sum(result::int) > 0 FROM run_command_on_all_nodes(
		'SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = ''advisory''')`).Scan(&waits))
	return waits
}

// sums compares what the log and the state of a check have with the number of pings that were acknowledged.
func (f fixture) sums(t *testing.T, c checks.Check, want int) {
	t.Helper()
	if log := f.log(t, c.ID); len(log) != want || log[0].N != int64(want) {
		t.Errorf("the log has %d pings, want %d", len(log), want)
	}
	var n int
	must(t, f.Pool().QueryRowContext(t.Context(), `SELECT n_pings FROM rollcall_states
		WHERE check_id = (SELECT id FROM rollcall_checks WHERE uuid = $1)`, c.ID).Scan(&n))
	if n != want {
		t.Errorf("the state counts %d pings, want %d", n, want)
	}
}

// goes pings a check on a node and compares the ways of the attempts.
func (f fixture) goes(t *testing.T, node int, c checks.Check, second int, want ...way) {
	t.Helper()
	ways := f.pingAround(t, node, c, noon.Add(time.Duration(second)*time.Second), func() {}, func() {})
	if !slices.Equal(ways, want) {
		t.Errorf("ping %d goes %q, want %q", second+1, ways, want)
	}
}

// TestNamedMoved pings by names that are no longer valid: the shards have moved and are still there. The ping goes through the
// coordinator, and the next one to the other worker.
func TestNamedMoved(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	f.goes(t, node, c, 1, byName)
	moved, err := f.moveShards(t.Context(), node, "block_writes")
	must(t, err)
	must(t, moved.Commit())
	f.goes(t, node, c, 2, byName, throughCoordinator)
	f.sums(t, c, 3)
	nodes, _, err := f.Nodes(t.Context(), []uuid.UUID{c.ID})
	must(t, err)
	if nodes[0] == node {
		t.Error("the store has not noticed the move")
	}
	f.goes(t, nodes[0], c, 3, byName)
	f.sums(t, c, 4)
}

// TestNamedBeforeMove moves shards while a ping by their names is between its last statement and its commit: the move waits for it.
func TestNamedBeforeMove(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	done := make(chan error, 1)
	ways := f.pingAround(t, node, c, noon.Add(time.Second), func() {}, func() {
		go func() {
			moved, err := f.moveShards(t.Context(), node, "block_writes")
			if err == nil {
				err = moved.Commit()
			}
			done <- err
		}()
		eventually(t, "the move waits for the ping", func() bool { return len(done) > 0 || f.shardsAwaited(t) })
	})
	must(t, <-done)
	if !slices.Equal(ways, []way{byName}) {
		t.Errorf("the ping goes %q", ways)
	}
	f.sums(t, c, 2)
}

// TestNamedLocks pings checks of all shards, each over a new connection, and looks for the locks of the metadata: of each shard of the
// worker, whether or not the check is in it. The shards of both tables share a lock.
func TestNamedLocks(t *testing.T) {
	f, _, _, _ := directly(t, func(*sql.DB) {})
	const shards = 4 // of a worker
	for i := range 16 {
		c := f.create(t, checks.Spec{})
		record(t, f.Database, []uuid.UUID{c.ID}, pings.Signal{Kind: pings.Success}, noon)
		nodes, _, err := f.Nodes(t.Context(), []uuid.UUID{c.ID})
		must(t, err)
		f.ForgetDirect()
		locks := 0
		ways := f.pingAround(t, nodes[0], c, noon.Add(time.Second), func() {
			must(t, f.Pool().QueryRowContext(t.Context(), `SELECT sum(result::int) FROM run_command_on_workers(
				'SELECT count(*) FROM pg_locks WHERE granted AND locktype = ''advisory'' AND mode = ''ShareLock''')`).Scan(&locks))
		}, func() {})
		if !slices.Equal(ways, []way{byName}) || locks != shards {
			t.Errorf("check %d: the ping goes %q and has %d locks, want %d", i, ways, locks, shards)
		}
	}
}

// TestNamedDuringMove pings by the names of shards that are moving: the ping waits for the move, and then goes through the
// coordinator.
func TestNamedDuringMove(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	f.goes(t, node, c, 1, byName)
	moved, err := f.moveShards(t.Context(), node, "block_writes")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.goes(t, node, c, 2, byName, throughCoordinator)
	}()
	eventually(t, "the ping waits for the move", func() bool { return f.shardsAwaited(t) })
	must(t, moved.Commit())
	<-done
	f.sums(t, c, 3)
}

// TestNamedCopied tries to have shards on both workers, of which a write by name would reach only one. Citus refuses that for tables
// that were distributed as Distribute does.
func TestNamedCopied(t *testing.T) {
	f, _, node, _ := directly(t, func(*sql.DB) {})
	_, err := f.Pool().ExecContext(t.Context(), fmt.Sprintf(eachShard, "citus_copy_shard_placement"), node, "block_writes")
	if failure, ok := errors.AsType[*pgconn.PgError](err); !ok || failure.Code != "0A000" {
		t.Errorf("copying shards: %v, want an error that it is not supported", err)
	}
}

// furtherColumns is a migration of both tables.
const furtherColumns = "ALTER TABLE rollcall_states ADD COLUMN further BIGINT;\nALTER TABLE rollcall_pings ADD COLUMN further BIGINT;\n"

// TestNamedMigration pings by name, over one connection, before and after a migration that alters both tables.
func TestNamedMigration(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	for second := range 7 { // PostgreSQL keeps a plan after five
		f.goes(t, node, c, 1+second, byName)
	}
	_, _, err := f.MigrateFurther(t.Context(), furtherColumns)
	must(t, err)
	f.goes(t, node, c, 8, byName)
	f.sums(t, c, 9)
}

// TestNamedNotOwner connects as a user who does not own the tables, to whom Citus grants no lock.
func TestNamedNotOwner(t *testing.T) {
	f, c, node, text := directly(t, func(*sql.DB) {})
	u, err := url.Parse(text)
	must(t, err)
	schema := u.Query().Get("search_path")
	role := "guest_" + schema
	exec := func(query string) {
		t.Helper()
		_, err := f.Pool().ExecContext(context.WithoutCancel(t.Context()), query)
		must(t, err)
	}
	exec("CREATE ROLE " + role + " LOGIN")
	defer exec("DROP ROLE " + role)
	defer exec("DROP OWNED BY " + role)
	exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role)
	exec("GRANT ALL ON ALL TABLES IN SCHEMA " + schema + " TO " + role)
	exec("GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema + " TO " + role)
	u.User = url.User(role)
	opened, err := postgres.Open(t.Context(), u.String())
	must(t, err)
	defer opened.Close()
	guest := fixture{opened.Database(), f.project}
	guest.goes(t, node, c, 1, onWorker, throughCoordinator) // which reads the check
	guest.goes(t, node, c, 2, onWorker)
	if why := guest.Slowed(); !strings.Contains(why, "does not own") || f.Slowed() != "" {
		t.Errorf("the guest reads %q, the owner %q", why, f.Slowed())
	}
	f.sums(t, c, 3)
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
