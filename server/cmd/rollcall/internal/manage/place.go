package manage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// place is where a command works: a database, or what an API key opens on a server.
type place interface {
	// Projects returns the projects. On a server it needs an admin key, as all but project and target do.
	Projects(ctx context.Context) ([]checks.Project, error)
	CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error)
	UpdateProject(ctx context.Context, id uuid.UUID, change checks.ProjectUpdate) (checks.Project, error)
	DeleteProject(ctx context.Context, id uuid.UUID) error
	RotatePingKey(ctx context.Context, id uuid.UUID) (checks.Project, error)
	// project returns the project with a name. With a read-write key it is that of the key, which has no name.
	project(ctx context.Context, name string) (project, error)
	// target returns the place for package declare. named reports whether it lists its projects by their names.
	target() (_ declare.Target, named bool)
}

// project is a project in the database or on a server.
type project struct {
	checks.Project // without its ID, its name and its ping key for a read-write key
	checks.Manager
	integrations
	windows
	policy
	// mon is the monitor of the database. It is nil on a server.
	mon *monitor.Monitor
}

// integrations are what a monitor and an admin key can do with the integrations of a project.
type integrations interface {
	CreateChannel(ctx context.Context, c channels.Channel) (channels.Channel, error)
	DeleteChannel(ctx context.Context, id uuid.UUID) error
	// assign lets checks alert an integration, and returns how many did not before.
	assign(ctx context.Context, list []checks.Snapshot, channel uuid.UUID) (count int, err error)
	// reach returns integrations with their settings, as far as the key may see them, and what becomes of their alerts.
	reach(ctx context.Context, list []channels.Channel) ([]channels.Channel, map[uuid.UUID]verdict.Reach, error)
}

// windows are the maintenance windows and snoozes of a project.
type windows interface {
	Windows(ctx context.Context, q checks.WindowQuery) ([]gate.Window, error)
	AddWindow(ctx context.Context, w gate.Window) (gate.Window, error)
	EndWindow(ctx context.Context, id uuid.UUID) (gate.Window, error)
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
		return a.withMonitor(ctx, create, func(mon *monitor.Monitor) error { return fn(onDatabase{mon}) })
	}
	c, err := client.New(string(f.URL), f.APIKey, &client.Config{UserAgent: "rollcall", MaxWait: maxWait, OnRetry: a.onRetry, OnWarning: func(text string) { a.say("%s", text) }})
	if err != nil {
		return console.Usage(console.PlainError(err))
	}
	if err = fn(onServer{c}); err != nil {
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
	if _, err := at.Projects(ctx); err != nil {
		return project{}, err
	}
	p, err := at.project(ctx, name)
	if err == nil && p.Name != name {
		err = checks.ErrNotFound
	}
	return p, console.Missing(err, "project %q", name)
}

// onlyDatabase is for commands that need the database. It says so to those who give --url.
type onlyDatabase struct {
	NoURL string `name:"url" hidden:"" env:"-"`
	NoKey string `name:"api-key" hidden:"" env:"-"`
}

// Validate refuses --url. Kong calls it.
func (f onlyDatabase) Validate() error {
	if f.NoURL != "" || f.NoKey != "" {
		return errors.New("--url: this command needs the database, because the API of a server does not offer it; give --database")
	}
	return nil
}

// needsDatabase is a sentence in the help of commands that need the database.
const needsDatabase = "The command needs the database: the API of a server does not offer it."

// onDatabase is a database as a place.
type onDatabase struct{ mon *monitor.Monitor }

func (d onDatabase) Projects(ctx context.Context) ([]checks.Project, error) {
	return d.mon.Projects().List(ctx)
}

func (d onDatabase) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	return d.mon.Projects().Create(ctx, spec)
}

func (d onDatabase) UpdateProject(ctx context.Context, id uuid.UUID, change checks.ProjectUpdate) (checks.Project, error) {
	return d.mon.Projects().Update(ctx, id, change)
}

func (d onDatabase) DeleteProject(ctx context.Context, id uuid.UUID) error {
	return d.mon.Projects().Delete(ctx, id)
}

func (d onDatabase) RotatePingKey(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return d.mon.Projects().RotatePingKey(ctx, id)
}

func (d onDatabase) project(ctx context.Context, name string) (project, error) {
	found, err := d.mon.Projects().ByName(ctx, name)
	if err != nil {
		return project{}, err
	}
	p := d.mon.Project(found.ID)
	return project{found, p, stored{p, d.mon}, p, p, d.mon}, nil
}

func (d onDatabase) target() (declare.Target, bool) { return declare.OnMonitor(d.mon), true }

// onServer is what a key opens on a server.
type onServer struct{ *client.Client }

func (s onServer) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	if spec.PingKey != "" {
		return checks.Project{}, monitor.Keys{}, console.Usagef("--ping-key: needs the database, because the API does not take a ping key")
	}
	created, keys, err := s.Client.CreateProject(ctx, checks.Project{Name: spec.Name, Account: spec.Account, Plan: spec.Plan, MaxChecks: spec.MaxChecks})
	return created, monitor.Keys(keys), err
}

func (s onServer) project(ctx context.Context, name string) (project, error) {
	if !s.HasAdminKey() {
		return project{Manager: s.Client, integrations: remote(s), windows: s.Client, policy: s.Client}, nil
	}
	list, err := s.Projects(ctx)
	if err != nil {
		return project{}, err
	}
	i := slices.IndexFunc(list, func(p checks.Project) bool { return p.Name == name })
	switch {
	case i >= 0:
		c := s.Project(list[i].ID)
		return project{Project: list[i], Manager: c, integrations: remote{c}, windows: c, policy: c}, nil
	case len(list) != 1 || name != DefaultProject: // a key of one project needs no name
		return project{}, checks.ErrNotFound
	}
	return project{Project: list[0], Manager: s.Client, integrations: remote(s), windows: s.Client, policy: s.Client}, nil
}

func (s onServer) target() (declare.Target, bool) { return declare.OnServer(s.Client), s.HasAdminKey() }
