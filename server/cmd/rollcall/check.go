package main

import (
	"context"
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

const checkDocHelp = `{"uuid", "slug", "name", "status", "next_ping", "alert_after", "repeat_every", "quiet_hours", "tz"},
where next_ping is null if none is expected, repeat_every is in seconds, and a rule that is not set is 0 or "".`

// newCheckDoc returns the document of a check at an instant.
func newCheckDoc(now time.Time) func(checks.Check) checkDoc {
	return func(c checks.Check) checkDoc {
		return checkDoc{
			UUID: c.ID.String(), Slug: c.Slug, Name: c.Name,
			Status: c.Status(now), NextPing: optionalTimestamp(c.NextPing(now)),
			AlertAfter: c.AlertAfter, RepeatEvery: int64(c.RepeatEvery / time.Second), QuietHours: c.QuietHours, TZ: c.TZ,
		}
	}
}

var checkHeader = []string{"UUID", "SLUG", "NAME", "STATUS", "NEXT PING", "ALERT AFTER", "REPEAT EVERY", "QUIET HOURS", "TZ"}

func (d checkDoc) row() []string {
	after, every, zone := "", "", ""
	if d.AlertAfter > 1 {
		after = strconv.Itoa(d.AlertAfter)
	}
	if d.RepeatEvery > 0 {
		every = (time.Duration(d.RepeatEvery) * time.Second).String()
	}
	if d.QuietHours != "" {
		zone = d.TZ
	}
	return []string{d.UUID, d.Slug, d.Name, string(d.Status), or(d.NextPing), after, every, d.QuietHours, zone}
}

type checkListCmd struct {
	projectFlag
	jsonFlag
}

func (checkListCmd) Help() string {
	return "With --json: an array of " + checkDocHelp
}

func (c checkListCmd) Run(ctx context.Context, a *app) error {
	return c.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error {
		list, err := mon.Checks(ctx, project.ID, monitor.CheckQuery{})
		if err != nil {
			return err
		}
		return printList(c.jsonFlag, a.stdout, list, newCheckDoc(mon.Now()), checkHeader, checkDoc.row)
	})
}

type checkSetCmd struct {
	Slug        *string `xor:"check" required:"" placeholder:"SLUG" help:"Slug of the check, if no other check of the project has it."`
	ID          *string `name:"id" xor:"check" required:"" placeholder:"UUID" help:"UUID of the check."`
	AlertAfter  *string `placeholder:"N" help:"Alert after this many failures in a row, 2 to 100."`
	RepeatEvery *string `placeholder:"DURATION" help:"Repeat the alert while the check is down, every 1m to 8760h, or a number of seconds."`
	QuietHours  *string `placeholder:"WINDOWS" help:"Hold alerts back in these windows, separated by semicolons."`
	TZ          *string `name:"tz" env:"-" placeholder:"ZONE" help:"Time zone of the quiet hours and of the schedule, such as Europe/Riga."`
	projectFlag
	jsonFlag
}

func (checkSetCmd) Help() string {
	return `Rules without a flag stay as they are. The value 0, none or "" removes a rule. A rule takes effect at once, also on alerts
that are held back, and changes neither the status of the check nor its history.

Failures are fail signals, pings that did not come in time, and runs that did not end in time. Quiet hours are windows such
as 22:00-06:00 (every day), Sat,Sun 00:00-24:00, Mon..Fri 22:00-06:00 (named by the day on which it begins) and
2026-12-24 18:00/2026-12-27 06:00 (once). At the end of a window, one alert sums up what was held back.

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
	return c.in(ctx, a, func(mon *monitor.Monitor, project checks.Project) error {
		check, err := c.find(ctx, mon, project.ID)
		if err != nil {
			return err
		}
		if check, err = mon.Update(ctx, check.ID, spec); err != nil {
			return missing(err, "the check")
		}
		document := newCheckDoc(mon.Now())(check)
		return c.print(a.stdout, document, func(w io.Writer) { table(w, checkHeader, document.row()) })
	})
}

// find returns the check. A slug may look like a UUID.
func (c checkSetCmd) find(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID) (checks.Check, error) {
	if c.Slug != nil {
		return checkBySlug(ctx, mon, projectID, *c.Slug)
	}
	id, ok := parseUUID(*c.ID)
	if !ok {
		return checks.Check{}, usagef("--id: %q is not a UUID", *c.ID)
	}
	return checkByID(ctx, mon, projectID, id)
}

// spec returns the rules that the flags set.
func (c checkSetCmd) spec() (checks.Spec, error) {
	spec := checks.Spec{TZ: c.TZ}
	if c.AlertAfter == nil && c.RepeatEvery == nil && c.QuietHours == nil && c.TZ == nil {
		return spec, usagef("nothing to set: give --alert-after, --repeat-every, --quiet-hours or --tz")
	}
	if c.AlertAfter != nil {
		n, err := strconv.Atoi(ruleValue(*c.AlertAfter))
		if err != nil {
			return spec, usagef("--alert-after: %q is not a whole number", *c.AlertAfter)
		}
		spec.AlertAfter = &n
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
		hours := *c.QuietHours
		if ruleValue(hours) == "0" {
			hours = ""
		}
		spec.QuietHours = &hours
	}
	return spec, spec.Validate(time.Now())
}

// ruleValue returns the value of a flag that sets a rule, as 0 if it removes the rule.
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
