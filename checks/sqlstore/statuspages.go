package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

type statusPageRow struct {
	bun.BaseModel `bun:"table:rollcall_status_pages,alias:sp"`

	ID          uuid.UUID `bun:"id,pk"`
	ProjectID   uuid.UUID `bun:"project_id"`
	Slug        string    `bun:"slug"`
	Title       string    `bun:"title"`
	Description string    `bun:"description"`
	Tags        string    `bun:"tags"`
	Names       string    `bun:"names"`
	MinOutage   int64     `bun:"min_outage"`
	CreatedAt   int64     `bun:"created_at"`
}

func (r *statusPageRow) statusPage() (checks.StatusPage, error) {
	p := checks.StatusPage{
		ID: r.ID, ProjectID: r.ProjectID, Slug: r.Slug, Title: r.Title, Description: r.Description,
		Tags: splitTags(r.Tags), MinOutage: time.Duration(r.MinOutage) * time.Second, CreatedAt: instant(r.CreatedAt),
	}
	if r.Names != "" {
		if err := json.Unmarshal([]byte(r.Names), &p.Names); err != nil {
			return checks.StatusPage{}, fmt.Errorf("names of status page %s: %w", r.ID, err)
		}
	}
	return p, nil
}

// StatusPages returns status pages, oldest first.
func (l lookup) StatusPages(ctx context.Context, f store.StatusPageFilter) ([]checks.StatusPage, error) {
	var where conditions
	addSet(&where, "sp.id", f.ID)
	addSet(&where, "sp.project_id", f.ProjectID)
	addSet(&where, "sp.slug", f.Slug)
	return readAll(ctx, l, func(rows *[]statusPageRow) *bun.SelectQuery {
		return l.from.NewSelect().Model(rows).Where(where.String(), where.args...).OrderExpr("sp.created_at, sp.id")
	}, (*statusPageRow).statusPage)
}

// SaveStatusPage adds a status page, or writes what people set of it.
func (t *transaction) SaveStatusPage(ctx context.Context, p checks.StatusPage) error {
	row := statusPageRow{
		ID: p.ID, ProjectID: p.ProjectID, Slug: p.Slug, Title: p.Title, Description: p.Description,
		Tags: strings.Join(p.Tags, " "), MinOutage: int64(p.MinOutage / time.Second), CreatedAt: micros(p.CreatedAt),
	}
	if len(p.Names) > 0 {
		names, err := json.Marshal(p.Names)
		if err != nil {
			return err
		}
		row.Names = string(names)
	}
	result, err := t.tx().NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").
		Set("slug = EXCLUDED.slug").Set("title = EXCLUDED.title").Set("description = EXCLUDED.description").
		Set("tags = EXCLUDED.tags").Set("names = EXCLUDED.names").Set("min_outage = EXCLUDED.min_outage").Where("sp.project_id = EXCLUDED.project_id").Exec(ctx)
	if err != nil {
		return translate(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, checks.ErrNotFound)
	}
	return nil
}

// DeleteStatusPage removes a status page of a project.
func (t *transaction) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return t.deleteOne(ctx, "rollcall_status_pages", projectID, id)
}
