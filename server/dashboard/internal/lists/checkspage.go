package lists

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// checksView is the data of the list.
type checksView struct {
	ui.Summary
	Query listQuery
	Rows  []ui.Row
	// Body is the body of the table, made of Rows.
	Body template.HTML
	// list is the query for the checks on all pages, and matching counts them. From is the number of the first on this one.
	list     checks.ListQuery
	matching int
	From     int
	More     bool
	// Folded counts the healthy checks that are left out, and At is the row before which they would be.
	Folded, At int
	folded     int // on any page
	// Nobody counts the checks of the project that alert nobody.
	Nobody int
	// Chips are the tags that most checks have, with their counts, and Tags are the others.
	Chips []tagChip
	Tags  []string
	Views []savedView

	available []channels.Channel
	reach     map[uuid.UUID]verdict.Reach
}

// tagChip is a tag to filter by. Query leads to the list with this filter, or without it if it is On.
type tagChip struct {
	Name, Query string
	Count       int
	On          bool
}

// maxChips is how many tags the list shows as chips.
const maxChips = 12

const (
	// pageSize is how many checks a page of the list shows, and allSize how many if the viewer asks for all.
	pageSize, allSize = 80, 1000
	// foldFrom is from how many healthy checks on a list that nobody has filtered or sorted folds them.
	foldFrom = 21
)

// openLists is what lists remember from page to page.
type openLists struct{ rows rowSets }

// checksPage shows the checks of a project. It reads those that it shows.
func (o *openLists) checksPage(q *ui.Request) error {
	view, err := find(q)
	if err != nil {
		return err
	}
	list := view.list
	if !view.Query.All && !view.Query.Filtered() && view.Query.Sort == "" && view.Up >= foldFrom {
		view.Folded, view.folded, view.At = view.Up, view.Up, view.Down+view.Late
		list.Status = []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusNew, checks.StatusPaused}
	}
	list.Limit = pageSize
	if view.Query.All {
		list.Limit = allSize
	}
	view.Query.Page = min(view.Query.Page, (view.Listed()-1)/list.Limit+1) // the list may have become shorter
	list.Offset = (view.Query.Page - 1) * list.Limit
	to := min(list.Offset+list.Limit, view.Listed())
	var shown []checks.Check
	if to > list.Offset {
		if shown, err = q.Mon.Project(q.Project.ID).List(q.Ctx(), list); err != nil {
			return err
		}
	}
	if view.Rows, err = view.rows(q, shown); err != nil {
		return err
	}
	view.From, view.More = list.Offset+1, to < view.Listed()
	if view.Folded > 0 && (view.At < list.Offset || view.At > to) {
		view.Folded = 0
	}
	view.At = max(view.At-list.Offset, 0)
	if err := addReasons(q, view.Rows, shown); err != nil {
		return err
	}
	rows := tableRows(&view, q.Right.Edits(), q.Base, q.Mon.Now(), q.Clock())
	token := o.rows.add(rows)
	var before *rowSet
	if q.Refresh {
		before = o.rows.find(q.R.Header.Get(ui.RowsHeader))
	}
	view.Body = body(rows, before, token)
	return q.Render("checks", "Checks", view)
}

// find counts the checks that the address of the list selects.
func find(q *ui.Request) (view checksView, err error) {
	project := q.Mon.Project(q.Project.ID)
	now := q.Mon.Now()
	sets, err := project.TagSets(q.Ctx(), nil)
	if err != nil {
		return view, err
	}
	all := checks.CountAll(sets)
	if view.available, view.reach, err = project.Receivers(q.Ctx(), false); err != nil {
		return view, err
	}
	reaching, everyone := ui.Reaching(view.available, view.reach)
	if !everyone {
		reached, _, err := project.CountReached(q.Ctx(), reaching)
		if err != nil {
			return view, err
		}
		view.Nobody = max(all.Total()-reached, 0)
	}
	byTag := checks.CountByTag(sets)
	tags := slices.Sorted(maps.Keys(byTag))
	view.Summary, view.Query, view.Views = ui.SummaryOf(all), parseListQuery(q.R.URL.Query()), savedViews(q)
	view.addTags(byTag)
	var none bool
	view.list, none = view.Query.list(q.Project.PingKey, tags)
	view.list.Now = now
	if view.Query.Nobody {
		view.list.Without, none = reaching, none || everyone
	}
	switch {
	case none:
	case view.Query.Filtered():
		matching, err := project.Count(q.Ctx(), view.list)
		view.matching = matching.Total()
		return view, err
	default:
		view.matching = all.Total()
	}
	return view, nil
}

// addTags adds the tags that the list can be filtered by.
func (v *checksView) addTags(byTag map[string]checks.Counts) {
	counts := map[string]int{} // by what pages call the tag
	for tag, n := range byTag {
		if name := words.Name(tag, ""); name != "" {
			counts[name] += n.Total()
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	shown := names[:min(len(names), maxChips)]
	slices.Sort(shown)
	for _, name := range shown {
		chip := tagChip{Name: name, Query: v.Query.With("tag", name), Count: counts[name], On: name == v.Query.Tag}
		if chip.On {
			chip.Query = v.Query.With("tag", "")
		}
		v.Chips = append(v.Chips, chip)
	}
	v.Tags = slices.Sorted(slices.Values(names[len(shown):]))
}

// Chosen reports whether a chip shows the tag of the query.
func (v checksView) Chosen() bool {
	return slices.ContainsFunc(v.Chips, func(c tagChip) bool { return c.On })
}

// rows returns the rows of checks.
func (v *checksView) rows(q *ui.Request, list []checks.Check) ([]ui.Row, error) {
	running, err := q.Running()
	if err != nil {
		return nil, err
	}
	rows, err := q.Rows(list, v.list.Now)
	for i, c := range list[:len(rows)] {
		rows[i].Nobody = !verdict.Notifies(c, v.available, v.reach)
		rows[i].Hold = ui.HoldOf(running, c)
	}
	return rows, err
}

// Listed counts the rows of all pages.
func (v checksView) Listed() int { return v.matching - v.folded }

// Matches counts the checks that the query selects, on all pages.
func (v checksView) Matches() int { return v.matching }

// Snoozes are how long the selected checks may be snoozed.
func (v checksView) Snoozes() []ui.Choice { return ui.SnoozeChoices }

// States are the words of the states, for the filter.
func (v checksView) States() []string { return []string{"down", "late", "up", "new", "paused"} }

// To is the number of the last check on this page.
func (v checksView) To() int { return v.From + len(v.Rows) - 1 }

// Previous is the number of the page before this one.
func (v checksView) Previous() string { return strconv.Itoa(v.Query.Page - 1) }

// Following is the number of the next page.
func (v checksView) Following() string { return strconv.Itoa(v.Query.Page + 1) }
