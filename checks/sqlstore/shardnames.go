package sqlstore

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// shardNames are the tables of a shard on its worker. Statements on them are planned by PostgreSQL alone, and cost what they cost
// on a single server. A name goes around the locks of Citus: a shard that has moved stays for a while.
type shardNames struct{ states, pings string }

// knownCitus is the version of Citus whose shards the store uses by name. The functions for that are no documented interface.
const knownCitus = "13.2"

// knowsShards reports whether the store may use shards by name.
func knowsShards(ctx context.Context, db querier) (bool, error) {
	var version string
	err := db.QueryRowContext(ctx, `SELECT coalesce((SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'
		AND to_regprocedure('pg_catalog.shard_name(regclass, bigint, boolean)') IS NOT NULL), '')`).Scan(&version)
	return strings.HasPrefix(version, knownCitus+"-"), err
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
