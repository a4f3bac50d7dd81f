package manage

import (
	"context"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// withMonitor migrates the database and runs fn with a monitor on it. If create is set, it creates a missing SQLite file.
func (a *App) withMonitor(ctx context.Context, create bool, fn func(mon *monitor.Monitor) error) error {
	return a.withConfig(ctx, create, commandConfig, fn)
}

// commandConfig configures the monitor of a command. The servers deliver, and prune the audit log.
func commandConfig(servers installation.Servers) *monitor.Config {
	config := &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true, SpoolWait: servers.SpoolWait()}
	if servers.Audit() {
		config.AuditRetention = auditRetention
	}
	return config
}

// withConfig migrates the database, reads which servers run on it, and runs fn with a monitor that is configured for them.
func (a *App) withConfig(ctx context.Context, create bool, configure func(installation.Servers) *monitor.Config, fn func(mon *monitor.Monitor) error) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	return d.WithStore(ctx, create, func(store *sqlstore.Store) error {
		mon, err := monitor.New(store, nil)
		if err != nil {
			return err
		}
		if a.servers, err = installation.ReadServers(ctx, mon); err != nil {
			return err
		}
		if mon, err = monitor.New(store, configure(a.servers)); err != nil {
			return err
		}
		if err = fn(mon); err != nil {
			if e, ok := err.(*monitor.Error); ok {
				return e.Err // the command line says what it is about
			}
		}
		return err
	})
}

// projectFlag is the flag of commands that work on one project.
type projectFlag struct {
	Project string `default:"default" completion:"project" placeholder:"NAME" help:"Name of the project."`
}

// in runs fn with a project in the database, for commands that need it.
func (f projectFlag) in(ctx context.Context, a *App, fn func(project) error) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		p, err := a.inDatabase(mon).project(ctx, f.Project)
		if err != nil {
			return console.Missing(err, "project %q", f.Project)
		}
		return fn(p)
	})
}

func projectByName(ctx context.Context, mon *monitor.Monitor, name string) (checks.Project, error) {
	project, err := mon.Projects().ByName(ctx, name)
	return project, missingProject(ctx, mon.Projects(), err, name)
}

// DefaultProject is the first project of a database, and the default of --project.
const DefaultProject = "default"
