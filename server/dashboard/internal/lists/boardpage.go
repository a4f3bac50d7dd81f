package lists

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// spans are the choices of how much time the board shows on each side of now. The first is the default.
var spans = []struct {
	Name, Label string
	length      time.Duration
}{
	{"24h", "24 h", 24 * time.Hour},
	{"7d", "7 days", 7 * 24 * time.Hour},
}

// maxBoardPings bounds the pings that a board reads.
const maxBoardPings = 60_000

// boardView is the data of the board.
type boardView struct {
	ui.Summary
	Axis   *board.Axis
	Query  boardQuery
	Groups []boardGroup
	// Hidden counts the checks without a lane.
	Hidden int
	// Past and Tonight are the sentences on top.
	Past, Tonight []phrase
	// Tags says that some check has a tag.
	Tags bool
}

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
	// Zone says how far ahead the zone of the schedule is, or "".
	Zone string
	// Facts are the sentences about the lane for those who do not see it.
	Facts string
	axis  *board.Axis
}

// boardQuery is what the address of a board says.
type boardQuery struct {
	Span, Group string
	All         bool
}

func parseBoardQuery(values url.Values) boardQuery {
	q := boardQuery{Span: values.Get("span"), All: values.Get("all") == "1"}
	if q.Span != spans[1].Name {
		q.Span = spans[0].Name
	}
	if values.Get("group") == string(board.ByTag) {
		q.Group = string(board.ByTag)
	}
	return q
}

// With returns the query with one value changed, as the end of an address.
func (q boardQuery) With(name, value string) string {
	values := url.Values{}
	if q.Span != spans[0].Name {
		values.Set("span", q.Span)
	}
	if q.Group != "" {
		values.Set("group", q.Group)
	}
	if q.All {
		values.Set("all", "1")
	}
	if values.Set(name, value); value == "" || value == spans[0].Name {
		values.Del(name)
	}
	return "?" + values.Encode()
}

// Spans are the choices of the page.
func (v boardView) Spans() any { return spans }

func (q boardQuery) span() time.Duration {
	for _, s := range spans {
		if s.Name == q.Span {
			return s.length
		}
	}
	return spans[0].length
}

// boardPage shows the runs of the checks of a project on a time axis.
func (c *boardCache) boardPage(q *ui.Request) error {
	list, err := q.Checks()
	if err != nil {
		return err
	}
	now := q.Mon.Now()
	rows, err := q.Rows(list, now)
	if err != nil {
		return err
	}
	view := boardView{Summary: ui.Summarize(rows, now), Query: parseBoardQuery(q.R.URL.Query()), Tags: len(tagsOf(rows)) > 0}
	view.Axis = board.NewAxis(now, view.Query.span(), q.Zone())
	arranged := board.Arrange(list, view.Axis, board.Order(view.Query.Group), view.Query.All)
	logs, err := c.read(q, arranged.Shown(), view.Axis.From)
	if err != nil {
		return err
	}
	view.Hidden = arranged.Hidden
	view.Groups = groupsOf(arranged, logs.byCheck, view.Axis)
	view.Past = pastWords(view)
	view.Tonight = tonightWords(list, logs.took, view.Axis)
	return q.Render("board", "Board", view)
}

// groupsOf makes the lanes of an arrangement. Checks that came up and did not fail before join the healthy ones.
func groupsOf(arranged board.Arrangement, logs map[uuid.UUID]timeline.Log, axis *board.Axis) (groups []boardGroup) {
	var joined []boardLane
	for _, part := range arranged.Groups {
		g := boardGroup{Title: words.Name(part.Tag, "")}
		if part.State != "" {
			g.Word = words.State(part.State)
			g.Title = map[checks.Status]string{checks.StatusDown: "Down", checks.StatusGrace: "Late", checks.StatusUp: "Up again"}[part.State]
		}
		for _, c := range part.Checks {
			l := boardLane{
				Lane: board.NewLane(c, timeline.Of(c, logs[c.ID], axis.From, axis.Now), axis), axis: axis,
				Key: c.UniqueKey(), Name: ui.NameOf(c), Schedule: strings.TrimSuffix(ui.Schedule(c.Settings), ", in "+c.TZ),
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

// zoneWords says how far the zone of the schedule is ahead of the viewer.
func (l boardLane) zoneWords() string {
	switch {
	case l.Ahead > 0:
		return verdict.Duration(l.Ahead) + " ahead"
	case l.Ahead < 0:
		return verdict.Duration(-l.Ahead) + " behind"
	}
	return ""
}
