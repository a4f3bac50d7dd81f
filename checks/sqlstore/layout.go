package sqlstore

import (
	"context"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
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
	// save writes the states of locked checks and all that is new about them.
	save(ctx context.Context, t *transaction, locked []*store.Locked) error
	// commit ends a transaction that has done its work.
	commit(ctx context.Context, t *transaction) error

	// rows reads whole checks by a condition on rollcall_checks AS c. It returns pointers because rows are large.
	rows(ctx context.Context, db querier, where string, args ...any) ([]*checkRow, error)
	// logs returns the sources for the logs of the checks that meet a condition on rollcall_checks AS c.
	logs(ctx context.Context, db querier, where string) ([]logSource, error)
	// sortLogs sorts log entries so that those that lie together are removed together.
	sortLogs(entries []entry)
	// removeLogs removes log entries and returns the keys of their objects.
	removeLogs(ctx context.Context, t *transaction, entries []entry) (objects []string, err error)
}

// logSource is where a query for logs begins, as parts of its text: the checks, the condition on them, and further
// conditions on states and on pings.
type logSource struct{ checks, where, state, ping string }

// stale reports whether an operation failed because the layout that it used is no longer that of the database, and takes the
// new one. The operation can be repeated then.
func (s *database) stale(ctx context.Context, used layout, err error) bool {
	if state, _ := sqlState(err); state != "0A000" { // feature not supported
		return false
	}
	return s.readLayout(ctx) == nil && !reflect.DeepEqual(used, s.layout())
}

// read reads something by the layout of the database. It repeats that if the layout turns out to be stale.
func (s *database) read(ctx context.Context, do func(layout) error) error {
	for {
		used := s.layout()
		if err := do(used); err == nil || !s.stale(ctx, used, err) {
			return translate(err)
		}
	}
}

// plain is the layout of SQLite and of a single PostgreSQL.
type plain struct{}

// lockStates locks nothing on SQLite, where the transaction has locked the database.
var lockStates = statement{
	sqlite:   "SELECT check_id, revision FROM rollcall_states WHERE check_id IN (SELECT value FROM json_each(?))",
	postgres: "SELECT check_id, revision FROM rollcall_states WHERE check_id = ANY ($1::bigint[]) ORDER BY check_id FOR UPDATE",
}

func (plain) lock(ctx context.Context, t *transaction, keys []int64) ([]lockedKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := t.tx.Tx.QueryContext(ctx, t.s.d.text(lockStates), t.s.d.list(keys))
	var row lockedKey
	return scanList(rows, err, &row, &row.id, &row.revision)
}

func (plain) lockDue(ctx context.Context, t *transaction, now time.Time, limit int) ([]lockedKey, error) {
	q := t.tx.NewSelect().TableExpr("rollcall_states AS s").ColumnExpr("s.check_id, s.revision").
		Where("s.watch_at IS NOT NULL AND s.watch_at <= ?", micros(now)).OrderExpr("s.watch_at").Limit(int64(limit))
	rows, err := t.s.d.forUpdate(q, "s", " SKIP LOCKED").Rows(ctx)
	var row lockedKey
	return scanList(rows, err, &row, &row.id, &row.revision)
}

func (plain) lockProject(ctx context.Context, t *transaction, id uuid.UUID) error {
	if !t.s.d.postgres {
		return nil
	}
	_, err := t.tx.NewRaw(`SELECT 1 FROM rollcall_states WHERE check_id IN (SELECT id FROM rollcall_checks WHERE project_id = ?)
		ORDER BY check_id FOR UPDATE`, id).Exec(ctx)
	return err
}

func (plain) save(ctx context.Context, t *transaction, locked []*store.Locked) error {
	return t.saveStates(ctx, locked)
}

func (plain) commit(context.Context, *transaction) error { return nil }

func (plain) rows(ctx context.Context, db querier, where string, args ...any) (list []*checkRow, err error) {
	rows, err := db.QueryContext(ctx, "SELECT "+settingColumns+", "+stateColumns+
		" FROM rollcall_checks AS c JOIN rollcall_states AS s ON s.check_id = c.id WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var row checkRow
	settings, state := row.fields()
	into := append(settings, state...)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list = append(list, new(row))
	}
	return list, rows.Err()
}

func (plain) logs(_ context.Context, _ querier, where string) ([]logSource, error) {
	return []logSource{{checks: "rollcall_checks AS c", where: where}}, nil
}

func (plain) sortLogs([]entry) {}

func (plain) removeLogs(ctx context.Context, t *transaction, entries []entry) (objects []string, err error) {
	query := "DELETE FROM rollcall_pings WHERE " + t.s.d.among("id", "bigint") + " RETURNING coalesce(object, '')"
	rows, err := t.tx.Tx.QueryContext(ctx, query, t.s.d.list(entryIDs(entries)))
	var object string
	return scanList(rows, err, &object, &object)
}
