package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
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

// ReleaseHeld makes the deliveries of a project due that the gate keeps back, so that the courier asks it again. One that is being
// sent is due at the end of its lease, so it stays. The lock keeps a courier that knows only the policies before the change from
// keeping back a delivery that this does not see.
func (t *transaction) ReleaseHeld(ctx context.Context, projectID uuid.UUID, now time.Time) error {
	if err := t.lockProjects(ctx, "NO KEY UPDATE", projectID); err != nil {
		return err
	}
	_, err := t.tx().NewRaw(`UPDATE rollcall_deliveries SET due_at = ?0, held_until = ?0
		WHERE state = 'pending' AND due_at > ?0 AND due_at = held_until
			AND EXISTS (SELECT 1 FROM rollcall_checks AS c WHERE c.id = check_id AND c.project_id = ?1)`, micros(now), projectID).Exec(ctx)
	return translate(err)
}
