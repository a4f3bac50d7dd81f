package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// transaction is the store inside a transaction. Nothing here may use s.db: with a pool of one connection that
// would wait for itself.
type transaction struct {
	s  *Store
	tx bun.Tx
}

var _ monitor.Tx = (*transaction)(nil)

// lockedRow is what the store remembers of a locked check.
type lockedRow struct {
	id       int64
	logHead  int64
	watchAt  int64
	alerting []byte
	revision int64
	assigned bool        // whether the check's channels are known, which the ping path does not read
	channels []uuid.UUID // if they are
}

// LockAccount locks the account of a project.
func (t *transaction) LockAccount(ctx context.Context, projectID uuid.UUID) (checks.Project, error) {
	if t.s.d.postgres {
		// Locked before it is read, so that what is read is what the last holder left.
		_, err := t.tx.NewRaw("SELECT 1 FROM rollcall_accounts WHERE id = (SELECT account_id FROM rollcall_projects WHERE id = ?) FOR UPDATE",
			projectID).Exec(ctx)
		if err != nil {
			return checks.Project{}, err
		}
	}
	return oneProject(ctx, t.tx, "p.id = ?", projectID)
}

// CountChecks returns how many checks the account of a project has.
func (t *transaction) CountChecks(ctx context.Context, projectID uuid.UUID) (n int, err error) {
	err = t.tx.NewRaw(`SELECT count(*) FROM rollcall_checks WHERE project_id IN (
		SELECT id FROM rollcall_projects WHERE account_id = (SELECT account_id FROM rollcall_projects WHERE id = ?))`, projectID).Scan(ctx, &n)
	return n, translate(err)
}

// FindChecks returns the checks of a project that equal the match.
func (t *transaction) FindChecks(ctx context.Context, projectID uuid.UUID, m monitor.Match) (ids []uuid.UUID, err error) {
	q := t.tx.NewSelect().Model((*checkRow)(nil)).Column("c.uuid").Where("c.project_id = ?", projectID).OrderExpr("c.id")
	if m.Name != nil {
		q = q.Where("c.name = ?", *m.Name)
	}
	if m.Slug != nil {
		q = q.Where("c.slug = ?", *m.Slug)
	}
	if m.Tags != nil {
		q = q.Where("c.tags = ?", *m.Tags)
	}
	if m.Timeout != nil {
		q = q.Where("c.schedule = '' AND c.timeout = ?", int64(*m.Timeout/time.Second))
	}
	if m.Grace != nil {
		q = q.Where("c.grace = ?", int64(*m.Grace/time.Second))
	}
	err = q.Scan(ctx, &ids)
	return ids, translate(err)
}

// Channels returns the integrations of a project.
func (t *transaction) Channels(ctx context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	return channelsOf(ctx, t.tx, projectID)
}

// LockCheck locks one check and returns it with its channels.
func (t *transaction) LockCheck(ctx context.Context, id uuid.UUID) (*monitor.Locked, error) {
	locked, err := t.LockChecks(ctx, []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	if len(locked) == 0 {
		return nil, checks.ErrNotFound
	}
	l := locked[0]
	err = t.tx.NewSelect().Model((*checkChannelRow)(nil)).Column("cc.channel_id").
		Join("JOIN rollcall_channels AS ch ON ch.id = cc.channel_id").
		Where("cc.check_id = ?", l.Row.(*lockedRow).id).OrderExpr("ch.created_at, ch.id").Scan(ctx, &l.Channels)
	return l, translate(err)
}

// LockChecks locks checks, in the order of their keys, so that two transactions never wait for each other.
func (t *transaction) LockChecks(ctx context.Context, ids []uuid.UUID) ([]*monitor.Locked, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if !t.s.d.postgres {
		return t.s.read(ctx, t.tx, "c.uuid IN (?)", bun.List(ids))
	}
	var keys []int64
	err := t.tx.NewSelect().TableExpr("rollcall_states AS s").ColumnExpr("s.check_id").
		Join("JOIN rollcall_checks AS c ON c.id = s.check_id").Where("c.uuid IN (?)", bun.List(ids)).
		OrderExpr("s.check_id").For("UPDATE OF s").Scan(ctx, &keys)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	// Read only now: what a query reads besides the row it waited for is as old as the query's start.
	return t.s.read(ctx, t.tx, "c.id IN (?)", bun.List(keys))
}

// LockDue locks checks whose deadline or next alert may have come.
func (t *transaction) LockDue(ctx context.Context, now time.Time, limit int) ([]*monitor.Locked, error) {
	var keys []int64
	q := t.tx.NewSelect().TableExpr("rollcall_states AS s").ColumnExpr("s.check_id").
		Where("s.watch_at IS NOT NULL AND s.watch_at <= ?", micros(now)).OrderExpr("s.watch_at").Limit(int64(limit))
	if t.s.d.postgres {
		q = q.For("UPDATE OF s SKIP LOCKED")
	}
	if err := q.Scan(ctx, &keys); err != nil || len(keys) == 0 {
		return nil, err
	}
	locked, err := t.s.read(ctx, t.tx, "c.id IN (?)", bun.List(keys))
	for _, l := range locked {
		l.Due = true
	}
	return locked, err
}

func (s *Store) read(ctx context.Context, db bun.IDB, where string, arg any) ([]*monitor.Locked, error) {
	return s.lockedIn(selectChecks(db).Where(where, arg).Rows(ctx))
}

// lockedIn returns the checks that a query has found, or its error.
func (s *Store) lockedIn(found *sql.Rows, err error) ([]*monitor.Locked, error) {
	rows, err := scanRows(found, err)
	if err != nil {
		return nil, err
	}
	locked := make([]*monitor.Locked, len(rows))
	for i := range rows {
		c, err := s.check(&rows[i])
		if err != nil {
			return nil, err
		}
		locked[i] = &monitor.Locked{Check: c, Row: &lockedRow{
			id: rows[i].ID, logHead: rows[i].LogHead, watchAt: rows[i].WatchAt, alerting: rows[i].Alerting,
			revision: rows[i].Revision,
		}}
	}
	return locked, nil
}

// InsertCheck adds a new check.
func (t *transaction) InsertCheck(ctx context.Context, c checks.Check) error {
	row := newCheckRow(c)
	if _, err := t.tx.NewInsert().Model(&row).Returning("id").Exec(ctx, &row.ID); err != nil {
		return err
	}
	status, err := code(statuses[:], c.Stored)
	if err != nil {
		return err
	}
	err = t.s.d.insert(ctx, t.tx, "rollcall_states",
		[]column{{"check_id", "bigint"}, {"status", "smallint"}, {"n_pings", "bigint"}, {"revision", "bigint"}},
		[][]any{{row.ID, status, c.NPings, newRevision()}})
	if err != nil {
		return err
	}
	return t.assign(ctx, row.ID, c.Channels)
}

func (t *transaction) assign(ctx context.Context, checkID int64, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	rows := make([]checkChannelRow, len(ids))
	for i, id := range ids {
		rows[i] = checkChannelRow{CheckID: checkID, ChannelID: id}
	}
	_, err := t.tx.NewInsert().Model(&rows).Exec(ctx)
	return err
}

// SaveSettings writes a locked check's settings and channels.
func (t *transaction) SaveSettings(ctx context.Context, l *monitor.Locked) error {
	was := l.Row.(*lockedRow)
	row := newCheckRow(l.Check)
	row.ID = was.id
	if _, err := t.tx.NewUpdate().Model(&row).ExcludeColumn("id").WherePK().Exec(ctx); err != nil {
		return err
	}
	was.revision = newRevision()
	_, err := t.tx.NewRaw("UPDATE rollcall_states SET revision = ? WHERE check_id = ?", was.revision, row.ID).Exec(ctx)
	if err != nil {
		return err
	}
	if _, err := t.tx.NewDelete().Model((*checkChannelRow)(nil)).Where("check_id = ?", row.ID).Exec(ctx); err != nil {
		return err
	}
	return t.assign(ctx, row.ID, l.Channels)
}

// DeleteCheck removes a locked check. The entries of its log, which can be many, are removed by PrunePings.
func (t *transaction) DeleteCheck(ctx context.Context, l *monitor.Locked) error {
	id := l.Row.(*lockedRow).id
	for _, from := range []struct{ table, column string }{
		{"rollcall_deliveries", "check_id"}, {"rollcall_flips", "check_id"}, {"rollcall_check_channels", "check_id"},
		{"rollcall_states", "check_id"}, {"rollcall_checks", "id"},
	} {
		if _, err := t.tx.NewDelete().Table(from.table).Where("? = ?", bun.Ident(from.column), id).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
