package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type applyCmd struct {
	File    string `short:"f" required:"" completion:"file" placeholder:"PATH" help:"File in YAML or JSON; - reads standard input."`
	Project string `placeholder:"NAME" help:"Apply only this project of the file. If the file names no project, it describes this one (default: the project default)."`
	DryRun  bool   `help:"Show the changes without making them."`
	Prune   bool   `help:"Permanently delete the checks, with their logs, the channels and the status pages that the file's projects have and the file does not."`
	Resend  bool   `name:"resend-secrets" help:"With --url, send the secrets of the file also to channels that have them already; see below."`
	sourceFlags
	placeFlags
	console.JSONFlag
}

func (applyCmd) Help() string {
	return `The output lists the changes: + creates, ~ updates, - deletes. Nothing changes unless the whole file is valid. Names
identify projects, channels and maintenance, slugs identify checks and status pages. If the file leaves out a setting of a check, the setting gets its
default. An example of a file:

    projects:
      - name: backups
        channels:
          - name: ops
            kind: email
            settings: {to: ops@example.org}
          - name: pager
            kind: webhook
            settings:
              url_down: https://example.org/down
              headers_down: {env: ROLLCALL_PAGER}    # or {file: PATH}, relative to this file
        escalation:             # whom alerts notify, and how long after the alert
          - channels: [ops]
          - {after: 15m, channels: [pager]}
        checks:
          - slug: nightly
            schedule: "0 3 * * *"
            tz: Europe/Riga
            grace: 30m
            channels: [ops, pager]
        status_pages:
          - slug: backups
            title: Our backups
            description: Questions? Call 112.
            tags: [public]    # the checks with any of these tags; without tags all checks
        maintenance:
          - name: patches
            tags: db    # or checks: nightly; without both the whole project
            schedule: "0 2 * * SUN"
            duration: 2h
            tz: Europe/Riga
          - name: move
            start: 2026-12-01T22:00:00Z
            end: 2026-12-02T02:00:00Z

A file for one project may have channels, escalation, checks, status_pages and maintenance at its top level, without projects. A
file has at most 10 MiB, 20,000 checks, and 200,000 keys and list items.

With --url, an admin key (rollcall key create --scope admin) does all of this on the server: one without a project in all
projects, one of a project in its own. The server shows no secrets of channels, so those that the file and a channel both
have count as unchanged, and a note names them; --resend-secrets sends them again. With a read-write key, the channels must
already exist, and the key selects the project; its name in the file does not matter.

A file can send what it reads anywhere. Therefore {env: NAME} reads only variables that begin with ROLLCALL_ and hold none
of Rollcall's own keys, and {file: PATH} reads only files below the directory of the file. --allow-env and --allow-files
allow more. Neither apply nor export prints a value that it read from a variable or a file.

With --json: {"dry_run", "changes", "notes", "projects"}, where changes is an array of {"action", "project", "type", "name",
"fields"}, fields is an array of {"field", "old", "new"}, and projects lists the new projects with their keys.

Examples:

    rollcall apply -f checks.yaml --dry-run
    rollcall apply -f checks.yaml --prune
    rollcall apply -f checks.yaml --url https://rollcall.example.org --api-key rca_…`
}

// applyDoc is the result in JSON.
type applyDoc struct {
	DryRun   bool             `json:"dry_run"`
	Changes  []declare.Change `json:"changes"`
	Notes    []string         `json:"notes"`
	Projects []createdDoc     `json:"projects"`
}

func (c *applyCmd) Run(ctx context.Context, a *App) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(applyGC)) // a large file is read once, and its tree is garbage
	}
	doc, err := c.read(a)
	if err != nil {
		return a.listErrors(err)
	}
	if c.Project != "" {
		if doc, err = doc.Only(c.Project); err != nil {
			return err
		}
	}
	return c.in(ctx, a, !c.DryRun, func(at place) error {
		target := at.target()
		options := declare.Options{Prune: c.Prune, ResendSecrets: c.Resend}
		if !at.named() { // the server does not reveal the name of the key's project, so its URL stands for the name
			options.Project = string(c.URL)
		}
		plan, err := declare.NewPlan(ctx, target, doc, &options)
		if err != nil {
			return a.listErrors(err)
		}
		if !c.JSON {
			if err := c.Print(a.Stdout, nil, func(w io.Writer) { c.show(w, plan) }); err != nil {
				return err // nothing has changed yet
			}
		}
		var created []declare.Created
		var failed error
		if !c.DryRun {
			created, failed = plan.Apply(ctx, target, nil)
			failed = errors.Join(failed, c.noteNeeds(ctx, a, target, plan))
		}
		if err := c.report(a.Stdout, plan, created); err != nil {
			return errors.Join(failed, err)
		}
		return failed
	})
}

// noteNeeds says which flags the servers lack for the channels that the plan has created or changed. A server that applies a file
// refuses such channels.
func (c *applyCmd) noteNeeds(ctx context.Context, a *App, target declare.Target, plan declare.Plan) error {
	for _, change := range plan.Changes {
		if change.Type != "channel" || change.Action == declare.Delete || c.URL != "" {
			continue
		}
		state, err := target.Read(ctx, change.Project)
		if err != nil {
			return console.Missing(err, "project %q", change.Project)
		}
		for _, channel := range state.Channels {
			if channel.Name == change.Name {
				if err := a.noteNeeds(ctx, channel); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// applyGC is GOGC of apply.
const applyGC = 30

func (c *applyCmd) read(a *App) (declare.Document, error) {
	config := &declare.Config{Name: c.File, Types: standard.Kinds(), Env: c.env(a.Secrets)}
	var data []byte
	var err error
	if c.File == "-" {
		config.Name, config.File = "standard input", c.file("")
		data, err = io.ReadAll(io.LimitReader(os.Stdin, declare.MaxFile+1))
	} else {
		config.File = c.file(filepath.Dir(c.File))
		data, err = console.ReadStart(c.File, declare.MaxFile+1, fileWait, func() (*os.File, error) { return os.Open(c.File) })
	}
	if err != nil {
		return declare.Document{}, err
	}
	return declare.Parse(data, config)
}

// fileWait bounds the time to read a file, which may be a named pipe. Standard input has no such bound.
const fileWait = time.Minute

// listErrors prints the errors of a file, one a line, and returns an error that counts them.
func (a *App) listErrors(err error) error {
	list, ok := errors.AsType[declare.Errors](err)
	if !ok {
		return err
	}
	for _, one := range list {
		fmt.Fprintln(a.Stderr, console.OneLine(one.Error()))
	}
	return fmt.Errorf("%s, nothing was changed", prose.Count(len(list), "error"))
}

func (c *applyCmd) show(w io.Writer, plan declare.Plan) {
	fmt.Fprint(w, plan)
	for _, note := range plan.Notes {
		fmt.Fprintln(w, "Note:", note+".")
	}
	created, updated, deleted := plan.Count()
	switch {
	case len(plan.Changes) == 0:
		fmt.Fprintln(w, "No changes.")
	case c.DryRun:
		fmt.Fprintf(w, "\n%d to create, %d to change, %d to delete. Nothing was changed.\n", created, updated, deleted)
	default:
		fmt.Fprintf(w, "\n%d to create, %d to change, %d to delete.\n", created, updated, deleted)
	}
}

// report prints the result. It runs even if a change failed, because the keys of new projects cannot be shown again.
func (c *applyCmd) report(w io.Writer, plan declare.Plan, created []declare.Created) error {
	document := applyDoc{
		DryRun: c.DryRun, Changes: append([]declare.Change{}, plan.Changes...), Notes: append([]string{}, plan.Notes...),
		Projects: []createdDoc{},
	}
	for i := range document.Changes {
		if document.Changes[i].Fields == nil {
			document.Changes[i].Fields = []declare.Field{}
		}
	}
	for _, p := range created {
		document.Projects = append(document.Projects, NewCreatedDoc(p.Project, p.Keys))
	}
	err := c.Print(w, document, func(w io.Writer) {
		for _, project := range document.Projects {
			fmt.Fprintln(w)
			project.Write(w)
		}
	})
	if err != nil && len(created) > 0 {
		return fmt.Errorf("created %s, but could not print the keys (rollcall key create makes new ones): %w", prose.Count(len(created), "project"), err)
	}
	return err
}
