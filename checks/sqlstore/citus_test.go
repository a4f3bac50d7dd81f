package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// onSpreadTables are the requirements that read or write the tables that Citus spreads.
var onSpreadTables = []string{
	"UpdateRollsBack", "LostUpdates", "LockOrder", "LockMissing", "StateRoundTrip", "SettingsAndState", "FindChecks", "TagSets",
	"MoveCheck", "DeleteCheck", "Batches", "MixedBatch", "BatchesWithBodies", "ConcurrentBatches",
	"PingLog", "PingBodies", "Transitions", "RecentPings", "LastFailures", "LastDurations", "Unfolded",
	"DueChecks", "DueChecksAreShared", "DeadlinesAreLazy", "DueRuns",
	"PrunePings", "PruneInSteps", "PruneWhilePinged", "PruneLogOfDeleted", "DeleteProject", "AlertRules", "Alerts",
	"Uploads", "UploadsAreShared", "UploadOfPrunedPing", "ObjectsOfPrunedPings", "KeysAreNotReused", "Probes", "Backlog",
}

// TestContractOnPartitions finds whatever relies on the place of a row, or on a key without the check.
func TestContractOnPartitions(t *testing.T) {
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("the tables are distributed already")
	}
	db := dbtest.PostgreSQL(t)
	query := "CREATE TABLE rollcall_commits (n BIGINT);"
	for table, key := range map[string]string{"rollcall_states": "check_id", "rollcall_pings": "id, check_id"} {
		query += fmt.Sprintf(`ALTER TABLE %[1]s DROP CONSTRAINT %[1]s_pkey, ADD PRIMARY KEY (%[2]s);
			ALTER TABLE %[1]s RENAME TO plain; CREATE TABLE %[1]s (LIKE plain INCLUDING ALL) PARTITION BY HASH (check_id);
			DROP TABLE plain;`, table, key)
		for i := range 4 {
			query += fmt.Sprintf("CREATE TABLE %[1]s_%[2]d PARTITION OF %[1]s FOR VALUES WITH (MODULUS 4, REMAINDER %[2]d);", table, i)
		}
	}
	pool := db.Bun(t)
	_, err := pool.DB.ExecContext(t.Context(), query)
	must(t, err)
	open := onPool(pool)
	var shards [][2]string
	for i := range 4 {
		shards = append(shards, [2]string{fmt.Sprint("rollcall_states_", i), fmt.Sprint("rollcall_pings_", i)})
	}
	runContract(t, func(t *testing.T) *sqlstore.Database {
		store := open(t)
		store.SpreadByName(db.Bun(t), shards...)
		return store
	}, onSpreadTables...)
}

// TestStaleLayout distributes a database under a store that is open, as far as a store can tell: the catalog of Citus has a
// shard, and statements that Citus refuses fail with its code. Reads and transactions go on.
func TestStaleLayout(t *testing.T) {
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("the tables are distributed already")
	}
	distribute := func(t *testing.T, db dbtest.DB) {
		_, err := db.Bun(t).DB.ExecContext(t.Context(), `SET allow_system_table_mods = on; CREATE TABLE rollcall_commits (n BIGINT);
			ALTER TABLE rollcall_states RENAME TO plain;
			CREATE FUNCTION supported() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
				IF current_query() LIKE '%rollcall_checks AS c JOIN rollcall_states%' OR current_query() LIKE '%OF s SKIP LOCKED%' THEN
					RAISE EXCEPTION 'not on shards' USING ERRCODE = '0A000';
				END IF;
				RETURN true;
			END $$;
			CREATE VIEW rollcall_states AS SELECT * FROM plain WHERE supported();
			CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid oid, shardid bigint, shardmaxvalue text);
			CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, groupid int);
			INSERT INTO pg_catalog.pg_dist_shard VALUES ('rollcall_states'::regclass, 1, '2147483647');
			INSERT INTO pg_catalog.pg_dist_placement VALUES (1, 1)`)
		must(t, err)
	}
	for name, try := range map[string]func(s *sqlstore.Database, c *checks.Check) (int, error){
		"Checks": func(s *sqlstore.Database, c *checks.Check) (int, error) {
			list, err := s.Checks(t.Context(), store.CheckFilter{ID: &c.ID})
			return len(list), err
		},
		"Pings": func(s *sqlstore.Database, c *checks.Check) (int, error) {
			logs, err := s.Pings(t.Context(), store.PingQuery{Checks: []uuid.UUID{c.ID}, Limit: 9})
			return len(logs[c.ID]), err
		},
		"LockDue": func(s *sqlstore.Database, c *checks.Check) (n int, err error) {
			err = s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
				due, err := tx.LockDue(ctx, noon.AddDate(9, 0, 0), 9)
				n = len(due)
				return err
			})
			return n, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := dbtest.PostgreSQL(t)
			s, _, c := withCheck(t, db)
			record(t, s, []uuid.UUID{c.ID}, pings.Signal{Kind: pings.Success}, noon)
			if s.Sharder() != nil {
				t.Error("a database without Citus has shards")
			}
			distribute(t, db)
			if n, err := try(s, &c); n != 1 || err != nil {
				t.Errorf("%d, error %v", n, err)
			}
			if s.Sharder() == nil {
				t.Error("the store has not noticed")
			}
			if !strings.Contains(s.Slowed(), "not of unknown") {
				t.Errorf("of a version of Citus that is not known, the store says %q", s.Slowed())
			}
		})
	}
}

// TestShards compares the hash of keys with PostgreSQL's.
func TestShards(t *testing.T) {
	db := dbtest.PostgreSQL(t).Bun(t).DB
	for _, key := range []int64{0, 1, -1, 2, 4711, -4711, 1 << 32, 1<<40 + 5, math.MaxInt64, math.MinInt64} {
		var want int32
		must(t, db.QueryRowContext(t.Context(), "SELECT hashint8($1)", key).Scan(&want))
		if got := sqlstore.HashInt64(key); got != want {
			t.Errorf("the hash of %d is %d, want %d", key, got, want)
		}
	}
}

// TestUploadOfMovedBody has a log that shows a commit before the queue of uploads does, as on the nodes of Citus. Nobody uploads
// the body that has moved, which is empty by now.
func TestUploadOfMovedBody(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		pool := db.Bun(t)
		s := dbtest.OpenOn(t, pool).Database()
		f := newFixture(t, s)
		f.pingLarge(t, f.create(t, checks.Spec{}).ID, noon, []byte("body"))
		upload := f.claim(t, noon, 1)[0]
		body, err := f.UploadBody(t.Context(), upload)
		if err != nil || string(body) != "body" {
			t.Errorf("the body is %q, error %v", body, err)
		}
		_, err = pool.DB.ExecContext(t.Context(), "UPDATE rollcall_pings SET body = NULL, object = '"+upload.Key+"'")
		must(t, err)
		if body, err = f.UploadBody(t.Context(), upload); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("the body that has moved is %q, error %v; want ErrNotFound", body, err)
		}
	})
}

// TestUploadMovedInDoubt finishes an upload that another server has finished. The queue shows that already, and the log does
// not yet, as on Citus while a worker that died has yet to commit. The object must not be removed.
func TestUploadMovedInDoubt(t *testing.T) {
	pool := dbtest.PostgreSQL(t).Plain(t).Bun(t)
	f := newFixture(t, dbtest.OpenOn(t, pool).Database())
	c := f.create(t, checks.Spec{})
	f.pingLarge(t, c.ID, noon, []byte("body"))
	upload := f.claim(t, noon, 1)[0]
	worker, err := pool.DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = worker.Rollback() }()
	_, err = worker.ExecContext(t.Context(), "UPDATE rollcall_pings SET body = NULL, object = $1", upload.Key)
	must(t, err)
	_, err = pool.DB.ExecContext(t.Context(), "DELETE FROM rollcall_uploads")
	must(t, err)
	settled := make(chan error, 1)
	go func() { settled <- f.RecordBodies(t.Context(), done([]store.BodyJob{upload})) }()
	for waits := false; !waits && len(settled) == 0; {
		const query = "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
		must(t, pool.DB.QueryRowContext(t.Context(), query).Scan(&waits))
	}
	must(t, worker.Commit())
	must(t, <-settled)
	if list := f.removals(t, noon.Add(time.Hour)); len(list) != 0 {
		t.Errorf("the removal of an object in use is queued: %v", list)
	}
	if p := f.body(t, c.ID, 1); p.BodyKey != upload.Key {
		t.Errorf("the key of the object is %q", p.BodyKey)
	}
}

// TestCheckInDoubt pings a check whose state is not there yet, because a worker has yet to make the commit that created the
// check. The ping must be sent again. After the check was deleted, the ping is for nobody.
func TestCheckInDoubt(t *testing.T) {
	pool := dbtest.PostgreSQL(t).Plain(t).Bun(t)
	s := dbtest.OpenOn(t, pool).Database()
	f := newFixture(t, s)
	c, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	_, err := pool.DB.ExecContext(t.Context(), `CREATE TABLE rollcall_commits (n BIGINT);
		DELETE FROM rollcall_states WHERE check_id = (SELECT min(id) FROM rollcall_checks)`)
	must(t, err)
	s.Spread(4)
	lock := func(ids ...uuid.UUID) (n int, err error) {
		err = s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			locked, err := tx.LockChecks(ctx, ids)
			n = len(locked)
			return err
		})
		return n, err
	}
	if n, err := lock(c.ID, other.ID); !errors.Is(err, store.ErrPartly) {
		t.Errorf("locked %d, error %v; want ErrPartly", n, err)
	}
	_, err = pool.DB.ExecContext(t.Context(), "DELETE FROM rollcall_checks WHERE id = (SELECT min(id) FROM rollcall_checks)")
	must(t, err)
	if n, err := lock(c.ID, other.ID); n != 1 || err != nil {
		t.Errorf("after the end of the check: locked %d, error %v", n, err)
	}
}

func TestDistributeNeedsCitus(t *testing.T) {
	if _, err := dbtest.SQLite(t).Open(t).Database().Distribute(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SQLite: %v", err)
	}
	if os.Getenv("ROLLCALL_TEST_CITUS") != "" {
		t.Skip("this PostgreSQL has Citus")
	}
	if _, err := dbtest.PostgreSQL(t).Open(t).Database().Distribute(t.Context()); !errors.Is(err, sqlstore.ErrNotCitus) {
		t.Errorf("PostgreSQL: %v", err)
	}
}

// needCitus skips a test unless it runs on a cluster of Citus; see .ci/citus.
func needCitus(t *testing.T) {
	t.Helper()
	if os.Getenv("ROLLCALL_TEST_CITUS") == "" {
		t.Skip("ROLLCALL_TEST_CITUS is not set")
	}
}

// TestPhases looks at what Citus has recorded of commits in two phases. A batch of pings on one worker needs one phase only. Whatever
// also writes on the coordinator is committed in two, or a crash could keep one half.
func TestPhases(t *testing.T) {
	needCitus(t)
	pool := dbtest.PostgreSQL(t).Bun(t)
	pool.SetMaxOpenConns(1) // because Citus names a commit by its connection
	f := newFixture(t, dbtest.OpenOn(t, pool).Database())
	var all []uuid.UUID
	for range 20 {
		all = append(all, f.create(t, checks.Spec{}).ID)
	}
	one, at, run := all[:1], noon, uuid.New()
	ping := func(kind pings.Kind, ids ...uuid.UUID) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			locked, err := tx.LockChecks(ctx, ids)
			if err != nil {
				return err
			}
			for _, l := range locked {
				at = at.Add(time.Second)
				receive(l, pings.Signal{Kind: kind}, at)
				receive(l, pings.Signal{Kind: kind}, at)
			}
			return tx.SaveChecks(ctx, locked)
		}
	}
	after := func(first, second func(context.Context, store.Tx) error) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error { return errors.Join(first(ctx, tx), second(ctx, tx)) }
	}
	for _, step := range []struct {
		name   string
		phases int
		do     func(context.Context, store.Tx) error
	}{
		{"a flip", 2, ping(pings.Success, one...)},
		{"pings", 1, ping(pings.Success, one...)},
		{"a flip down", 2, ping(pings.Failure, one...)},
		{"pings of several workers", 2, ping(pings.Log, all...)},
		{"pings and their number", 2, after(ping(pings.Log, one...), func(ctx context.Context, tx store.Tx) error {
			return tx.SetRecorded(ctx, run, 1, at)
		})},
		{"a ping for the database to keep", 1, func(ctx context.Context, tx store.Tx) error { // which is only on the coordinator
			return tx.AddSpooled(ctx, at, []store.SpooledPing{{At: at, Data: []byte("{}")}})
		}},
		{"a ping out of a spool", 2, after(func(ctx context.Context, tx store.Tx) error {
			taken, err := tx.TakeSpooled(ctx, at.Add(time.Hour), 9, 1000)
			if err == nil && len(taken) != 1 {
				err = fmt.Errorf("%d pings are taken, want 1", len(taken))
			}
			return err
		}, ping(pings.Log, one...))},
		{"new settings", 2, func(ctx context.Context, tx store.Tx) error {
			l, err := tx.LockCheck(ctx, one[0])
			if err != nil {
				return err
			}
			l.Name, l.SettingsChanged = "new", true
			return tx.SaveChecks(ctx, []*store.Locked{l})
		}},
	} {
		const commits = `SELECT coalesce(max(split_part(gid, '_', 4)::bigint), 0) FROM pg_dist_transaction
			WHERE gid LIKE 'citus\_0\_' || pg_backend_pid() || '\_%'`
		var before, last int64
		must(t, pool.QueryRowContext(t.Context(), commits).Scan(&before))
		must(t, f.Update(t.Context(), step.do))
		must(t, pool.QueryRowContext(t.Context(), commits).Scan(&last))
		if got := last > before; got != (step.phases == 2) {
			t.Errorf("%s: two phases %v, want %d phases", step.name, got, step.phases)
		}
	}
}

// TestDirect records pings over connections to the workers. What also needs a table of the coordinator, or a worker that cannot
// be reached, goes through the coordinator.
func TestDirect(t *testing.T) {
	needCitus(t)
	opened, err := postgres.Open(t.Context(), dbtest.PostgreSQL(t).URL)
	must(t, err)
	defer opened.Close()
	f := newFixture(t, opened.Database())
	c, at := f.create(t, checks.Spec{}), noon
	nodes, _, err := f.Nodes(t.Context(), []uuid.UUID{c.ID})
	must(t, err)
	var ways []bool // whether each attempt ran on a worker
	ping := func(when string, kind pings.Kind, want ...bool) {
		t.Helper()
		ways, at = nil, at.Add(time.Second)
		must(t, f.Update(store.OnNode(t.Context(), nodes[0]), func(ctx context.Context, tx store.Tx) error {
			ways = append(ways, sqlstore.OnWorker(tx))
			locked, err := tx.LockChecks(ctx, []uuid.UUID{c.ID})
			if err != nil {
				return err
			}
			for _, l := range locked {
				receive(l, pings.Signal{Kind: kind}, at)
				receive(l, pings.Signal{Kind: kind}, at)
			}
			return tx.SaveChecks(ctx, locked)
		}))
		if !slices.Equal(ways, want) {
			t.Errorf("%s: on a worker %v, want %v", when, ways, want)
		}
	}
	ping("the first ping, which is a flip", pings.Success, true, false)
	ping("pings", pings.Success, true)
	ping("a flip", pings.Failure, true, false)
	ping("pings after it", pings.Failure, true)
	f.AvoidWorker(nodes[0])
	ping("a worker that could not be reached", pings.Failure, false)
	f.ForgetDirect()
	f.Reach(func(string, uint16, string) *bun.DB { return bun.NewDB(sql.OpenDB(unreachable{}), pgdialect.New()) })
	ping("a worker that cannot be reached", pings.Failure, false)
	ping("soon afterwards", pings.Failure, false)
	if log := f.log(t, c.ID); len(log) != 14 || log[0].N != 14 {
		t.Errorf("the log has %d pings, want 14", len(log))
	}
	if list := f.flips(t, c.ID, noon, at.Add(time.Hour)); len(list) != 2 {
		t.Errorf("the check has %d flips, want 2", len(list))
	}
}

// directly is a fixture on Citus with a check that has pings, and the node of the check.
func directly(t *testing.T, configure func(*sql.DB)) (f fixture, c checks.Check, node int, url string) {
	t.Helper()
	needCitus(t)
	url = dbtest.PostgreSQL(t).URL
	opened, err := postgres.Open(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { opened.Close() })
	f = newFixture(t, opened.Database())
	configure(f.Pool())
	c = f.create(t, checks.Spec{})
	record(t, f.Database, []uuid.UUID{c.ID}, pings.Signal{Kind: pings.Success}, noon)
	nodes, _, err := f.Nodes(t.Context(), []uuid.UUID{c.ID})
	must(t, err)
	return f, c, nodes[0], url
}

// pingOn pings a check in a transaction on a node, after it has locked it and called a function.
func (f fixture) pingOn(t *testing.T, node int, c checks.Check, at time.Time, locked func()) (direct bool) {
	t.Helper()
	ways := f.pingAround(t, node, c, at, locked, func() {})
	return ways[len(ways)-1] != throughCoordinator
}

// way is the way of an attempt to write pings on Citus.
type way string

const throughCoordinator, onWorker, byName way = "through the coordinator", "on the worker", "on the worker, by name"

// pingAround pings a check in a transaction on a node, and calls functions after the check is locked, and before the commit. It
// returns the ways of the attempts.
func (f fixture) pingAround(t *testing.T, node int, c checks.Check, at time.Time, locked, saved func()) (ways []way) {
	t.Helper()
	must(t, f.Update(store.OnNode(t.Context(), node), func(ctx context.Context, tx store.Tx) error {
		switch {
		case sqlstore.ByName(tx):
			ways = append(ways, byName)
		case sqlstore.OnWorker(tx):
			ways = append(ways, onWorker)
		default:
			ways = append(ways, throughCoordinator)
		}
		list, err := tx.LockChecks(ctx, []uuid.UUID{c.ID})
		if err != nil {
			return err
		}
		locked()
		for _, l := range list {
			receive(l, pings.Signal{Kind: pings.Success}, at)
		}
		if err := tx.SaveChecks(ctx, list); err != nil {
			return err
		}
		saved()
		return nil
	}))
	return ways
}

// TestDirectLostCommit loses the answer of a worker to a commit. The ping is there once, whether or not the worker has it.
func TestDirectLostCommit(t *testing.T) {
	f, c, node, url := directly(t, func(*sql.DB) {})
	b := &breaker{between: func() {}}
	f.Reach(func(host string, port uint16, _ string) *bun.DB {
		config, err := pgx.ParseConfig(url)
		must(t, err)
		config.Host, config.Port = host, port
		b.Connector = stdlib.GetConnector(*config)
		return bun.NewDB(sql.OpenDB(b), pgdialect.New())
	})
	for i, arm := range []*atomic.Bool{&b.afterCommit, &b.beforeCommit, &b.afterCommit} {
		f.ForgetDirect()
		arm.Store(true)
		f.pingOn(t, node, c, noon.Add(time.Duration(i+1)*time.Second), func() {})
	}
	if log := f.log(t, c.ID); len(log) != 4 || log[0].N != 4 || b.broken.Load() != 3 {
		t.Errorf("the log has %d pings after %d broken commits, want 4 after 3", len(log), b.broken.Load())
	}
}

// TestDirectConnections pings directly while a transaction that waits for the ping wants the only connection to the coordinator.
func TestDirectConnections(t *testing.T) {
	f, c, node, _ := directly(t, func(pool *sql.DB) { pool.SetMaxOpenConns(1) })
	done := make(chan struct{})
	f.pingOn(t, node, c, noon.Add(time.Second), func() {
		before := f.Pool().Stats()
		go func() {
			defer close(done)
			f.pingOn(t, 0, c, noon.Add(2*time.Second), func() {})
		}()
		eventually(t, "the other transaction has the connection or waits for it", func() bool {
			s := f.Pool().Stats()
			return s.WaitCount > before.WaitCount || s.InUse > before.InUse
		})
	})
	<-done
	if log := f.log(t, c.ID); len(log) != 3 || log[0].N != 3 {
		t.Errorf("the log has %d pings, want 3", len(log))
	}
}

// TestDirectMovedShard moves shards to another worker while pings go to the first one.
func TestDirectMovedShard(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	moved, n := make(chan error, 1), 1
	go func() {
		_, err := f.Pool().ExecContext(t.Context(), moveShards, node)
		moved <- err
	}()
	for ; len(moved) == 0; n++ {
		f.pingOn(t, node, c, noon.Add(time.Duration(n)*time.Second), func() {})
	}
	must(t, <-moved)
	if f.pingOn(t, node, c, noon.Add(time.Duration(n)*time.Second), func() {}); len(f.log(t, c.ID)) != n+1 {
		t.Errorf("the log has %d pings, want %d", len(f.log(t, c.ID)), n+1)
	}
	must(t, f.ReadLayout(t.Context()))
	if nodes, _, err := f.Nodes(t.Context(), []uuid.UUID{c.ID}); nodes[0] == node || err != nil {
		t.Errorf("the check is still on node %d, error %v", nodes[0], err)
	}
}

// moveShards moves the shards of a node to the other worker.
const moveShards = `SELECT citus_move_shard_placement(shardid, a.nodename, a.nodeport, b.nodename, b.nodeport, 'block_writes')
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node AS a USING (groupid)
	JOIN pg_dist_node AS b ON b.groupid NOT IN (0, a.groupid)
	WHERE logicalrelid = 'rollcall_states'::regclass AND a.groupid = $1 ORDER BY shardid`

// TestDirectReplaced pings when the coordinator has just got another address for a worker to which connections are open.
func TestDirectReplaced(t *testing.T) {
	f, c, node, _ := directly(t, func(*sql.DB) {})
	if !f.pingOn(t, node, c, noon.Add(time.Second), func() {}) {
		t.Fatal("the ping does not go to the worker")
	}
	f.MoveWorker(node)
	if f.pingOn(t, node, c, noon.Add(2*time.Second), func() {}) {
		t.Error("a ping goes to a worker that has been replaced")
	}
	if len(f.log(t, c.ID)) != 3 {
		t.Errorf("the log has %d pings, want 3", len(f.log(t, c.ID)))
	}
}

// TestDirectCheck asks all nodes, and other tables of the same name, whether they are the worker.
func TestDirectCheck(t *testing.T) {
	f, c, node, text := directly(t, func(*sql.DB) {})
	var address, check string
	f.Reach(func(host string, port uint16, query string) *bun.DB {
		address, check = net.JoinHostPort(host, fmt.Sprint(port)), query
		return nil
	})
	f.ForgetDirect()
	if f.pingOn(t, node, c, noon.Add(time.Second), func() {}) {
		t.Error("a worker that cannot be reached has pings")
	}
	var nodes string
	must(t, f.Pool().QueryRowContext(t.Context(), "SELECT string_agg(nodename || ':' || nodeport, ' ') FROM pg_dist_node").Scan(&nodes))
	for other := range strings.FieldsSeq(nodes) {
		for _, path := range []string{"", "public"} {
			u, err := url.Parse(text)
			must(t, err)
			u.Host = other
			if q := u.Query(); path != "" {
				q.Set("search_path", path)
				u.RawQuery = q.Encode()
			}
			db, err := sql.Open("pgx", u.String())
			must(t, err)
			defer db.Close()
			var is bool
			must(t, db.QueryRowContext(t.Context(), check).Scan(&is))
			if want := other == address && path == ""; is != want {
				t.Errorf("%s, schema %q: %v, want %v", other, path, is, want)
			}
		}
	}
}

// unreachable is a server that refuses connections.
type unreachable struct{}

func (unreachable) Connect(context.Context) (driver.Conn, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
}

func (unreachable) Driver() driver.Driver { return nil }

// TestUpgradeDistributed migrates a distributed database: tables of the coordinator, and one that is spread.
func TestUpgradeDistributed(t *testing.T) {
	needCitus(t)
	f := newFilled(t, dbtest.PostgreSQL(t))
	const spread = "ALTER TABLE rollcall_states ADD COLUMN further BIGINT;\nUPDATE rollcall_states SET further = n_pings;\n"
	_, _, err := f.store.MigrateFurther(t.Context(), further+spread)
	must(t, err)
	f.schemaIs(t, f.version+1, true)
	f.unchanged(t)
	var filled int
	must(t, f.db.NewRaw("SELECT count(*) FROM rollcall_states WHERE further = 4").Scan(t.Context(), &filled))
	if filled != len(f.checks) {
		t.Errorf("%d states have the new column, want %d", filled, len(f.checks))
	}
	if p, err := f.mon.Ping(t.Context(), f.checks[0].ID, pings.Signal{}); err != nil || p.N != 5 {
		t.Errorf("ping %d, error %v", p.N, err)
	}
}

// lastWords is the error that Citus makes of the end of a worker's server.
type lastWords struct{}

func (lastWords) Error() string {
	return "ERROR: terminating connection due to unexpected postmaster exit (SQLSTATE XX000)"
}

func (lastWords) SQLState() string { return "XX000" }

// TestWorkerDied takes the death of a worker for an outage, so that a ping is answered 503 or goes to the spool.
func TestWorkerDied(t *testing.T) {
	if err := sqlstore.Translate(lastWords{}); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}

// TestWorkers kills the nodes of a cluster one by one. Where the second worker was, something accepts connections and never
// answers.
func TestWorkers(t *testing.T) {
	nodes := startCitus(t)
	opened, err := postgres.Open(t.Context(), nodes[0].URL("rollcall"))
	must(t, err)
	defer opened.Close()
	s := opened.Database()
	want := func(when string, all int, away ...*pgserver.Server) {
		t.Helper()
		var addresses []string
		for _, node := range away {
			addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", node.Port()))
		}
		s.ForgetWorkers()
		if n, got, err := s.Workers(t.Context()); n != all || !slices.Equal(got, addresses) || err != nil {
			t.Errorf("%s: of %d workers %v are away, error %v; want %v of %d", when, n, got, err, addresses, all)
		}
	}
	want("not distributed", 0)
	_, err = s.Distribute(t.Context())
	must(t, err)
	want("all run", 2)
	nodes[1].Kill()
	want("one was killed", 2, nodes[1])
	nodes[2].Kill()
	silent, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", nodes[2].Port()))
	must(t, err)
	want("the other never answers", 2, nodes[1], nodes[2])
	must(t, silent.Close())
	must(t, nodes[1].Start(t.Context()))
	must(t, nodes[2].Start(t.Context()))
	want("all run again", 2)
	nodes[1].Kill()
	if n, away, err := s.Workers(t.Context()); n != 2 || away != nil || err != nil {
		t.Errorf("asked again at once: %v of %d are away, error %v; want the last answer", away, n, err)
	}
	nodes[0].Kill()
	s.ForgetWorkers()
	if _, _, err := s.Workers(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without the coordinator: %v", err)
	}
}

// TestWorker opens a worker of the cluster: nothing may be made there.
func TestWorker(t *testing.T) {
	coordinator, err := url.Parse(os.Getenv("ROLLCALL_TEST_CITUS"))
	must(t, err)
	if coordinator.Host == "" {
		t.Skip("ROLLCALL_TEST_CITUS is not set")
	}
	var worker string
	query := "SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE groupid > 0 LIMIT 1"
	must(t, dbtest.PostgreSQL(t).Bun(t).DB.QueryRowContext(t.Context(), query).Scan(&worker))
	coordinator.Host = worker
	if _, err := postgres.Open(t.Context(), coordinator.String()); !errors.Is(err, sqlstore.ErrWorker) {
		t.Errorf("Open: %v", err)
	}
	db, err := sql.Open("pgx", coordinator.String())
	must(t, err)
	defer db.Close()
	var made bool
	must(t, db.QueryRowContext(t.Context(), "SELECT to_regclass('rollcall_schema') IS NOT NULL").Scan(&made))
	if made {
		t.Error("there are tables on the worker")
	}
}
