package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// On Citus, Distribute spreads rollcall_states and rollcall_pings over shards by check_id. All other tables stay on
// the coordinator. A statement on the spread tables names the checks that it is about, and those of one shard only where
// Citus demands it or is much faster: it then sends the statement as it is to one worker.

// coordinator is the layout of a database that can be distributed and is not.
type coordinator struct{ plain }

// spread is the layout of a distributed database: for each shard the largest hash, ascending, the worker, and its tables there.
type spread struct {
	ends  []int32
	nodes []int
	shardsByName
}

var (
	// errNotCitus means that the database is no coordinator of Citus with workers. Its text says what is missing.
	errNotCitus = errors.New("the database cannot be distributed")
	// errInDoubt means that a commit has not reached a worker yet.
	errInDoubt = errors.New("a check that was just created has no state yet, because a worker of Citus must recover first")
	// errWorker means that the database is on a worker of Citus, where Rollcall makes no tables.
	errWorker = errors.New("the database is on a worker of Citus; use the coordinator's URL")
)

// of returns the shard of a key.
func (s spread) of(key int64) int {
	at, _ := slices.BinarySearch(s.ends, hashInt64(key))
	return at
}

// byShard splits a list by shard, in the order of the shards. All transactions lock in this order.
func byShard[T any](s spread, list []T, key func(T) int64) [][]T {
	parts := make(map[int][]T)
	for _, v := range list {
		at := s.of(key(v))
		parts[at] = append(parts[at], v)
	}
	groups := make([][]T, 0, len(parts))
	for _, at := range slices.Sorted(maps.Keys(parts)) {
		groups = append(groups, parts[at])
	}
	return groups
}

func itself(key int64) int64 { return key }

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

// readLayout reads from the catalog of Citus how the database is distributed.
func (s *database) readLayout(ctx context.Context) error {
	if !s.d.postgres {
		return nil
	}
	l, err := layoutOf(ctx, s.db.DB)
	if err == nil {
		s.place(l)
	}
	return err
}

func layoutOf(ctx context.Context, db querier) (layout, error) {
	var citus bool
	if err := db.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL").Scan(&citus); err != nil || !citus {
		return plain{}, err
	}
	reason, err := unnamed(ctx, db)
	if err != nil {
		return coordinator{}, err
	}
	s := spread{shardsByName: shardsByName{unnamed: reason}}
	rows, err := db.QueryContext(ctx, "SELECT s.shardmaxvalue::int, min(groupid), count(*), "+reason.columns()+`
		FROM pg_catalog.pg_dist_shard AS s JOIN pg_catalog.pg_dist_placement AS at USING (shardid)
		LEFT JOIN pg_catalog.pg_dist_shard AS p ON p.logicalrelid = to_regclass('rollcall_pings') AND p.shardmaxvalue = s.shardmaxvalue
		WHERE s.logicalrelid = to_regclass('rollcall_states') AND s.shardmaxvalue IS NOT NULL GROUP BY 1 ORDER BY 1`)
	var shard struct {
		end  int32
		node int
		shardTables
	}
	shards, err := scanList(rows, err, &shard, &shard.end, &shard.node, &shard.placements, &shard.ids[0], &shard.ids[1], &shard.states, &shard.pings)
	if err != nil || shards == nil {
		return coordinator{}, err
	}
	for _, shard := range shards {
		s.ends, s.nodes, s.tables = append(s.ends, shard.end), append(s.nodes, shard.node), append(s.tables, shard.shardTables)
	}
	s.prepare(s.nodes)
	return s, nil
}

// Sharder returns what tells the nodes of checks, or nil on a database that cannot be distributed.
func (s *database) Sharder() store.Sharder {
	if _, is := s.layout().(plain); is {
		return nil
	}
	return s
}

// readLayoutEvery is how often Nodes looks whether shards have moved between workers.
const readLayoutEvery = time.Minute

// Nodes returns the worker of each check; see [store.Sharder].
func (s *database) Nodes(ctx context.Context, checks []uuid.UUID) (nodes []int, layout int64, err error) {
	p := s.placed.Load()
	if time.Since(p.read) > readLayoutEvery {
		if err := s.readLayout(ctx); err != nil {
			return nil, 0, s.translate(err)
		}
		p = s.placed.Load()
	}
	l, is := p.layout.(spread)
	if !is {
		return nil, p.number, nil
	}
	found, err := s.keysOf(ctx, s.db.DB, checks)
	if err != nil {
		return nil, 0, s.translate(err)
	}
	keys := make(map[uuid.UUID]int64, len(found))
	for _, k := range found {
		keys[k.uuid] = k.id
	}
	nodes = make([]int, len(checks))
	for i, id := range checks {
		if key, ok := keys[id]; ok {
			nodes[i] = l.nodes[l.of(key)]
		}
	}
	return nodes, p.number, nil
}

func (s spread) lock(ctx context.Context, t *transaction, keys []int64) (locked []lockedKey, err error) {
	if t.named != nil {
		if locked, err = s.lockByName(ctx, t, keys); err != nil || len(locked) == len(keys) {
			return locked, err
		}
		return nil, errDetour
	}
	if err := s.hold(ctx, t, keys); err != nil {
		return nil, err
	}
	for _, part := range byShard(s, keys, itself) {
		list, err := s.onShard(ctx, t, part, "ORDER BY check_id FOR UPDATE")
		if err != nil {
			return nil, err
		}
		locked = append(locked, list...)
	}
	if len(locked) < len(keys) {
		return locked, s.sure(ctx, t, keys, locked)
	}
	return locked, nil
}

// sure fails if a check without a state exists. The commit that created it is in doubt: the coordinator has it, and a worker
// that died has yet to make it.
func (spread) sure(ctx context.Context, t *transaction, keys []int64, locked []lockedKey) error {
	missing := slices.DeleteFunc(slices.Clone(keys), func(key int64) bool {
		return slices.ContainsFunc(locked, func(l lockedKey) bool { return l.id == key })
	})
	var exists bool
	query := "SELECT EXISTS (SELECT 1 FROM rollcall_checks WHERE " + t.s.d.among("id", "bigint") + ")"
	err := t.conn.Tx.QueryRowContext(ctx, query, t.s.d.list(missing)).Scan(&exists)
	if err == nil && exists {
		err = &translatedError{store.ErrPartly, errInDoubt}
	}
	return err
}

// lockDue looks for due rows first and then locks those that are still due, shard by shard: Citus cannot do both in one
// statement.
func (s spread) lockDue(ctx context.Context, t *transaction, now time.Time, limit int) (due []lockedKey, err error) {
	const find = `SELECT check_id, watch_at FROM rollcall_states WHERE watch_at <= $1 AND (watch_at, check_id) > ($2, $3)
		ORDER BY watch_at, check_id LIMIT $4`
	last := struct{ id, watch int64 }{0, -anyInstant}
	for {
		rows, err := t.conn.Tx.QueryContext(ctx, find, micros(now), last.watch, last.id, limit)
		row := last
		found, err := scanList(rows, err, &row, &row.id, &row.watch)
		if err != nil {
			return nil, err
		}
		keys := make([]int64, 0, len(found))
		for _, row := range found[:min(len(found), limit-len(due))] {
			keys, last = append(keys, row.id), row
		}
		if err := s.hold(ctx, t, keys); err != nil {
			return nil, err
		}
		for _, part := range byShard(s, keys, itself) {
			locked, err := s.onShard(ctx, t, part, "AND watch_at <= $2 FOR UPDATE SKIP LOCKED", micros(now))
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

func (s spread) lockProject(ctx context.Context, t *transaction, id uuid.UUID) error {
	var keys []int64
	err := t.tx().NewRaw("SELECT id FROM rollcall_checks WHERE project_id = ?", id).Scan(ctx, &keys)
	if err == nil {
		_, err = s.lock(ctx, t, keys)
	}
	return err
}

// insertPing inserts one ping, which Citus routes by itself. It is also for the ping of Probe, whose check has no state.
const insertPing = "INSERT INTO rollcall_pings (" + loggedColumns + `)
	VALUES ($1, $2, $3, nullif($4::bigint, 0), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`

// insertShardPings inserts pings of one shard. The join with their states, which exist, lets Citus send it as it is to the
// worker. Without one, Citus pulls all rows to the coordinator and copies them out again.
const insertShardPings = "INSERT INTO rollcall_pings (" + loggedColumns + `)
	SELECT v.id, s.check_id, v.n, nullif(v.prev, 0), v.kind, v.at, v.scheme, v.method, v.remote_addr, v.ua, v.run, v.exit_status,
		v.duration, v.body_size, v.body, v.body_cut, v.body_charset
	FROM rollcall_states AS s JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::bigint[],
		$7::text[], $8::text[], $9::text[], $10::text[], $11::uuid[], $12::smallint[], $13::bigint[], $14::bigint[], $15::bytea[],
		$16::bigint[], $17::text[]) AS v (` + loggedColumns + `) ON s.check_id = v.check_id
	WHERE s.check_id = ANY ($2::bigint[])`

// write writes shard by shard: Citus sends a statement as it is to a worker if all its rows are in one shard.
func (s spread) write(ctx context.Context, t *transaction, b *batch) error {
	if t.named != nil {
		return s.writeByName(ctx, t, b)
	}
	for _, table := range []struct {
		query string
		rows  [][]any
		key   int // the index of check_id in a row
	}{{insertShardPings, b.pings, 1}, {updateStates.postgres, b.states, 7}, {updateWatches.postgres, b.watches, 1}} {
		for _, part := range byShard(s, table.rows, func(row []any) int64 { return row[table.key].(int64) }) {
			query, args := table.query, arrays(part)
			if query == insertShardPings && len(part) == 1 {
				query, args = insertPing, part[0]
			}
			if _, err := t.conn.Tx.ExecContext(ctx, query, args...); err != nil {
				return err
			}
		}
	}
	keys := make([]int64, len(b.states))
	for i, row := range b.states {
		keys[i] = row[7].(int64)
	}
	return s.keep(ctx, t, keys)
}

// commit makes the commit atomic between the coordinator and the workers. Citus commits by two phases if a transaction has
// written on several nodes, but does not count what it wrote to tables that Citus does not know: a crash of the coordinator
// could then keep a state and lose its flip. Citus knows rollcall_commits, which stays empty. A batch of pings that writes
// nothing else, on one worker, needs one phase.
func (spread) commit(ctx context.Context, t *transaction) error {
	switch {
	case !t.mixed:
		return nil
	case t.direct:
		return errDetour
	}
	_, err := t.conn.Tx.ExecContext(ctx, "DELETE FROM rollcall_commits")
	return err
}

// rows reads the two tables one after the other. In a join, Citus would send all states to the coordinator.
func (spread) rows(ctx context.Context, db querier, where string, args ...any) ([]*checkRow, error) {
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
	d := dialect{postgres: true}
	query := "SELECT s.check_id, " + stateColumns + " FROM rollcall_states AS s WHERE " + d.among("s.check_id", "bigint")
	rows, err = db.QueryContext(ctx, query, d.list(keys))
	list, err := scanList(rows, err, &row, append([]any{&row.id}, state...)...)
	joined := make([]*checkRow, len(list))
	for i := range list {
		joined[i] = &list[i]
		settings := byKey[list[i].id]
		joined[i].check, joined[i].listed = settings.check, settings.listed
	}
	return joined, err
}

// logs returns a source for each shard.
func (s spread) logs(ctx context.Context, db querier, where string) ([]logSource, error) {
	rows, err := db.QueryContext(ctx, "SELECT c.id, c.uuid FROM rollcall_checks AS c WHERE "+where)
	var row checkKey
	found, err := scanList(rows, err, &row, &row.id, &row.uuid)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var sources []logSource
	for _, part := range byShard(s, found, func(k checkKey) int64 { return k.id }) {
		values, keys := make([]string, len(part)), make([]int64, len(part))
		for i, k := range part {
			values[i], keys[i] = fmt.Sprintf("(%d, '%s'::uuid)", k.id, k.uuid), k.id
		}
		among := " = ANY ('" + dialect{postgres: true}.list(keys) + "'::bigint[])"
		sources = append(sources, logSource{
			checks: "(VALUES " + strings.Join(values, ", ") + ") AS c (id, uuid)", where: "TRUE",
			state: " AND s.check_id" + among, ping: " AND p.check_id" + among,
		})
	}
	return sources, nil
}

func (s spread) sortLogs(entries []entry) {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(s.of(a.check), s.of(b.check)) })
}

func (s spread) removeLogs(ctx context.Context, t *transaction, entries []entry) (objects []string, err error) {
	query := "DELETE FROM rollcall_pings WHERE " + t.s.d.among("id", "bigint") +
		" AND check_id = ANY ($2::bigint[]) RETURNING coalesce(object, '')"
	for _, part := range byShard(s, entries, func(e entry) int64 { return e.check }) {
		ids, checks := make([]int64, len(part)), make([]int64, len(part))
		for i, e := range part {
			ids[i], checks[i] = e.id, e.check
		}
		slices.Sort(checks)
		rows, err := t.tx().Tx.QueryContext(ctx, query, t.s.d.list(ids), t.s.d.list(slices.Compact(checks)))
		var object string
		removed, err := scanList(rows, err, &object, &object)
		if err != nil {
			return nil, err
		}
		objects = append(objects, removed...)
		if err := s.keep(ctx, t, checks); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func (s spread) moveBodies(ctx context.Context, t *transaction, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	found, err := t.tx().Tx.QueryContext(ctx, moveBodies.postgres+" RETURNING p.check_id", arrays(rows)...)
	var key int64
	keys, err := scanList(found, err, &key, &key)
	if err != nil {
		return err
	}
	return s.keep(ctx, t, keys)
}
