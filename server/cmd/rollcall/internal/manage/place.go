package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// place is where a command works: a database, or what an API key opens on a server.
type place struct {
	checks.Projects                  // which on a server need an admin key
	mon             *monitor.Monitor // of the database; nil on a server
	client          *client.Client   // of the server; nil in a database
	addresses       addresses
}

// inDatabase returns a database as a place.
func (a *App) inDatabase(mon *monitor.Monitor) place {
	return place{Projects: mon.Projects(), mon: mon, addresses: a.addresses()}
}

// project is a project in the database or on a server.
type project struct {
	checks.Project // without its ID, its name and its ping key for a read-write key
	checks.Administrator
	// mon is the monitor of the database. It is nil on a server.
	mon       *monitor.Monitor
	addresses addresses
}

// project returns the project with a name. With a read-write key it is that of the key, which has no name.
func (at place) project(ctx context.Context, name string) (project, error) {
	if !at.named() {
		return project{Administrator: at.client, addresses: at.addresses}, nil
	}
	list, err := at.List(ctx)
	if err != nil {
		return project{}, err
	}
	i := slices.IndexFunc(list, func(p checks.Project) bool { return p.Name == name })
	if i < 0 && at.mon == nil && len(list) == 1 && name == DefaultProject { // a key of one project needs no name
		i = 0
	}
	if i < 0 {
		return project{}, unknownProject(name, list)
	}
	return project{list[i], at.Project(list[i].ID), at.mon, at.addresses}, nil
}

// unknownProject returns the error of a name that no project has.
func unknownProject(name string, list []checks.Project) error {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	if len(list) == 0 {
		return fmt.Errorf("project %q does not exist, nor does any other; to create it: %s", name, console.ShellCommand("rollcall", "project", "create", name))
	}
	return fmt.Errorf("project %q does not exist%s", name, didYouMean(name, names))
}

// missingProject replaces [checks.ErrNotFound] by the error of an unknown project.
func missingProject(ctx context.Context, at checks.Projects, err error, name string) error {
	if !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	list, _ := at.List(ctx) // for a suggestion
	return unknownProject(name, list)
}

// named reports whether the projects have names: a read-write key selects its project, and does not show the name.
func (at place) named() bool { return at.mon != nil || at.client.HasAdminKey() }

// target returns the place for package declare.
func (at place) target() declare.Target {
	if at.named() {
		return declare.OnProjects(at.Projects)
	}
	return declare.OnProject(at.client)
}

// placeFlags select the place of a command.
type placeFlags struct {
	URL    console.Address `name:"url" placeholder:"URL" help:"Use the API of the server at this URL instead of the database."`
	APIKey string          `name:"api-key" secret:"" placeholder:"KEY" help:"API key for --url: an admin key, or a read-write key, which selects the project."`
}

// Validate checks the flags. Kong calls it.
func (f *placeFlags) Validate() error {
	if (f.URL == "") != (f.APIKey == "") {
		return errors.New("--url and --api-key must be given together")
	}
	return nil
}

// maxWait bounds how long a request waits because the server limits requests, all answers together.
const maxWait = 2 * time.Minute

// in runs fn with the place that the flags select. If create is set, it creates a missing SQLite file.
func (f *placeFlags) in(ctx context.Context, a *App, create bool, fn func(place) error) error {
	if f.URL == "" {
		return a.withMonitor(ctx, create, func(mon *monitor.Monitor) error { return fn(a.inDatabase(mon)) })
	}
	c, err := client.New(string(f.URL), f.APIKey, &client.Config{UserAgent: "rollcall", MaxWait: maxWait, OnRetry: a.onRetry, OnWarning: func(text string) { a.say("%s", text) }})
	if err != nil {
		return console.Usage(console.PlainError(err))
	}
	if err = fn(place{Projects: c.Projects(), client: c, addresses: addresses{base: f.URL}}); err != nil {
		return plain{err}
	}
	return nil
}

// plain is an error of the client, which prints without the name of its package.
type plain struct{ error }

func (e plain) Error() string { return console.PlainError(e.error).Error() }

func (e plain) Unwrap() error { return e.error }

// projectFlags select a project in its place.
type projectFlags struct {
	projectFlag
	placeFlags
}

// in runs fn with the project that the flags select.
func (f *projectFlags) in(ctx context.Context, a *App, fn func(project) error) error {
	return f.placeFlags.in(ctx, a, false, func(at place) error {
		p, err := at.project(ctx, f.Project)
		if err != nil {
			return console.Missing(err, "project %q", f.Project)
		}
		return fn(p)
	})
}

// named returns the project with exactly this name. On a server it needs an admin key.
func named(ctx context.Context, at place, name string) (project, error) {
	found, err := at.ByName(ctx, name)
	if err == nil && found.Name != name { // no name stands for that of the key
		err = checks.ErrNotFound
	}
	return project{found, at.Project(found.ID), at.mon, at.addresses}, missingProject(ctx, at, err, name)
}

// onlyDatabase is for commands that need the database. It says so to those who give --url.
type onlyDatabase struct {
	NoURL string `name:"url" hidden:"" env:"-"`
	NoKey string `name:"api-key" hidden:"" env:"-"`
}

// Validate refuses --url. Kong calls it.
func (f onlyDatabase) Validate() error {
	if f.NoURL != "" || f.NoKey != "" {
		return refuseURL("--url: this command", "the API of a server does not offer it; give --database")
	}
	return nil
}

// refuseURL returns the error of what a server cannot do for a command, with the reason.
func refuseURL(what, reason string) error {
	return console.Usagef("%s needs the database, because %s", what, reason)
}

// needsDatabase is a sentence in the help of commands that need the database.
const needsDatabase = "The command needs the database: the API of a server does not offer it."
