package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type projectCreateCmd struct {
	Name      string `arg:"" help:"Name of the project: 1 to 100 characters, not in use."`
	Plan      string `default:"paid" enum:"free,paid" placeholder:"free|paid" help:"Plan of the account: free has 20 checks an account and lists 100 pings a check; paid has no check limit and lists 1000 pings."`
	Account   string `default:"default" placeholder:"NAME" help:"Account that the project belongs to; the projects of an account share its limits."`
	MaxChecks int    `placeholder:"N" help:"Check limit of the account, instead of that of the plan; 0 for that of the plan."`
	jsonFlag
}

func (projectCreateCmd) Help() string {
	return `The keys are not stored and cannot be shown again; key create makes new ones.

With --json: {"id", "name", "plan", "api_key", "api_key_readonly", "ping_key"}.

Example:

    rollcall project create backups --plan free`
}

// projectDoc is a project in the JSON of this command line.
type projectDoc struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Plan checks.Plan `json:"plan"`
}

func newProjectDoc(p checks.Project) projectDoc {
	return projectDoc{ID: p.ID.String(), Name: p.Name, Plan: p.Plan}
}

func (c projectCreateCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, true, func(mon *monitor.Monitor) error {
		project, keys, err := mon.CreateProject(ctx, monitor.ProjectSpec{
			Name: c.Name, Account: c.Account, Plan: checks.Plan(c.Plan), MaxChecks: c.MaxChecks,
		})
		if errors.Is(err, checks.ErrExists) {
			return fmt.Errorf("project %q exists already", c.Name)
		}
		if err != nil {
			return err
		}
		document := struct {
			projectDoc
			APIKey         string `json:"api_key"`
			APIKeyReadOnly string `json:"api_key_readonly"`
			PingKey        string `json:"ping_key"`
		}{newProjectDoc(project), keys.ReadWrite, keys.ReadOnly, project.PingKey}
		err = c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Created the project %q (plan %s). Its keys are shown this once:\n\n", project.Name, project.Plan)
			printKeys(w, project, keys)
		})
		if err != nil {
			return fmt.Errorf("the project was created, but its keys could not be shown (use rollcall key create): %w", err)
		}
		return nil
	})
}

// printKeys shows the keys of a new project.
func printKeys(w io.Writer, project checks.Project, keys monitor.Keys) {
	table(w,
		[]string{"  API key", keys.ReadWrite},
		[]string{"  API key, read-only", keys.ReadOnly},
		[]string{"  ping key", project.PingKey},
	)
}

type projectListCmd struct{ jsonFlag }

func (projectListCmd) Help() string {
	return `With --json: an array of {"id", "name", "plan", "account", "max_checks"}; max_checks is 0 where the plan's limit holds.`
}

func (c projectListCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		projects, err := mon.Projects(ctx)
		if err != nil {
			return err
		}
		type listed struct {
			projectDoc
			Account   string `json:"account"`
			MaxChecks int    `json:"max_checks"`
		}
		documents := make([]listed, len(projects))
		rows := [][]string{{"NAME", "PLAN", "ACCOUNT", "CHECK LIMIT", "ID"}}
		for i, p := range projects {
			documents[i] = listed{newProjectDoc(p), p.Account, p.MaxChecks}
			limit := "none"
			if n := p.CheckLimit(); n > 0 {
				limit = strconv.Itoa(n)
			}
			rows = append(rows, []string{p.Name, string(p.Plan), p.Account, limit, p.ID.String()})
		}
		return c.print(a.stdout, documents, func(w io.Writer) { table(w, rows...) })
	})
}

type projectDeleteCmd struct {
	Name string `arg:"" help:"Name of the project."`
	jsonFlag
}

func (projectDeleteCmd) Help() string {
	return `The checks of the project are deleted with their logs, and its keys and channels with them, at once and for good: there is no question first.

With --json: {"id", "name", "plan", "checks", "keys", "channels"}; the last three are how many were deleted.`
}

func (c projectDeleteCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := projectByName(ctx, mon, c.Name)
		if err != nil {
			return err
		}
		owned, err := countOwned(ctx, mon, project)
		if err != nil {
			return err
		}
		if err := mon.DeleteProject(ctx, project.ID); err != nil {
			return missing(err, "project %q", c.Name)
		}
		document := struct {
			projectDoc
			ownedDoc
		}{newProjectDoc(project), owned}
		return c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Deleted the project %q with %s, %s and %s.\n", project.Name,
				plural(owned.Checks, "check"), plural(owned.Keys, "key"), plural(owned.Channels, "channel"))
		})
	})
}

// ownedDoc counts what belongs to a project.
type ownedDoc struct {
	Checks   int `json:"checks"`
	Keys     int `json:"keys"`
	Channels int `json:"channels"`
}

func countOwned(ctx context.Context, mon *monitor.Monitor, project checks.Project) (ownedDoc, error) {
	list, err := mon.Checks(ctx, project.ID, monitor.CheckQuery{})
	if err != nil {
		return ownedDoc{}, err
	}
	keys, err := mon.Keys(ctx, project.ID)
	if err != nil {
		return ownedDoc{}, err
	}
	chans, err := mon.Channels(ctx, project.ID)
	if err != nil {
		return ownedDoc{}, err
	}
	return ownedDoc{len(list), len(keys), len(chans)}, nil
}

// projectFlag is the flag of commands that work on one project.
type projectFlag struct {
	Project string `default:"default" placeholder:"NAME" help:"Name of the project."`
}

func (f projectFlag) find(ctx context.Context, mon *monitor.Monitor) (checks.Project, error) {
	return projectByName(ctx, mon, f.Project)
}

func projectByName(ctx context.Context, mon *monitor.Monitor, name string) (checks.Project, error) {
	project, err := mon.ProjectByName(ctx, name)
	return project, missing(err, "project %q", name)
}

// missing names the thing that was not found, and returns any other error as it is.
func missing(err error, format string, args ...any) error {
	if errors.Is(err, checks.ErrNotFound) {
		return fmt.Errorf(format+" does not exist", args...)
	}
	return err
}
