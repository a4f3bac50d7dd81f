package courier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/pings"
)

// Try sends a test alert to a channel of a project, or to each member of a group. It neither records nor retries the
// attempt. available are all channels of the project.
func (c *Courier) Try(ctx context.Context, project checks.Project, available []channels.Channel, id uuid.UUID) error {
	with := func(id uuid.UUID) int {
		return slices.IndexFunc(available, func(c channels.Channel) bool { return c.ID == id })
	}
	at := with(id)
	if at < 0 {
		return checks.ErrNotFound
	}
	target := available[at]
	if target.Kind != channels.Group {
		return c.try(ctx, project, target)
	}
	var failures []error
	members := 0
	for _, id := range selection.Members(target) {
		at := with(id)
		if at < 0 {
			continue
		}
		member := available[at]
		members++
		if err := c.try(ctx, project, member); err != nil {
			failures = append(failures, fmt.Errorf("%s %q (%s): %w", member.Kind, member.Name, member.ID, err))
		}
	}
	if members == 0 {
		return errNoMembers
	}
	return errors.Join(failures...)
}

// try sends a test alert to one channel. It closes the incident that the test opens.
func (c *Courier) try(ctx context.Context, project checks.Project, to channels.Channel) error {
	notifier := c.notifiers[to.Kind]
	if notifier == nil {
		return c.Configured(to.Kind)
	}
	now := c.Now()
	// The name has a quote, so that a template that breaks at one fails now.
	check := checks.Check{ID: uuid.New(), Settings: checks.Defaults(), State: checks.State{NPings: 1}}
	check.Name, check.Slug, check.Desc = `Test "1"`, "test", "The description of the check."
	output := []byte("The last lines of the job's output.\n")
	n := channels.Notification{
		ID: uuid.NewString(), Incident: uuid.NewString(), Check: c.describe(check, project.Name),
		Status: channels.Down, At: now,
		Ping: channels.Ping{
			At: now.Add(-checks.Defaults().Timeout - checks.Defaults().Grace), Kind: string(pings.Success),
			Duration: 41 * time.Second, Body: output, End: output,
		},
		Reason: "this is a test", Test: true,
	}
	n.Check.URL = "" // the check has no page
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	content := func(context.Context) channels.Notification { return n }
	open, err := c.notify(ctx, notifier, to, "", content)
	if open != "" { // the test leaves no incident open
		n.ID, n.Status = uuid.NewString(), channels.Up
		_, closing := c.notify(ctx, notifier, to, open, content)
		err = cmp.Or(err, closing)
	}
	if err == nil {
		return nil
	}
	shown := &sendError{err: err, text: c.errorText(to, err)}
	if cause := c.causeText(to, err); cause != shown.text {
		c.Log.InfoContext(ctx, "a test alert failed", "channel", to.ID, "kind", to.Kind, "error", cause)
	}
	return shown
}
