package lists

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// spans are the choices of how much time the board shows on each side of its middle.
var spans = []struct {
	Name, Label, last string
	length            time.Duration
}{
	{"6h", "6 h", "in the last 6 hours", 6 * time.Hour},
	{"24h", "24 h", "in the last 24 hours", 24 * time.Hour},
	{"7d", "7 days", "in the last 7 days", 7 * 24 * time.Hour},
}

// defaultSpan is the span of a board whose address names none.
const defaultSpan = 1

// maxBoardPings bounds the pings that a board reads.
const maxBoardPings = 60_000

// boardView is the data of the board.
type boardView struct {
	ui.Summary
	Axis    *board.Axis
	Density *board.Density
	// Windows are the maintenance windows that the axis may have.
	Windows []gate.Window
	Query   boardQuery
	Groups  []boardGroup
	// Hidden counts the checks after the last lane, and Before those on earlier pages.
	Hidden, Before int
	// Past and Tonight are the sentences on top.
	Past, Tonight []phrase
	// Tags says that some check has a tag.
	Tags bool
}

// Well reports whether all hidden checks are healthy.
func (v boardView) Well() bool { return v.Down < board.MaxLanes }

// phrase is a part of a sentence. Link leads to the check with that unique key. Bad is what went wrong.
type phrase struct {
	Text, Link string
	Bad        bool
}

type boardGroup struct {
	Title string
	// Word is the word of the state, for its shape; "" for none.
	Word  string
	Lanes []boardLane
}

type boardLane struct {
	board.Lane
	Key, Name, Word, Schedule string
	// Rule says what the check follows, or that it never alerts; it is "" for most.
	Rule string
	// Zone says how far ahead the zone of the schedule is, or "".
	Zone string
	// Facts are the sentences about the lane for those who do not see it.
	Facts string
	axis  *board.Axis
	path  string // that of the page of the check
	// maintenance are the windows that cover the check.
	maintenance []gate.Window
}

// boardQuery is what the address of a board says.
type boardQuery struct {
	Span, Group string
	All         bool
	Page        int       // of the lanes, from 1
	At          time.Time // the middle of the axis; the zero time is now
}

func parseBoardQuery(values url.Values) boardQuery {
	q := boardQuery{Span: spans[defaultSpan].Name, All: values.Get("all") == "1", Page: 1}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && q.All {
		q.Page = min(max(n, 1), 10_000)
	}
	for _, s := range spans {
		if s.Name == values.Get("span") {
			q.Span = s.Name
		}
	}
	if values.Get("group") == string(board.ByTag) {
		q.Group = string(board.ByTag)
	}
	return q
}

func (q boardQuery) values() url.Values {
	values := url.Values{}
	if q.Span != spans[defaultSpan].Name {
		values.Set("span", q.Span)
	}
	if q.Group != "" {
		values.Set("group", q.Group)
	}
	if q.All {
		values.Set("all", "1")
	}
	if q.Page > 1 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	if !q.At.IsZero() {
		values.Set("at", q.At.Format(instantForm))
	}
	return values
}

// With returns the query with one value changed, as the end of an address.
func (q boardQuery) With(name, value string) string {
	values := q.values()
	if values.Set(name, value); value == "" || value == spans[defaultSpan].Name {
		values.Del(name)
	}
	if name != "page" { // the others arrange the lanes in another way
		values.Del("page")
	}
	return "?" + values.Encode()
}

// Turned is the query for the page that lies a number of pages after this one.
func (q boardQuery) Turned(by int) string { return q.With("page", strconv.Itoa(q.Page+by)) }

// Spans are the choices of the page.
func (v boardView) Spans() any { return spans }

func (q boardQuery) span() time.Duration {
	for _, s := range spans {
		if s.Name == q.Span {
			return s.length
		}
	}
	return spans[defaultSpan].length
}

// boardPage shows the runs of the checks of a project on a time axis.
func (c *boardCache) boardPage(q *ui.Request) error {
	list, err := q.Checks()
	if err != nil {
		return err
	}
	now := q.Mon.Now()
	query := parseBoardQuery(q.R.URL.Query())
	if at, local, ok := parseInstant(q.R.URL.Query().Get("at"), q.Clock().Zone); ok {
		if local {
			return q.Redirect("/projects/%s/board%s", q.Project.ID, query.moved(at, now))
		}
		if at.Before(now) {
			query.At = at
		}
	}
	tagged := func(c checks.Check) bool { return len(c.Tags) > 0 }
	view := boardView{Query: query, Tags: slices.ContainsFunc(list, tagged)}
	at := now
	if !query.At.IsZero() {
		at = query.At
	}
	view.Axis = board.NewAxis(now, at, query.span(), q.Clock())
	var was past
	if view.Axis.Past() {
		if was, err = readPast(q, list, view.Axis); err != nil {
			return err
		}
	}
	arranged := board.Arrange(list, view.Axis, was.down, board.Order(query.Group), query.All, (query.Page-1)*board.MaxLanes)
	logs, err := c.read(q, arranged.Shown(), view.Axis.From)
	if err != nil {
		return err
	}
	view.Summary, view.Hidden, view.Before = ui.SummaryOf(arranged.Counts), arranged.Hidden, len(list)-len(arranged.Shown())-arranged.Hidden
	view.Density = board.NewDensity(view.Axis)
	view.Windows, err = q.Mon.Project(q.Project.ID).Windows(q.Ctx(), checks.WindowQuery{Kind: gate.Maintenance, EndsAfter: view.Axis.From})
	if err != nil {
		return err
	}
	view.Groups = groupsOf(arranged, logs, view, was.status, q.Base)
	view.Density.AddExpected(hidden(list, arranged.Shown())...)
	view.Past = pastWords(view)
	if !view.Axis.Past() {
		view.Tonight = tonightWords(list, view.Axis)
	}
	return q.Render("board", "Board", view)
}

// hidden returns the checks without a lane that are not paused.
func hidden(list, shown []checks.Check) (others []checks.Check) {
	if len(list) == len(shown) {
		return nil
	}
	has := make(map[uuid.UUID]bool, len(shown))
	for _, c := range shown {
		has[c.ID] = true
	}
	for _, c := range list {
		if !has[c.ID] && c.Stored != checks.StatusPaused {
			others = append(others, c)
		}
	}
	return others
}

// groupsOf makes the lanes of an arrangement. Checks that came up and did not fail before join the healthy ones.
func groupsOf(arranged board.Arrangement, logs map[uuid.UUID]timeline.Log, view boardView, was map[uuid.UUID]checks.Status, base string) (groups []boardGroup) {
	axis := view.Axis
	var joined []boardLane
	for _, part := range arranged.Groups {
		g := boardGroup{Title: words.Name(part.Tag, "")}
		if part.State != "" {
			g.Word = words.State(part.State)
			if g.Title = "Down in this time"; !axis.Past() {
				g.Title = map[checks.Status]string{checks.StatusDown: "Down", checks.StatusGrace: "Late", checks.StatusUp: "Up again"}[part.State]
			}
		}
		for _, c := range part.Checks {
			line := timeline.Of(c, logs[c.ID], axis.From, axis.Now)
			view.Density.AddRuns(c, line.Runs)
			l := boardLane{
				Lane: board.NewLane(c, line, axis), axis: axis, path: base + "/checks/" + c.UniqueKey(),
				Key: c.UniqueKey(), Name: ui.NameOf(c), Schedule: strings.TrimSuffix(ui.Schedule(c.Settings, axis.Zone), ", in "+c.TZ),
			}
			for _, w := range view.Windows {
				if w.Covers(c.ID, c.TagList()) {
					l.maintenance = append(l.maintenance, w)
				}
			}
			if c.After != "" {
				l.Rule = "after " + strings.Join(words.Names(strings.Split(c.PublicAfter(), ",")), ", ")
			}
			if c.RecordOnly {
				l.Rule = "record-only"
			}
			if status, ok := was[c.ID]; ok {
				l.Status = statusThen(c, line, status, part.State, axis)
			}
			l.Word, l.Zone = words.State(l.Status), l.zoneWords()
			l.Facts = l.facts()
			if part.State == checks.StatusUp && l.Bad == 0 {
				joined = append(joined, l)
				continue
			}
			g.Lanes = append(g.Lanes, l)
		}
		if len(g.Lanes) > 0 {
			groups = append(groups, g)
		}
	}
	return join(groups, joined)
}

// statusThen is the status that a lane in the past shows: down if the check was down on the axis, as the title of its group
// says, and otherwise the one in the middle of the axis, where no transition says that a check is late.
func statusThen(c checks.Check, line timeline.Timeline, status, group checks.Status, axis *board.Axis) checks.Status {
	switch {
	case group == checks.StatusDown:
		return checks.StatusDown
	case status == checks.StatusUp && line.LateAt(c, axis.At):
		return checks.StatusGrace
	}
	return status
}

// join adds lanes to the last group that is about no state.
func join(groups []boardGroup, lanes []boardLane) []boardGroup {
	if len(lanes) == 0 {
		return groups
	}
	n := len(groups)
	if n == 0 || groups[n-1].Word != "" {
		return append(groups, boardGroup{Lanes: lanes})
	}
	last := &groups[n-1]
	last.Lanes = append(last.Lanes, lanes...)
	slices.SortStableFunc(last.Lanes, func(a, b boardLane) int {
		return byName(ui.Row{Lower: strings.ToLower(a.Name)}, ui.Row{Lower: strings.ToLower(b.Name)})
	})
	return groups
}

// Heading is what the page calls a group.
func (g boardGroup) Heading(v boardView) string {
	switch {
	case g.Title != "":
		return g.Title
	case v.Query.Group != "":
		return "No tag"
	case len(v.Groups) > 1:
		return "Other checks"
	}
	return ""
}

// zoneWords says how far the zone of the schedule is ahead of the viewer, whose zone all other times are in.
func (l boardLane) zoneWords() string {
	switch {
	case l.Ahead > 0:
		return prose.Duration(l.Ahead) + " ahead"
	case l.Ahead < 0:
		return prose.Duration(-l.Ahead) + " behind"
	}
	return ""
}

// City names the zone of the schedule, which is beside its words where the viewer's is another.
func (l boardLane) City() string {
	zone, err := schedule.LoadLocation(l.TZ)
	if err != nil {
		return l.TZ
	}
	return words.City(zone)
}

func byName(a, b ui.Row) int {
	return cmp.Or(strings.Compare(a.Lower, b.Lower), strings.Compare(a.Key, b.Key))
}
