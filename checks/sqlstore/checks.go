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
	if len(rows) == 0 {
		return checks.Check{}, checks.ErrNotFound
	}
	c, err := s.check(&rows[0])
	if err != nil {
		return checks.Check{}, err
	}
	assigned, err := s.assigned(ctx, c.ProjectID, []int64{rows[0].ID})
	c.Channels = assigned[rows[0].ID]
	return c, err
}

// Checks returns the checks of a project, oldest first. Of those that are remembered no more than the revision is read:
// most of the time that a long list takes is that for the columns of its rows.
func (s *Store) Checks(ctx context.Context, projectID uuid.UUID, q monitor.CheckQuery) ([]checks.Check, error) {
	list, err := s.revisionsOf(ctx, projectID, q.Slug)
	if err != nil {
		return nil, fmt.Errorf("the revisions of checks: %w", translate(err))
	}
	found := s.recent.lookUp(list)
	if err := s.readListed(ctx, list, found); err != nil {
		return nil, translate(err)
	}
	n := 0
	for i := range list {
		if list[i].found && found[i].HasTags(q.Tags) {
			list[n], found[n] = list[i], found[i]
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	return found[:n], s.assignListed(ctx, projectID, list[:n], found)
}

// revisionsOf returns which checks a project has, oldest first. They are put in order here, as the database would take
// longer.
func (s *Store) revisionsOf(ctx context.Context, projectID uuid.UUID, slug *string) (list []listed, err error) {
	query := s.db.NewSelect().TableExpr("rollcall_checks AS c").ColumnExpr("s.check_id, s.revision").
		Join("JOIN rollcall_states AS s ON s.check_id = c.id").Where("c.project_id = ?", projectID)
	if slug != nil {
		query = query.Where("c.slug = ?", *slug)
	}
	rows, err := query.Rows(ctx)
	var l listed
	list, err = scanList(rows, err, &l, &l.id, &l.revision)
	slices.SortFunc(list, func(a, b listed) int { return cmp.Compare(a.id, b.id) })
	return list, err
}

// readListed reads the checks of a list that are not remembered, and remembers them. What is gone meanwhile is left out.
func (s *Store) readListed(ctx context.Context, list []listed, into []checks.Check) error {
	var ids []int64
	for i := range list {
		if !list[i].found {
			ids = append(ids, list[i].id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	read, err := s.lockedIn(s.db.DB.QueryContext(ctx, s.statements.readByKey, s.d.list(ids)))
	if err != nil {
		return err
	}
	at := make(map[int64]*monitor.Locked, len(read))
	for _, l := range read {
		at[l.Row.(*lockedRow).id] = l
	}
	for i := range list {
		l := &list[i]
		if read, ok := at[l.id]; ok && !l.found {
			into[i], l.revision, l.found = read.Check, read.Row.(*lockedRow).revision, true
			s.recent.learn(read, l.remembered)
		}
	}
	return nil
}

// assignListed gives the checks of a list their channels. Those that are remembered are right for the revision of the
// check, except that channels can have been removed since.
func (s *Store) assignListed(ctx context.Context, projectID uuid.UUID, list []listed, into []checks.Check) error {
	var unknown []int64
	for _, l := range list {
		if !l.assigned {
			unknown = append(unknown, l.id)
		}
	}
	if len(unknown) > 0 {
		assigned, err := s.assigned(ctx, projectID, unknown)
		if err != nil {
			return err
		}
		for i, l := range list {
			if !l.assigned {
				into[i].Channels = assigned[l.id]
				s.recent.learnChannels(l, into[i].Channels)
			}
		}
	}
	if len(unknown) == len(list) {
		return nil
	}
	var there []uuid.UUID
	err := s.db.NewSelect().Model((*channelRow)(nil)).Column("ch.id").Where("ch.project_id = ?", projectID).Scan(ctx, &there)
	if err != nil {
		return translate(err)
	}
	isThere := make(map[uuid.UUID]bool, len(there))
	for _, id := range there {
		isThere[id] = true
	}
	for i, l := range list {
		if l.assigned {
			kept := slices.DeleteFunc(into[i].Channels, func(id uuid.UUID) bool { return !isThere[id] })
			if into[i].Channels = kept; len(kept) == 0 {
				into[i].Channels = nil
			}
		}
	}
	return nil
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

// assigned returns the channels of checks of a project, in the order in which those were made.
func (s *Store) assigned(ctx context.Context, projectID uuid.UUID, ids []int64) (map[int64][]uuid.UUID, error) {
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
		return nil, fmt.Errorf("the integrations of checks: %w", translate(err))
	}
	assigned := make(map[int64][]uuid.UUID)
	for _, a := range list {
		assigned[a.CheckID] = append(assigned[a.CheckID], a.ChannelID)
	}
	return assigned, nil
}
