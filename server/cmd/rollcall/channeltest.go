package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type channelTestCmd struct {
	Channel string `arg:"" help:"Id of the channel, or its name if no other channel of the project has it."`
	projectFlag
	notifierFlags
	jsonFlag
}

func (channelTestCmd) Help() string {
	return `The alert says that it is a test. One to a group goes to each of its members. It is sent by this command, with its
flags and variables, and not by the service. The exit status is 1 when it was not taken.

With --json: {"id", "name", "kind", "sent", "error"}.`
}

// Validate checks the flags about delivery. Kong calls it.
func (c channelTestCmd) Validate() error { return c.validate() }

func (c channelTestCmd) Run(ctx context.Context, a *app) error {
	var config monitor.Config
	if err := c.apply(&config); err != nil {
		return err
	}
	return a.withConfig(ctx, false, &config, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		channel, err := findChannel(ctx, mon, project.ID, c.Channel)
		if err != nil {
			return err
		}
		failure := mon.TestChannel(ctx, project.ID, channel.ID)
		document := struct {
			channelDoc
			Sent  bool   `json:"sent"`
			Error string `json:"error"`
		}{channelDoc: newChannelDoc(channel), Sent: failure == nil}
		if failure != nil {
			document.Error = failure.Error()
			if !c.JSON {
				return fmt.Errorf("%s: %w", document.describe(), failure)
			}
		}
		err = c.print(a.stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "Sent a test alert to %s.\n", document.describe())
		})
		return errors.Join(err, failure)
	})
}

// findChannel returns the channel of a project with an id or a name.
func findChannel(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, text string) (channels.Channel, error) {
	list, err := mon.Channels(ctx, projectID)
	if err != nil {
		return channels.Channel{}, err
	}
	channel, err := pickChannel(list, text)
	return channel, missing(err, "channel %q", text)
}
