package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

type recordRow struct {
	bun.BaseModel `bun:"table:rollcall_records,alias:r"`

	ID     int64     `bun:"id,pk,autoincrement"`
	Kind   string    `bun:"kind"`
	Key    string    `bun:"key"`
	Owner  uuid.UUID `bun:"owner"`
	Value  string    `bun:"value"`
	EndsAt int64     `bun:"ends_at,nullzero"`
}

func (r *recordRow) record() (records.Record, error) {
	return records.Record{Kind: r.Kind, Key: r.Key, Owner: r.Owner, Value: []byte(r.Value), Until: instant(r.EndsAt)}, nil
}

// selectRecords returns a query of the records that have not ended.
func selectRecords(db bun.IDB, rows *[]recordRow, now time.Time, f records.Query) *bun.SelectQuery {
	var where conditions
	addSet(&where, "r.kind", f.Kind)
	addSet(&where, "r.key", f.Key)
	addSet(&where, "r.owner", f.Owner)
	return db.NewSelect().Model(rows).Where(where.String(), where.args...).
		Where("(r.ends_at IS NULL OR r.ends_at > ?)", micros(now)).OrderExpr("r.kind, r.key")
}

// Records returns the records that have not ended.
func (s *database) Records(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error) {
	return readAll(ctx, s.lookup, func(rows *[]recordRow) *bun.SelectQuery { return selectRecords(s.db, rows, now, q) }, (*recordRow).record)
}

// LockRecords locks records and returns them.
func (t *transaction) LockRecords(ctx context.Context, now time.Time, q records.Query) ([]records.Record, error) {
	return readAll(ctx, t.lookup, func(rows *[]recordRow) *bun.SelectQuery {
		return t.s.d.forUpdate(selectRecords(t.tx(), rows, now, q), "r", "")
	}, (*recordRow).record)
}

// SaveRecords adds, replaces and deletes records.
func (t *transaction) SaveRecords(ctx context.Context, now time.Time, records ...records.Record) error {
	for _, r := range records {
		row := &recordRow{Kind: r.Kind, Key: r.Key, Owner: r.Owner, Value: string(r.Value), EndsAt: micros(r.Until)}
		if r.Value == nil || r.New {
			q := t.tx().NewDelete().Model(row).Where("r.kind = ? AND r.key = ?", r.Kind, r.Key)
			if r.New {
				q = q.Where("r.ends_at <= ?", micros(now))
			}
			if _, err := q.Exec(ctx); err != nil {
				return translate(err)
			}
		}
		if r.Value == nil {
			continue
		}
		insert := t.tx().NewInsert().Model(row).ExcludeColumn("id").Returning("NULL")
		if !r.New {
			insert = insert.On("CONFLICT (kind, key) DO UPDATE").
				Set("owner = EXCLUDED.owner").Set("value = EXCLUDED.value").Set("ends_at = EXCLUDED.ends_at")
		}
		if _, err := insert.Exec(ctx); err != nil {
			return translate(err)
		}
	}
	return nil
}

// PruneRecords removes records that have ended and old entries of the audit log.
func (s *database) PruneRecords(ctx context.Context, ended, audited time.Time, pause func()) (removed int, err error) {
	pause = orNoPause(pause)
	if removed, err = s.removeOld(ctx, "rollcall_records", "ends_at <= ?", ended, pause); err != nil {
		return removed, err
	}
	n, err := s.removeOld(ctx, "rollcall_audit", "at < ?", audited, pause)
	return removed + n, err
}

type auditRow struct {
	bun.BaseModel `bun:"table:rollcall_audit,alias:au"`

	ID        int64     `bun:"id,pk,autoincrement"`
	At        int64     `bun:"at"`
	Actor     string    `bun:"actor"`
	ProjectID uuid.UUID `bun:"project_id"`
	CheckID   uuid.UUID `bun:"check_id"`
	Action    string    `bun:"action"`
	Object    string    `bun:"object"`
	Changes   string    `bun:"changes"`
}

func (r *auditRow) entry() (e audit.Entry, err error) {
	e = audit.Entry{ID: r.ID, At: instant(r.At), ProjectID: r.ProjectID, CheckID: r.CheckID, Action: r.Action, Object: r.Object}
	if err = json.Unmarshal([]byte(r.Actor), &e.Actor); err == nil {
		err = json.Unmarshal([]byte(r.Changes), &e.Changes)
	}
	return e, err
}

var insertAudit = statement{
	sqlite: "INSERT INTO rollcall_audit (at, actor, project_id, check_id, action, object, changes) VALUES (?, ?, ?, ?, ?, ?, ?)",
	postgres: `INSERT INTO rollcall_audit (at, actor, project_id, check_id, action, object, changes)
		SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::uuid[]), unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]), unnest($7::text[])`,
}

// Change adds the entries of changes to the audit log.
func (t *transaction) Change(ctx context.Context, list ...store.Change) (store.Writer, error) {
	var entries []audit.Entry
	for _, c := range list {
		if !c.At.IsZero() {
			entries = append(entries, c.Entry)
		}
	}
	return t, t.SaveAudit(ctx, entries...)
}

// SaveAudit adds entries to the audit log.
func (t *transaction) SaveAudit(ctx context.Context, entries ...audit.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows := make([][]any, len(entries))
	for i, e := range entries {
		actor, err := json.Marshal(e.Actor)
		if err != nil {
			return err
		}
		changes, err := json.Marshal(e.Changes)
		if err != nil {
			return err
		}
		rows[i] = []any{micros(e.At), string(actor), e.ProjectID, e.CheckID, e.Action, e.Object, string(changes)}
	}
	return translate(t.exec(ctx, insertAudit, rows))
}

// Audit returns entries of the audit log, newest first.
func (s *database) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	return readAll(ctx, s.lookup, func(rows *[]auditRow) *bun.SelectQuery {
		selected := s.db.NewSelect().Model(rows).OrderExpr("au.id DESC").Limit(int64(q.Limit))
		if q.Project != uuid.Nil {
			selected = selected.Where("au.project_id = ?", q.Project)
		}
		if q.Check != uuid.Nil {
			selected = selected.Where("au.check_id = ?", q.Check)
		}
		for _, kind := range q.Except {
			selected = selected.Where("au.action NOT LIKE ?", kind+".%")
		}
		if q.Before != 0 {
			selected = selected.Where("au.id < ?", q.Before)
		}
		if !q.Since.IsZero() {
			selected = selected.Where("au.at >= ?", micros(q.Since))
		}
		if !q.Until.IsZero() {
			selected = selected.Where("au.at < ?", micros(q.Until))
		}
		return selected
	}, (*auditRow).entry)
}
