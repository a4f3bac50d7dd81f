package manage

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// auditRetention is the default of --audit-retention. Commands write the log unless all servers on the database run without one.
const auditRetention = 365 * 24 * time.Hour

// CommandActor says in the audit log that a command of this machine's user makes the changes.
func CommandActor(ctx context.Context) context.Context {
	return audit.WithActor(ctx, audit.Actor{Kind: audit.CommandLine, Name: commandUser()})
}

// commandUser returns the user of this machine who runs the command, or "".
func commandUser() string {
	current, err := user.Current()
	if err != nil {
		return ""
	}
	return current.Username
}

type auditCmd struct {
	Project string `placeholder:"NAME" help:"Only changes of this project. By default also those of people, of other projects, and of projects that are gone."`
	Check   string `placeholder:"CHECK" help:"Only changes of this check of the project: its slug, its ping URL, or its UUID, also of a deleted check."`
	Number  int    `short:"n" default:"100" placeholder:"N" help:"Maximum number of changes, at least 1. The newest come first."`
	Before  int64  `env:"-" placeholder:"ID" help:"Only changes before this one. The last id of a list gives the next page."`
	console.JSONFlag
	onlyDatabase
}

func (auditCmd) Help() string {
	return `Each change names who made it: a person, an API key by its first characters, a user of this machine, a program, or the ping
that created a check. Secrets read "(secret)". serve --audit-retention says how long changes are kept. ` + needsDatabase + `

With --json: an array of ` + keys[auditDoc]() + `, where project and check are
UUIDs or null, actor is ` + keys[actorDoc]() + `, and changes is an array of ` + keys[changeDoc]() + `.

Examples:

    rollcall audit --project backups
    rollcall audit --project backups --check nightly -n 10 --json`
}

// Validate checks the flags. Kong calls it.
func (c *auditCmd) Validate() error {
	if c.Check != "" && c.Project == "" {
		return fmt.Errorf("--check needs --project")
	}
	return cmp.Or(c.onlyDatabase.Validate(), console.AtLeast("-n", c.Number, 1))
}

// auditDoc is an entry of the audit log in JSON.
type auditDoc struct {
	ID      int64       `json:"id"`
	Time    string      `json:"time"`
	Project *string     `json:"project"`
	Check   *string     `json:"check"`
	Actor   actorDoc    `json:"actor"`
	Action  string      `json:"action"`
	Object  string      `json:"object"`
	Changes []changeDoc `json:"changes"`
}

type actorDoc struct {
	Kind    audit.Kind `json:"kind"`
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Address string     `json:"address"`
}

type changeDoc struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

func newAuditDoc(e audit.Entry) auditDoc {
	known := func(id uuid.UUID) *string {
		if id == uuid.Nil {
			return nil
		}
		return new(id.String())
	}
	d := auditDoc{
		ID: e.ID, Time: console.Timestamp(e.At), Project: known(e.ProjectID), Check: known(e.CheckID),
		Actor: actorDoc{e.Actor.Kind, e.Actor.ID, e.Actor.Name, e.Actor.Address}, Action: e.Action, Object: e.Object, Changes: []changeDoc{},
	}
	for _, c := range e.Changes {
		d.Changes = append(d.Changes, changeDoc(c))
	}
	return d
}

// auditList is how changes are listed.
var auditList = list[auditDoc]{
	{"ID", func(d auditDoc) string { return fmt.Sprint(d.ID) }},
	{"TIME", func(d auditDoc) string { return d.Time }},
	{"WHO", func(d auditDoc) string {
		who := cmp.Or(d.Actor.Name, string(d.Actor.Kind))
		switch {
		case d.Actor.Kind == audit.Key:
			who = "key " + who
		case d.Actor.Kind == audit.CommandLine && d.Actor.Name != "":
			who += " (command line)"
		case d.Actor.Kind == audit.Link:
			who += audit.ByLink
		}
		return who
	}},
	{"FROM", func(d auditDoc) string { return d.Actor.Address }},
	{"ACTION", func(d auditDoc) string { return d.Action }},
	{"WHAT", func(d auditDoc) string { return d.Object }},
	{"CHANGES", func(d auditDoc) string {
		var changes []string
		for _, c := range d.Changes {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.From, "–"), cmp.Or(c.To, "–")))
		}
		return strings.Join(changes, ", ")
	}},
}

func (c *auditCmd) Run(ctx context.Context, a *App) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		query := audit.Query{Before: c.Before, Limit: c.Number}
		if c.Project != "" {
			p, err := a.inDatabase(mon).project(ctx, c.Project)
			if err != nil {
				return console.Missing(err, "project %q", c.Project)
			}
			query.Project = p.ID
			if query.Check, err = c.check(ctx, p); err != nil {
				return err
			}
		}
		list, err := mon.Installation().Audit(ctx, query)
		if err != nil {
			return err
		}
		return auditList.print(c.JSONFlag, a.Stdout, each(list, newAuditDoc))
	})
}

// check returns the check of the query, or uuid.Nil. One that is named by its UUID need not exist any more.
func (c *auditCmd) check(ctx context.Context, p project) (uuid.UUID, error) {
	if id, ok := console.ParseUUID(c.Check); ok || c.Check == "" {
		return id, nil
	}
	check, err := p.check(ctx, c.Check)
	return check.ID, err
}
