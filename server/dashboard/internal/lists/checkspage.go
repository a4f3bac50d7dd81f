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
	alike []alike // before the rows
	// Body is the body of the table, made of Rows.
	Body template.HTML
	// list is the query for the checks on all pages, and matching counts them. From is the number of the first row on
	// this one.
	list     checks.ListQuery
	matching int
	down     int // of those that match
	From     int
	More     bool
	// Folded counts the healthy checks that are left out, and At is the row before which they would be.
	Folded, At int
	folded     int // of all that match: those that have no row on any page
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

// checksPage shows the checks of a project. It reads those that it shows, and those that are down for their reasons.
func (o *openLists) checksPage(q *ui.Request) error {
	view, err := find(q)
	if err != nil {
		return err
	}
	if !view.Query.All && !view.Query.Filtered() && view.Query.Sort == "" && view.Up >= foldFrom {
		view.Folded, view.folded, view.At = view.Up, view.Up, view.Down+view.Late
		view.list.Status = []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusNew, checks.StatusPaused}
	}
	if err := view.read(q); err != nil {
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

// read reads the rows of the page: groups of checks that are down, the others that are down, and what follows.
func (v *checksView) read(q *ui.Request) error {
	down := 0 // checks that were read for the groups
	var single []ui.Row
	var err error
	if !v.Query.All && v.Query.Sort == "" && v.Query.Alike == "" {
		if v.alike, single, down, err = v.downAlike(q); err != nil {
			return err
		}
	}
	head := len(v.alike) + len(single)
	v.folded += down - head
	v.At -= down - head
	limit := pageSize
	if v.Query.All {
		limit = allSize
	}
	v.Query.Page = min(v.Query.Page, max(v.Listed()-1, 0)/limit+1) // the list may have become shorter
	from := (v.Query.Page - 1) * limit
	to := min(from+limit, v.Listed())
	v.Rows = cut(single, from-len(v.alike), to-len(v.alike))
	v.alike = cut(v.alike, from, to)
	if rest := max(from, head); to > rest {
		list := v.list
		list.Offset, list.Limit = down+rest-head, to-rest
		rows, _, err := v.reasoned(q, list)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, rows...)
	}
	v.From, v.More = from+1, to < v.Listed()
	if v.Folded > 0 && (v.At < from || v.At > to) {
		v.Folded = 0
	}
	v.At = max(v.At-from, 0)
	return nil
}

// cut returns the elements of a list between two places, as far as it has them.
func cut[T any](list []T, from, to int) []T {
	from = min(max(from, 0), len(list))
	return list[from:min(max(to, from), len(list)):len(list)]
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
		if view.matching, view.down = matching.Total(), matching[checks.StatusDown]; err != nil || view.Query.Alike == "" {
			return view, err
		}
		return view, view.onlyAlike(q)
	default:
		view.matching, view.down = all.Total(), all[checks.StatusDown]
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

// To is the number of the last row on this page.
func (v checksView) To() int { return v.From + len(v.alike) + len(v.Rows) - 1 }

// Previous is the number of the page before this one.
func (v checksView) Previous() string { return strconv.Itoa(v.Query.Page - 1) }

// Following is the number of the next page.
func (v checksView) Following() string { return strconv.Itoa(v.Query.Page + 1) }
