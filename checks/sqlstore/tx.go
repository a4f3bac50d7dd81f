package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// transaction is the store inside a transaction. It must not use s.db: with a pool of one connection it would wait for
// itself.
type transaction struct {
	lookup
	s      *database
	conn   bun.Tx
	layout layout
	mixed  bool // it may have written to other tables than rollcall_states and rollcall_pings

	direct      bool          // on a worker of Citus, not on the coordinator
	named       *workerShards // of a direct transaction that uses them by name, or nil
	coordinator *sql.Conn     // of a direct transaction
	worker      worker        // of a direct transaction
	held        map[int]bool  // shards of Citus that onShard holds

	saved     []*store.Locked // what SaveChecks wrote
	bodyBytes int             // the size of their pings' bodies
}

var _ store.Tx = (*transaction)(nil)

// tx returns the transaction of the database for statements on any table. The few statements that touch only the states and
// the log use conn; see spread.commit.
func (t *transaction) tx() bun.Tx {
	t.mixed = true
	return t.conn
}

// lockedRow is the store's private data about a locked check: store.Locked.Row.
type lockedRow struct {
	id       int64
	logHead  int64
	watchAt  int64
	revision int64 // the row's revision, or the one that SaveChecks gives it
	before   int64 // the revision that the row was locked with
	listed   listed
	was      *written // nil unless LockWhole read it
}

// lockedKey is the key of a locked row and its revision.
type lockedKey struct{ id, revision int64 }

// LockAccount locks the account of a project.
func (t *transaction) LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error) {
	if t.s.d.postgres {
		// Lock first, so that the read below sees the changes of the previous holder.
		_, err := t.tx().NewRaw("SELECT 1 FROM rollcall_accounts WHERE id = (SELECT account_id FROM rollcall_projects WHERE id = ?) FOR UPDATE",
			projectID).Exec(ctx)
		if err != nil {
			return checks.Project{}, err
		}
	}
	found, err := t.Projects(ctx, store.ProjectFilter{ID: &projectID})
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return checks.Project{}, err
	}
	return found[0], nil
}

// CountChecks returns the number of checks in the account of a project.
func (t *transaction) CountChecks(ctx context.Context, projectID uuid.UUID) (n int, err error) {
	err = t.tx().NewRaw(`SELECT count(*) FROM rollcall_checks WHERE project_id IN (
		SELECT id FROM rollcall_projects WHERE account_id = (SELECT account_id FROM rollcall_projects WHERE id = ?))`, projectID).Scan(ctx, &n)
	return n, translate(err)
}

// LockCheck locks one check and returns it with its channels.
func (t *transaction) LockCheck(ctx context.Context, id uuid.UUID) (*store.Locked, error) {
	locked, err := t.LockWhole(ctx, []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	// After a failover that lost a check, the key that is cached for it may be that of another.
	if len(locked) == 0 || locked[0].ID != id {
		return nil, checks.ErrNotFound
	}
	return locked[0], nil
}

// LockWhole locks checks and returns those that exist, with their channels.
func (t *transaction) LockWhole(ctx context.Context, ids []uuid.UUID) ([]*store.Locked, error) {
	locked, err := t.LockChecks(ctx, ids)
	if err != nil || len(locked) == 0 {
		return nil, err
	}
	byKey, keys := make(map[int64]*store.Locked, len(locked)), make([]int64, len(locked))
	for i, l := range locked {
		keys[i] = l.Row.(*lockedRow).id
		byKey[keys[i]] = l
	}
	rows, err := t.tx().NewSelect().TableExpr("rollcall_check_channels AS cc").ColumnExpr("cc.check_id, cc.channel_id, ch.id IS NOT NULL").
		Join("LEFT JOIN rollcall_channels AS ch ON ch.id = cc.channel_id").
		Where(t.s.d.anyOf("cc.check_id", "bigint"), t.s.d.list(keys)).OrderExpr("ch.created_at, ch.id").Rows(ctx)
	var row struct {
		checkChannelRow
		exists bool
	}
	found, err := scanList(rows, err, &row, &row.CheckID, &row.ChannelID, &row.exists)
	if err != nil {
		return nil, translate(err)
	}
	for _, a := range found {
		switch l := byKey[a.CheckID]; {
		case a.exists:
			l.Channels = append(l.Channels, a.ChannelID)
		case a.ChannelID == l.ProjectID: // see assigned
			l.Awaits = true
		}
	}
	for _, l := range locked {
		if l.Awaits {
			l.Channels = nil
		}
		l.Row.(*lockedRow).was = &written{settingValues(l.Check), assignedTo(l)}
	}
	return locked, nil
}

// LockChecks locks checks and returns those that exist.
func (t *transaction) LockChecks(ctx context.Context, ids []uuid.UUID) ([]*store.Locked, error) {
	found, err := t.s.keysOf(ctx, t.conn.Tx, ids)
	if err != nil {
		return nil, err
	}
	keys := make([]int64, len(found))
	for i, k := range found {
		keys[i] = k.id
	}
	locked, err := t.layout.lock(ctx, t, keys)
	if err != nil {
		return nil, err
	}
	return t.load(ctx, locked)
}

var checkKeys = statement{
	sqlite:   "SELECT id, uuid FROM rollcall_checks WHERE uuid IN (SELECT value FROM json_each(?))",
	postgres: "SELECT id, uuid FROM rollcall_checks WHERE uuid = ANY ($1::uuid[])",
}

// keysOf returns the keys of the checks that exist.
func (s *database) keysOf(ctx context.Context, db querier, ids []uuid.UUID) ([]checkKey, error) {
	keys, missing := s.cache.keys(ids)
	if len(missing) == 0 {
		return keys, nil
	}
	rows, err := db.QueryContext(ctx, s.d.text(checkKeys), s.d.list(missing))
	var row checkKey
	more, err := scanList(rows, err, &row, &row.id, &row.uuid)
	return append(keys, more...), err
}

// LockDue locks checks whose deadline or next alert may be due.
func (t *transaction) LockDue(ctx context.Context, now time.Time, limit int) ([]*store.Locked, error) {
	due, err := t.layout.lockDue(ctx, t, now, limit)
	if err != nil {
		return nil, err
	}
	locked, err := t.load(ctx, due)
	for _, l := range locked {
		l.Due = true
	}
	return locked, err
}

// withKeys is a condition on rollcall_checks AS c.
var withKeys = statement{sqlite: "c.id IN (SELECT value FROM json_each(?))", postgres: "c.id = ANY ($1::bigint[])"}

// load returns the checks of locked rows, from the cache if it has the row's revision. It must read the others after
// locking: a query that waits for a lock sees other tables as they were when it started.
func (t *transaction) load(ctx context.Context, rows []lockedKey) ([]*store.Locked, error) {
	locked, missing := t.s.cache.get(rows)
	if len(missing) == 0 {
		return locked, nil
	}
	found, err := t.layout.rows(ctx, t.conn.Tx, t.s.d.text(withKeys), t.s.d.list(missing))
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		c, err := t.s.check(r)
		if err != nil {
			return nil, err
		}
		row := &lockedRow{id: r.id, logHead: r.logHead, watchAt: r.watchAt, revision: r.revision, before: r.revision, listed: r.listed}
		locked = append(locked, &store.Locked{Check: c, Row: row})
	}
	return locked, nil
}

// leaveProject removes the deliveries of a locked check that moves, but for those that have told somebody of an outage that goes on,
// and those about its end to those who know of it. Copies of a delivery are added under its lock, so after locking all, the others find
// every copy. The escalation policy of the other project begins with the move.
func (t *transaction) leaveProject(ctx context.Context, id int64, at time.Time) error {
	if t.s.d.postgres {
		_, err := t.tx().NewRaw("SELECT 1 FROM rollcall_deliveries WHERE check_id = ? ORDER BY id FOR UPDATE", id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	_, err := t.tx().NewRaw(`UPDATE rollcall_deliveries SET state = 'superseded', error = ?
		WHERE check_id = ? AND channel_id <> ? AND state = 'pending' AND attempts > 0
		AND NOT EXISTS (SELECT 1 FROM rollcall_flips AS f WHERE f.id = flip_id AND f.up)`, "the check has moved to another project", id, store.OnAlert.ID).Exec(ctx)
	if err != nil {
		return err
	}
	_, err = t.tx().NewRaw(`DELETE FROM rollcall_deliveries WHERE check_id = ?0 AND channel_id <> ?1 AND id NOT IN (
		SELECT o.id FROM rollcall_deliveries AS o JOIN rollcall_channels AS t ON t.id = o.channel_id AND t.kind <> 'group'
			WHERE o.check_id = ?0 AND o.state <> 'pending' AND (`+saysDown("?0")+` OR `+heard+` AND EXISTS (SELECT 1 FROM rollcall_deliveries AS k
				WHERE k.check_id = ?0 AND k.channel_id = o.channel_id AND (k.id > o.id OR `+place("k")+` > `+place("o")+`) AND k.state = 'pending'))
		UNION ALL SELECT d.id FROM rollcall_deliveries AS d JOIN rollcall_channels AS t ON t.id = d.channel_id AND t.kind <> 'group'
			JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id AND f.up
			WHERE d.check_id = ?0 AND d.state = 'pending' AND `+knows+`)`,
		id, store.OnAlert.ID).Exec(ctx)
	if err != nil {
		return err
	}
	return t.restartClock(ctx, id, at)
}

// DeleteChecks removes locked checks. PrunePings removes the entries of their logs, which can be many.
func (t *transaction) DeleteChecks(ctx context.Context, locked ...*store.Locked) error {
	if len(locked) == 0 {
		return nil
	}
	keys, gone := make([]int64, len(locked)), make(map[uuid.UUID][]uuid.UUID)
	for i, l := range locked {
		t.s.cache.forget(l.ID)
		keys[i], gone[l.ProjectID] = l.Row.(*lockedRow).id, append(gone[l.ProjectID], l.ID)
	}
	for project, ids := range gone {
		if err := t.forgetInWindows(ctx, project, ids...); err != nil {
			return err
		}
	}
	for _, from := range []struct{ table, column string }{
		{"rollcall_deliveries", "check_id"}, {"rollcall_flips", "check_id"}, {"rollcall_pauses", "check_id"},
		{"rollcall_months", "check_id"},
		{"rollcall_check_channels", "check_id"},
		{"rollcall_states", "check_id"}, {"rollcall_checks", "id"},
	} {
		_, err := t.tx().Tx.ExecContext(ctx, "DELETE FROM "+from.table+" WHERE "+t.s.d.among(from.column, "bigint"), t.s.d.list(keys))
		if err != nil {
			return err
		}
	}
	return nil
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
	var row lockedKey
	if t.s.d.postgres {
		rows, err := t.conn.Tx.QueryContext(ctx, lockStates.postgres, t.s.d.list(keys))
		return scanList(rows, err, &row, &row.id, &row.revision)
	}
	stmt, err := t.prepare(ctx, lockStates.sqlite)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	rows, err := stmt.QueryContext(context.WithoutCancel(ctx), t.s.d.list(keys))
	return scanList(rows, err, &row, &row.id, &row.revision)
}

func (plain) lockDue(ctx context.Context, t *transaction, now time.Time, limit int) ([]lockedKey, error) {
	q := t.tx().NewSelect().TableExpr("rollcall_states AS s").ColumnExpr("s.check_id, s.revision").
		Where("s.watch_at IS NOT NULL AND s.watch_at <= ?", micros(now)).OrderExpr("s.watch_at").Limit(int64(limit))
	rows, err := t.s.d.forUpdate(q, "s", " SKIP LOCKED").Rows(ctx)
	var row lockedKey
	return scanList(rows, err, &row, &row.id, &row.revision)
}

func (plain) lockProject(ctx context.Context, t *transaction, id uuid.UUID) error {
	if !t.s.d.postgres {
		return nil
	}
	_, err := t.tx().NewRaw(`SELECT 1 FROM rollcall_states WHERE check_id IN (SELECT id FROM rollcall_checks WHERE project_id = ?)
		ORDER BY check_id FOR UPDATE`, id).Exec(ctx)
	return err
}

func (plain) write(ctx context.Context, t *transaction, b *batch) (err error) {
	if t.s.d.postgres && len(b.pings) > 0 {
		args := append(arrays(b.states), arrays(b.pings)...)
		_, err = t.conn.Tx.ExecContext(ctx, insertPings.postgres+updateStates.postgres, args...)
	} else if err = t.exec(ctx, insertPings, b.pings); err == nil {
		err = t.exec(ctx, updateStates, b.states)
	}
	if err != nil {
		return err
	}
	return t.exec(ctx, updateWatches, b.watches)
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
	rows, err := t.tx().Tx.QueryContext(ctx, query, t.s.d.list(entryIDs(entries)))
	var object string
	return scanList(rows, err, &object, &object)
}

func (plain) moveBodies(ctx context.Context, t *transaction, rows [][]any) error {
	return t.exec(ctx, moveBodies, rows)
}
