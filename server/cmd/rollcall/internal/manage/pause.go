package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// managedFlags are the flags of commands about one check, in the database or on a server.
type managedFlags struct {
	checkFlag
	projectFlag
	remoteFlags
	console.JSONFlag
}

type checkPauseCmd struct{ managedFlags }

func (checkPauseCmd) Help() string {
	return `Pause a check before planned work, so that it alerts nobody. It forgets that its job is running. The next ping ends the pause, unless
the check has manual_resume: then pings are ignored until check resume. ` + pauseHelp + `

    rollcall check pause --slug nightly
    rollcall check pause --slug nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkPauseCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Paused", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Pause(ctx, id) })
}

type checkResumeCmd struct{ managedFlags }

func (checkResumeCmd) Help() string {
	return `A resumed check is new: it is watched from its next ping on. ` + pauseHelp + `

    rollcall check resume --slug nightly
    rollcall check resume --slug nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkResumeCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Resumed", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Resume(ctx, id) })
}

const pauseHelp = `With --url, the key selects the project; only an admin key of the installation
needs --project.

With --json: ` + checkDocHelp + `

Examples:
`

// change finds the check, changes it and says so.
func (f managedFlags) change(ctx context.Context, a *App, done string, change func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error)) error {
	return f.withManager(ctx, a, func(m checks.Manager) error {
		id, err := f.look(ctx, m)
		if err != nil {
			return err
		}
		c, err := change(m, id)
		switch {
		case errors.Is(err, checks.ErrNotPaused):
			return fmt.Errorf("the check %s is not paused", id)
		case err != nil:
			return console.Missing(err, "check %q", id)
		}
		document := newSnapshotDoc(c)
		return f.Say(a.Stdout, document, "%s the check %q (%s). It is %s.", done, c.DisplayName(), document.UUID, document.Status)
	})
}

// look returns the ID of the check that the flags name.
func (f managedFlags) look(ctx context.Context, m checks.Manager) (uuid.UUID, error) {
	if f.ID != nil {
		id, ok := console.ParseUUID(*f.ID)
		if !ok {
			return id, console.Usagef("--id: %q is not a UUID", *f.ID)
		}
		return id, nil
	}
	c, err := m.CheckBySlug(ctx, *f.Slug)
	if errors.Is(err, checks.ErrAmbiguousSlug) {
		return c.ID, fmt.Errorf("several checks have the slug %q; use the UUID", *f.Slug)
	}
	return c.ID, console.Missing(err, "check %q", *f.Slug)
}

// withManager runs fn with the checks of the project in the database, or with those of the key on a server.
func (f managedFlags) withManager(ctx context.Context, a *App, fn func(m checks.Manager) error) error {
	if f.URL == "" {
		return f.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error { return fn(mon.Project(project.ID)) })
	}
	c, err := client.New(string(f.URL), f.APIKey, &client.Config{UserAgent: "rollcall", OnRetry: a.onRetry})
	if err != nil {
		return console.Usage(console.PlainError(err))
	}
	if c.HasAdminKey() {
		list, err := c.Projects(ctx)
		if err != nil {
			return console.PlainError(err)
		}
		i := slices.IndexFunc(list, func(p checks.Project) bool { return p.Name == f.Project })
		switch {
		case i >= 0:
			c = c.Project(list[i].ID)
		case len(list) != 1 || f.Project != DefaultProject: // a key of one project needs no name
			return console.Missing(checks.ErrNotFound, "project %q", f.Project)
		}
	}
	if err := fn(c); err != nil {
		return console.PlainError(err)
	}
	return nil
}
