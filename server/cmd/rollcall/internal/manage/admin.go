package manage

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
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
	d, err := installation.ParseDatabase(a.Database)
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
	Project string `default:"default" placeholder:"NAME" help:"Name of the project."`
}

// in runs fn with a monitor and the project that the flag names.
func (f projectFlag) in(ctx context.Context, a *App, fn func(mon *monitor.Monitor, project checks.Project) error) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := projectByName(ctx, mon, f.Project)
		if err != nil {
			return err
		}
		return fn(mon, project)
	})
}

func projectByName(ctx context.Context, mon *monitor.Monitor, name string) (checks.Project, error) {
	project, err := mon.Projects().ByName(ctx, name)
	return project, console.Missing(err, "project %q", name)
}

// checkByID returns the check of a project with an id.
func checkByID(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, id uuid.UUID) (checks.Check, error) {
	check, err := mon.Check(ctx, id)
	if err == nil && check.ProjectID != projectID {
		err = checks.ErrNotFound
	}
	return check, console.Missing(err, "check %q", id)
}

// checkBySlug returns the check of a project with a slug. Several such checks are an error.
func checkBySlug(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, slug string) (checks.Check, error) {
	list, err := mon.Views().Checks(ctx, projectID, checks.Query{Slug: slug})
	switch {
	case err != nil:
		return checks.Check{}, err
	case len(list) == 0 || slug == "":
		return checks.Check{}, console.Missing(checks.ErrNotFound, "check %q", slug)
	case len(list) > 1:
		return checks.Check{}, fmt.Errorf("%d checks have the slug %q; use the UUID", len(list), slug)
	}
	return list[0], nil
}

// findChannel returns the integration of a project with an id or a name. Several with that name are an error.
func findChannel(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, text string) (channels.Channel, error) {
	list, err := mon.Project(projectID).Channels(ctx)
	if err != nil {
		return channels.Channel{}, err
	}
	var named []channels.Channel
	for _, channel := range list {
		if channel.ID.String() == strings.ToLower(text) {
			return channel, nil
		}
		if channel.Name == text && text != "" {
			named = append(named, channel)
		}
	}
	switch len(named) {
	case 0:
		return channels.Channel{}, console.Missing(checks.ErrNotFound, "integration %q", text)
	case 1:
		return named[0], nil
	}
	return channels.Channel{}, fmt.Errorf("%d integrations have the name %q; use the id", len(named), text)
}

// DefaultProject is the first project of a database, and the default of --project.
const DefaultProject = "default"
