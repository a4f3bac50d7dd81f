package check

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// headline says how a check is: in a line, in what the job said, and in facts, each of which has its place.
type headline struct {
	Text  template.HTML
	Line  string // what the output of the failure says, or ""
	Facts []fact
}

// fact is an answer to a question that the label asks, and what is known besides. Bad says that somebody should look at it, and Long
// that it is a sentence.
type fact struct {
	Label       string
	Value, Note template.HTML
	Bad, Long   bool
}

// verbs begin the headline of each status.
var verbs = map[checks.Status]string{
	checks.StatusDown: "Down for ", checks.StatusGrace: "Late for ", checks.StatusUp: "Up for ", checks.StatusPaused: "Paused for ",
}

// headlineOf returns the headline of a view whose other fields are set.
func headlineOf(q *ui.Request, v *checkView) headline {
	f := factory{clock: q.Clock(), now: q.Mon.Now(), own: q.OwnZone(), edits: q.Right.Edits(), v: v}
	h := headline{Text: template.HTML(verbs[v.Row.Status]) + words.For(v.Row.Since, f.now)}
	switch v.Row.Status {
	case checks.StatusDown:
		h.Facts = []fact{f.since("last success ", v.Check.History.LastSuccess), f.why(), f.notified(), f.next(), f.owner()}
		if h.Text += template.HTML(": " + v.reason()); v.Failure != nil && v.downBy() == flips.Failure {
			h.Line = v.Failure.Cause
		}
	case checks.StatusGrace:
		h.Facts = []fact{f.due("Expected"), f.last(), {Label: "Goes down", Value: words.Ago(v.Rehearsal.DownAt(), f.now)}, f.rehearsed()}
	case checks.StatusUp:
		h.Facts = []fact{f.since("", time.Time{}), f.last(), f.due("Next run"), f.rehearsed()}
	case checks.StatusPaused:
		h.Facts = []fact{f.since("", time.Time{}), f.last(), f.rehearsed()}
	default:
		h.Text = "Waiting for its first ping"
		h.Facts = []fact{f.due("Next run"), f.rehearsed()}
	}
	return h
}

// escaped is a text as a part of a page.
func escaped(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }

// factory makes the facts of a view.
type factory struct {
	clock words.Clock
	now   time.Time
	own   *time.Location // of the check
	edits bool           // the viewer may
	v     *checkView
}

func (f factory) since(what string, t time.Time) fact {
	r := fact{Label: "Since", Value: f.clock.When(f.v.Row.Since, f.now)}
	if there := f.clock.Beside(f.v.Row.Since, f.own); there != "" {
		r.Value += ` <span class="own">` + escaped(there) + `</span>`
	}
	if !t.IsZero() {
		r.Note = template.HTML(what) + f.clock.When(t, f.now)
	}
	return r
}

// reason is why the check is down, in few words.
func (v *checkView) reason() string {
	if v.downBy() == flips.Failure && v.Failure != nil && v.Failure.Ping.ExitStatus != nil {
		return "exit status " + strconv.Itoa(*v.Failure.Ping.ExitStatus)
	}
	return v.downBy().Words()
}

// downBy is the reason of the outage.
func (v *checkView) downBy() flips.Reason {
	if len(v.Events) > 0 && v.Events[0].Word == "down" {
		return v.Events[0].Reason
	}
	return flips.Overdue // that nobody has recorded yet
}

func (f factory) why() fact {
	r := fact{Label: "Why", Value: template.HTML(f.v.downBy().Words())}
	switch failure := f.v.Failure; {
	case f.v.downBy() != flips.Failure:
		r.Note = escaped("expected " + f.v.Row.Schedule)
	case failure != nil && failure.Ping.Duration != nil:
		r.Note = template.HTML("after " + prose.Duration(*failure.Ping.Duration))
		if failure.Usual > 0 {
			r.Note += template.HTML(", usually " + prose.Duration(failure.Usual))
		}
	}
	return r
}

// notified says who was notified of the outage, and who was not.
func (f factory) notified() fact {
	r := fact{Label: "Notified", Value: "not yet"}
	if alone := f.v.Rehearsal.Alone(); alone != "" {
		r = fact{Label: r.Label, Value: "nobody", Note: cmp.Or(f.v.Remedy, escaped(alone)), Bad: true}
	}
	names := map[checks.DeliveryState][]string{}
	if len(f.v.Events) > 0 && f.v.Events[0].Word == "down" {
		for _, d := range f.v.Events[0].Deliveries {
			for _, name := range d.Names {
				if !slices.Contains(names[d.State], name) {
					names[d.State] = append(names[d.State], name)
				}
			}
		}
	}
	of := func(state checks.DeliveryState) template.HTML { return escaped(prose.List(names[state])) }
	r.Value = cmp.Or(of(checks.DeliverySent), r.Value)
	switch {
	case names[checks.DeliveryFailed] != nil:
		r.Note, r.Bad = "not "+of(checks.DeliveryFailed), true
	case names[checks.DeliveryPending] != nil:
		r.Note = of(checks.DeliveryPending) + " not yet"
	}
	return r
}

// next says who is notified next, unless somebody acknowledges the outage.
func (f factory) next() fact {
	text := strings.TrimPrefix(f.v.Rehearsal.Sentence(), "It is down already")
	text = strings.TrimPrefix(strings.TrimLeft(text, ",. "), "and nothing more is sent ")
	r := fact{Label: "Comes next", Value: "nothing more", Note: escaped(text)}
	for _, s := range f.v.Rehearsal.Steps {
		if s.Kind == "alert" || s.Kind == "escalation" || s.Kind == "reminder" {
			r.Value = words.Ago(s.At, f.now)
			break
		}
	}
	return r
}

func (f factory) owner() fact {
	switch {
	case f.v.Row.Owner != "":
	case f.edits:
		return fact{Label: "Who has it", Value: "not acknowledged", Note: "“I have it” stops reminders and steps"}
	default:
		return fact{Label: "Who has it", Value: "not acknowledged"}
	}
	r := fact{Label: "Who has it", Value: escaped(f.v.Row.Owner), Note: "since " + f.clock.When(f.v.Row.Owned, f.now)}
	ack := f.v.Check.Acknowledged(f.now)
	if !ack.Until.IsZero() {
		r.Note += ", until " + f.clock.When(ack.Until, f.now)
	}
	if note := words.Name(ack.Note, ""); note != "" {
		r.Note += ": " + escaped(note)
	}
	return r
}

func (f factory) due(label string) fact {
	if f.v.Row.Next.IsZero() {
		return fact{Label: label, Value: "not awaited yet", Note: "Monitoring starts with the first success or failure."}
	}
	return fact{Label: label, Value: f.clock.When(f.v.Row.Next, f.now), Note: words.Ago(f.v.Row.Next, f.now)}
}

func (f factory) last() fact {
	r := fact{Label: "Last ping", Value: f.clock.When(f.v.Row.Last, f.now)}
	if f.v.Row.Took > 0 {
		r.Note = template.HTML("took " + prose.Duration(f.v.Row.Took))
	}
	return r
}

// remedy leads editors of a check without integrations to choose some, or to add the first one of the project.
func remedy(q *ui.Request, v *checkView) (template.HTML, error) {
	if !q.Right.Edits() || v.Rehearsal.Alone() == "" || len(v.Check.Channels) > 0 {
		return "", nil
	}
	list, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	to, label := "/checks/"+v.Row.Key+"/edit#channels", "Choose integrations"
	if len(list) == 0 {
		to, label = "/projects/"+q.Project.ID.String()+"/integrations/new", "Add an integration"
	}
	return `<a href="` + escaped(q.Base+to) + `">` + template.HTML(label) + `</a>`, err
}

// rehearsed says who would be notified, and whether that is in doubt.
func (f factory) rehearsed() fact {
	r := fact{Label: "Who would be notified", Value: escaped(f.v.Rehearsal.Sentence()), Note: f.v.Remedy, Bad: f.v.Rehearsal.Alone() != "", Long: true}
	if f.v.Rehearsal.Doubt() != "" {
		r.Note, r.Bad = "Only integrations that fail now would get it.", true
	}
	return r
}
