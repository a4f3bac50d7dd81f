package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// Distribute spreads a migrated database on the coordinator of a Citus cluster over its workers, into twice as many shards as
// there are workers, unless citus.shard_count is set. It reports whether anything was left to do. It moves all rows in one
// transaction, for which pings wait. Stores that are open meanwhile notice afterwards.
func (s *database) Distribute(ctx context.Context) (changed bool, err error) {
	if !s.d.postgres {
		return false, fmt.Errorf("sqlstore: SQLite cannot be distributed: %w", errors.ErrUnsupported)
	}
	err = s.changeSchema(ctx, func(ctx context.Context, tx bun.Tx) error {
		workers, err := checkCitus(ctx, tx)
		if err != nil {
			return err
		}
		l, err := layoutOf(ctx, tx.Tx)
		if _, done := l.(spread); err != nil || done {
			return err
		}
		changed = true
		_, err = tx.Tx.ExecContext(ctx, fmt.Sprintf(chooseShards, shardsOfWorker*workers)+distributeTables)
		return err
	})
	if err == nil {
		err = s.readLayout(ctx)
	}
	return changed, s.translate(err)
}

// shardsOfWorker is how many shards a worker gets. A batch of pings takes some statements for each shard that it touches. With two,
// the number of workers can still double.
const shardsOfWorker = 2

// chooseShards sets the number of shards unless somebody has.
const chooseShards = `
SELECT set_config(name, '%d', true) FROM pg_catalog.pg_settings WHERE name = 'citus.shard_count' AND source = 'default';`

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

// prepareCitus prepares a migration if the database is on a node of Citus, and reports whether it is. It refuses to make tables
// on a worker.
func (s *database) prepareCitus(ctx context.Context, tx bun.Tx, before int) (citus bool, err error) {
	if !s.d.postgres {
		return false, nil
	}
	var worker bool
	err = tx.Tx.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL").Scan(&citus)
	if err != nil || !citus {
		return false, err
	}
	err = tx.Tx.QueryRowContext(ctx, "SELECT groupid <> 0 FROM pg_catalog.pg_dist_local_group").Scan(&worker)
	if err == nil && worker && before == 0 {
		err = errWorker
	}
	if err != nil {
		return true, err
	}
	// A transaction that changes rows and then their table needs all shards of a node on one connection.
	_, err = tx.Tx.ExecContext(ctx, "SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
	return true, err
}

// checkCitus checks that a database is the coordinator of a Citus cluster, and returns the number of nodes for shards.
func checkCitus(ctx context.Context, tx bun.Tx) (nodes int, err error) {
	var there bool
	if err := tx.Tx.QueryRowContext(ctx, "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL").Scan(&there); err != nil {
		return 0, err
	}
	if !there {
		return 0, fmt.Errorf("%w: it lacks the extension citus; run CREATE EXTENSION citus on all nodes, then citus_add_node", errNotCitus)
	}
	var group, coordinators int
	err = tx.Tx.QueryRowContext(ctx, `SELECT (SELECT groupid FROM pg_dist_local_group),
		(SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary'),
		(SELECT count(*) FROM pg_dist_node WHERE groupid = 0)`).Scan(&group, &nodes, &coordinators)
	switch {
	case err != nil:
		return 0, err
	case group != 0:
		return 0, errWorker
	case coordinators == 0:
		return 0, fmt.Errorf("%w: workers do not know the coordinator; run citus_set_coordinator_host", errNotCitus)
	case nodes == 0:
		return 0, fmt.Errorf("%w: Citus has no node for shards; add workers with citus_add_node", errNotCitus)
	}
	return nodes, nil
}
