package lists

import (
	"html/template"
	"slices"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// checksView is the data of the list.
type checksView struct {
	ui.Summary
	Query listQuery
	Rows  []ui.Row
	// Body is the body of the table, made of Rows.
	Body template.HTML
	// matching are the checks that the query selects, on all pages. From is the number of the first on this one.
	matching []ui.Row
	From     int
	More     bool
	// Folded counts the healthy checks that are left out, and At is the row before which they would be.
	Folded, At int
	folded     int // on any page
	// Nobody counts the checks of the project that alert nobody.
	Nobody int
	Tags   []string
}

const (
	// pageSize is how many checks a page of the list shows, and allSize how many if the viewer asks for all.
	pageSize, allSize = 80, 1000
	// foldFrom is from how many healthy checks on a list that nobody has filtered or sorted folds them.
	foldFrom = 21
)

// openLists is what lists remember from page to page.
type openLists struct{ rows rowSets }

// checksPage shows the checks of a project.
func (o *openLists) checksPage(q *ui.Request) error {
	list, err := q.Checks()
	if err != nil {
		return err
	}
	view, err := find(q, list)
	if err != nil {
		return err
	}
	shown := view.matching
	if !view.Query.All && !view.Query.Filtered() && view.Query.Sort == "" && view.Up >= foldFrom {
		at := slices.IndexFunc(shown, func(r ui.Row) bool { return r.Status == checks.StatusUp })
		view.Folded, view.folded, view.At = view.Up, view.Up, at
		shown = slices.Delete(slices.Clone(shown), at, at+view.Up)
	}
	size := pageSize
	if view.Query.All {
		size = allSize
	}
	from := min((view.Query.Page-1)*size, len(shown))
	to := min(from+size, len(shown))
	view.Rows, view.From, view.More = shown[from:to], from+1, to < len(shown)
	if view.Folded > 0 && (view.At < from || view.At > to) {
		view.Folded = 0
	}
	view.At = max(view.At-from, 0)
	if err := addReasons(q, view.Rows, list); err != nil {
		return err
	}
	rows := tableRows(&view, q.Right.Edits(), q.Base, q.Mon.Now())
	token := o.rows.add(rows)
	var before *rowSet
	if q.Refresh {
		before = o.rows.find(q.R.Header.Get(ui.RowsHeader))
	}
	view.Body = body(rows, before, token)
	return q.Render("checks", "Checks", view)
}

// find finds the checks that the address of the list selects.
func find(q *ui.Request, list []checks.Check) (view checksView, err error) {
	now := q.Mon.Now()
	rows, err := q.Rows(list, now)
	if err != nil {
		return view, err
	}
	available, reach, err := q.Mon.Project(q.Project.ID).Receivers(q.Ctx(), false)
	if err != nil {
		return view, err
	}
	for i, c := range list {
		if !verdict.Notifies(c, available, reach) {
			rows[i].Nobody = true
			view.Nobody++
		}
	}
	view.Summary, view.Query, view.Tags = ui.Summarize(rows, now), parseListQuery(q.R.URL.Query()), tagsOf(rows)
	view.matching = slices.DeleteFunc(rows, func(r ui.Row) bool { return !view.Query.match(r, q.Project.PingKey) })
	view.Query.sort(view.matching)
	return view, nil
}

// Listed counts the rows of all pages.
func (v checksView) Listed() int { return len(v.matching) - v.folded }

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
