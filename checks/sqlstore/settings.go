package sqlstore

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type settingRow struct {
	bun.BaseModel `bun:"table:rollcall_settings,alias:s"`

	Name   string `bun:"name,pk"`
	Value  string `bun:"value"`
	EndsAt int64  `bun:"ends_at,nullzero"`
}

// yields reports whether a setting may take the place of the row at an instant.
func (r *settingRow) yields(to store.Setting, now time.Time) bool {
	ended := r.EndsAt != 0 && r.EndsAt <= micros(now)
	tooLong := !to.Until.IsZero() && r.EndsAt > micros(to.Until)
	return ended || tooLong || r.Value == to.Value && r.EndsAt != micros(to.Until)
}

// Setting returns what a name stands for, which is the given value unless there is another.
func (s *database) Setting(ctx context.Context, now time.Time, want store.Setting) (store.Setting, error) {
	row := &settingRow{Name: want.Name}
	var found []settingRow
	err := s.db.NewSelect().Model(&found).Where("s.name = ?", want.Name).Scan(ctx)
	if err == nil && len(found) > 0 {
		row = &found[0]
	}
	if err == nil && want.Value != "" && (len(found) == 0 || row.yields(want, now)) {
		err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			row, err = tx.(*transaction).set(ctx, now, want)
			return err
		})
	}
	if err != nil || row.EndsAt != 0 && row.EndsAt <= micros(now) {
		return store.Setting{}, s.translate(err)
	}
	return store.Setting{Name: row.Name, Value: row.Value, Until: instant(row.EndsAt)}, nil
}

// set stores a setting unless another one is in force, removes those that have ended, and returns the one in force.
func (t *transaction) set(ctx context.Context, now time.Time, want store.Setting) (*settingRow, error) {
	fresh := &settingRow{Name: want.Name, Value: want.Value, EndsAt: micros(want.Until)}
	if _, err := t.tx().NewDelete().Model(fresh).Where("s.ends_at <= ? AND s.name <> ?", micros(now), want.Name).Exec(ctx); err != nil {
		return nil, err
	}
	if _, err := t.tx().NewInsert().Model(fresh).On("CONFLICT (name) DO NOTHING").Returning("NULL").Exec(ctx); err != nil {
		return nil, err
	}
	row := &settingRow{Name: want.Name}
	if err := t.s.d.forUpdate(t.tx().NewSelect().Model(row).WherePK(), "s", "").Scan(ctx); err != nil || !row.yields(want, now) {
		return row, err
	}
	_, err := t.tx().NewUpdate().Model(fresh).WherePK().Exec(ctx)
	return fresh, err
}
