package sqlstore

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// tagRow says how many checks have the same tags and the same status.
type tagRow struct {
	tags   string
	status int64
	number int
}

// TagSets counts the checks of a project without reading them.
func (s *database) TagSets(ctx context.Context, f store.CheckFilter, now time.Time) ([]checks.TagSet, error) {
	rare, err := s.rareTags(ctx, *f.ProjectID, f.Tags)
	if err != nil {
		return nil, s.translate(err)
	}
	var rows []tagRow
	err = s.read(ctx, func(l layout) (err error) {
		rows, err = l.tagRows(ctx, s.db.DB, s.tagged(*f.ProjectID, rare...), now)
		return err
	})
	if err != nil {
		return nil, err
	}
	var sets []checks.TagSet
	known := make(map[string]checks.Counts)
	for _, r := range rows {
		counts := known[r.tags]
		if counts == nil {
			set := checks.Settings{Tags: splitTags(r.tags)}
			counts = make(checks.Counts)
			if known[r.tags] = counts; set.HasTags(f.Tags) {
				sets = append(sets, checks.TagSet{Tags: set.TagList(), Counts: counts})
			}
		}
		status := checks.StatusGrace
		if r.status != late {
			if status, err = decode(statuses[:], r.status); err != nil {
				return nil, err
			}
		}
		counts[status] += r.number
	}
	return sets, nil
}

func (plain) tagRows(ctx context.Context, db querier, where string, now time.Time) ([]tagRow, error) {
	rows, err := db.QueryContext(ctx, "SELECT c.tags, "+statusAt(micros(now), "s")+", count(*) FROM rollcall_checks AS c JOIN rollcall_states AS s ON s.check_id = c.id WHERE "+
		where+" GROUP BY 1, 2")
	var row tagRow
	return scanList(rows, err, &row, &row.tags, &row.status, &row.number)
}

// tagRows reads the two tables one after the other, as rows does, and of the states only those that the clock has changed.
func (spread) tagRows(ctx context.Context, db querier, where string, now time.Time) ([]tagRow, error) {
	rows, err := db.QueryContext(ctx, "SELECT c.id, c.tags, c.status FROM rollcall_checks AS c WHERE "+where)
	var row struct {
		id int64
		tagRow
	}
	row.number = 1
	found, err := scanList(rows, err, &row, &row.id, &row.tags, &row.status)
	if err != nil {
		return nil, err
	}
	byKey, keys, list := make(map[int64]*tagRow, len(found)), make([]int64, len(found)), make([]tagRow, len(found))
	for i, r := range found {
		keys[i], list[i] = r.id, r.tagRow
		byKey[r.id] = &list[i]
	}
	d := dialect{postgres: true}
	rows, err = db.QueryContext(ctx, "SELECT s.check_id, coalesce(s.down_at <= $2, FALSE) FROM rollcall_states AS s WHERE (s.next_at <= $2 OR s.down_at <= $2) AND "+
		d.among("s.check_id", "bigint"), d.list(keys), micros(now))
	var turned struct {
		id   int64
		down bool
	}
	changed, err := scanList(rows, err, &turned, &turned.id, &turned.down)
	for _, l := range changed {
		switch r := byKey[l.id]; {
		case l.down && (r.status == code(statuses[:], checks.StatusNew) || r.status == code(statuses[:], checks.StatusUp)):
			r.status = code(statuses[:], checks.StatusDown)
		case r.status == code(statuses[:], checks.StatusUp):
			r.status = late
		}
	}
	return list, err
}
