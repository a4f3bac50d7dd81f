package monitor

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Tags returns the tags of a project's checks, each once, sorted. Error: [checks.ErrNotFound].
func (m *Monitor) Tags(ctx context.Context, projectID uuid.UUID) ([]string, error) {
	list, err := m.Checks(ctx, projectID, CheckQuery{})
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, c := range list {
		tags = append(tags, c.TagList()...)
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

// TagBadge returns the label and the content of a tag's badge, in the project with this badge key. The tag
// [badges.AllTags] is the badge of the project itself. Error: [checks.ErrNotFound].
func (m *Monitor) TagBadge(ctx context.Context, badgeKey, tag string) (label string, s badges.Summary, err error) {
	project, err := m.admin.ProjectByBadgeKey(ctx, badgeKey)
	if err != nil {
		return "", badges.Summary{}, err
	}
	filter, label := store.CheckFilter{ProjectID: &project.ID}, project.Name
	if tag != badges.AllTags {
		filter.Tags, label = []string{tag}, tag
	}
	list, err := m.store.Checks(ctx, filter)
	if err != nil {
		return "", badges.Summary{}, err
	}
	return label, m.summarize(list), nil
}

// CheckBadge returns the label and the content of the badge of the check with this badge key. Error:
// [checks.ErrNotFound].
func (m *Monitor) CheckBadge(ctx context.Context, key uuid.UUID) (label string, s badges.Summary, err error) {
	c, err := m.admin.CheckByBadgeKey(ctx, key)
	if err != nil {
		return "", badges.Summary{}, err
	}
	label = c.Name
	if label == "" {
		label = c.Slug
	}
	if label == "" {
		label = "check"
	}
	return label, m.summarize([]checks.Check{c}), nil
}

func (m *Monitor) summarize(list []checks.Check) badges.Summary {
	now := m.Now()
	return badges.Summarize(func(yield func(string) bool) {
		for _, c := range list {
			if !yield(string(c.Status(now))) {
				return
			}
		}
	})
}
