package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type deliveriesListCmd struct {
	projectFlag
	Check   string `placeholder:"CHECK" help:"Only alerts about this check: its UUID, or its slug if no other check of the project has it."`
	Channel string `placeholder:"CHANNEL" help:"Only alerts to this channel: its id, or its name if no other channel of the project has it."`
	State   string `placeholder:"STATE" help:"Only alerts in this state: pending, sent, failed or superseded."`
	Number  int    `short:"n" default:"100" placeholder:"N" help:"How many alerts to list at most."`
	Before  int64  `placeholder:"ID" help:"Only alerts before this one: the last of a list, to have the next page."`
	jsonFlag
}

func (deliveriesListCmd) Help() string {
	return `An alert is pending until it is sent; failed when the receiver refused it for good or did not take it for a day;
superseded when it could not be sent in time and a newer one stood for it. They are kept as long as flips.

With --json: an array of {"id", "check", "check_name", "channel", "channel_name", "kind", "status", "reminder", "state",
"attempts", "created", "due", "finished", "error"}; due and finished are null where there is none.

Examples:

    rollcall deliveries --state failed
    rollcall deliveries --check nightly --channel ops -n 10`
}

// Validate checks what needs no database. Kong calls it.
func (c *deliveriesListCmd) Validate() error {
	if c.Number < 1 {
		return fmt.Errorf("-n: is too small: %d, the minimum is 1", c.Number)
	}
	return nil
}

// deliveryDoc is a delivery in JSON.
type deliveryDoc struct {
	ID          int64                 `json:"id"`
	Check       string                `json:"check"`
	CheckName   string                `json:"check_name"`
	Channel     string                `json:"channel"`
	ChannelName string                `json:"channel_name"`
	Kind        channels.Kind         `json:"kind"`
	Status      channels.Status       `json:"status"`
	Reminder    int                   `json:"reminder"`
	State       monitor.DeliveryState `json:"state"`
	Attempts    int                   `json:"attempts"`
	Created     string                `json:"created"`
	Due         *string               `json:"due"`
	Finished    *string               `json:"finished"`
	Error       string                `json:"error"`
}

func newDeliveryDoc(d monitor.Delivery) deliveryDoc {
	return deliveryDoc{
		ID: d.ID, Check: d.CheckID.String(), CheckName: d.CheckName,
		Channel: d.ChannelID.String(), ChannelName: d.ChannelName, Kind: d.ChannelKind,
		Status: d.Status, Reminder: d.Reminder, State: d.State, Attempts: d.Attempts,
		Created: timestamp(d.CreatedAt), Due: optionalTimestamp(d.Due), Finished: optionalTimestamp(d.FinishedAt), Error: d.Error,
	}
}

func optionalTimestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(timestamp(t))
}

func (c *deliveriesListCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		query := monitor.DeliveryQuery{
			Project: project.ID, State: monitor.DeliveryState(c.State), Before: c.Before, Limit: c.Number,
		}
		if c.Check != "" {
			if query.Check, err = findCheck(ctx, mon, project.ID, c.Check); err != nil {
				return missing(err, "check %q", c.Check)
			}
		}
		if c.Channel != "" {
			channel, err := findChannel(ctx, mon, project.ID, c.Channel)
			if err != nil {
				return err
			}
			query.Channel = channel.ID
		}
		list, err := mon.Deliveries(ctx, query)
		if err != nil {
			return err
		}
		documents := make([]deliveryDoc, len(list))
		for i, d := range list {
			documents[i] = newDeliveryDoc(d)
		}
		return c.print(a.stdout, documents, func(w io.Writer) { printDeliveries(w, documents) })
	})
}

func printDeliveries(w io.Writer, list []deliveryDoc) {
	rows := [][]string{{"ID", "CREATED", "CHECK", "ALERT", "CHANNEL", "STATE", "ATTEMPTS", "NEXT OR END", "ERROR"}}
	for _, d := range list {
		alert := string(d.Status)
		if d.Reminder > 0 {
			alert = fmt.Sprintf("still %s (%d)", d.Status, d.Reminder)
		}
		end := d.Due
		if end == nil {
			end = d.Finished
		}
		if end == nil {
			end = new("")
		}
		rows = append(rows, []string{
			strconv.FormatInt(d.ID, 10), d.Created, nameOr(d.CheckName, d.Check), alert, nameOr(d.ChannelName, d.Channel),
			string(d.State), strconv.Itoa(d.Attempts), *end, d.Error,
		})
	}
	table(w, rows...)
}

// nameOr returns what a person knows a thing by.
func nameOr(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// findCheck returns the identifier of the check of a project with a UUID or a slug.
func findCheck(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, text string) (uuid.UUID, error) {
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 {
		c, err := mon.Check(ctx, id)
		if err == nil && c.ProjectID != projectID {
			err = checks.ErrNotFound
		}
		return id, err
	}
	list, err := mon.Checks(ctx, projectID, monitor.CheckQuery{Slug: &text})
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(list) == 0 || text == "":
		return uuid.Nil, checks.ErrNotFound
	case len(list) > 1:
		return uuid.Nil, fmt.Errorf("%d checks have the slug %q, use the UUID", len(list), text)
	}
	return list[0].ID, nil
}

type deliveriesRetryCmd struct {
	ID        []int64 `arg:"" optional:"" help:"Ids of failed alerts, as the list shows them."`
	AllFailed bool    `help:"Send all failed alerts of the project again."`
	projectFlag
	jsonFlag
}

func (deliveriesRetryCmd) Help() string {
	return `The alerts are sent as if they had never been tried, with the same idempotency keys.

With --json: {"retried"}, the number of alerts.`
}

// Validate checks what needs no database. Kong calls it.
func (c *deliveriesRetryCmd) Validate() error {
	if c.AllFailed == (len(c.ID) > 0) {
		return fmt.Errorf("give the ids of failed alerts, or --all-failed")
	}
	return nil
}

func (c *deliveriesRetryCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		var n int
		if c.AllFailed {
			n, err = mon.RetryFailedDeliveries(ctx, project.ID)
		} else if n, err = mon.RetryDeliveries(ctx, project.ID, c.ID...); err != nil {
			return missing(err, "one of the ids: such a failed alert")
		}
		if err != nil {
			return err
		}
		document := struct {
			Retried int `json:"retried"`
		}{n}
		return c.print(a.stdout, document, func(w io.Writer) { fmt.Fprintf(w, "%s will be sent again.\n", plural(n, "alert")) })
	})
}
