package check

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/changes"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// eventsShown is how many flips and pauses the page of a check shows.
	eventsShown = 20
	// changesShown is how many entries of the audit log it shows.
	changesShown = 5
)

// checkView is the data of the page of a check.
type checkView struct {
	Row         ui.Row
	Mine        bool // the viewer has acknowledged the outage
	Check       checks.Check
	Grace       string
	Headline    headline
	Verdict     []template.HTML
	Failure     *failureView // nil if the last run succeeded
	Kin         kinView
	Rehearsal   rehearsalView
	Remedy      template.HTML // leads to what is missing if a check without integrations alerts nobody, or ""
	Durations   durationChart
	Calendar    calendar
	Months      []monthStats
	Ways        *waysView // nil for those who may only look
	Events      []eventView
	More        bool // there are earlier events
	Snoozes     []ui.Choice
	Audits      bool
	Changes     []changes.Change // the newest
	Log         []logRow
	Kinds       []string
	Kind        string
	Older       int64 // the number below which the next page of the log begins, or 0
	Kept        int
	Description []string
}

// checkPage shows one check.
func checkPage(q *ui.Request) error {
	now, c := q.Mon.Now(), q.Unnamed(q.Check)
	log, err := checks.Collect(q.Mon.Project(c.ProjectID).Pings(q.Ctx(), c.ID, checks.PingQuery{}))
	if err != nil {
		return err
	}
	said, err := q.Mon.Project(c.ProjectID).Explain(q.Ctx(), c, log)
	if err != nil {
		return err
	}
	kin, err := q.Mon.Project(c.ProjectID).Related(q.Ctx(), c)
	if err != nil {
		return err
	}
	var history []checks.Event
	for e, err := range q.Mon.Project(c.ProjectID).Events(q.Ctx(), c.ID, monitor.EventQuery{Limit: eventsShown}) {
		if err != nil {
			return err
		}
		history = append(history, e)
	}
	days, err := q.Mon.Project(c.ProjectID).Stats(q.Ctx(), c.ID, now.AddDate(0, 0, -calendarDays), now)
	if err != nil {
		return err
	}
	rehearsed, err := rehearsals(q, []checks.Check{c})
	if err != nil {
		return err
	}
	running, err := q.Running()
	if err != nil {
		return err
	}
	view := checkView{
		Rehearsal: rehearsed[0], Kin: kinOf(kin),
		Row: ui.RowOf(c, now, q.Clock().Zone), Mine: q.Has(q.Check), Check: c, Grace: prose.Period(c.Grace), Verdict: paragraphs(q, said), Failure: failureOf(q, log),
		Durations: newDurationChart(log, q.Clock()), Calendar: newCalendar(days, now), Months: monthsOf(days, now),
		Events: eventViews(q, history, log, kinOf(kin)), More: len(history) >= eventsShown, Kinds: logKinds, Kept: len(log),
	}
	if view.Remedy, err = remedy(q, &view); err != nil {
		return err
	}
	view.Headline = headlineOf(q, &view)
	if view.Row.Hold = ui.HoldOf(running, c); q.Right.Edits() {
		view.Ways, view.Snoozes = ways(q), ui.SnoozeChoices
	}
	if view.Audits = q.Mon.Installation().Audits(); view.Audits {
		if view.Changes, err = changes.Of(q, audit.Query{Check: c.ID, Limit: changesShown}); err != nil {
			return err
		}
	}
	if c.Desc != "" {
		for line := range strings.SplitSeq(c.Desc, "\n") {
			view.Description = append(view.Description, prose.Plain(line))
		}
	}
	view.pick(rowsOf(c, log, now), q.R.URL.Query().Get("kind"), q.R.URL.Query().Get("before"))
	return q.Render("check", ui.NameOf(c)+" is "+view.Row.Word(), view)
}

// kinView are the checks that a check follows, and those that follow it.
type kinView struct {
	Parents, Children []relative
	More              int      // further children
	Lost              []string // what it follows in vain
}

// relative is a check that another one follows, or that follows it.
type relative struct{ Key, Name, Word string }

// maxChildren is how many checks that follow another one its page shows.
const maxChildren = 12

func kinOf(r monitor.Related) (v kinView) {
	view := func(list []checks.Snapshot) (relatives []relative) {
		for _, c := range list {
			relatives = append(relatives, relative{c.UniqueKey, ui.NameOf(*c.Check), words.State(c.Status)})
		}
		return relatives
	}
	v = kinView{Parents: view(r.Parents), Children: view(r.Children), Lost: words.Names(r.Lost)}
	if v.More = len(v.Children) - maxChildren; v.More > 0 {
		v.Children = v.Children[:maxChildren]
	}
	return v
}

// state returns the word of the state of a check that another one follows and that keeps alerts back, or "".
func (v kinView) state(parent string) string {
	for _, p := range v.Parents {
		if p.Name == words.Name(parent, "") && (p.Word == "down" || p.Word == "late") {
			return p.Word
		}
	}
	return ""
}

// paragraphs renders a verdict as two paragraphs: how the check is, and who knows of it. Times are in the zone of the viewer;
// that of the check is beside the first that differs.
func paragraphs(q *ui.Request, v verdict.Verdict) []template.HTML {
	about, alerts := v.Sentences, v.Sentences[:0:0]
	isAlert := func(s verdict.Sentence) bool {
		return slices.ContainsFunc(s, func(p verdict.Part) bool { return p.Kind == verdict.Integration })
	}
	if i := slices.IndexFunc(about, isAlert); i > 0 {
		about, alerts = about[:i], about[i:]
	}
	var list []template.HTML
	said := false
	for _, part := range [][]verdict.Sentence{about, alerts} {
		if len(part) > 0 {
			list = append(list, paragraph(q, v, part, &said))
		}
	}
	return list
}

// paragraph renders sentences. said is whether a time has that of the check beside it.
func paragraph(q *ui.Request, v verdict.Verdict, sentences []verdict.Sentence, said *bool) template.HTML {
	clock, own := q.Clock(), q.OwnZone()
	v.TwelveHours = clock.TwelveHours
	var out strings.Builder
	for i, s := range sentences {
		if i > 0 {
			out.WriteString(" ")
		}
		for _, p := range s {
			text := template.HTMLEscapeString(prose.Plain(v.Words(p, clock.Zone)))
			switch p.Kind {
			case verdict.Emphasis:
				out.WriteString("<strong>" + text + "</strong>")
			case verdict.Integration:
				out.WriteString("<b>" + text + "</b>")
			case verdict.Output:
				out.WriteString("<q>" + text + "</q>")
			case verdict.Instant:
				out.WriteString(`<time datetime="` + p.At.UTC().Format(time.RFC3339) + `">`)
				// When alerts were sent, to the second, is not read by the clock of the job.
				text = strings.TrimSuffix(text, " "+clock.Zone.String())
				if there := clock.Beside(p.At, own); there != "" && !*said && strings.Count(text, ":") < 2 {
					text, *said = text+" "+template.HTMLEscapeString(there), true
				}
				out.WriteString(text + "</time>")
			default:
				out.WriteString(text)
			}
		}
	}
	return template.HTML(out.String())
}

// eventView is a flip or a pause in the history of a check.
type eventView struct {
	Word       string // a state
	At         time.Time
	Lasted     time.Duration // until the next event, or now
	Reason     flips.Reason
	Ping       *pings.Ping // the one that reported it, if the log has it
	Deliveries []deliveryLine
}

// deliveryLine is a delivery in the history of a check, or several of one alert that ended alike.
type deliveryLine struct {
	checks.Delivery
	Names []string
	Kept  string // see [words.Kept]
}

// Name names the integrations.
func (d deliveryLine) Name() string { return prose.List(d.Names) }

// addLine adds a delivery to the line of one that ended alike, or as a line.
func addLine(lines []deliveryLine, d deliveryLine) []deliveryLine {
	text := func(l deliveryLine) string {
		return fmt.Sprint(l.State, l.Kept, l.Error, l.Close, l.Reminder, l.Attempts, l.InPart, l.Held, l.Due, l.FinishedAt.Sub(l.CreatedAt).Round(time.Second))
	}
	for i := range lines {
		if l := &lines[i]; d.Close == "" && text(*l) == text(d) {
			l.Names = append(l.Names, d.Names...)
			return lines
		}
	}
	return append(lines, d)
}

// eventViews prepares the newest events, newest first.
func eventViews(q *ui.Request, history []checks.Event, log []pings.Ping, kin kinView) []eventView {
	end := q.Mon.Now()
	list := make([]eventView, 0, len(history))
	for _, e := range history {
		v := eventView{Word: words.State(e.To), At: e.At, Lasted: end.Sub(e.At), Reason: e.Reason, Ping: ui.Reporting(log, e.Transition)}
		for _, d := range e.Deliveries {
			d = q.UnnamedAlert(d)
			name := words.Name(d.ChannelName, "")
			if d.ChannelKind == channels.Function {
				name = "the program"
			} else if name == "" {
				name = string(d.ChannelKind)
			}
			if d.Recipient != "" {
				name += ": " + d.Recipient
			}
			v.Deliveries = addLine(v.Deliveries, deliveryLine{d, []string{name}, words.Kept(d, kin.state(d.HeldBy))})
		}
		list, end = append(list, v), e.At
	}
	return list
}
