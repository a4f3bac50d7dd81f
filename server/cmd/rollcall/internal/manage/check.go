package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type checkListCmd struct {
	Tag  []string `env:"-" sep:"none" placeholder:"TAG" help:"Only checks with this tag. Repeatable: with all of them."`
	Wide bool     `env:"-" help:"Show all that is set, however wide that is."`
	projectFlags
	console.JSONFlag
}

func (checkListCmd) Help() string {
	return `The list fits 80 columns. The name is the slug if the check has no name. Standard error says which checks alert nobody.

With --json: an array of these: ` + checkDocHelp + `

Examples:

    rollcall check list
    rollcall check list --tag prod --wide
    rollcall check list --json | jq -r '.[] | select(.status == "down").name'`
}

func (c checkListCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		list, err := p.tagged(ctx, c.Tag)
		if err != nil {
			return err
		}
		documents, err := p.documents(ctx, list)
		if err != nil {
			return err
		}
		switch {
		case len(list) == 0 && !c.JSON:
			a.say("the project has no checks; to create one: rollcall check create NAME --every 1d")
			return nil
		case c.JSON || c.Wide:
			err = wideList.print(c.JSONFlag, a.Stdout, documents)
		default:
			err = c.Print(a.Stdout, nil, func(w io.Writer) { checkTable(w, documents, p.now()) })
		}
		if err == nil {
			a.sayProblems(documents)
		}
		return err
	})
}

type checkShowCmd struct {
	checkFlags
	Only bool `name:"ping-url" env:"-" help:"Print the ping URL alone."`
	pingAddress
}

func (checkShowCmd) Help() string {
	return `A check is up, late, down, paused or new. Times are in the time zone of the check. With --url, the status stands alone: the
sentences need the database.

With --json: ` + checkDocHelp + ` And "verdict", the text, which is "" with --url.

Examples:

    rollcall check show nightly
    curl -fsS "$(rollcall check show nightly --ping-url)"
    rollcall check show https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f`
}

func (c checkShowCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		p.addresses = c.override(p.addresses)
		find := p.lookUp
		if c.Only {
			find = p.check
		}
		check, err := find(ctx, c.Check)
		if err != nil {
			return err
		}
		documents, err := p.documents(ctx, []checks.Snapshot{check})
		if err != nil {
			return err
		}
		document := shownDoc{checkDoc: documents[0]}
		if c.Only {
			if p.addresses.note != "" {
				a.say("%s", p.addresses.note)
			}
			return c.Say(a.Stdout, document, "%s", console.Printable(document.PingURL))
		}
		if p.mon != nil {
			if err := p.judge(ctx, &document); err != nil {
				return console.Missing(err, "the check")
			}
		}
		var names map[uuid.UUID]string
		if len(check.Channels) > 0 {
			if names, err = p.names(ctx); err != nil {
				return err
			}
		}
		if p.mon == nil {
			a.sayProblems(documents) // the verdict says it too
		}
		return c.Print(a.Stdout, document, func(w io.Writer) {
			document.write(w, cmp.Or(document.verdict, strings.ToUpper(document.state()[:1])+document.state()[1:]+"."), names)
		})
	})
}

// judge adds the verdict of the database to a document.
func (p project) judge(ctx context.Context, d *shownDoc) error {
	log, err := checks.Collect(p.Pings(ctx, d.ID, checks.PingQuery{}))
	if err != nil {
		return err
	}
	v, err := p.mon.Project(p.ID).Explain(ctx, *d.Check, log)
	if err != nil {
		return err
	}
	problems := d.problems
	d.checkDoc, d.verdict = p.document(d.Check.Snapshot(v.Now)), v.Text(nil)
	d.problems = problems
	return nil
}

// shownDoc is a check with its verdict.
type shownDoc struct {
	checkDoc
	verdict string
}

// MarshalJSON adds the verdict to the document of the check.
func (d shownDoc) MarshalJSON() ([]byte, error) {
	return json.Marshal(append(d.object(), console.Member{Name: "verdict", Value: d.verdict}))
}

type checkMoveCmd struct {
	checkArg
	To string `required:"" placeholder:"NAME" help:"Name of the project to move it to."`
	projectFlag
	console.JSONFlag
	onlyDatabase
}

func (checkMoveCmd) Help() string {
	return `The check keeps its UUID, so its ping address and its badge stay, and it keeps its settings, log and flips. It loses the
integrations of its project, with alerts that were not sent yet, and gets all integrations of the other project. Ping
addresses with its slug need the ping key of the other project. ` + needsDatabase + `

With --json: ` + checkDocHelp + `

Example:

    rollcall check move nightly --to backups`
}

func (c checkMoveCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		to, err := projectByName(ctx, p.mon, c.To)
		if err != nil {
			return err
		}
		moved, err := p.mon.Project(p.ID).Transfer(ctx, check.ID, to.ID)
		if err != nil {
			return console.Missing(err, "the check")
		}
		return c.Say(a.Stdout, p.document(moved), "moved check %s to project %s", check.ID, console.Printable(to.Name))
	})
}
