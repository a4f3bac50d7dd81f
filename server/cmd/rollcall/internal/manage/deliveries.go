package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type deliveriesListCmd struct {
	projectFlag
	Check   string `placeholder:"CHECK" help:"Only alerts about this check: its slug, its UUID or its ping URL."`
	Channel string `placeholder:"CHANNEL" help:"Only alerts to this integration: its id, or its name if no other integration of the project has it."`
	State   string `completion:"pending,sent,failed,superseded,skipped" placeholder:"STATE" help:"Only alerts in this state: pending, sent, failed, superseded or skipped."`
	Number  int    `short:"n" default:"100" placeholder:"N" help:"Maximum number of alerts, at least 1. The newest come first."`
	Before  int64  `env:"-" placeholder:"ID" help:"Only alerts before this one. The last id of a list gives the next page."`
	console.JSONFlag
	onlyDatabase
}

func (deliveriesListCmd) Help() string {
	return `An alert is pending until it is sent. It has failed if the receiver refused it permanently or accepted none of the attempts
of a day. It is superseded if a newer alert replaced it before it was sent, and skipped if the integration does not want
alerts about that status, or if a policy dropped it, which error names. Rollcall keeps alerts as long as flips. ` + needsDatabase + `

With --json: an array of ` + keys[deliveryDoc]() + `, where due and finished are null if there is no such time.
recipient is the one of several recipients that the alert is retried for alone, or empty. close says why the receiver's
incident is closed without an alert, and is empty for an alert. held is the policy that keeps a pending alert back until due, or
dropped a skipped one: maintenance, snooze, after, acknowledged, escalation, quiet_hours, storm or record_only, or empty. held_by
is whom or what it names, such as the note of a maintenance window.

Examples:

    rollcall deliveries --state failed
    rollcall deliveries --check nightly --channel ops -n 10`
}

// Validate checks the flags. Kong calls it.
func (c *deliveriesListCmd) Validate() error {
	return cmp.Or(c.onlyDatabase.Validate(), console.AtLeast("-n", c.Number, 1))
}

// deliveryDoc is a delivery in JSON.
type deliveryDoc struct {
	ID          int64                `json:"id"`
	Check       string               `json:"check"`
	CheckName   string               `json:"check_name"`
	Channel     string               `json:"channel"`
	ChannelName string               `json:"channel_name"`
	Kind        channels.Kind        `json:"kind"`
	Recipient   string               `json:"recipient"`
	Status      channels.Status      `json:"status"`
	Reminder    int                  `json:"reminder"`
	Close       string               `json:"close"`
	State       checks.DeliveryState `json:"state"`
	Attempts    int                  `json:"attempts"`
	Batch       int64                `json:"batch"`
	Created     string               `json:"created"`
	Due         *string              `json:"due"`
	Finished    *string              `json:"finished"`
	Held        gate.Why             `json:"held"`
	HeldBy      string               `json:"held_by"`
	Error       string               `json:"error"`
}

func newDeliveryDoc(d checks.Delivery) deliveryDoc {
	return deliveryDoc{
		ID: d.ID, Check: d.CheckID.String(), CheckName: d.CheckName,
		Channel: d.ChannelID.String(), ChannelName: d.ChannelName, Kind: d.ChannelKind, Recipient: d.Recipient,
		Status: d.Status, Reminder: d.Reminder, Close: d.Close, State: d.State, Attempts: d.Attempts, Batch: d.Batch,
		Created: console.Timestamp(d.CreatedAt), Due: console.OptionalTimestamp(d.Due), Finished: console.OptionalTimestamp(d.FinishedAt),
		Held: d.Held, HeldBy: d.HeldBy, Error: d.Error,
	}
}

// deliveryList is how alerts are listed.
var deliveryList = list[deliveryDoc]{
	{"ID", func(d deliveryDoc) string { return strconv.FormatInt(d.ID, 10) }},
	{"CREATED", func(d deliveryDoc) string { return d.Created }},
	{"CHECK", func(d deliveryDoc) string { return d.CheckName }},
	{"ALERT", func(d deliveryDoc) string {
		switch {
		case d.Close != "":
			return "close, " + d.Close
		case d.Reminder > 0:
			return fmt.Sprintf("still %s (%d)", d.Status, d.Reminder)
		}
		return string(d.Status)
	}},
	{"CHANNEL", func(d deliveryDoc) string {
		to := cmp.Or(d.ChannelName, d.Channel)
		if d.Recipient != "" {
			to += ": " + d.Recipient
		}
		return to
	}},
	{"STATE", func(d deliveryDoc) string { return string(d.State) }},
	{"ATTEMPTS", func(d deliveryDoc) string { return strconv.Itoa(d.Attempts) }},
	{"NEXT OR END", func(d deliveryDoc) string { return console.Or(cmp.Or(d.Due, d.Finished)) }},
	{"ERROR", func(d deliveryDoc) string {
		if d.State == checks.DeliveryPending && d.Held != "" {
			return d.Held.Words(d.HeldBy)
		}
		return d.Error
	}},
}

func (c *deliveriesListCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		query := checks.DeliveryQuery{State: checks.DeliveryState(c.State), Before: c.Before, Limit: c.Number}
		if c.Check != "" {
			check, err := p.check(ctx, c.Check)
			if err != nil {
				return err
			}
			query.Check = check.ID
		}
		if c.Channel != "" {
			channel, err := p.channel(ctx, c.Channel)
			if err != nil {
				return err
			}
			query.Channel = channel.ID
		}
		var list []checks.Delivery
		for d, err := range p.mon.Project(p.ID).Deliveries(ctx, query) {
			if err != nil {
				return err
			}
			list = append(list, d)
		}
		return deliveryList.print(c.JSONFlag, a.Stdout, each(list, newDeliveryDoc))
	})
}

type deliveriesRetryCmd struct {
	ID        []int64 `arg:"" optional:"" help:"Ids of failed alerts, as the list shows them."`
	AllFailed bool    `help:"Send all failed alerts of the project again."`
	projectFlag
	console.JSONFlag
	onlyDatabase
}

func (deliveriesRetryCmd) Help() string {
	return `The service sends the alerts as if for the first time, but with the same idempotency keys as before. ` + needsDatabase + `

With --json: {"retried"}, the number of alerts.

Examples:

    rollcall deliveries retry 17 18
    rollcall deliveries retry --all-failed --project backups`
}

// Validate checks the command line. Kong calls it.
func (c *deliveriesRetryCmd) Validate() error {
	if c.AllFailed == (len(c.ID) > 0) {
		return errors.New("give the ids of failed alerts, or --all-failed")
	}
	return c.onlyDatabase.Validate()
}

func (c *deliveriesRetryCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		retry := func() (int, error) { return p.mon.Project(p.ID).RetryDeliveries(ctx, c.ID) }
		if c.AllFailed {
			retry = func() (int, error) { return p.mon.Project(p.ID).RetryFailed(ctx) }
		}
		n, err := retry()
		if err != nil {
			return console.Missing(err, "a failed alert with one of these ids")
		}
		document := struct {
			Retried int `json:"retried"`
		}{n}
		return c.Say(a.Stdout, document, "%s will be sent again.", prose.Count(n, "alert"))
	})
}
