package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// Count counts the checks that a query selects, by their status. The database counts them: that costs in proportion to the
// project, and reads no checks. The order and the bounds of the query do not matter.
func (p *Project) Count(ctx context.Context, q checks.ListQuery) (checks.Counts, error) {
	counts, err := p.store.CountChecks(ctx, p.id, p.at(q))
	return counts, p.about(p.exists(ctx, counts.Total(), err))
}

// List returns the checks that a query selects, in its order. Only these are read.
func (p *Project) List(ctx context.Context, q checks.ListQuery) ([]checks.Check, error) {
	list, err := p.store.ListChecks(ctx, p.id, p.at(q))
	return list, p.about(p.exists(ctx, len(list), err))
}

func (p *Project) at(q checks.ListQuery) checks.ListQuery {
	if q.Now.IsZero() {
		q.Now = p.now()
	}
	return q
}

// CountReached counts the checks that have one of the channels, all of them and those that are paused. It is
// fast where Count with ListQuery.Without looks at each check.
func (p *Project) CountReached(ctx context.Context, channels []uuid.UUID) (all, paused int, err error) {
	all, paused, err = p.store.CountReached(ctx, p.id, channels)
	return all, paused, p.about(p.exists(ctx, all, err))
}

// CountFailed counts the checks that are not paused and went down since an instant, by the reason of the last time.
func (p *Project) CountFailed(ctx context.Context, since time.Time) (map[flips.Reason]int, error) {
	counts, err := p.store.CountFailed(ctx, p.id, since)
	return counts, p.about(p.exists(ctx, len(counts), err))
}

// LastDown returns which check went down last, as far as flips are kept, and when. If none has, it returns the zero time.
func (p *Project) LastDown(ctx context.Context) (check uuid.UUID, at time.Time, err error) {
	check, at, err = p.store.LastDown(ctx, p.id)
	return check, at, p.about(err)
}

// TagSets counts the checks that have all of the given tags by all their tags and by their status now. Unlike [Project.Checks],
// it reads no more than that, so it is quick in a project of many checks. The sets have no order. See [checks.CountAll] and
// [checks.CountByTag].
func (p *Project) TagSets(ctx context.Context, tags []string) (sets []checks.TagSet, err error) {
	if distinct, some := (checks.Query{Tags: tags}).DistinctTags(); some {
		sets, err = p.store.TagSets(ctx, store.CheckFilter{ProjectID: &p.id, Tags: distinct}, p.now())
	}
	return sets, p.about(p.exists(ctx, len(sets), err))
}

// Tags returns the tags of the checks, each once, sorted.
func (p *Project) Tags(ctx context.Context) ([]string, error) {
	tags, err := p.store.Tags(ctx, p.id)
	return tags, p.about(p.exists(ctx, len(tags), err))
}
