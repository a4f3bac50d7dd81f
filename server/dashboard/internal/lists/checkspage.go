package lists

import (
	"slices"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// checksView is the data of the list.
type checksView struct {
	ui.Summary
	Query listQuery
	Rows  []ui.Row
	// matching are the checks that the query selects, on all pages. From is the number of the first on this one.
	matching []ui.Row
	From     int
	More     bool
	Tags     []string
}

// checksPage shows the checks of a project.
func checksPage(q *ui.Request) error {
	list, err := q.Checks()
	if err != nil {
		return err
	}
	view, err := find(q, list)
	if err != nil {
		return err
	}
	from := min((view.Query.Page-1)*pageSize, len(view.matching))
	to := min(from+pageSize, len(view.matching))
	view.Rows, view.From, view.More = view.matching[from:to], from+1, to < len(view.matching)
	return q.Render("checks", "Checks", view)
}

// find finds the checks that the address of the list selects.
func find(q *ui.Request, list []checks.Check) (view checksView, err error) {
	now := q.Mon.Now()
	rows, err := q.Rows(list, now)
	if err != nil {
		return view, err
	}
	view = checksView{Summary: ui.Summarize(rows, now), Query: parseListQuery(q.R.URL.Query()), Tags: tagsOf(rows)}
	view.matching = slices.DeleteFunc(rows, func(r ui.Row) bool { return !view.Query.match(r) })
	slices.SortStableFunc(view.matching, sortings[view.Query.Sort])
	return view, nil
}

// Matches counts the checks that the query selects, on all pages.
func (v checksView) Matches() int { return len(v.matching) }

// tagsOf returns all tags of the rows, sorted.
func tagsOf(rows []ui.Row) []string {
	seen := map[string]bool{}
	var tags []string
	for _, r := range rows {
		for _, tag := range r.Tags {
			if !seen[tag] {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
	}
	slices.Sort(tags)
	return tags
}

// States are the words of the states, for the filter.
func (v checksView) States() []string { return []string{"down", "late", "up", "new", "paused"} }

// To is the number of the last check on this page.
func (v checksView) To() int { return v.From + len(v.Rows) - 1 }

// Previous is the number of the page before this one.
func (v checksView) Previous() string { return strconv.Itoa(v.Query.Page - 1) }

// Following is the number of the next page.
func (v checksView) Following() string { return strconv.Itoa(v.Query.Page + 1) }
