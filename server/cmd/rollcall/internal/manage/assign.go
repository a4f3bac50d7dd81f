package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// assignTo lets checks alert an integration and returns how many did not before. The error says how many of them do now.
func (p project) assignTo(ctx context.Context, list []checks.Snapshot, channel uuid.UUID) (count int, err error) {
	errHas := errors.New("the check alerts the integration already")
	edits := make([]checks.CheckEdit, len(list))
	for i, c := range list {
		if c.ID == uuid.Nil {
			return 0, errReadOnly
		}
		edits[i] = checks.CheckEdit{ID: c.ID, With: func(now checks.Snapshot) (checks.Spec, error) {
			spec, added := withChannel(now.Channels, channel)
			if !added {
				return spec, errHas
			}
			return spec, nil
		}}
	}
	skip := func(err error) bool { return errors.Is(err, errHas) || errors.Is(err, checks.ErrNotFound) } // deleted meanwhile
	err = p.EditChecks(ctx, edits, skip, func(_ int, skipped error) {
		if skipped == nil {
			count++
		}
	})
	if err != nil && count > 0 {
		err = fmt.Errorf("%w; %s of %d alert it from now on, and rollcall channel assign adds the others", err, prose.Count(count, "check"), len(list))
	}
	return count, err
}

// withChannel returns the spec that adds an integration to those of a check, unless it has it.
func withChannel(now []uuid.UUID, channel uuid.UUID) (spec checks.Spec, added bool) {
	if slices.Contains(now, channel) {
		return spec, false
	}
	var ids []string
	for _, id := range append(slices.Clone(now), channel) {
		ids = append(ids, id.String())
	}
	return checks.Spec{Channels: new(strings.Join(ids, ","))}, true
}

type channelAssignCmd struct {
	Channel string   `arg:"" completion:"channel" help:"Id of the integration, or its name if no other integration of the project has it."`
	Tag     []string `env:"-" sep:"none" placeholder:"TAG" help:"Only checks with this tag. Repeatable: with all of them."`
	projectFlags
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
	return c.in(ctx, a, func(p project) error {
		channel, err := p.channel(ctx, c.Channel)
		if err != nil {
			return err
		}
		list, err := p.tagged(ctx, c.Tag)
		if err != nil {
			return err
		}
		added, err := p.assignTo(ctx, list, channel.ID)
		if err != nil {
			return console.Missing(err, "integration %q", c.Channel)
		}
		document := struct {
			channelDoc
			Checks int `json:"checks"`
			Added  int `json:"added"`
		}{newChannelDoc(channel), len(list), added}
		return c.Say(a.Stdout, document, "Assigned %s to %s of the project %q, %d of them new.", document.channelDoc, prose.Count(len(list), "check"), p.Name, added)
	})
}
