package lists

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// checksView is the data of the list.
type checksView struct {
	ui.Summary
	Query listQuery
	Rows  []ui.Row
	// Matches counts the checks that the query selects, on all pages. From is the number of the first on this one.
	Matches, From int
	More          bool
	Tags          []string
}

// checksPage shows the checks of a project.
func checksPage(q *ui.Request) error {
	now := q.Mon.Now()
	list, err := q.Checks()
	if err != nil {
		return err
	}
	rows, err := q.Rows(list, now)
	if err != nil {
		return err
	}
	view := checksView{Summary: ui.Summarize(rows, now), Query: parseListQuery(q.R.URL.Query()), Tags: tagsOf(rows)}
	rows = slices.DeleteFunc(rows, func(r ui.Row) bool { return !view.Query.match(r) })
	slices.SortStableFunc(rows, sortings[view.Query.Sort])
	view.Matches = len(rows)
	from := min((view.Query.Page-1)*pageSize, len(rows))
	to := min(from+pageSize, len(rows))
	view.Rows, view.From, view.More = rows[from:to], from+1, to < len(rows)
	return q.Render("checks", "Checks", view)
}

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

// bulk changes several checks.
func bulk(q *ui.Request) error {
	action, ok := bulkActions[q.R.PostForm.Get("action")]
	if !ok {
		return ui.ErrBadForm
	}
	back := func() error {
		return q.Redirect("/projects/%s/%s", q.Project.ID, parseListQuery(q.R.URL.Query()).With("", ""))
	}
	ids := q.R.PostForm["check"]
	if len(ids) == 0 {
		q.Notice("Select at least one check.")
		return back()
	}
	done := 0
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return ui.ErrBadForm
		}
		c, err := q.Mon.Check(q.Ctx(), id)
		if errors.Is(err, checks.ErrNotFound) || err == nil && c.ProjectID != q.Project.ID {
			continue // another viewer has deleted it
		}
		if err != nil {
			return err
		}
		if err := action.do(q, c); err != nil {
			return err
		}
		done++
	}
	q.Notice(fmt.Sprintf("%s %s.", action.done, verdict.Count(done, "check")))
	return back()
}

// bulkActions are what the form of the list can do to the selected checks.
var bulkActions = map[string]struct {
	done string
	do   func(q *ui.Request, c checks.Check) error
}{
	"pause": {"Paused", func(q *ui.Request, c checks.Check) error {
		_, err := q.Mon.Pause(q.Ctx(), c.ID)
		return err
	}},
	"resume": {"Resumed", func(q *ui.Request, c checks.Check) error {
		_, err := q.Mon.Resume(q.Ctx(), c.ID)
		if errors.Is(err, checks.ErrNotPaused) {
			return nil
		}
		return err
	}},
	"tag": {"Tagged", func(q *ui.Request, c checks.Check) error {
		tags := c.TagList()
		for _, tag := range strings.Fields(q.R.PostForm.Get("tag")) {
			if !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		_, err := q.Mon.Update(q.Ctx(), c.ID, checks.Spec{Tags: tags})
		return err
	}},
	"untag": {"Untagged", func(q *ui.Request, c checks.Check) error {
		drop := strings.Fields(q.R.PostForm.Get("tag"))
		tags := slices.DeleteFunc(c.TagList(), func(tag string) bool { return slices.Contains(drop, tag) })
		if tags == nil {
			tags = []string{}
		}
		_, err := q.Mon.Update(q.Ctx(), c.ID, checks.Spec{Tags: tags})
		return err
	}},
	"delete": {"Deleted", func(q *ui.Request, c checks.Check) error {
		_, err := q.Mon.Delete(q.Ctx(), c.ID)
		return err
	}},
}

// States are the words of the states, for the filter.
func (v checksView) States() []string { return []string{"down", "late", "up", "new", "paused"} }

// To is the number of the last check on this page.
func (v checksView) To() int { return v.From + len(v.Rows) - 1 }

// Previous is the number of the page before this one.
func (v checksView) Previous() string { return strconv.Itoa(v.Query.Page - 1) }

// Following is the number of the next page.
func (v checksView) Following() string { return strconv.Itoa(v.Query.Page + 1) }
