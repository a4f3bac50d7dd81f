// Package overview has the first page of a project: what went wrong last night, and what needs a person now.
package overview

import (
	"embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the page to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, template.FuncMap{"howLong": words.For})
	s.Look("GET /projects/{project}/overview", page)
}

const (
	// maxRows bounds the rows of checks that went wrong, those of groups apart, and of the late ones, and maxNames the names in a list.
	maxRows, maxNames = 100, 10
	// maxRead bounds the checks of each kind that the page reads. What is beyond is counted.
	maxRead = 200
	// soon is how long an alert may take until a person is notified.
	soon = time.Minute
	// maxDue is how many of the next runs are listed.
	maxDue = 5
)

type view struct {
	ui.Summary
	Night     time.Time // when the last night began
	Lead      string    // the first words: "Last night:"
	LeadTo    string    // where they lead, below the project
	Since     bool      // it does not say since when
	Sentence  string    // what happened
	Tone      string    // the word of the worst state
	Groups    []group
	More      int // checks that went wrong, but are not listed
	Slow      []slowRow
	Late      []ui.Row
	Failing   []failing
	Nobody    []ui.Row
	AllNobody int
	// Bare says that the project has no integrations.
	Bare bool
	Due  []ui.Row
	// LastName, LastKey and LastAt are the newest run of any check that went wrong.
	LastName, LastKey string
	LastAt            time.Time
	Steps             []step
	// Holds are the maintenance windows and snoozes in effect.
	Holds []ui.Hold

	cut   bool // not all checks that went wrong were read
	wrong int  // checks that went wrong
}

// row is a check that went wrong.
type row struct {
	ui.Row
	trouble
	Why string
	// Output is the path of the failing output below the base.
	Output string
	// Good is the last success, and Back when the check came up again, or the zero time.
	Good, Back time.Time
	Told       string // who was notified
	Untold     bool   // nobody was
	Waiting    string // what waits until it is up

	check checks.Check
	cause string
}

// Kind is what went wrong in a word.
func (r row) Kind() string { return string(r.kind) }

// At is when the run went wrong.
func (r row) At() time.Time { return r.at }

// slowRow is a check whose last run took unusually long.
type slowRow struct {
	ui.Row
	slowRun
}

// page shows the overview. It reads the checks that it shows, and counts the others.
func page(q *ui.Request) error {
	project := q.Mon.Project(q.Project.ID)
	clock := q.Clock()
	now := q.Mon.Now().In(clock.Zone)
	counts, err := project.Count(q.Ctx(), checks.ListQuery{Now: now})
	if err != nil {
		return err
	}
	v := view{Summary: ui.SummaryOf(counts), Night: nightBefore(now, clock.Zone)}
	available, reach, err := project.Receivers(q.Ctx(), true)
	if err != nil {
		return err
	}
	sends := func(c checks.Check) bool {
		return slices.ContainsFunc(verdict.Receivers(c, available, reach), func(r verdict.Receiver) bool { return r.Reached() })
	}
	bad, err := v.sort(q, now)
	if err != nil {
		return err
	}
	v.Failing, v.Bare = failingChannels(q, available, reach), len(available) == 0
	if err := v.addNobody(q, available, reach, now); err != nil {
		return err
	}
	if err := v.summarize(q, bad, now, clock); err != nil {
		return err
	}
	bad = bad[:min(len(bad), maxRead+maxRows)]
	if err := addReasons(q, bad); err != nil {
		return err
	}
	if err := v.addTold(q, bad, sends, now); err != nil {
		return err
	}
	if err := addWaiting(q, bad); err != nil {
		return err
	}
	if v.Holds, err = q.Running(); err != nil {
		return err
	}
	v.Groups = grouped(bad)
	v.More = max(0, v.wrong-v.bound())
	if v.Steps, err = steps(q, counts, slices.ContainsFunc(available, func(c channels.Channel) bool { return reach[c.ID].Delivers() })); err != nil {
		return err
	}
	return q.Render("overview", "Overview", v)
}

// upSince returns since when a check is up after a run went wrong: since it came up, or else since its next success.
func upSince(up, wrong, success time.Time) time.Time {
	if up.After(wrong) {
		return up
	}
	return success
}

// summarize says in a sentence what happened.
func (v *view) summarize(q *ui.Request, bad []row, now time.Time, clock words.Clock) error {
	counts, before, err := v.tally(q, bad, now)
	if err != nil {
		return err
	}
	v.wrong = before + counts[failed] + counts[missed] + counts[timedOut]
	var parts []string
	for _, k := range []kind{failed, missed, timedOut} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	if len(v.Slow) > 0 {
		parts = append(parts, fmt.Sprintf("%d unusually slow", len(v.Slow)))
	}
	if before > 0 {
		parts = append(parts, fmt.Sprintf("%d still down from before", before))
	}
	if v.Lead, v.Since = "Last night:", true; now.Hour() >= 12 {
		v.Lead, v.Since = "Since "+clock.Text(v.Night, now)+":", false
	}
	v.Sentence = strings.Join(parts, ", ") + "."
	switch {
	case v.Down > 0:
		v.Tone = "down"
	case v.Summary.Late+len(bad)+len(v.Slow) > 0:
		v.Tone = "late"
	case v.Up > 0:
		v.Tone = "up"
	default:
		v.Tone = "idle"
	}
	if len(parts) > 0 {
		return nil
	}
	v.Since = false
	return v.calm(q, now, clock.Text(v.Night, now))
}

// calm says that nothing went wrong since the night began. All is well only if every check alerts somebody.
func (v *view) calm(q *ui.Request, now time.Time, night string) error {
	v.Sentence = "Nothing went wrong since " + night + ": " + prose.Count(v.Up, "healthy check") + "."
	switch {
	case v.Summary.Late > 0:
		v.Lead, v.Sentence = prose.Count(v.Summary.Late, "check")+" late.", "Nothing failed since "+night+"."
		return nil
	case v.Up == 0:
		v.Lead, v.Sentence = "Nothing is monitored yet.", ""
		return nil
	case v.AllNobody > 0:
		v.Tone, v.Lead, v.LeadTo = "late", v.NobodyText()+".", toNobody
	case len(v.Failing) > 0:
		v.Tone, v.Lead, v.LeadTo = "late", v.FailingText()+".", toFailing
	default:
		v.Lead, v.Sentence = "All is well.", prose.Count(v.Up, "healthy check")+", and nothing went wrong since "+night+"."
	}
	return v.addLast(q, now)
}

// toNobody and toFailing are where the counts of what alerts nobody lead, below the project.
const toNobody, toFailing = "/?reach=nobody", "/overview#undelivered"

// NobodyText counts the checks that alert nobody.
func (v view) NobodyText() string {
	if v.AllNobody == 1 {
		return "1 check alerts nobody"
	}
	return fmt.Sprintf("%d checks alert nobody", v.AllNobody)
}

// FailingText counts the integrations whose alerts do not arrive.
func (v view) FailingText() string {
	if len(v.Failing) == 1 {
		return "1 integration is failing"
	}
	return fmt.Sprintf("%d integrations are failing", len(v.Failing))
}

// Unsaid are the counts of what alerts nobody that are not the first words, with where they lead.
func (v view) Unsaid() (list []link) {
	if len(v.Failing) > 0 && v.LeadTo != toFailing {
		list = append(list, link{"down", toFailing, v.FailingText()})
	}
	if v.AllNobody > 0 && v.LeadTo != toNobody {
		list = append(list, link{"late", toNobody, v.NobodyText()})
	}
	return list
}

// link leads to a page below the project, in the colour of a state.
type link struct{ Tone, To, Text string }

// addLast finds the newest run that went wrong: that which took a check down last, or a failure of the check after it.
func (v *view) addLast(q *ui.Request, now time.Time) error {
	project := q.Mon.Project(q.Project.ID)
	id, at, err := project.LastDown(q.Ctx())
	if err != nil || at.IsZero() {
		return err
	}
	list, err := project.List(q.Ctx(), checks.ListQuery{Now: now, IDs: []uuid.UUID{id}, Order: checks.ListByAge})
	if err != nil || len(list) == 0 {
		return err
	}
	v.LastName, v.LastKey, v.LastAt = ui.NameOf(list[0]), list[0].UniqueKey(), at
	for _, run := range list[0].History.Recent.Runs() {
		if run.Result != checks.RunSuccess && run.At.After(v.LastAt) {
			v.LastAt = run.At
		}
	}
	return nil
}

// addReasons says why checks failed, with the line of the output that says so.
func addReasons(q *ui.Request, rows []row) error {
	var list []checks.Check
	for _, r := range rows {
		if r.kind == failed {
			list = append(list, r.check)
		}
	}
	found, err := q.Failures(list)
	for i := range rows {
		if r := &rows[i]; r.kind == failed {
			f := found[r.check.ID]
			if r.Why, r.cause = f.Why(), f.Cause; f.Output {
				r.Output += fmt.Sprintf("/pings/%d", f.N)
			}
		}
	}
	return err
}

// step is a step for a person who begins.
type step struct {
	Done              bool
	Title, Text       string
	Path, Label       string // below the base
	SecondPath, Other string
}

// steps returns what is to do before the first ping has arrived; nil after that.
func steps(q *ui.Request, counts checks.Counts, reaching bool) ([]step, error) {
	if counts.Total() > counts[checks.StatusNew]+counts[checks.StatusPaused] {
		return nil, nil
	}
	list, err := q.Mon.Project(q.Project.ID).List(q.Ctx(), checks.ListQuery{Pinged: true, Order: checks.ListByAge, Limit: 1})
	if err != nil || len(list) > 0 {
		return nil, err
	}
	if list, err = q.Mon.Project(q.Project.ID).List(q.Ctx(), checks.ListQuery{Order: checks.ListByAge, Limit: 1}); err != nil {
		return nil, err
	}
	project := "/projects/" + q.Project.ID.String()
	ping := step{Title: "Send its first ping", Text: "The page of the check has commands to copy, for a crontab, a shell or a program."}
	if len(list) > 0 {
		ping.Path, ping.Label = "/checks/"+list[0].UniqueKey(), "How to ping "+ui.NameOf(list[0])
	}
	return []step{
		{len(list) > 0, "Create a check", "One for each job, with the times at which it runs.",
			project + "/checks/new", "New check", project + "/import", "Import from Healthchecks"},
		ping,
		{reaching, "Say whom to alert", "An integration is where alerts go: e-mail, a chat, a pager or a webhook.",
			project + "/integrations/new", "New integration", "", ""},
	}, nil
}

// nextSteps says whom later steps of the escalation notify, and when.
func nextSteps(later []checks.Delivery, now time.Time, clock words.Clock) string {
	slices.SortStableFunc(later, func(a, b checks.Delivery) int { return a.Due.Compare(b.Due) })
	list := make([]string, len(later))
	for i, d := range later {
		list[i] = ui.ChannelName(channels.Channel{Name: d.ChannelName, Kind: d.ChannelKind}) + " " + clock.Text(d.Due, now)
	}
	return words.Listed(list, maxNames)
}

// told says who was notified that a check is down. untold reports that nobody was.
func told(c checks.Check, deliveries []checks.Delivery, reached bool, now time.Time, clock words.Clock) (text string, untold bool) {
	names, held := map[checks.DeliveryState][]string{}, map[string][]string{} // by what keeps them back
	var parts, beingTold, inPart []string
	var later []checks.Delivery // steps of the escalation
	say := func(state string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, words.Listed(names, maxNames)+state)
		}
	}
	for _, d := range deliveries {
		name := ui.ChannelName(channels.Channel{Name: d.ChannelName, Kind: d.ChannelKind})
		if d.Recipient != "" {
			name += ": " + d.Recipient
		}
		switch {
		case d.ChannelKind == channels.Group && d.State == checks.DeliverySent: // the members of a group have their own
		case d.State == checks.DeliveryFailed && d.InPart:
			inPart = append(inPart, name)
		case d.State == checks.DeliveryPending && d.Held == gate.ByStep && d.Due.After(now):
			later = append(later, d)
		case d.State == checks.DeliveryPending && d.Held != "":
			why := words.Kept(d, "")
			if d.Due.After(now) {
				why += ", " + clock.Text(d.Due, now) + " at the earliest"
			}
			held[why] = append(held[why], name)
		case d.State == checks.DeliveryPending && d.Error == "" && now.Sub(d.CreatedAt) <= soon:
			beingTold = append(beingTold, name+" is being notified")
		default:
			names[d.State] = append(names[d.State], name)
		}
	}
	say(" notified", names[checks.DeliverySent])
	say(" notified only in part", inPart)
	say(" not notified", names[checks.DeliveryFailed])
	say(" not notified yet", names[checks.DeliveryPending])
	failed := len(parts) > 0
	if len(later) > 0 {
		word := map[bool]string{true: "then ", false: "nobody notified yet: "}[len(parts)+len(beingTold)+len(held) > 0]
		parts = append(parts, word+nextSteps(later, now, clock))
	}
	for _, why := range slices.Sorted(maps.Keys(held)) {
		say(" not notified yet: "+why, held[why])
	}
	if len(names[checks.DeliverySent])+len(inPart) > 0 {
		return strings.Join(append(parts, beingTold...), "; "), false
	}
	a := c.Alerting
	switch {
	case len(parts)+len(beingTold) > 0:
		return strings.Join(append(parts, beingTold...), "; "), failed && len(beingTold) == 0
	case !reached:
		return "nobody notified: no integration can be reached", true
	case c.Stored == checks.StatusDown && a.Failures > 0 && a.Failures < c.AlertAfter:
		return fmt.Sprintf("nobody notified yet: %d of %d failures in a row", a.Failures, c.AlertAfter), false
	case !a.HeldSince.IsZero() && !a.Next.IsZero():
		return "nobody notified yet: quiet hours until " + clock.Text(a.Next, now), false
	}
	return "nobody notified", true
}
