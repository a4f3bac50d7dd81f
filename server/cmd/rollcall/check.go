package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// checkDoc is a check in the JSON of this command line.
type checkDoc struct {
	UUID        string        `json:"uuid"`
	Slug        string        `json:"slug"`
	Name        string        `json:"name"`
	Status      checks.Status `json:"status"`
	NextPing    *string       `json:"next_ping"`
	AlertAfter  int           `json:"alert_after"`
	RepeatEvery int64         `json:"repeat_every"`
	QuietHours  string        `json:"quiet_hours"`
	TZ          string        `json:"tz"`
}

const checkDocHelp = `{"uuid", "slug", "name", "status", "next_ping", "alert_after", "repeat_every", "quiet_hours", "tz"};
next_ping is null where none is expected, repeat_every is in seconds, and rules that are not set are 0 or "".`

func newCheckDoc(c checks.Check, now time.Time) checkDoc {
	return checkDoc{
		UUID: c.ID.String(), Slug: c.Slug, Name: c.Name,
		Status: c.Status(now), NextPing: optionalTimestamp(c.NextPing(now)),
		AlertAfter: c.AlertAfter, RepeatEvery: int64(c.RepeatEvery / time.Second), QuietHours: c.QuietHours, TZ: c.TZ,
	}
}

// row is the check in a table.
func (c checkDoc) row() []string {
	next, after, every, zone := "", "", "", ""
	if c.NextPing != nil {
		next = *c.NextPing
	}
	if c.AlertAfter > 1 {
		after = strconv.Itoa(c.AlertAfter)
	}
	if c.RepeatEvery > 0 {
		every = (time.Duration(c.RepeatEvery) * time.Second).String()
	}
	if c.QuietHours != "" {
		zone = c.TZ
	}
	return []string{c.UUID, c.Slug, c.Name, string(c.Status), next, after, every, c.QuietHours, zone}
}

func printChecks(w io.Writer, list ...checkDoc) {
	rows := [][]string{{"UUID", "SLUG", "NAME", "STATUS", "NEXT PING", "ALERT AFTER", "REPEAT EVERY", "QUIET HOURS", "TZ"}}
	for _, c := range list {
		rows = append(rows, c.row())
	}
	table(w, rows...)
}

type checkListCmd struct {
	projectFlag
	jsonFlag
}

func (checkListCmd) Help() string {
	return "With --json: an array of " + checkDocHelp
}

func (c checkListCmd) Run(ctx context.Context, a *app) error {
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		list, err := mon.Checks(ctx, project.ID, monitor.CheckQuery{})
		if err != nil {
			return err
		}
		now := mon.Now()
		documents := make([]checkDoc, len(list))
		for i, check := range list {
			documents[i] = newCheckDoc(check, now)
		}
		return c.print(a.stdout, documents, func(w io.Writer) { printChecks(w, documents...) })
	})
}

type checkSetCmd struct {
	Slug        *string `xor:"check" required:"" placeholder:"SLUG" help:"The check, by its slug, if no other check of the project has it."`
	ID          *string `name:"id" xor:"check" required:"" placeholder:"UUID" help:"The check, by its UUID."`
	AlertAfter  *string `placeholder:"N" help:"Alert after so many failures in a row: 2 to 100."`
	RepeatEvery *string `placeholder:"DURATION" help:"Repeat the alert while the check is down: 1m to 8760h, or a number of seconds."`
	QuietHours  *string `placeholder:"WINDOWS" help:"Hold alerts back in these windows, with semicolons between them."`
	TZ          *string `name:"tz" env:"-" placeholder:"ZONE" help:"Time zone of the quiet hours and of the schedule."`
	projectFlag
	jsonFlag
}

func (checkSetCmd) Help() string {
	return `Sets rules for the alerts of a check; the others stay as they are. A rule that is given as 0, none or an empty text is
taken away. Rules change neither the state of the check nor its history, and hold at once, for alerts that are held
back too.

Failures are failure signals, expected pings that did not come, and runs that did not end in time. Quiet hours are
windows such as 22:00-06:00 (every day), Sat,Sun 00:00-24:00, Mon..Fri 22:00-06:00 (the days on which it begins) and
2026-12-24 18:00/2026-12-27 06:00 (once). At the end of a window one alert sums up what was held back.

With --json: ` + checkDocHelp + `

Examples:

    rollcall check set --slug nightly --alert-after 2 --repeat-every 4h
    rollcall check set --slug nightly --quiet-hours '22:00-06:00; Sat,Sun 00:00-24:00' --tz Europe/Riga
    rollcall check set --slug nightly --alert-after none`
}

func (c checkSetCmd) Run(ctx context.Context, a *app) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		id, name, err := c.check(ctx, mon, project.ID)
		if err != nil {
			return missing(err, "check %q", name)
		}
		check, err := mon.Update(ctx, id, spec)
		if err != nil {
			return missing(err, "check %q", name)
		}
		document := newCheckDoc(check, mon.Now())
		return c.print(a.stdout, document, func(w io.Writer) { printChecks(w, document) })
	})
}

// check finds the check, and returns what it was named by too. A slug may look like a UUID.
func (c checkSetCmd) check(
	ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID,
) (id uuid.UUID, name string, err error) {
	if c.ID != nil {
		if id, err = uuid.Parse(*c.ID); err != nil || len(*c.ID) != 36 {
			return uuid.Nil, *c.ID, usagef("--id: %q is not a UUID", *c.ID)
		}
		check, err := mon.Check(ctx, id)
		if err == nil && check.ProjectID != projectID {
			err = checks.ErrNotFound
		}
		return id, *c.ID, err
	}
	list, err := mon.Checks(ctx, projectID, monitor.CheckQuery{Slug: c.Slug})
	switch {
	case err != nil:
		return uuid.Nil, *c.Slug, err
	case len(list) == 0 || *c.Slug == "":
		return uuid.Nil, *c.Slug, checks.ErrNotFound
	case len(list) > 1:
		return uuid.Nil, *c.Slug, fmt.Errorf("%d checks have the slug %q, use --id", len(list), *c.Slug)
	}
	return list[0].ID, *c.Slug, nil
}

// spec reads the rules.
func (c checkSetCmd) spec() (checks.Spec, error) {
	spec := checks.Spec{TZ: c.TZ}
	if c.AlertAfter == nil && c.RepeatEvery == nil && c.QuietHours == nil && c.TZ == nil {
		return spec, usagef("nothing to set: give --alert-after, --repeat-every, --quiet-hours or --tz")
	}
	if c.AlertAfter != nil {
		n, err := strconv.ParseInt(ruleValue(*c.AlertAfter), 10, 64)
		if err != nil {
			return spec, usagef("--alert-after: %q is not a whole number", *c.AlertAfter)
		}
		if err := checks.CheckAlertAfter(n); err != nil {
			return spec, err
		}
		spec.AlertAfter = new(int(n))
	}
	if c.RepeatEvery != nil {
		every, err := parseSeconds(ruleValue(*c.RepeatEvery))
		if err != nil {
			return spec, usagef("--repeat-every: %q is neither a number of seconds nor a duration such as 90s, 30m or 24h",
				*c.RepeatEvery)
		}
		spec.RepeatEvery = &every
	}
	if c.QuietHours != nil {
		if hours := *c.QuietHours; ruleValue(hours) == "0" {
			spec.QuietHours = new("")
		} else {
			spec.QuietHours = &hours
		}
	}
	return spec, spec.Validate(time.Now())
}

// ruleValue returns the value of a flag that sets a rule, with 0 for all that takes it away.
func ruleValue(text string) string {
	if text == "" || text == "none" {
		return "0"
	}
	return text
}

// parseSeconds reads a number of seconds, or a duration.
func parseSeconds(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return time.ParseDuration(text)
}
