package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Check returns the check with this identifier.
func (s *Store) Check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return s.oneCheck(ctx, "c.uuid = ?", id)
}

// CheckByUniqueKey returns the check of the project with this unique key.
func (s *Store) CheckByUniqueKey(ctx context.Context, projectID uuid.UUID, key string) (checks.Check, error) {
	return s.oneCheck(ctx, "c.project_id = ? AND c.unique_key = ?", projectID, key)
}

// CheckByBadgeKey returns the check with this badge key.
func (s *Store) CheckByBadgeKey(ctx context.Context, key uuid.UUID) (checks.Check, error) {
	return s.oneCheck(ctx, "c.badge_key = ?", key)
}

func (s *Store) oneCheck(ctx context.Context, where string, args ...any) (checks.Check, error) {
	rows, err := scanChecks(ctx, selectChecks(s.db).Where(where, args...).OrderExpr("c.id").Limit(1))
	if err != nil {
		return checks.Check{}, translate(err)
	}
	list, err := s.withChannels(ctx, s.db, rows)
	if err != nil {
		return checks.Check{}, err
	}
	if len(list) == 0 {
		return checks.Check{}, checks.ErrNotFound
	}
	return list[0], nil
}

// Checks returns the checks of a project, oldest first.
func (s *Store) Checks(ctx context.Context, projectID uuid.UUID, q monitor.CheckQuery) ([]checks.Check, error) {
	// They are put in order here, as the database would copy all columns to do it.
	query := selectChecks(s.db).Where("c.project_id = ?", projectID)
	if q.Slug != nil {
		query = query.Where("c.slug = ?", *q.Slug)
	}
	rows, err := scanChecks(ctx, query)
	if err != nil {
		return nil, translate(err)
	}
	rows = inOrder(rows)
	list, err := s.withChannels(ctx, s.db, rows)
	if err != nil {
		return nil, err
	}
	if len(q.Tags) > 0 {
		list = slices.DeleteFunc(list, func(c checks.Check) bool { return !c.HasTags(q.Tags) })
	}
	return list, nil
}

// inOrder returns rows in the order in which their checks were made.
func inOrder(rows []checkRow) []checkRow {
	byID := func(a, b *checkRow) int { return cmp.Compare(a.ID, b.ID) }
	order := make([]*checkRow, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	if slices.IsSortedFunc(order, byID) {
		return rows
	}
	slices.SortFunc(order, byID)
	sorted := make([]checkRow, len(rows))
	for i, row := range order {
		sorted[i] = *row
	}
	return sorted
}

// CheckIDsBySlug returns the identifiers of the project's checks with this slug, two at most.
func (s *Store) CheckIDsBySlug(ctx context.Context, projectID uuid.UUID, slug string) (ids []uuid.UUID, err error) {
	err = s.db.NewSelect().Model((*checkRow)(nil)).Column("c.uuid").
		Where("c.project_id = ? AND c.slug = ?", projectID, slug).OrderExpr("c.id").Limit(2).Scan(ctx, &ids)
	return ids, translate(err)
}

type checkChannelRow struct {
	bun.BaseModel `bun:"table:rollcall_check_channels,alias:cc"`

	CheckID   int64     `bun:"check_id,pk"`
	ChannelID uuid.UUID `bun:"channel_id,pk"`
}

// manyChecks is from how many checks of one project on the assignments are found by the project instead of by the
// checks, which would make the text of the query long.
const manyChecks = 100

// withChannels returns the checks of rows, with their channels in the order in which those were made.
func (s *Store) withChannels(ctx context.Context, db bun.IDB, rows []checkRow) ([]checks.Check, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var assigned []checkChannelRow
	query := db.NewSelect().Model(&assigned).Join("JOIN rollcall_channels AS ch ON ch.id = cc.channel_id").
		OrderExpr("ch.created_at, ch.id")
	if len(rows) > manyChecks {
		query = query.Where("ch.project_id = ?", rows[0].ProjectID)
	} else {
		ids := make([]int64, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		query = query.Where("cc.check_id IN (?)", bun.List(ids))
	}
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("the integrations of checks: %w", translate(err))
	}
	byCheck := make(map[int64][]uuid.UUID)
	for _, a := range assigned {
		byCheck[a.CheckID] = append(byCheck[a.CheckID], a.ChannelID)
	}
	list := make([]checks.Check, len(rows))
	for i := range rows {
		c, err := s.check(&rows[i])
		if err != nil {
			return nil, err
		}
		c.Channels = byCheck[rows[i].ID]
		list[i] = c
	}
	return list, nil
}
