package sqlstore

import (
	"context"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// layout is how the database keeps the rows of rollcall_states and rollcall_pings: in plain tables, or spread over several
// servers by check. All other tables are plain. Migrate reads the layout, and a transaction takes it once.
type layout interface {
	// lock locks the states of checks in an order that prevents deadlocks, and returns those that exist.
	lock(ctx context.Context, t *transaction, keys []int64) ([]lockedKey, error)
	// lockDue locks states whose watch_at has passed. It skips those that other transactions have locked.
	lockDue(ctx context.Context, t *transaction, now time.Time, limit int) ([]lockedKey, error)
	// lockProject locks the states of a project's checks, in the order of lock.
	lockProject(ctx context.Context, t *transaction, id uuid.UUID) error
	// write writes the rows of a batch that belong to the two tables.
	write(ctx context.Context, t *transaction, b *batch) error
	// commit ends a transaction that has done its work.
	commit(ctx context.Context, t *transaction) error

	// rows reads whole checks by a condition on rollcall_checks AS c. It returns pointers because rows are large.
	rows(ctx context.Context, db querier, where string, args ...any) ([]*checkRow, error)
	// tagRows counts checks by a condition on rollcall_checks AS c, by their tags and the status that they have at an instant.
	tagRows(ctx context.Context, db querier, where string, now time.Time) ([]tagRow, error)
	// logs returns the sources for the logs of the checks that meet a condition on rollcall_checks AS c.
	logs(ctx context.Context, db querier, where string) ([]logSource, error)
	// sortLogs sorts log entries so that those that lie together are removed together.
	sortLogs(entries []entry)
	// removeLogs removes log entries and returns the keys of their objects.
	removeLogs(ctx context.Context, t *transaction, entries []entry) (objects []string, err error)
	// moveBodies takes the bodies of log entries, which objects have from now on.
	moveBodies(ctx context.Context, t *transaction, rows [][]any) error
}

// logSource is where a query for logs begins, as parts of its text: the checks, the condition on them, and further
// conditions on states and on pings.
type logSource struct{ checks, where, state, ping string }

// stale reports whether an operation failed because the layout that it used is no longer that of the database, and takes the
// new one. The operation can be repeated then.
func (s *database) stale(ctx context.Context, used layout, err error) bool {
	if state, _ := sqlState(err); state != "0A000" && state != "XX000" { // not supported, and what Citus says of a shard that was split
		return false
	}
	return s.readLayout(ctx) == nil && !reflect.DeepEqual(used, s.layout())
}

// read reads something by the layout of the database. It repeats that if the layout turns out to be stale.
func (s *database) read(ctx context.Context, do func(layout) error) error {
	for {
		used := s.layout()
		if err := do(used); err == nil || !s.stale(ctx, used, err) {
			return s.translate(err)
		}
	}
}
