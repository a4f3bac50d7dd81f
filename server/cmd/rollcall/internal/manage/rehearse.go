package manage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

type checkRehearseCmd struct {
	Check   string `arg:"" optional:"" help:"Slug of the check, its UUID, or its ping URL. All checks of the project by default."`
	Failure bool   `help:"Rehearse that the job reports a failure now, not that it does not report."`
	projectFlag
	console.JSONFlag
	onlyDatabase
}

func (checkRehearseCmd) Help() string {
	return `Nothing changes, and no alert is sent. The steps follow from the check as it is: when its next run is due, when it goes
down, how many failures in a row an alert needs, how long quiet hours hold it, the escalation policy, and reminders. Below are the integrations with
what becomes of the alert, and how the last alert to each ended. Times are in the time zone of the check.

Without a check, it lists all checks of the project and why an alert would reach no one. Which kinds of integrations can be
sent to follows from the flags of the servers that run on the database, or of the last one; standard error says which. If none
has run yet, only the last alerts show it. ` + needsDatabase + `

With --json: ` + keys[rehearsalDoc]() + `, or an array of these without a check. assumed is true if the check is paused or was never pinged: the steps are
those after a success now. alert_at is null if no alert is raised. problem says why no one is reached, doubt that all
integrations fail; both may be "". A step is ` + keys[stepDoc]() + `, with the kind due, failure, down, counted, held, alert,
escalation, reminder or silenced. A receiver is ` + keys[receiverDoc]() + `, with
the state notified, partial, failing, skipped, undeliverable or empty. after is how many seconds after the alert the escalation
policy notifies it, unless somebody acknowledges the outage.

Examples:

    rollcall check rehearse nightly
    rollcall check rehearse nightly --failure
    rollcall check rehearse --project backups`
}

// rehearsalDoc is a rehearsal in JSON.
type rehearsalDoc struct {
	UUID      string        `json:"uuid"`
	Slug      string        `json:"slug"`
	Name      string        `json:"name"`
	Status    checks.Status `json:"status"`
	Assumed   bool          `json:"assumed"`
	AlertAt   *string       `json:"alert_at"`
	Reached   bool          `json:"reached"`
	Problem   string        `json:"problem"`
	Doubt     string        `json:"doubt"`
	Summary   string        `json:"summary"`
	Steps     []stepDoc     `json:"steps"`
	Receivers []receiverDoc `json:"receivers"`
}

type stepDoc struct {
	Kind string `json:"kind"`
	At   string `json:"at"`
	Text string `json:"text"`
}

type receiverDoc struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Kind      channels.Kind `json:"kind"`
	Group     string        `json:"group"`
	After     int64         `json:"after"`
	State     string        `json:"state"`
	Error     string        `json:"error"`
	LastState string        `json:"last_state"`
	LastAt    *string       `json:"last_at"`
}

func newRehearsalDoc(r verdict.Rehearsal) rehearsalDoc {
	d := rehearsalDoc{
		UUID: r.Check.ID.String(), Slug: r.Check.Slug, Name: r.Check.Name, Status: r.Status, Assumed: r.Assumed,
		AlertAt: console.OptionalTimestamp(r.AlertAt), Problem: r.Problem(), Doubt: r.Doubt(), Summary: r.Summary(nil),
		Steps: []stepDoc{}, Receivers: []receiverDoc{},
	}
	d.Reached = d.Problem == ""
	for _, s := range r.Steps {
		d.Steps = append(d.Steps, stepDoc{s.Kind, console.Timestamp(s.At), r.Text(s, nil)})
	}
	for _, to := range r.Receivers {
		doc := receiverDoc{ID: to.ID.String(), Name: to.Name, Kind: to.Kind, Group: to.Group, State: to.State, Error: to.Error,
			After: int64(to.After.Seconds())}
		switch {
		case !to.GaveUp.IsZero():
			doc.LastState, doc.LastAt = string(checks.DeliveryFailed), console.OptionalTimestamp(to.GaveUp)
		case !to.Delivered.IsZero():
			doc.LastState, doc.LastAt = string(checks.DeliverySent), console.OptionalTimestamp(to.Delivered)
		}
		d.Receivers = append(d.Receivers, doc)
	}
	return d
}

func (c checkRehearseCmd) Run(ctx context.Context, a *App) error {
	return a.withConfig(ctx, false, rehearseConfig, func(mon *monitor.Monitor) error {
		p, err := a.inDatabase(mon).project(ctx, c.Project)
		if err != nil {
			return console.Missing(err, "project %q", c.Project)
		}
		if a.servers.Gone {
			a.say("no server runs on this database now; the rehearsal uses the flags of the last one, %s", a.servers.List[0])
		}
		list, err := c.find(ctx, p)
		if err != nil {
			return err
		}
		rehearsals, err := mon.Project(p.ID).Rehearse(ctx, c.Failure, list...)
		switch {
		case err != nil:
			return console.Missing(err, "project %q", c.Project)
		case c.Check == "":
			return rehearsalList.print(c.JSONFlag, a.Stdout, each(rehearsals, newRehearsalDoc))
		}
		r := rehearsals[0]
		return c.Print(a.Stdout, newRehearsalDoc(r), func(w io.Writer) { printRehearsal(w, r) })
	})
}

// rehearseConfig configures the monitor of a rehearsal: with the kinds that the servers can send to.
func rehearseConfig(servers installation.Servers) *monitor.Config {
	config := commandConfig(servers)
	config.Channels = servers.Types()
	config.DeliveredElsewhere = len(servers.List) == 0 || slices.ContainsFunc(servers.List, func(d installation.Server) bool { return d.Others })
	return config
}

// find returns the check that the argument names, or all.
func (c checkRehearseCmd) find(ctx context.Context, p project) ([]checks.Check, error) {
	if c.Check == "" {
		return checks.Stored(p.mon.Project(p.ID).Checks(ctx, checks.Query{}))
	}
	check, err := p.check(ctx, c.Check)
	if err != nil {
		return nil, err
	}
	return []checks.Check{*check.Check}, nil
}

// rehearsalList is how rehearsals are listed.
var rehearsalList = list[rehearsalDoc]{
	{"UUID", func(d rehearsalDoc) string { return d.UUID }},
	{"SLUG", func(d rehearsalDoc) string { return d.Slug }},
	{"NAME", func(d rehearsalDoc) string { return d.Name }},
	{"STATUS", func(d rehearsalDoc) string { return string(d.Status) }},
	{"ALERT", func(d rehearsalDoc) string { return console.Or(d.AlertAt) }},
	{"REACHES NO ONE", func(d rehearsalDoc) string { return d.Problem }},
}

// printRehearsal writes the steps and the receivers of a rehearsal.
func printRehearsal(w io.Writer, r verdict.Rehearsal) {
	fmt.Fprintf(w, "%s\n\n%s\n", console.Printable(strings.TrimSpace(r.Check.Name+"  "+r.Check.ID.String())), console.Printable(r.Summary(nil)))
	if doubt := r.Doubt(); doubt != "" {
		fmt.Fprintf(w, "Nobody may notice: %s.\n", console.Printable(doubt))
	}
	var steps, receivers [][]string
	for _, s := range r.Steps {
		steps = append(steps, []string{s.At.In(r.Zone).Format("Mon 2 Jan 2006 15:04 MST"), r.Text(s, nil)})
	}
	for _, to := range r.Receivers {
		through := ""
		if to.Group != "" {
			through = "in " + to.Group
		}
		receivers = append(receivers, []string{to.Label(), string(to.Kind), through, r.Words(to, nil), r.LastWords(to, nil)})
	}
	for _, rows := range [][][]string{steps, receivers} {
		if len(rows) > 0 {
			fmt.Fprintln(w)
			console.Table(w, rows...)
		}
	}
}
