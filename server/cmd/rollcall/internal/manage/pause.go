package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// checkFlags are the flags of commands about one check, in the database or on a server.
type checkFlags struct {
	checkArg
	projectFlags
	console.JSONFlag
}

type checkPauseCmd struct{ checkFlags }

func (checkPauseCmd) Help() string {
	return `Pause a check before planned work, so that it alerts nobody. It forgets that its job is running. The next ping ends the pause, unless
the check has manual_resume: then pings are ignored until check resume. ` + changeHelp + `

    rollcall check pause nightly
    rollcall check pause nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkPauseCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Paused", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Pause(ctx, id) })
}

type checkResumeCmd struct{ checkFlags }

func (checkResumeCmd) Help() string {
	return `A resumed check is new: it is watched from its next ping on. ` + changeHelp + `

    rollcall check resume nightly
    rollcall check resume nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkResumeCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Resumed", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Resume(ctx, id) })
}

const changeHelp = `With --url, the key selects the project; only an admin key of the installation
needs --project.

With --json: ` + checkDocHelp + `

Examples:
`

// change finds the check, changes it and says so.
func (f checkFlags) change(ctx context.Context, a *App, done string, change func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error)) error {
	return f.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, f.Check)
		if err != nil {
			return err
		}
		c, err := change(p, check.ID)
		switch {
		case errors.Is(err, checks.ErrNotPaused):
			return fmt.Errorf("the check %s is not paused", check.ID)
		case errors.Is(err, checks.ErrNotDown):
			return fmt.Errorf("the check %s is not down", check.ID)
		case err != nil:
			return console.Missing(err, "check %q", check.ID)
		}
		document := p.document(c)
		return f.Say(a.Stdout, document, "%s the check %q (%s). It is %s.", done, c.DisplayName(), c.ID, c.Status)
	})
}
