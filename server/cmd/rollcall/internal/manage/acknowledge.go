package manage

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

type checkAckCmd struct {
	checkFlags
	For      time.Duration `placeholder:"DURATION" help:"Until when: 1m to 720h from now (default: until the check is up again)."`
	Note     string        `placeholder:"TEXT" help:"Why, or what is being done, up to 500 characters."`
	By       string        `placeholder:"NAME" help:"Who has it (default: the user of this machine)."`
	TakeOver bool          `help:"Take it over from the person who has it."`
}

func (checkAckCmd) Help() string {
	return `Say that you have the outage of a check that is down. Reminders and escalation stop until the check is up again, or until the time
is over. Pages, alerts and the API show who has it. If somebody else has it, the command says who and changes nothing,
unless --take-over is given. ` + changeHelp + `
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
	return `Reminders and escalation go on. If nobody has the outage, nothing changes. ` + changeHelp + `
    rollcall check unack nightly`
}

func (c checkUnackCmd) Run(ctx context.Context, a *App) error {
	return c.change(ctx, a, "Unacknowledged", func(m checks.Manager, id uuid.UUID) (checks.Snapshot, error) { return m.Unacknowledge(ctx, id) })
}
