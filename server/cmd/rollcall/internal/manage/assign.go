package manage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// assign lets checks alert an integration and returns how many did not before.
func assign(ctx context.Context, project *monitor.Project, list []checks.Check, channel uuid.UUID) (added int, err error) {
	for _, c := range list {
		was := false
		_, err := project.UpdateFunc(ctx, c.ID, func(now checks.Check) (checks.Spec, error) {
			if was = slices.Contains(now.Channels, channel); was {
				return checks.Spec{}, nil
			}
			var ids []string
			for _, id := range append(slices.Clone(now.Channels), channel) {
				ids = append(ids, id.String())
			}
			return checks.Spec{Channels: new(strings.Join(ids, ","))}, nil
		})
		if errors.Is(err, checks.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return added, err
		}
		if !was {
			added++
		}
	}
	return added, nil
}

type channelAssignCmd struct {
	Channel string   `arg:"" help:"Id of the integration, or its name if no other integration of the project has it."`
	Tag     []string `env:"-" sep:"none" placeholder:"TAG" help:"Only checks with this tag. Repeatable: with all of them."`
	projectFlag
	console.JSONFlag
}

func (channelAssignCmd) Help() string {
	return `The checks that exist now alert the integration from now on, besides those that they alert already. For a single check, use
its page in the dashboard or the field channels of the API.

With --json: {"id", "name", "kind", "checks", "added"}: how many checks were selected, and how many of them did not alert it
before.

Examples:

    rollcall channel assign pager
    rollcall channel assign pager --tag prod`
}

func (c channelAssignCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error {
		channel, err := findChannel(ctx, mon, project.ID, c.Channel)
		if err != nil {
			return err
		}
		list, err := mon.Views().Checks(ctx, project.ID, checks.Query{Tags: c.Tag})
		if err != nil {
			return err
		}
		added, err := assign(ctx, mon.Project(project.ID), list, channel.ID)
		if err != nil {
			return console.Missing(err, "integration %q", c.Channel)
		}
		document := struct {
			channelDoc
			Checks int `json:"checks"`
			Added  int `json:"added"`
		}{newChannelDoc(channel), len(list), added}
		return c.Say(a.Stdout, document, "Assigned %s to %s of the project %q, %d of them new.", document.channelDoc, prose.Count(len(list), "check"), project.Name, added)
	})
}
