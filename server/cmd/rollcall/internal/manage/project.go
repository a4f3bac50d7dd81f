package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// projectDoc is a project in JSON.
type projectDoc struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Plan string `json:"plan"`
}

func newProjectDoc(p checks.Project) projectDoc {
	return projectDoc{ID: p.ID.String(), Name: p.Name, Plan: p.Plan}
}

// createdDoc is a new project with its keys, in JSON.
type createdDoc struct {
	projectDoc
	APIKey         string `json:"api_key"`
	APIKeyReadOnly string `json:"api_key_readonly"`
	PingKey        string `json:"ping_key"`
}

func NewCreatedDoc(project checks.Project, keys checks.ProjectKeys) createdDoc {
	return createdDoc{newProjectDoc(project), keys.ReadWrite, keys.ReadOnly, project.PingKey}
}

// Write prints that the project was created, with its keys.
func (d createdDoc) Write(w io.Writer) {
	plan := ""
	if d.Plan == "free" {
		plan = " (plan free)"
	}
	fmt.Fprintf(w, "Created the project %q%s. Its keys cannot be shown again:\n\n", d.Name, plan)
	d.writeKeys(w)
}

func (d createdDoc) writeKeys(w io.Writer) {
	console.Table(w,
		[]string{"  API key", d.APIKey},
		[]string{"  API key, read-only", d.APIKeyReadOnly},
		[]string{"  ping key", d.PingKey},
	)
}

type projectCreateCmd struct {
	Name      string `arg:"" help:"Name of the project, 1 to 100 characters. No other project may have it."`
	Plan      string `default:"paid" enum:"free,paid" placeholder:"free|paid" help:"Plan of the account: free has 20 checks an account and lists 100 pings a check; paid has no check limit and lists 1000 pings."`
	Account   string `default:"default" placeholder:"NAME" help:"Account of the project. The projects of an account share its check limit."`
	MaxChecks int    `placeholder:"N" help:"Check limit of the account, instead of the plan's; 0 keeps the plan's."`
	PingKey   string `env:"-" placeholder:"KEY" help:"Ping key of a project on another server, so that ping URLs with a slug stay when its checks move here. Default: a random one."`
	placeFlags
	console.JSONFlag
}

func (projectCreateCmd) Help() string {
	return `The database stores only hashes of the API keys. If they are lost, key create makes new ones.

With --json: ` + keys[createdDoc]() + `.

Example:

    rollcall project create backups --plan free`
}

func (c projectCreateCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, true, func(at place) error {
		if c.PingKey != "" && at.mon == nil {
			return refuseURL("--ping-key:", "the API does not take a ping key")
		}
		project, keys, err := at.Create(ctx, checks.ProjectSpec{
			Name: c.Name, Account: c.Account, Plan: c.Plan, MaxChecks: c.MaxChecks, PingKey: c.PingKey,
		})
		if errors.Is(err, checks.ErrExists) {
			if c.PingKey != "" {
				return fmt.Errorf("project %q exists already, or another project has this ping key", c.Name)
			}
			return fmt.Errorf("project %q exists already", c.Name)
		}
		if err != nil {
			return err
		}
		document := NewCreatedDoc(project, keys)
		if err := c.Print(a.Stdout, document, document.Write); err != nil {
			return fmt.Errorf("created the project, but could not print its keys (rollcall key create makes new ones): %w", err)
		}
		return nil
	})
}

type projectListCmd struct {
	placeFlags
	console.JSONFlag
}

// listedProject is a project in the JSON of a list.
type listedProject struct {
	projectDoc
	Account   string `json:"account"`
	MaxChecks int    `json:"max_checks"`
	limit     int
}

// projectList is how projects are listed.
var projectList = list[listedProject]{
	{"NAME", func(d listedProject) string { return d.Name }},
	{planTitle, func(d listedProject) string { return d.Plan }},
	{"ACCOUNT", func(d listedProject) string { return d.Account }},
	{"CHECK LIMIT", func(d listedProject) string {
		if d.limit > 0 {
			return strconv.Itoa(d.limit)
		}
		return "none"
	}},
	{"ID", func(d listedProject) string { return d.ID }},
}

// planTitle is the title of a column of no interest where all projects have the default plan.
const planTitle = "PLAN"

func (projectListCmd) Help() string {
	return `With --json: an array of ` + keys[listedProject]() + `, where max_checks is 0 if the plan's limit applies.`
}

func (c projectListCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, false, func(at place) error {
		projects, err := at.List(ctx)
		if err != nil {
			return err
		}
		list := slices.Clone(projectList)
		if !slices.ContainsFunc(projects, func(p checks.Project) bool { return p.Plan != "paid" }) {
			list = slices.DeleteFunc(list, func(c column[listedProject]) bool { return c.Title == planTitle })
		}
		return list.print(c.JSONFlag, a.Stdout, each(projects, func(p checks.Project) listedProject {
			return listedProject{newProjectDoc(p), p.Account, p.MaxChecks, p.CheckLimit()}
		}))
	})
}

type projectSetCmd struct {
	Name        string         `arg:"" help:"Name of the project."`
	NewName     *string        `name:"name" env:"-" placeholder:"NAME" help:"Another name, 1 to 100 characters. No other project may have it."`
	StormChecks *int           `env:"-" placeholder:"N" help:"How many checks must go down, or come up, within --storm-window for one message about all of them: 2 to 1000, or 0 for a message about each."`
	StormWindow *time.Duration `env:"-" placeholder:"DURATION" help:"The window of --storm-checks, and the longest time that an alert waits for others: 10s to 1h."`
	placeFlags
	console.JSONFlag
}

// changedDoc is a project with its settings, in JSON.
type changedDoc struct {
	projectDoc
	StormChecks int   `json:"storm_checks"`
	StormWindow int64 `json:"storm_window"`
}

func (projectSetCmd) Help() string {
	return `The first alert is always sent at once. PagerDuty and others that keep incidents, webhooks and commands get one alert for
each check in any case.

With --json: ` + keys[changedDoc]() + `, where storm_window is in seconds.

Example:

    rollcall project set backups --storm-checks 3 --storm-window 2m`
}

func (c projectSetCmd) Run(ctx context.Context, a *App) error {
	change := checks.ProjectUpdate{Name: c.NewName, StormChecks: c.StormChecks, StormWindow: c.StormWindow}
	if change == (checks.ProjectUpdate{}) {
		return console.Usagef("nothing to change: give --name, --storm-checks or --storm-window")
	}
	return c.in(ctx, a, false, func(at place) error {
		p, err := named(ctx, at, c.Name)
		if err != nil {
			return err
		}
		changed, err := at.Update(ctx, p.ID, change)
		if errors.Is(err, checks.ErrExists) {
			return fmt.Errorf("project %q exists already", *c.NewName)
		}
		if err != nil {
			return err
		}
		together := "each alert is sent alone"
		if s := changed.Storm; s.On() {
			together = fmt.Sprintf("alerts about %s within %s are sent together", prose.Count(s.Checks, "check"), prose.LongDuration(s.Window))
		}
		document := changedDoc{newProjectDoc(changed), changed.Storm.Checks, int64(changed.Storm.Window / time.Second)}
		return c.Say(a.Stdout, document, "Changed the project %q: %s.", changed.Name, together)
	})
}

type projectDeleteCmd struct {
	Name string `arg:"" help:"Name of the project."`
	placeFlags
	console.JSONFlag
}

func (projectDeleteCmd) Help() string {
	return `The deletion is permanent and includes the logs of the checks. The command does not ask first.

With --json: {"id", "name", "plan", "checks", "keys", "channels"}, where the last three count what was deleted. With --url,
keys is null: the API does not list them.`
}

func (c projectDeleteCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, false, func(at place) error {
		p, err := named(ctx, at, c.Name)
		if err != nil {
			return err
		}
		list, checksErr := p.Checks(ctx, checks.Query{})
		channels, channelsErr := p.Channels(ctx)
		var keys *int
		what := prose.Count(len(list), "check")
		var keysErr error
		if p.mon != nil {
			var known []checks.Key
			known, keysErr = p.mon.Project(p.ID).Keys(ctx)
			keys = new(len(known))
			what += ", " + prose.Count(len(known), "key")
		}
		if err := errors.Join(checksErr, keysErr, channelsErr); err != nil {
			return err
		}
		if err := at.Delete(ctx, p.ID); err != nil {
			return console.Missing(err, "project %q", c.Name)
		}
		document := struct {
			projectDoc
			Checks   int  `json:"checks"`
			Keys     *int `json:"keys"`
			Channels int  `json:"channels"`
		}{newProjectDoc(p.Project), len(list), keys, len(channels)}
		return c.Say(a.Stdout, document, "Deleted the project %q with %s and %s.", p.Name, what, prose.Count(len(channels), "integration"))
	})
}
