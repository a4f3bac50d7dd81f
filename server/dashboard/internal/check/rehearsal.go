package check

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// rehearsalView is what a miss or a failure of a check would do.
type rehearsalView struct {
	verdict.Rehearsal
	Row   ui.Row
	clock words.Clock
	// Failure says that the job fails now. Asked says that the viewer has chosen one of the two.
	Failure, Asked bool
}

// rehearsals returns those of checks of the project of a request.
func rehearsals(q *ui.Request, list []checks.Check) ([]rehearsalView, error) {
	asked := q.R.URL.Query().Get("rehearse")
	failure := asked == "failure"
	all, err := q.Mon.Project(q.Project.ID).Rehearse(q.Ctx(), failure, list...)
	views := make([]rehearsalView, len(all))
	clock := q.Clock()
	for i, r := range all {
		r.TwelveHours = clock.TwelveHours
		views[i] = rehearsalView{Rehearsal: r, clock: clock, Failure: failure, Asked: asked != "", Row: ui.RowOf(r.Check, r.Now, clock.Zone)}
	}
	return views, err
}

// Sentence says who is notified, and when.
func (v rehearsalView) Sentence() string { return prose.Plain(v.Summary(v.clock.Zone)) }

// Does says what happens at a step.
func (v rehearsalView) Does(s verdict.Step) string { return prose.Plain(v.Text(s, v.clock.Zone)) }

// Clock writes an instant: with the day, unless that is today.
func (v rehearsalView) Clock(t time.Time) template.HTML { return v.clock.When(t, v.Now) }

// Gets says what becomes of the alert at a channel, and Had how the last one ended.
func (v rehearsalView) Gets(to verdict.Receiver) string {
	return prose.Plain(v.Words(to, v.clock.Zone))
}
func (v rehearsalView) Had(to verdict.Receiver) string {
	return strings.TrimPrefix(prose.Plain(v.LastWords(to, v.clock.Zone)), "last alert ")
}

// Alone says why no one is notified.
func (v rehearsalView) Alone() string {
	if v.Check.RecordOnly { // as somebody wants it
		return ""
	}
	return prose.Plain(v.Problem())
}

// Mark is the word of the state for the shape of a step, or "".
func (v rehearsalView) Mark(s verdict.Step) string {
	switch s.Kind {
	case "due":
		return "late"
	case "down", "failure", "counted":
		return "down"
	}
	return ""
}

// DownAt is when the check goes down, or the zero time.
func (v rehearsalView) DownAt() time.Time {
	for _, s := range v.Steps {
		if s.Kind == "down" {
			return s.At
		}
	}
	return time.Time{}
}

// SentAt is when the first are notified, Wait how long that is after the check goes down, and Why what the alert waits for.
func (v rehearsalView) SentAt() time.Time {
	if v.AlertAt.IsZero() || len(v.Notified()) == 0 {
		return v.AlertAt
	}
	return v.AlertAt.Add(v.Notified()[0].After)
}

func (v rehearsalView) Wait() time.Duration { return v.SentAt().Sub(v.DownAt()) }

func (v rehearsalView) Why() string {
	var why []string
	if v.Check.AlertAfter > 1 {
		why = append(why, prose.Count(v.Check.AlertAfter, "failure")+" in a row")
	}
	for _, s := range v.Steps {
		if by := s.Holder(); s.Kind == "held" && !slices.Contains(why, by) {
			why = append(why, by)
		}
	}
	if v.SentAt().After(v.AlertAt) {
		why = append(why, "the escalation policy")
	}
	return strings.Join(why, ", ")
}

// Notified are the channels that the alert goes to.
func (v rehearsalView) Notified() (list []verdict.Receiver) {
	return slices.DeleteFunc(slices.Clone(v.Receivers), func(to verdict.Receiver) bool { return !to.Reached() })
}

// Later reports whether the alert waits after the check goes down.
func (v rehearsalView) Later() bool {
	return !v.AlertAt.IsZero() && v.SentAt().After(v.DownAt()) && v.Why() != ""
}

// rehearsalPage is the data of the page of a project.
type rehearsalPage struct {
	ui.Summary
	Failure bool
	All     bool // show all checks of each part
	// Alone reach no one, Unsure only channels that fail. Off are paused or were never pinged, Ended expect no further run,
	// and Down are down already. Of all others, the alert of Later waits, and that of Prompt does not.
	Alone, Unsure, Later, Prompt, Down, Off, Ended []rehearsalView
	Silent                                         []rehearsalView // record-only
	Channels                                       []rehearsedChannel
}

// foldFrom is from how many checks on the page folds those that need no attention.
const foldFrom = 13

// Fold reports whether the page folds a part.
func (p rehearsalPage) Fold(part []rehearsalView) bool { return len(part) >= foldFrom }

// partSize is how many checks of a part the page shows, unless the viewer asks for all.
const partSize = 60

// Some returns the checks of a part that the page shows, and Rest counts the others.
func (p rehearsalPage) Some(part []rehearsalView) []rehearsalView {
	return part[:len(part)-p.Rest(part)]
}

func (p rehearsalPage) Rest(part []rehearsalView) int {
	if p.All {
		return 0
	}
	return max(0, len(part)-partSize)
}

// Everything is the query of the page with all checks.
func (p rehearsalPage) Everything() string { return p.Asks() + "&all=1" }

// Asks is the query of the page of a check that rehearses the same.
func (p rehearsalPage) Asks() string {
	if p.Failure {
		return "?rehearse=failure"
	}
	return "?rehearse=miss"
}

// Outcomes says how many checks would notify whom.
func (p rehearsalPage) Outcomes() template.HTML {
	var parts []string
	add := func(part []rehearsalView, class, does string) {
		if len(part) > 0 {
			parts = append(parts, fmt.Sprintf(`<b class="%s">%s</b> %s`, class, prose.Count(len(part), "check"), does))
		}
	}
	add(p.Alone, "down", "would notify no one")
	add(p.Unsure, "late", "would notify only integrations that fail")
	add(p.Later, "", "would notify someone later")
	add(p.Prompt, "", "would notify someone at once")
	if len(parts) == 0 {
		return "nothing more would be sent"
	}
	return template.HTML(prose.List(parts))
}

// rehearsedChannel is a channel on the page of a project.
type rehearsedChannel struct {
	verdict.Receiver
	View   rehearsalView // for its words
	Checks int           // those that would notify it
}

// projectRehearsal shows who is notified if each job of the project misses its next run, or fails now.
func projectRehearsal(q *ui.Request) error {
	list, err := q.Checks()
	if err != nil {
		return err
	}
	all, err := rehearsals(q, list)
	if err != nil {
		return err
	}
	page := rehearsalPage{Failure: q.R.URL.Query().Get("rehearse") == "failure", All: q.R.URL.Query().Get("all") == "1"}
	rows := make([]ui.Row, len(all))
	channels := make(map[uuid.UUID]*rehearsedChannel)
	for i, v := range all {
		rows[i] = v.Row
		page.sort(v)
		for _, to := range v.Receivers {
			c := channels[to.ID]
			if c == nil {
				c = &rehearsedChannel{Receiver: to, View: v}
				channels[to.ID] = c
			}
			if to.Reached() && !v.Assumed {
				c.Checks++
			}
		}
	}
	for _, c := range channels {
		page.Channels = append(page.Channels, *c)
	}
	slices.SortFunc(page.Channels, func(a, b rehearsedChannel) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Label()), strings.ToLower(b.Label())), strings.Compare(a.ID.String(), b.ID.String()))
	})
	byAlert := func(a, b rehearsalView) int {
		return cmp.Or(a.SentAt().Compare(b.SentAt()), strings.Compare(a.Row.Lower, b.Row.Lower))
	}
	for _, part := range [][]rehearsalView{page.Alone, page.Unsure, page.Later, page.Prompt, page.Down, page.Off, page.Ended, page.Silent} {
		slices.SortStableFunc(part, byAlert)
	}
	page.Summary = ui.Summarize(rows)
	return q.Render("rehearsal", "Who would be notified", page)
}

// sort puts a rehearsal where it belongs.
func (p *rehearsalPage) sort(v rehearsalView) {
	to := &p.Prompt
	switch reached := len(v.Notified()) > 0; {
	case v.Check.RecordOnly:
		to = &p.Silent
	case !reached:
		to = &p.Alone
	case v.Assumed:
		to = &p.Off
	case v.Doubt() != "":
		to = &p.Unsure
	case v.AlertAt.IsZero() && v.Status == checks.StatusDown:
		to = &p.Down
	case v.AlertAt.IsZero():
		to = &p.Ended
	case v.Later():
		to = &p.Later
	}
	*to = append(*to, v)
}
