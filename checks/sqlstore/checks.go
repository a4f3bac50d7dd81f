package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Checks returns checks, oldest first.
func (s *database) Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error) {
	var where conditions
	addSet(&where, "c.uuid", f.ID)
	addSet(&where, "c.project_id", f.ProjectID)
	addSet(&where, "c.unique_key", f.UniqueKey)
	addSet(&where, "c.badge_key", f.BadgeKey)
	addSet(&where, "c.slug", f.Slug)
	list, err := s.listChecks(ctx, where.String(), where.args...)
	return slices.DeleteFunc(list, func(c checks.Check) bool { return !c.HasTags(f.Tags) }), err
}

// listChecks reads the checks of one project with their channels.
func (s *database) listChecks(ctx context.Context, where string, args ...any) ([]checks.Check, error) {
	where = s.db.QueryGen().FormatQuery(where, args...)
	var rows []*checkRow
	err := s.read(ctx, func(l layout) (err error) {
		rows, err = l.rows(ctx, s.db.DB, where)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	// SQLite would sort whole rows.
	slices.SortFunc(rows, func(a, b *checkRow) int { return cmp.Compare(a.id, b.id) })
	list, ids := make([]checks.Check, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		r.decoded = s.cache.state(r.id, r.revision)
		if list[i], err = s.check(r); err != nil {
			return nil, err
		}
		ids[i] = r.id
	}
	assigned, err := s.assigned(ctx, list[0].ProjectID, ids)
	for i := range list {
		list[i].Channels = assigned[ids[i]]
	}
	return list, err
}

var checksBySlug = statement{
	sqlite: `SELECT p.id, c.uuid FROM rollcall_projects AS p LEFT JOIN rollcall_checks AS c ON c.project_id = p.id AND c.slug = ?
		WHERE p.ping_key = ? ORDER BY c.id`,
	postgres: `SELECT p.id, c.uuid FROM rollcall_projects AS p LEFT JOIN rollcall_checks AS c ON c.project_id = p.id AND c.slug = $1
		WHERE p.ping_key = $2 ORDER BY c.id`,
}

// BySlug returns the project with a ping key and its checks with a slug.
func (s *database) BySlug(ctx context.Context, pingKey, slug string) (project uuid.UUID, ids []uuid.UUID, err error) {
	rows, err := s.db.DB.QueryContext(ctx, s.d.text(checksBySlug), slug, pingKey)
	var check uuid.NullUUID
	found, err := scanList(rows, err, &check, &project, &check)
	if err == nil && len(found) == 0 {
		err = checks.ErrNotFound
	}
	for _, c := range found {
		if c.Valid {
			ids = append(ids, c.UUID)
		}
	}
	return project, ids, translate(err)
}

// FindChecks returns the checks of a project that equal the match.
func (l lookup) FindChecks(ctx context.Context, projectID uuid.UUID, m store.Match) (ids []uuid.UUID, err error) {
	var where conditions
	where.add("c.project_id", projectID)
	addSet(&where, "c.name", m.Name)
	addSet(&where, "c.slug", m.Slug)
	if m.Tags != nil {
		where.add("c.tags", strings.Join(m.Tags, " "))
	}
	if m.Timeout != nil {
		where.add("c.schedule", "")
		where.add("c.timeout", int64(*m.Timeout/time.Second))
	}
	if m.Grace != nil {
		where.add("c.grace", int64(*m.Grace/time.Second))
	}
	err = l.from.NewSelect().TableExpr("rollcall_checks AS c").Column("c.uuid").Where(where.String(), where.args...).OrderExpr("c.id").Scan(ctx, &ids)
	return ids, translate(err)
}

type checkChannelRow struct {
	bun.BaseModel `bun:"table:rollcall_check_channels,alias:cc"`

	CheckID   int64     `bun:"check_id,pk"`
	ChannelID uuid.UUID `bun:"channel_id,pk"`
}

// manyChecks is the number of checks above which a query selects assignments by project: a list of the checks would
// make its text too long.
const manyChecks = 100

// assigned returns the channels of checks of a project, oldest channel first.
func (s *database) assigned(ctx context.Context, projectID uuid.UUID, ids []int64) (map[int64][]uuid.UUID, error) {
	query := s.db.NewSelect().TableExpr("rollcall_check_channels AS cc").ColumnExpr("cc.check_id, cc.channel_id").
		Join("JOIN rollcall_channels AS ch ON ch.id = cc.channel_id").OrderExpr("ch.created_at, ch.id")
	if len(ids) > manyChecks {
		query = query.Where("ch.project_id = ?", projectID)
	} else {
		query = query.Where("cc.check_id IN (?)", bun.List(ids))
	}
	rows, err := query.Rows(ctx)
	var row checkChannelRow
	list, err := scanList(rows, err, &row, &row.CheckID, &row.ChannelID)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: reading the channels of checks: %w", translate(err))
	}
	assigned := make(map[int64][]uuid.UUID)
	for _, a := range list {
		assigned[a.CheckID] = append(assigned[a.CheckID], a.ChannelID)
	}
	return assigned, nil
}
