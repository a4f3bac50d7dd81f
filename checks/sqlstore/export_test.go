package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// ErrNotCitus and ErrWorker export the errors of a database that cannot be distributed.
var (
	ErrNotCitus = errNotCitus
	ErrWorker   = errWorker
)

// CheckVersion exports checkVersion.
func CheckVersion(number int) error { return checkVersion(number) }

// CheckServer exports checkServer.
func (s *database) CheckServer(ctx context.Context) error { return s.checkServer(ctx) }

// ForgetWorkers makes Workers ask again.
func (s *database) ForgetWorkers() { s.workers.at = time.Time{} }

// Migrate does what that of Store does.
func (s *database) Migrate(ctx context.Context) error {
	_, _, err := s.MigrateFrom(ctx)
	return err
}

// MigrateFrom does what Migrate does and returns the versions of the schema before and after.
func (s *database) MigrateFrom(ctx context.Context) (before, after int, err error) {
	return s.migrateFiles(ctx, migrations)
}

// MigrateFurther does what MigrateFrom does in a later version, which has one more migration.
func (s *database) MigrateFurther(ctx context.Context, sql string) (before, after int, err error) {
	set := make(fstest.MapFS)
	files, err := fs.Glob(migrations, migrationFiles)
	for _, file := range files {
		text, readErr := fs.ReadFile(migrations, file)
		set[file], err = &fstest.MapFile{Data: text}, cmp.Or(err, readErr)
	}
	if err != nil {
		return 0, 0, err
	}
	set[fmt.Sprintf("migrations/%04d_further.sql", newest()+1)] = &fstest.MapFile{Data: []byte(sql)}
	return s.migrateFiles(ctx, set)
}

// Unreleased returns the version from which on no schema is that of a build from before version 0.1.0.
func Unreleased() (before int) { return unreleased[len(unreleased)-1].before }

// LimitCache sets the largest size of the cache in bytes.
func (s *database) LimitCache(bytes int) { s.cache.limit = bytes }

// CacheSize returns how many checks are cached and the estimate of their size in bytes.
func (s *database) CacheSize() (entries, bytes int) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return len(s.cache.byID), s.cache.bytes
}

// WaitForCheckpoint returns when no checkpoint is running.
func (s *database) WaitForCheckpoint() {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
}

// Recorded locks and returns the number that is recorded for a run.
func Recorded(ctx context.Context, tx store.Tx, run uuid.UUID) (int64, error) {
	return tx.(*transaction).lockRecorded(ctx, run)
}

// QueuedDeliveries returns all deliveries, whatever their state, oldest first.
func QueuedDeliveries(ctx context.Context, tx store.Tx) (list []store.QueuedDelivery, err error) {
	var rows []deliveryRow
	err = tx.(*transaction).tx().NewSelect().Model(&rows).ColumnExpr(queuedColumns).OrderExpr("d.id").Scan(ctx)
	for i := range rows {
		list = append(list, rows[i].queued())
	}
	return list, err
}

// PageCache returns SQLite's cache_size of the connection of a transaction.
func PageCache(ctx context.Context, tx store.Tx) (size int, err error) {
	err = tx.(*transaction).conn.NewRaw("PRAGMA cache_size").Scan(ctx, &size)
	return size, err
}

// OnWorker reports whether a transaction runs on a worker of Citus.
func OnWorker(tx store.Tx) bool { return tx.(*transaction).direct }

// ByName reports whether a transaction uses shards of a worker by name.
func ByName(tx store.Tx) bool { return tx.(*transaction).named != nil }

// Pool returns the pool of the store.
func (s *database) Pool() *sql.DB { return s.db.DB }

// ReadLayout exports readLayout.
func (s *database) ReadLayout(ctx context.Context) error { return s.readLayout(ctx) }

// AvoidWorker does what a worker does that cannot be reached.
func (s *database) AvoidWorker(node int) { s.direct.avoid(node) }

// ForgetDirect forgets which workers are avoided, as time does.
func (s *database) ForgetDirect() { s.direct.nodes = nil }

// MoveWorker makes the store believe that a worker is where it is not.
func (s *database) MoveWorker(node int) { s.direct.nodes[node].worker.port++ }

// HashInt64 exports hashInt64.
func HashInt64(key int64) int32 { return hashInt64(key) }

// Spread makes the store believe that its tables are distributed over n shards.
func (s *database) Spread(n int) {
	shards := spread{shardsByName: shardsByName{unnamed: "its tables are no shards"}}
	for i := range n {
		shards.ends = append(shards.ends, int32(math.MinInt32+int64(i+1)<<32/int64(n)-1))
		shards.nodes = append(shards.nodes, i%2)
	}
	s.place(shards)
}

// SpreadByName does what Spread does, and makes the store believe that each table in parts is a shard on a worker, which a pool
// reaches, and which it may read.
func (s *database) SpreadByName(pool *bun.DB, parts ...[2]string) {
	s.Spread(len(parts))
	shards, nodes := s.layout().(spread), make(map[int]*directNode)
	shards.unnamed = notOwner
	for i, tables := range parts {
		shards.nodes[i] = 1 + i%2
		nodes[shards.nodes[i]] = &directNode{pool: pool, ask: time.Now().Add(time.Hour)}
		shards.tables = append(shards.tables, shardTables{placements: 1, states: tables[0], pings: tables[1]})
	}
	s.direct.open, s.direct.nodes = func(string, uint16, string) *bun.DB { return nil }, nodes
	s.place(shards)
}

// PruneParts returns the tables that PrunePings reads.
func (s *database) PruneParts(ctx context.Context) (tables []string) {
	for _, part := range s.logParts(ctx) {
		tables = append(tables, part.tables.pings)
	}
	return tables
}

// Translate exports translate.
func Translate(err error) error { return translate(err) }

// Database exports database.
type Database = database

// Database returns what the store is made of.
func (s *Store) Database() *Database { return s.database }

// Contract lets tests pass a Database to a monitor.
func (s *database) Contract() any { return s }
