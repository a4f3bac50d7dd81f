package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// checksAtOnce is how many checks of a project a query reads. Each step is short, so that neither SQLite's log nor PostgreSQL's
// vacuum waits for a reader, and needs little memory.
const checksAtOnce = 500

// Checks returns checks, oldest first.
func (s *database) Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error) {
	if f.IDs != nil {
		return s.readChecks(ctx, f, s.d.among("c.uuid", "uuid"), s.d.list(f.IDs))
	}
	var where conditions
	addSet(&where, "c.uuid", f.ID)
	addSet(&where, "c.unique_key", f.UniqueKey)
	addSet(&where, "c.badge_key", f.BadgeKey)
	if len(where.args) == 0 {
		return checks.Collect(s.EachCheck(ctx, f))
	}
	return s.readChecks(ctx, f, s.db.QueryGen().FormatQuery(where.String(), where.args...))
}

// EachCheck yields checks of a project, oldest first. It selects their keys first and then reads them in steps.
func (s *database) EachCheck(ctx context.Context, f store.CheckFilter) iter.Seq2[checks.Check, error] {
	return func(yield func(checks.Check, error) bool) {
		keys, err := s.selectChecks(ctx, f)
		if err != nil {
			yield(checks.Check{}, err)
			return
		}
		for part := range slices.Chunk(keys, checksAtOnce) {
			list, err := s.readChecks(ctx, f, s.d.text(withKeys), s.d.list(part))
			if err != nil {
				yield(checks.Check{}, err)
				return
			}
			for _, c := range list {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// selectChecks returns the keys of checks of a project in ascending order. They can have changed when they are read.
func (s *database) selectChecks(ctx context.Context, f store.CheckFilter) ([]int64, error) {
	if len(f.Tags) > 0 && f.Slug == nil {
		return s.selectTagged(ctx, *f.ProjectID, f.Tags)
	}
	var where conditions
	addSet(&where, "c.project_id", f.ProjectID)
	addSet(&where, "c.slug", f.Slug)
	rows, err := s.db.NewSelect().TableExpr("rollcall_checks AS c").ColumnExpr("c.id").Where(where.String(), where.args...).Rows(ctx)
	var key int64
	keys, err := scanList(rows, err, &key, &key)
	slices.Sort(keys)
	return keys, s.translate(err)
}

// readChecks reads whole checks by a condition, and returns those that the filter selects, oldest first.
func (s *database) readChecks(ctx context.Context, f store.CheckFilter, where string, args ...any) ([]checks.Check, error) {
	return s.readInOrder(ctx, f, func(r *checkRow) int64 { return r.id }, where, args...)
}

// readInOrder is readChecks in an order that the rows say.
func (s *database) readInOrder(ctx context.Context, f store.CheckFilter, order func(*checkRow) int64, where string, args ...any) ([]checks.Check, error) {
	var rows []*checkRow
	err := s.read(ctx, func(l layout) (err error) {
		rows, err = l.rows(ctx, s.db.DB, where, args...)
		return err
	})
	rows = slices.DeleteFunc(rows, func(r *checkRow) bool { return !selects(f, &r.check) })
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	// SQLite would sort whole rows.
	slices.SortFunc(rows, func(a, b *checkRow) int { return cmp.Compare(order(a), order(b)) })
	list, ids := make([]checks.Check, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		r.decoded = s.cache.state(r.id, r.revision)
		if list[i], err = s.check(r); err != nil {
			return nil, err
		}
		ids[i] = r.id
	}
	assigned, err := s.assigned(ctx, ids)
	for i := range list {
		list[i].Channels = assigned[ids[i]]
	}
	return list, err
}

// selects reports whether a filter for checks of a project selects one.
func selects(f store.CheckFilter, c *checks.Check) bool {
	return (f.ProjectID == nil || c.ProjectID == *f.ProjectID) && (f.Slug == nil || c.Slug == *f.Slug) && c.HasTags(f.Tags)
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
	return project, ids, s.translate(err)
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
	query := l.from.NewSelect().TableExpr("rollcall_checks AS c").Column("c.uuid").OrderExpr("c.id")
	if len(m.Tags) > 0 && m.Name == nil && m.Slug == nil {
		query.Join("JOIN rollcall_check_tags AS g ON g.project_id = c.project_id AND g.check_id = c.id AND g.tag = ?", m.Tags[0])
	}
	if m.Timeout != nil {
		where.add("c.schedule", "")
		where.add("c.timeout", int64(*m.Timeout/time.Second))
	}
	if m.Grace != nil {
		where.add("c.grace", int64(*m.Grace/time.Second))
	}
	err = query.Where(where.String(), where.args...).Scan(ctx, &ids)
	return ids, l.translate(err)
}

// Related returns the checks of a project with some slugs or IDs, or those that follow others.
func (l lookup) Related(ctx context.Context, projectID uuid.UUID, names []string) (nodes []selection.Node, err error) {
	var rows []struct {
		UUID        uuid.UUID
		Slug, After string
	}
	query := l.from.NewSelect().TableExpr("rollcall_checks AS c").Column("c.uuid", "c.slug", "c.after").OrderExpr("c.id").Where("c.project_id = ?", projectID)
	if names == nil {
		query = query.Where("c.after <> ''")
	} else {
		ids := []uuid.UUID{uuid.Nil}
		for _, name := range names {
			if id, err := uuid.Parse(name); err == nil {
				ids = append(ids, id)
			}
		}
		query = query.Where("(c.slug IN (?) OR c.uuid IN (?))", bun.List(names), bun.List(ids))
	}
	err = query.Scan(ctx, &rows)
	for _, r := range rows {
		nodes = append(nodes, selection.Node{ID: r.UUID, Slug: r.Slug, After: checks.Settings{After: r.After}.Parents()})
	}
	return nodes, l.translate(err)
}

type checkChannelRow struct {
	bun.BaseModel `bun:"table:rollcall_check_channels,alias:cc"`

	CheckID   int64     `bun:"check_id,pk"`
	ChannelID uuid.UUID `bun:"channel_id,pk"`
}

// assigned returns the channels of checks, oldest channel first.
func (s *database) assigned(ctx context.Context, keys []int64) (map[int64][]uuid.UUID, error) {
	rows, err := s.db.NewSelect().TableExpr("rollcall_check_channels AS cc").ColumnExpr("cc.check_id, cc.channel_id").
		Join("JOIN rollcall_channels AS ch ON ch.id = cc.channel_id").Where(s.d.anyOf("cc.check_id", "bigint"), s.d.list(keys)).
		OrderExpr("ch.created_at, ch.id").Rows(ctx)
	var row checkChannelRow
	list, err := scanList(rows, err, &row, &row.CheckID, &row.ChannelID)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: reading the channels of checks: %w", s.translate(err))
	}
	assigned := make(map[int64][]uuid.UUID, len(keys))
	for _, a := range list {
		assigned[a.CheckID] = append(assigned[a.CheckID], a.ChannelID)
	}
	return assigned, nil
}
