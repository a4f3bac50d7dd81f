package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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
the check has manual_resume: then pings are ignored until check resume. ` + pauseHelp + `

    rollcall check pause nightly
    rollcall check pause nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkPauseCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Paused", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Pause(ctx, id) })
}

type checkResumeCmd struct{ checkFlags }

func (checkResumeCmd) Help() string {
	return `A resumed check is new: it is watched from its next ping on. ` + pauseHelp + `

    rollcall check resume nightly
    rollcall check resume nightly --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkResumeCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Resumed", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Resume(ctx, id) })
}

type checkAckCmd struct {
	checkFlags
	For      time.Duration `placeholder:"DURATION" help:"Until when: 1m to 720h from now (default: until the check is up again)."`
	Note     string        `placeholder:"TEXT" help:"Why, or what is being done, up to 500 characters."`
	By       string        `placeholder:"NAME" help:"Who has it (default: the user of this machine)."`
	TakeOver bool          `help:"Take it over from whoever has it."`
}

func (checkAckCmd) Help() string {
	return `Say that you have the outage of a check that is down. Reminders and escalation stop until the check is up again, or until the time
is over. Pages, alerts and the API show who has it. If somebody else has it, the command says who and changes nothing,
unless --take-over is given. ` + pauseHelp + `
    rollcall check ack nightly
    rollcall check ack nightly --for 4h --note 'the disk is full, a new one is on its way'`
}

func (c checkAckCmd) Run(ctx context.Context, a *App) error {
	spec := checks.AckSpec{By: cmp.Or(c.By, commandUser()), For: c.For, Note: c.Note, TakeOver: c.TakeOver}
	if err := spec.Validate(); err != nil {
		return err
	}
	return c.change(ctx, a, "Acknowledged", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) {
		return m.Acknowledge(ctx, id, spec)
	})
}

type checkUnackCmd struct{ checkFlags }

func (checkUnackCmd) Help() string {
	return `Reminders and escalation go on. If nobody has the outage, nothing changes. ` + pauseHelp + `
    rollcall check unack nightly`
}

func (c checkUnackCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Unacknowledged", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Unacknowledge(ctx, id) })
}

var pauseHelp = `With --url, the key selects the project; only an admin key of the installation
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
		document := newCheckDoc(c)
		return f.Say(a.Stdout, document, "%s the check %q (%s). It is %s.", done, c.DisplayName(), document.UUID, document.Status)
	})
}
