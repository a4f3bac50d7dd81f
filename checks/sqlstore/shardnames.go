package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// shardNames are the tables of a shard on its worker. Statements on them are planned by PostgreSQL alone, and cost what they cost
// on a single server. A name goes around the locks of Citus: a shard that has moved stays for a while.
type shardNames struct{ states, pings string }

// knownCitus is the version of Citus whose shards the store uses by name. The functions for that are no documented interface.
const knownCitus = "13.2"

// knowsShards reports whether the store may use shards by name, and whether it can hold them. Only the owner of a table may lock the
// metadata of its shards.
func knowsShards(ctx context.Context, db querier) (named, held bool, err error) {
	var version string
	err = db.QueryRowContext(ctx, `SELECT coalesce((SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'), ''),
		to_regprocedure('pg_catalog.shard_name(regclass, bigint, boolean)') IS NOT NULL,
		to_regprocedure('pg_catalog.lock_shard_metadata(integer, bigint[])') IS NOT NULL
			AND (SELECT bool_and(pg_catalog.pg_has_role(relowner, 'USAGE')) FROM pg_catalog.pg_class
				WHERE oid IN (to_regclass('rollcall_states'), to_regclass('rollcall_pings')))`).Scan(&version, &named, &held)
	known := strings.HasPrefix(version, knownCitus+"-")
	return known && named, known && held, err
}

// hold keeps the shards of checks where they are until the transaction ends. Citus does so itself for a write, but not for FOR
// UPDATE: after a move between the two, the lock would be on the shard that was left, and the write in the other one. The shards
// of both tables share a lock.
func (s spread) hold(ctx context.Context, t *transaction, keys []int64) error {
	if s.ids == nil || len(keys) == 0 {
		return nil
	}
	var shards []int64
	for _, part := range byShard(s, keys, itself) {
		shards = append(shards, s.ids[s.of(part[0])])
	}
	_, err := t.conn.Tx.ExecContext(ctx, "SELECT pg_catalog.lock_shard_metadata(5, $1::bigint[])", t.s.d.list(shards))
	return err
}

// onShard selects states of one shard, and holds the shard on its worker too. The coordinator releases its own lock when it commits. A
// worker that dies before it commits as well has the transaction prepared, with its locks, until Citus commits it. A move before
// that would copy the shard without what was acknowledged.
func (s spread) onShard(ctx context.Context, t *transaction, keys []int64, how string, args ...any) ([]lockedKey, error) {
	query, args := "SELECT check_id, revision FROM rollcall_states WHERE check_id = ANY ($1::bigint[]) ", append([]any{t.s.d.list(keys)}, args...)
	if at := s.of(keys[0]); s.ids != nil {
		query += fmt.Sprintf("AND (SELECT pg_catalog.lock_shard_metadata(5, ARRAY[$%d::bigint]) IS NOT NULL) ", len(args)+1)
		args = append(args, s.ids[at])
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
		if s.ids != nil && !t.held[s.of(part[0])] {
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
	tables shardNames
}

// wholeLog is the log as the coordinator, or the only server, has it.
func (s *database) wholeLog() []logPart {
	return []logPart{{db: s.db, tables: shardNames{"rollcall_states", "rollcall_pings"}}}
}

// logParts returns the shards of the log if the store reaches all of their workers, or else the whole log. Over the coordinator, a
// page of it takes as many rows from each shard.
func (s *database) logParts(ctx context.Context) (parts []logPart) {
	l, is := s.layout().(spread)
	if !is || l.names == nil {
		return s.wholeLog()
	}
	for i, names := range l.names {
		pool, _ := s.pool(ctx, l.nodes[i])
		if pool == nil {
			return s.wholeLog()
		}
		parts = append(parts, logPart{pool, l.nodes[i], names})
	}
	return parts
}

// leave decides, after an error of a shard, what PrunePings goes on with: the whole log. The shard may have moved.
func (s *database) leave(ctx context.Context, part logPart, err error) []logPart {
	s.detour(store.OnNode(ctx, part.node), err)
	_ = s.readLayout(ctx) // an error of the database shows up in what follows
	return s.wholeLog()
}
