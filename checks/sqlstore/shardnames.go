package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// shardsByName says how to use shards by their names on the workers. PostgreSQL plans such a statement once and alone; one on a
// distributed table Citus plans each time, for itself and for the worker.
//
// A name goes around the locks of Citus: a shard that has moved stays for a while and still takes writes. So a transaction that
// writes by name first locks the metadata of the shards on the worker, as a statement of Citus does; a move waits for that, and it
// for a move. Then, reserveDirect asks the coordinator whether the shards are still there. Reads need neither: a shard that has moved
// lacks what is new.
type shardsByName struct {
	unnamed unnamedReason
	tables  []shardTables         // in the order of the layout; without names, if unnamed is not empty
	workers map[int]*workerShards // by worker; nil for one on which Citus must write
}

// shardTables are the tables of a shard on its worker.
type shardTables struct {
	placements    int      // workers that have the shard
	ids           [2]int64 // of states and pings
	states, pings string
}

// workerShards are the shards of a worker, and the statements of a ping on all of them.
type workerShards struct {
	shards               []int  // in the order of the layout
	ids                  string // of both tables, as an array
	lock, write, rewatch string
}

// knownCitus is the version of Citus whose shards the store uses by name. The functions for that are no documented interface.
const knownCitus = "13.2"

// unnamedReason is why the store does not use shards by name, or "".
type unnamedReason string

// notOwner still allows reads.
const notOwner unnamedReason = "the user does not own its tables"

// Slowed returns why pings cost the database more than they need to; see [store.Health].
func (s *database) Slowed() string {
	if l, is := s.layout().(spread); is && l.unnamed != "" {
		return fmt.Sprintf("Citus takes two to three times the CPU time for pings, because %s", l.unnamed)
	}
	return ""
}

// unnamed returns why the store must not use shards by name, or "".
func unnamed(ctx context.Context, db querier) (unnamedReason, error) {
	var version string
	var functions, owner bool
	err := db.QueryRowContext(ctx, `SELECT coalesce((SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'), 'unknown'),
		to_regprocedure('pg_catalog.shard_name(regclass, bigint, boolean)') IS NOT NULL
			AND to_regprocedure('pg_catalog.lock_shard_metadata(integer, bigint[])') IS NOT NULL,
		(SELECT bool_and(pg_catalog.pg_has_role(relowner, 'USAGE')) FROM pg_catalog.pg_class
			WHERE oid IN (to_regclass('rollcall_states'), to_regclass('rollcall_pings')))`).Scan(&version, &functions, &owner)
	switch {
	case err != nil:
		return "", err
	case !strings.HasPrefix(version, knownCitus+"-"):
		return unnamedReason(fmt.Sprintf("this program knows the shards of version %s, not of %s", knownCitus, version)), nil
	case !functions:
		return "it lacks shard_name or lock_shard_metadata", nil
	case !owner:
		return notOwner, nil
	}
	return "", nil
}

// named reports whether the store reads shards by name.
func (r unnamedReason) named() bool { return r == "" || r == notOwner }

// columns are those of shardTables, of the shards s of states and p of pings, in a query that groups by shard.
func (r unnamedReason) columns() string {
	if r.named() {
		return `min(s.shardid), coalesce(min(p.shardid), 0), min(pg_catalog.shard_name(s.logicalrelid, s.shardid, false)),
			coalesce(min(pg_catalog.shard_name(p.logicalrelid, p.shardid, false)), '')`
	}
	return "0, 0, '', ''"
}

// prepare sets the workers of shards whose nodes are given. Citus must write if a shard is on several workers.
func (s *shardsByName) prepare(nodes []int) {
	if s.unnamed != "" {
		return
	}
	s.workers = make(map[int]*workerShards)
	for i, node := range nodes {
		if s.workers[node] == nil {
			s.workers[node] = new(workerShards)
		}
		s.workers[node].shards = append(s.workers[node].shards, i)
	}
	for node, w := range s.workers {
		if slices.ContainsFunc(w.shards, func(i int) bool { return s.tables[i].placements != 1 }) {
			delete(s.workers, node)
			continue
		}
		w.prepare(s.tables)
	}
}

// prepare sets the statements. Each has the rows of one shard after the other in its parameters.
func (w *workerShards) prepare(all []shardTables) {
	var ids []int64
	for _, i := range w.shards {
		ids = append(ids, all[i].ids[:]...)
	}
	w.ids = dialect{postgres: true}.list(ids)
	// A separate table, whose row the transaction must see: PostgreSQL drops a condition beside one that it knows to be false, such as
	// that of a shard of which no check is locked.
	const guard = "guard AS MATERIALIZED (SELECT pg_catalog.lock_shard_metadata(5, '%s') IS NOT NULL AS locked)"
	locks, locked := []string{fmt.Sprintf(guard, w.ids)}, []string{"SELECT 0::bigint, locked::int::bigint FROM guard"}
	var writes, watches []string
	for n, i := range w.shards {
		name := strings.NewReplacer("rollcall_states", all[i].states, "rollcall_pings", all[i].pings, "inserted", fmt.Sprint("inserted", n))
		add := func(list *[]string, text string, params int) {
			*list = append(*list, name.Replace(shiftParams(text, n*params)))
		}
		add(&locks, fmt.Sprintf("locked%d AS (%s)", n, lockStates.postgres), 1)
		locked = append(locked, fmt.Sprintf("SELECT check_id, revision FROM locked%d", n))
		add(&writes, fmt.Sprintf("%s, updated%d AS (%s)", strings.TrimPrefix(insertPings.postgres, "WITH "), n, updateStates.postgres), stateParams+pingParams)
		add(&watches, fmt.Sprintf("updated%d AS (%s)", n, updateWatches.postgres), watchParams)
	}
	w.lock = "WITH " + strings.Join(locks, ", ") + " " + strings.Join(locked, " UNION ALL ") // runs in this order
	w.write = "WITH " + strings.Join(writes, ", ") + " SELECT"
	w.rewatch = "WITH " + strings.Join(watches, ", ") + " SELECT"
}

// The numbers of parameters of updateStates, insertPings and updateWatches on PostgreSQL.
const stateParams, pingParams, watchParams = 8, 17, 2

var param = regexp.MustCompile(`\$\d+`)

// shiftParams adds to the numbers of the parameters in a statement.
func shiftParams(text string, by int) string {
	return param.ReplaceAllStringFunc(text, func(p string) string {
		n, _ := strconv.Atoi(p[1:])
		return fmt.Sprint("$", n+by)
	})
}

// split splits rows by the shards of a worker. It returns errDetour if one belongs elsewhere.
func split[T any](s spread, w *workerShards, rows []T, key func(T) int64) ([][]T, error) {
	parts := make([][]T, len(w.shards))
	for i := range parts {
		parts[i] = []T{} // an empty array, unlike nil
	}
	for _, row := range rows {
		n, found := slices.BinarySearch(w.shards, s.of(key(row)))
		if !found {
			return nil, errDetour
		}
		parts[n] = append(parts[n], row)
	}
	return parts, nil
}

// lockByName locks the states that exist, like lock, after the metadata of all shards of the worker.
func (s spread) lockByName(ctx context.Context, t *transaction, keys []int64) ([]lockedKey, error) {
	parts, err := split(s, t.named, keys, itself)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(parts))
	for i, part := range parts {
		args[i] = t.s.d.list(part)
	}
	var row lockedKey
	rows, err := t.conn.Tx.QueryContext(ctx, t.named.lock, args...)
	locked, err := scanList(rows, err, &row, &row.id, &row.revision)
	switch state, _ := sqlState(err); {
	case slices.Contains([]string{"42P01", "XX000", "42501", "42883"}, state): // a shard is gone, the user does not own it, or Citus is another one
		return nil, fmt.Errorf("%w: %w", errPlaced, err)
	case err != nil:
		return nil, err
	case len(locked) == 0 || locked[0] != guarded:
		return nil, errPlaced
	}
	return locked[1:], nil
}

// guarded is the first row of a lock, if it has the lock of the shards' metadata.
var guarded = lockedKey{id: 0, revision: 1}

// writeByName does what write does, on all shards of the worker at once. Without pings nobody has asked where the shards are.
func (s spread) writeByName(ctx context.Context, t *transaction, b *batch) error {
	if len(b.pings) == 0 {
		return errDetour
	}
	states, err := s.params(t.named, b.states, 7, stateParams)
	if err != nil {
		return err
	}
	logged, err := s.params(t.named, b.pings, 1, pingParams)
	if err != nil {
		return err
	}
	var args []any
	for i := range states {
		args = append(append(args, states[i]...), logged[i]...)
	}
	if _, err := t.conn.Tx.ExecContext(ctx, t.named.write, args...); err != nil || len(b.watches) == 0 {
		return err
	}
	watches, err := s.params(t.named, b.watches, 1, watchParams)
	if err == nil {
		_, err = t.conn.Tx.ExecContext(ctx, t.named.rewatch, slices.Concat(watches...)...)
	}
	return err
}

// params returns the n parameters that have the rows of each shard of a worker, which have the key of the check at an index.
func (s spread) params(w *workerShards, rows [][]any, key, n int) ([][]any, error) {
	parts, err := split(s, w, rows, func(row []any) int64 { return row[key].(int64) })
	if err != nil {
		return nil, err
	}
	params := make([][]any, len(parts))
	for i, part := range parts {
		if len(part) > 0 {
			params[i] = arrays(part)
			continue
		}
		params[i] = slices.Repeat([]any{"{}"}, n)
	}
	return params, nil
}

// hold keeps the shards of checks where they are until the transaction ends. Citus does so itself for a write, but not for FOR
// UPDATE: after a move between the two, the lock would be on the shard that was left, and the write in the other one. The shards
// of both tables share a lock.
func (s spread) hold(ctx context.Context, t *transaction, keys []int64) error {
	if s.unnamed != "" || len(keys) == 0 {
		return nil
	}
	var shards []int64
	for _, part := range byShard(s, keys, itself) {
		shards = append(shards, s.tables[s.of(part[0])].ids[0])
	}
	_, err := t.conn.Tx.ExecContext(ctx, "SELECT pg_catalog.lock_shard_metadata(5, $1::bigint[])", t.s.d.list(shards))
	return err
}

// onShard selects states of one shard, and holds the shard on its worker too. The coordinator releases its own lock when it commits. A
// worker that dies before it commits as well has the transaction prepared, with its locks, until Citus commits it. A move before
// that would copy the shard without what was acknowledged.
func (s spread) onShard(ctx context.Context, t *transaction, keys []int64, how string, args ...any) ([]lockedKey, error) {
	query, args := "SELECT check_id, revision FROM rollcall_states WHERE check_id = ANY ($1::bigint[]) ", append([]any{t.s.d.list(keys)}, args...)
	if at := s.of(keys[0]); s.unnamed == "" {
		query += fmt.Sprintf("AND (SELECT pg_catalog.lock_shard_metadata(5, ARRAY[$%d::bigint]) IS NOT NULL) ", len(args)+1)
		args = append(args, s.tables[at].ids[0])
		if t.held == nil {
			t.held = make(map[int]bool)
		}
		t.held[at] = true
	}
	rows, err := t.conn.Tx.QueryContext(ctx, query+how, args...)
	var row lockedKey
	return scanList(rows, err, &row, &row.id, &row.revision)
}

// keep holds the shards of checks on their workers, as far as the transaction has written to them without a lock of a check.
func (s spread) keep(ctx context.Context, t *transaction, keys []int64) error {
	for _, part := range byShard(s, keys, itself) {
		if s.unnamed == "" && !t.held[s.of(part[0])] {
			if _, err := s.onShard(ctx, t, part[:1], ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// logPart is what PrunePings reads by itself: the whole log, or a shard of it on its worker.
type logPart struct {
	db     *bun.DB
	node   int // of a shard
	tables shardTables
}

// wholeLog is the log as the coordinator, or the only server, has it.
func (s *database) wholeLog() []logPart {
	return []logPart{{db: s.db, tables: shardTables{states: "rollcall_states", pings: "rollcall_pings"}}}
}

// logParts returns the shards of the log if the store reaches all of their workers, or else the whole log. Over the coordinator, a
// page of it takes as many rows from each shard.
func (s *database) logParts(ctx context.Context) (parts []logPart) {
	l, is := s.layout().(spread)
	if !is || !l.unnamed.named() {
		return s.wholeLog()
	}
	for i, tables := range l.tables {
		pool, _ := s.pool(ctx, l.nodes[i])
		if pool == nil {
			return s.wholeLog()
		}
		parts = append(parts, logPart{pool, l.nodes[i], tables})
	}
	return parts
}

// leave decides, after an error of a shard, what PrunePings goes on with: the whole log. The shard may have moved.
func (s *database) leave(ctx context.Context, part logPart, err error) []logPart {
	s.detour(store.OnNode(ctx, part.node), err)
	_ = s.readLayout(ctx) // an error of the database shows up in what follows
	return s.wholeLog()
}
