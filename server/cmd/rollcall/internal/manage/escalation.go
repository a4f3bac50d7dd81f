package manage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

const policyDocHelp = `{"steps": [{"after": seconds, "channels": [ids of integrations]}]}, with no steps if there is no policy.`

type escalationShowCmd struct {
	projectFlags
	console.JSONFlag
}

func (escalationShowCmd) Help() string {
	return `The steps with their integrations, and how long after an alert each follows unless somebody acknowledges the outage.

With --json: ` + policyDocHelp
}

func (c escalationShowCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		steps, err := p.Escalation(ctx)
		if err != nil {
			return err
		}
		available, err := p.Channels(ctx)
		if err != nil {
			return err
		}
		return printSteps(a, c.JSONFlag, steps, available)
	})
}

type escalationSetCmd struct {
	Steps []string `arg:"" optional:"" name:"step" help:"A step: after how long, and whom, such as 0=mail or 15m=pager,sms. Without any, the project has no policy."`
	projectFlags
	console.JSONFlag
}

func (escalationSetCmd) Help() string {
	return `The policy holds for every check of the project that alerts. Each step notifies integrations, given by their ids or by names that no
other integration has, at once or some time after the alert: 1 to 10 steps, in whole minutes up to 7 days. A step is left out
if somebody has acknowledged the outage or the check is up again. A check's own integrations that the policy does not name are
notified at once as always. The steps replace those before; on a server, that takes an admin key.

With --json: ` + policyDocHelp + `

Examples:

    rollcall escalation set 0=mail 15m=pager 1h=boss,sms
    rollcall escalation set`
}

func (c escalationSetCmd) Run(ctx context.Context, a *App) error {
	named := make([]checks.NamedStep, len(c.Steps))
	for i, text := range c.Steps {
		after, to, found := strings.Cut(text, "=")
		if !found {
			return console.Usagef("%q is not a step such as 15m=pager,sms", text)
		}
		named[i].Channels = strings.Split(to, ",")
		var err error
		if named[i].After, err = checks.ParseDuration(after); err != nil {
			return console.Usagef("%q: %q %v", text, after, err)
		}
	}
	return c.in(ctx, a, func(p project) error {
		available, err := p.Channels(ctx)
		if err != nil {
			return err
		}
		steps, err := checks.FindSteps(named, available)
		if err != nil {
			return err
		}
		if err := p.SetEscalation(ctx, steps); err != nil {
			return err
		}
		return printSteps(a, c.JSONFlag, steps, available)
	})
}

// printSteps prints an escalation policy of a project with these integrations.
func printSteps(a *App, f console.JSONFlag, steps []gate.Step, available []channels.Channel) error {
	names := make(map[uuid.UUID]string)
	for _, c := range available {
		names[c.ID] = cmp.Or(c.Name, c.ID.String())
	}
	return f.Print(a.Stdout, wire.NewEscalation(steps), func(w io.Writer) {
		if len(steps) == 0 {
			fmt.Fprintln(w, "No escalation policy: alerts go to the integrations of the check, all at once.")
		}
		for _, step := range steps {
			fmt.Fprintln(w, checks.StepsText([]gate.Step{step}, func(id uuid.UUID) string { return names[id] }))
		}
	})
}
