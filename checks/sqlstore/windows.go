package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type windowRow struct {
	bun.BaseModel `bun:"table:rollcall_windows,alias:w"`

	ID         uuid.UUID `bun:"id,pk"`
	ProjectID  uuid.UUID `bun:"project_id"`
	Kind       string    `bun:"kind"`
	StartsAt   int64     `bun:"starts_at"`
	EndsAt     int64     `bun:"ends_at,nullzero"`
	Definition string    `bun:"definition"`
}

func (r *windowRow) window() (w store.Window, err error) {
	w.ProjectID = r.ProjectID
	err = json.Unmarshal([]byte(r.Definition), &w.Window)
	w.Window = w.Compiled()
	return w, err
}

// Windows returns maintenance windows and snoozes, in the order of their starts.
func (l lookup) Windows(ctx context.Context, f store.WindowFilter) ([]store.Window, error) {
	var where conditions
	addSet(&where, "w.id", f.ID)
	if f.Kind != "" {
		where.add("w.kind", string(f.Kind))
	}
	return readAll(ctx, l, func(rows *[]windowRow) *bun.SelectQuery {
		q := l.from.NewSelect().Model(rows).Where(where.String(), where.args...).OrderExpr("w.starts_at, w.id")
		if f.ID == nil {
			q = q.Where("w.project_id IN (?)", bun.List(f.Projects))
		}
		if !f.EndsAfter.IsZero() {
			q = q.Where("(w.ends_at IS NULL OR w.ends_at > ?)", micros(f.EndsAfter))
		}
		return q
	}, (*windowRow).window)
}

// SaveWindow adds a window, or replaces one of the project.
func (t *transaction) SaveWindow(ctx context.Context, w store.Window, ends time.Time) error {
	definition, err := json.Marshal(w.Window)
	if err != nil {
		return err
	}
	row := windowRow{
		ID: w.ID, ProjectID: w.ProjectID, Kind: string(w.Kind), StartsAt: micros(w.Start), EndsAt: micros(ends), Definition: string(definition),
	}
	result, err := t.tx().NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").
		Set("starts_at = EXCLUDED.starts_at").Set("ends_at = EXCLUDED.ends_at").Set("definition = EXCLUDED.definition").
		Where("w.project_id = EXCLUDED.project_id").Exec(ctx)
	if err != nil {
		return translate(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, checks.ErrNotFound)
	}
	return nil
}

// DeleteWindow removes a window of a project.
func (t *transaction) DeleteWindow(ctx context.Context, projectID, id uuid.UUID) error {
	return t.deleteOne(ctx, "rollcall_windows", projectID, id)
}

// forgetInWindows takes checks that leave a project from the windows that name them. A window that was about nothing else goes: without
// checks and tags, it would cover the whole project.
func (t *transaction) forgetInWindows(ctx context.Context, projectID uuid.UUID, gone ...uuid.UUID) error {
	naming := `%"checks":%`
	if len(gone) == 1 {
		naming = "%" + gone[0].String() + "%"
	}
	var rows []windowRow
	q := t.tx().NewSelect().Model(&rows).Where("w.project_id = ? AND w.definition LIKE ?", projectID, naming).OrderExpr("w.id")
	if err := t.s.d.forUpdate(q, "w", "").Scan(ctx); err != nil {
		return translate(err)
	}
	for _, r := range rows {
		w, err := r.window()
		if err != nil {
			return err
		}
		named := len(w.Checks)
		w.Checks = slices.DeleteFunc(w.Checks, func(id uuid.UUID) bool { return slices.Contains(gone, id) })
		switch {
		case len(w.Checks) == named: // it names others, or its note says the identifier
		case len(w.Checks)+len(w.Tags) == 0:
			err = t.DeleteWindow(ctx, projectID, w.ID)
		default:
			err = t.SaveWindow(ctx, w, instant(r.EndsAt))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneWindows forgets checks that are gone: a window may have been added while its check was deleted, and servers of earlier
// versions leave them behind.
func (s *database) pruneWindows(ctx context.Context) error {
	type named struct{ project, check uuid.UUID }
	var names []named
	windows, err := readAll(ctx, s.lookup, func(rows *[]windowRow) *bun.SelectQuery {
		return s.db.NewSelect().Model(rows).Where(`w.definition LIKE '%"checks":%'`)
	}, (*windowRow).window)
	if err != nil {
		return err
	}
	for _, w := range windows {
		for _, check := range w.Checks {
			names = append(names, named{w.ProjectID, check})
		}
	}
	for part := range slices.Chunk(names, lookUpAtOnce) {
		ids := make([]uuid.UUID, len(part))
		for i, n := range part {
			ids[i] = n.check
		}
		rows, err := s.db.DB.QueryContext(ctx, "SELECT project_id, uuid FROM rollcall_checks WHERE "+s.d.among("uuid", "uuid"), s.d.list(ids))
		var row named
		there, err := scanList(rows, err, &row, &row.project, &row.check)
		if err != nil {
			return s.translate(err)
		}
		for _, n := range part {
			if slices.Contains(there, n) {
				continue
			}
			err := s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
				return tx.(*transaction).forgetInWindows(ctx, n.project, n.check)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// LockPolicies keeps ReleaseHeld of other transactions away from projects. It locks them in their order, to prevent deadlocks.
func (t *transaction) LockPolicies(ctx context.Context, projectIDs []uuid.UUID) error {
	return t.lockProjects(ctx, "SHARE", projectIDs...)
}

// lockProjects locks the rows of projects on PostgreSQL.
func (t *transaction) lockProjects(ctx context.Context, mode string, ids ...uuid.UUID) error {
	if !t.s.d.postgres || len(ids) == 0 {
		return nil
	}
	_, err := t.tx().NewRaw("SELECT 1 FROM rollcall_projects WHERE id IN (?) ORDER BY id FOR "+mode, bun.List(ids)).Exec(ctx)
	return translate(err)
}
