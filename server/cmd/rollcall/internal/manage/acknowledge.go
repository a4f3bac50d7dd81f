package manage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type checkAckCmd struct {
	Check string   `arg:"" optional:"" completion:"check" help:"Slug of the check, its name, its UUID, or its ping URL."`
	Tag   []string `env:"-" sep:"none" placeholder:"TAG" help:"All checks that are down and have this tag, in place of one check. Repeatable: they have all of the tags."`
	All   bool     `env:"-" help:"All checks of the project that are down."`
	projectFlags
	console.JSONFlag
	For      time.Duration `placeholder:"DURATION" help:"Until when: 1m to 720h from now (default: until the check is up again)."`
	Note     string        `placeholder:"TEXT" help:"Why, or what is being done, up to 500 characters."`
	By       string        `placeholder:"NAME" help:"Who has it (default: the user of this machine)."`
	TakeOver bool          `help:"Take it over from the person who has it."`
}

func (checkAckCmd) Help() string {
	return `Say that you have the outage of a check that is down. Reminders and escalation stop until the check is up again, or until the time
is over. Pages, alerts and the API show who has it. If somebody else has it, the command says who and changes nothing,
unless --take-over is given.

With --tag or --all, it is all outages at once. The command says how many there were, and who has the others. Without --for and
--note, those that you have already keep their end and their note. If none of the checks is down, nothing changes, and that is no
error.

With --url, the key selects the project; only an admin key of the installation needs --project.

With --json: ` + checkDocHelp + `

With --json and --tag or --all: ` + keys[ackReportDoc]() + `, two arrays of such documents.

Examples:

    rollcall check ack nightly
    rollcall check ack nightly --for 4h --note 'the disk is full, a new one is on its way'
    rollcall check ack --tag db --tag prod
    rollcall check ack --all --for 1h`
}

// ackReportDoc is what became of many outages in the JSON of this command line.
type ackReportDoc struct {
	Acknowledged []checkDoc `json:"acknowledged"`
	Taken        []checkDoc `json:"taken"`
}

func (c checkAckCmd) Run(ctx context.Context, a *App) error {
	spec := checks.AckSpec{By: cmp.Or(c.By, commandUser()), For: c.For, Note: c.Note, TakeOver: c.TakeOver}
	if err := spec.Validate(); err != nil {
		return err
	}
	if c.Check == "" {
		return c.many(ctx, a, spec)
	}
	if c.All || len(c.Tag) > 0 {
		return console.Usagef("give one of these: a check, --tag or --all")
	}
	one := checkFlags{checkArg{c.Check}, c.projectFlags, c.JSONFlag}
	return one.change(ctx, a, "Acknowledged", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) {
		return m.Acknowledge(ctx, id, spec)
	})
}

// many acknowledges all outages that --tag or --all selects.
func (c checkAckCmd) many(ctx context.Context, a *App, spec checks.AckSpec) error {
	query := checks.AckQuery{All: c.All}
	switch {
	case c.All == (len(c.Tag) > 0):
		return console.Usagef("give one of these: a check, --tag or --all")
	case len(c.Tag) > 0:
		query.Tags = c.Tag
	}
	if err := query.Validate(); err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		if _, err := p.tagged(ctx, c.Tag); err != nil {
			return err
		}
		report, err := p.AcknowledgeMany(ctx, query, spec)
		if err != nil {
			return err
		}
		document := ackReportDoc{each(report.Acknowledged, p.document), each(report.Taken, p.document)}
		return c.Print(a.Stdout, document, func(w io.Writer) { printAcks(w, report) })
	})
}

// printAcks says how many outages were acknowledged, and who has the others.
func printAcks(w io.Writer, report checks.AckReport) {
	line := func(text string, list []checks.Snapshot) {
		var names []string
		for _, c := range list[:min(len(list), maxAckNames)] {
			names = append(names, console.Printable(c.DisplayName()))
		}
		text += ": " + strings.Join(names, ", ")
		if more := len(list) - len(names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintln(w, text)
	}
	switch {
	case len(report.Acknowledged) > 0:
		line("Acknowledged "+prose.Count(len(report.Acknowledged), "check"), report.Acknowledged)
	case len(report.Taken) > 0:
		fmt.Fprintln(w, "Acknowledged nothing: somebody else has every outage.")
	default:
		fmt.Fprintln(w, "Acknowledged nothing: none of the checks is down.")
	}
	byOwner := make(map[string][]checks.Snapshot)
	for _, c := range report.Taken {
		byOwner[c.Ack.By] = append(byOwner[c.Ack.By], c)
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		line(console.Printable(owner)+" has "+prose.Count(len(byOwner[owner]), "check"), byOwner[owner])
	}
}

// maxAckNames bounds the names in a line about acknowledged checks.
const maxAckNames = 10

type checkUnackCmd struct{ checkFlags }

func (checkUnackCmd) Help() string {
	return `Reminders and escalation go on. If nobody has the outage, nothing changes. ` + changeHelp + `
    rollcall check unack nightly`
}

func (c checkUnackCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Unacknowledged", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Unacknowledge(ctx, id) })
}
