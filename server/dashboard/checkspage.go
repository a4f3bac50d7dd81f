package dashboard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

func (d *Dashboard) checksRoutes() {
	d.look("GET /projects/{project}/{$}", d.checksPage)
	d.look("GET /projects/{project}/events", d.events)
	d.change("POST /projects/{project}/bulk", d.bulk)
}

// checksView is the data of the list.
type checksView struct {
	summary
	Query listQuery
	Rows  []row
	// Matches counts the checks that the query selects, on all pages. From is the number of the first on this one.
	Matches, From int
	More          bool
	Tags          []string
}

// checksPage shows the checks of a project.
func (d *Dashboard) checksPage(q *request) error {
	now := q.mon.Now()
	list, err := q.checks()
	if err != nil {
		return err
	}
	rows, err := q.rowsOf(list, now)
	if err != nil {
		return err
	}
	view := checksView{summary: summarize(rows, now), Query: parseListQuery(q.r.URL.Query()), Tags: tagsOf(rows)}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !view.Query.match(r) })
	slices.SortStableFunc(rows, sortings[view.Query.Sort])
	view.Matches = len(rows)
	from := min((view.Query.Page-1)*pageSize, len(rows))
	to := min(from+pageSize, len(rows))
	view.Rows, view.From, view.More = rows[from:to], from+1, to < len(rows)
	return q.render("checks", "Checks", view)
}

// checks returns the checks of the project: for an open page that asks again as its stream knows them, and otherwise as they
// are in the database, so that viewers see their own changes at once.
func (q *request) checks() ([]checks.Check, error) {
	if q.refresh {
		if list, ok := q.live.checks(); ok {
			return list, nil
		}
	}
	return q.mon.Checks(q.ctx(), q.project.ID, monitor.CheckQuery{})
}

// tagsOf returns all tags of the rows, sorted.
func tagsOf(rows []row) []string {
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
func (d *Dashboard) bulk(q *request) error {
	if err := q.r.ParseForm(); err != nil {
		return formError(err)
	}
	action, ok := bulkActions[q.r.PostForm.Get("action")]
	if !ok {
		return errBadForm
	}
	back := func() error {
		return q.redirect("/projects/%s/%s", q.project.ID, parseListQuery(q.r.URL.Query()).With("", ""))
	}
	ids := q.r.PostForm["check"]
	if len(ids) == 0 {
		q.notice("Select at least one check.")
		return back()
	}
	done := 0
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return errBadForm
		}
		c, err := q.mon.Check(q.ctx(), id)
		if errors.Is(err, checks.ErrNotFound) || err == nil && c.ProjectID != q.project.ID {
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
	q.notice(fmt.Sprintf("%s %s.", action.done, verdict.Count(done, "check")))
	return back()
}

// bulkActions are what the form of the list can do to the selected checks.
var bulkActions = map[string]struct {
	done string
	do   func(q *request, c checks.Check) error
}{
	"pause": {"Paused", func(q *request, c checks.Check) error {
		_, err := q.mon.Pause(q.ctx(), c.ID)
		return err
	}},
	"resume": {"Resumed", func(q *request, c checks.Check) error {
		_, err := q.mon.Resume(q.ctx(), c.ID)
		if errors.Is(err, checks.ErrNotPaused) {
			return nil
		}
		return err
	}},
	"tag": {"Tagged", func(q *request, c checks.Check) error {
		tags := c.TagList()
		for _, tag := range strings.Fields(q.r.PostForm.Get("tag")) {
			if !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		_, err := q.mon.Update(q.ctx(), c.ID, checks.Spec{Tags: tags})
		return err
	}},
	"untag": {"Untagged", func(q *request, c checks.Check) error {
		drop := strings.Fields(q.r.PostForm.Get("tag"))
		tags := slices.DeleteFunc(c.TagList(), func(tag string) bool { return slices.Contains(drop, tag) })
		if tags == nil {
			tags = []string{}
		}
		_, err := q.mon.Update(q.ctx(), c.ID, checks.Spec{Tags: tags})
		return err
	}},
	"delete": {"Deleted", func(q *request, c checks.Check) error {
		_, err := q.mon.Delete(q.ctx(), c.ID)
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
