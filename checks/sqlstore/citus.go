package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// On Citus, Store.Distribute spreads rollcall_states and rollcall_pings over shards by check_id. All other tables stay on
// the coordinator. A statement on the spread tables names the checks that it is about, and those of one shard only where
// Citus demands it or is much faster: it then sends the statement as it is to one worker.

var (
	// errNotCitus means that the database is no coordinator of Citus with workers. Its text says what is missing.
	errNotCitus = errors.New("the database cannot be distributed")
	// errWorker means that the database is on a worker of Citus, where Rollcall makes no tables.
	errWorker = errors.New("the database is on a worker of Citus; use the coordinator's URL")
)

// shards holds the largest hash of each shard, ascending. On a database that is not distributed it is nil, and all
// checks are in shard 0.
type shards []int32

// of returns the shard of a key.
func (s shards) of(key int64) int {
	at, _ := slices.BinarySearch(s, hashInt64(key))
	return at
}

// hashInt64 is PostgreSQL's function hashint8, by which Citus chooses shards.
func hashInt64(key int64) int32 {
	half := uint32(key >> 32)
	if key < 0 {
		half = ^half
	}
	const start = 0x9e3779b9 + 4 + 3923095
	a, b, c := start+(uint32(key)^half), uint32(start), uint32(start)
	mix := func(x, y *uint32, by int) { *x = (*x ^ *y) - bits.RotateLeft32(*y, by) }
	mix(&c, &b, 14)
	mix(&a, &c, 11)
	mix(&b, &a, 25)
	mix(&c, &b, 16)
	mix(&a, &c, 4)
	mix(&b, &a, 14)
	mix(&c, &b, 24)
	return int32(c)
}

// shards returns how the database is distributed.
func (s *database) shards() shards {
	if spread := s.spread.Load(); spread != nil {
		return *spread
	}
	return nil
}

// loadShards reads from the catalog of Citus how the database is distributed.
func (s *database) loadShards(ctx context.Context) error {
	if !s.d.postgres {
		return nil
	}
	spread, err := readShards(ctx, s.db.DB)
	if err == nil {
		s.spread.Store(&spread)
	}
	return err
}

func readShards(ctx context.Context, db querier) (spread shards, err error) {
	var citus bool
	if err := db.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL").Scan(&citus); err != nil || !citus {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT shardmaxvalue::int FROM pg_catalog.pg_dist_shard
		WHERE logicalrelid = to_regclass('rollcall_states') AND shardmaxvalue IS NOT NULL ORDER BY 1`)
	var end int32
	return scanList(rows, err, &end, &end)
}

// resharded reports whether a statement failed because the database was distributed, or its shards were split, after
// the store has read how. It reads that again.
func (s *database) resharded(ctx context.Context, err error) bool {
	if state, _ := sqlState(err); state != "0A000" { // feature not supported
		return false
	}
	before := s.shards()
	return s.loadShards(ctx) == nil && !slices.Equal(before, s.shards())
}

// Shards returns the shard of each check; see [store.Sharder].
func (s *database) Shards(ctx context.Context, checks []uuid.UUID) ([]int, error) {
	spread := s.shards()
	if spread == nil {
		return nil, nil
	}
	found, err := s.keysOf(ctx, s.db.DB, checks)
	if err != nil {
		return nil, translate(err)
	}
	keys := make(map[uuid.UUID]int64, len(found))
	for _, k := range found {
		keys[k.uuid] = k.id
	}
	list := make([]int, len(checks))
	for i, id := range checks {
		if key, ok := keys[id]; ok {
			list[i] = spread.of(key)
		}
	}
	return list, nil
}

// logSource is where a query for logs begins, as parts of its text: the checks, the condition on them, and conditions
// that fix the shard of states and of pings.
type logSource struct{ checks, where, state, ping string }

// logSources returns the sources for the logs of the checks that meet a condition, one for each shard.
func (s *database) logSources(ctx context.Context, where string, args ...any) ([]logSource, error) {
	where = s.db.QueryGen().FormatQuery(where, args...)
	spread := s.shards()
	if spread == nil {
		return []logSource{{checks: "rollcall_checks AS c", where: where}}, nil
	}
	rows, err := s.db.DB.QueryContext(ctx, "SELECT c.id, c.uuid FROM rollcall_checks AS c WHERE "+where)
	var row checkKey
	found, err := scanList(rows, err, &row, &row.id, &row.uuid)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var sources []logSource
	for _, part := range group(spread, found, func(k checkKey) int64 { return k.id }) {
		values, keys := make([]string, len(part)), make([]int64, len(part))
		for i, k := range part {
			values[i], keys[i] = fmt.Sprintf("(%d, '%s'::uuid)", k.id, k.uuid), k.id
		}
		among := " = ANY ('" + s.d.list(keys) + "'::bigint[])"
		sources = append(sources, logSource{
			checks: "(VALUES " + strings.Join(values, ", ") + ") AS c (id, uuid)", where: "TRUE",
			state: " AND s.check_id" + among, ping: " AND p.check_id" + among,
		})
	}
	return sources, nil
}

// spreadRows is checkRows on a distributed database. In a join, Citus would send all states to the coordinator.
func (s *database) spreadRows(ctx context.Context, db dbQuerier, states querier, where string, args ...any) ([]*checkRow, error) {
	var row checkRow
	settings, state := row.fields()
	rows, err := db.QueryContext(ctx, "SELECT "+settingColumns+" FROM rollcall_checks AS c WHERE "+where, args...)
	found, err := scanList(rows, err, &row, settings...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	byKey, keys := make(map[int64]*checkRow, len(found)), make([]int64, len(found))
	for i := range found {
		keys[i], byKey[found[i].id] = found[i].id, &found[i]
	}
	query := "SELECT s.check_id, " + stateColumns + " FROM rollcall_states AS s WHERE " + s.d.among("s.check_id", "bigint")
	rows, err = states.QueryContext(ctx, query, s.d.list(keys))
	list, err := scanList(rows, err, &row, append([]any{&row.id}, state...)...)
	joined := make([]*checkRow, len(list))
	for i := range list {
		joined[i] = &list[i]
		joined[i].check = byKey[list[i].id].check
	}
	return joined, err
}

// lockDueSpread is LockDue's choice of rows on a distributed database. Citus cannot look for due rows and lock them in
// one statement. So it looks first and then locks those that are still due, shard by shard.
func (t *transaction) lockDueSpread(ctx context.Context, now time.Time, limit int) (due []lockedKey, err error) {
	const find = `SELECT check_id, watch_at FROM rollcall_states WHERE watch_at <= $1 AND (watch_at, check_id) > ($2, $3)
		ORDER BY watch_at, check_id LIMIT $4`
	lock := "SELECT check_id, revision FROM rollcall_states WHERE watch_at <= $2 AND " + t.s.d.among("check_id", "bigint") +
		" FOR UPDATE SKIP LOCKED"
	last := struct{ id, watch int64 }{0, -anyInstant}
	for {
		rows, err := t.tx.Tx.QueryContext(ctx, find, micros(now), last.watch, last.id, limit)
		row := last
		found, err := scanList(rows, err, &row, &row.id, &row.watch)
		if err != nil {
			return nil, err
		}
		keys := make([]int64, 0, len(found))
		for _, row := range found[:min(len(found), limit-len(due))] {
			keys, last = append(keys, row.id), row
		}
		for _, part := range group(t.s.shards(), keys, itself) {
			rows, err := t.tx.Tx.QueryContext(ctx, lock, t.s.d.list(part), micros(now))
			var row lockedKey
			locked, err := scanList(rows, err, &row, &row.id, &row.revision)
			if err != nil {
				return nil, err
			}
			due = append(due, locked...)
		}
		if len(due) >= limit || len(found) < limit {
			return due, nil
		}
	}
}

// lockProject locks the states of a project's checks on a distributed database.
func (t *transaction) lockProject(ctx context.Context, id uuid.UUID) error {
	var keys []int64
	err := t.tx.NewRaw("SELECT id FROM rollcall_checks WHERE project_id = ?", id).Scan(ctx, &keys)
	if err != nil {
		return err
	}
	_, err = t.lockKeys(ctx, keys)
	return err
}

// removeLogs removes log entries and returns the keys of their objects.
func (t *transaction) removeLogs(ctx context.Context, entries []entry) (objects []string, err error) {
	for _, part := range group(t.s.shards(), entries, func(e entry) int64 { return e.check }) {
		ids, checks := make([]int64, len(part)), make([]int64, len(part))
		for i, e := range part {
			ids[i], checks[i] = e.id, e.check
		}
		query, args := "DELETE FROM rollcall_pings WHERE "+t.s.d.among("id", "bigint"), []any{t.s.d.list(ids)}
		if t.s.shards() != nil {
			slices.Sort(checks)
			query, args = query+" AND check_id = ANY ($2::bigint[])", append(args, t.s.d.list(slices.Compact(checks)))
		}
		rows, err := t.tx.Tx.QueryContext(ctx, query+" RETURNING coalesce(object, '')", args...)
		var object string
		removed, err := scanList(rows, err, &object, &object)
		if err != nil {
			return nil, err
		}
		objects = append(objects, removed...)
	}
	return objects, nil
}

// byShard sorts log entries so that a transaction that removes some of them touches few shards.
func (s shards) byShard(entries []entry) {
	if s != nil {
		slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(s.of(a.check), s.of(b.check)) })
	}
}

// distribute implements [Store.Distribute].
func (s *database) distribute(ctx context.Context) (changed bool, err error) {
	if !s.d.postgres {
		return false, fmt.Errorf("sqlstore: SQLite cannot be distributed: %w", errors.ErrUnsupported)
	}
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := s.d.lockSchema(ctx, tx); err != nil {
			return err
		}
		if err := checkCitus(ctx, tx); err != nil {
			return err
		}
		spread, err := readShards(ctx, tx.Tx)
		if err != nil || spread != nil {
			return err
		}
		changed = true
		_, err = tx.Tx.ExecContext(ctx, distributeTables)
		return err
	})
	if err == nil {
		err = s.loadShards(ctx)
	}
	return changed, translate(err)
}

// distributeTables moves the rows. A primary key on Citus contains the column by which the table is distributed. Pings lock
// states before the log, too.
const distributeTables = `
LOCK TABLE rollcall_states IN ACCESS EXCLUSIVE MODE;
ALTER TABLE rollcall_pings DROP CONSTRAINT rollcall_pings_pkey, ADD PRIMARY KEY (id, check_id);
CREATE TABLE IF NOT EXISTS rollcall_commits (n BIGINT);
SELECT citus_add_local_table_to_metadata('rollcall_commits');
SELECT create_distributed_table('rollcall_states', 'check_id', colocate_with => 'none');
SELECT create_distributed_table('rollcall_pings', 'check_id', colocate_with => 'rollcall_states');
SELECT truncate_local_data_after_distributing_table('rollcall_states');
SELECT truncate_local_data_after_distributing_table('rollcall_pings')`

// refuseWorker returns errWorker on a worker of Citus.
func (s *database) refuseWorker(ctx context.Context, tx bun.Tx) error {
	if !s.d.postgres {
		return nil
	}
	var citus, worker bool
	err := tx.Tx.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL").Scan(&citus)
	if err != nil || !citus {
		return err
	}
	err = tx.Tx.QueryRowContext(ctx, "SELECT groupid <> 0 FROM pg_catalog.pg_dist_local_group").Scan(&worker)
	if err == nil && worker {
		err = errWorker
	}
	return err
}

// checkCitus checks that a database is the coordinator of a Citus cluster.
func checkCitus(ctx context.Context, tx bun.Tx) error {
	var there bool
	if err := tx.Tx.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL").Scan(&there); err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%w: it lacks the extension citus; run CREATE EXTENSION citus on all nodes, then citus_add_node", errNotCitus)
	}
	var group, nodes, coordinators int
	err := tx.Tx.QueryRowContext(ctx, `SELECT (SELECT groupid FROM pg_dist_local_group),
		(SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary'),
		(SELECT count(*) FROM pg_dist_node WHERE groupid = 0)`).Scan(&group, &nodes, &coordinators)
	switch {
	case err != nil:
		return err
	case group != 0:
		return errWorker
	case coordinators == 0:
		return fmt.Errorf("%w: workers do not know the coordinator; run citus_set_coordinator_host", errNotCitus)
	case nodes == 0:
		return fmt.Errorf("%w: Citus has no node for shards; add workers with citus_add_node", errNotCitus)
	}
	return nil
}
