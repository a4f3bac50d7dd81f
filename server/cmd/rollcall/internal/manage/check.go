package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// CheckDoc is a check in the JSON of this command line.
type CheckDoc struct {
	UUID        string        `json:"uuid"`
	Slug        string        `json:"slug"`
	Name        string        `json:"name"`
	Status      checks.Status `json:"status"`
	NextPing    *string       `json:"next_ping"`
	MaxRuntime  int64         `json:"max_runtime"`
	AlertAfter  int           `json:"alert_after"`
	RepeatEvery int64         `json:"repeat_every"`
	QuietHours  string        `json:"quiet_hours"`
	TZ          string        `json:"tz"`
	RecordOnly  bool          `json:"record_only"`
	After       []string      `json:"after"`
	// Acknowledged is nil unless somebody has the outage.
	Acknowledged *ackDoc `json:"acknowledged"`
	// Problems says why nobody would hear of a check, in lists and of "check show".
	Problems []string `json:"problems"`
}

// ackDoc is an acknowledgement in the JSON of this command line.
type ackDoc struct {
	By    string  `json:"by"`
	At    string  `json:"at"`
	Until *string `json:"until"`
	Note  string  `json:"note"`
}

var checkDocHelp = keys[CheckDoc]() + `, where next_ping is null if no ping is expected, max_runtime and repeat_every are in
seconds, after lists slugs or UUIDs, and an unset setting is 0, false, [] or "". acknowledged is null or ` + keys[ackDoc]() + `,
where until is null if it ends with the outage. problems says why nobody would hear of the check: alerts nobody, never reported in time.
Only check list and check show have it.`

func newCheckDoc(c checks.Snapshot) CheckDoc {
	d := CheckDoc{
		UUID: c.ID.String(), Slug: c.Slug, Name: c.Name, Status: c.Status, NextPing: console.OptionalTimestamp(c.NextPing),
		MaxRuntime: int64(c.MaxRuntime / time.Second), AlertAfter: c.AlertAfter, RepeatEvery: int64(c.RepeatEvery / time.Second), QuietHours: c.QuietHours, TZ: c.TZ,
		RecordOnly: c.RecordOnly, After: append([]string{}, c.Parents()...), Problems: []string{},
	}
	if a := c.Ack; !a.At.IsZero() {
		d.Acknowledged = &ackDoc{a.By, console.Timestamp(a.At), console.OptionalTimestamp(a.Until), a.Note}
	}
	return d
}

// CheckList is how checks are listed.
var CheckList = list[CheckDoc]{
	{"UUID", func(d CheckDoc) string { return d.UUID }},
	{"SLUG", func(d CheckDoc) string { return d.Slug }},
	{"NAME", func(d CheckDoc) string { return d.Name }},
	{"STATUS", func(d CheckDoc) string { return string(d.Status) }},
	{"NEXT PING", func(d CheckDoc) string { return console.Or(d.NextPing) }},
	{"MAX RUNTIME", func(d CheckDoc) string { return optionalSeconds(d.MaxRuntime) }},
	{"ALERT AFTER", func(d CheckDoc) string {
		if d.AlertAfter > 1 {
			return strconv.Itoa(d.AlertAfter)
		}
		return ""
	}},
	{"REPEAT EVERY", func(d CheckDoc) string { return optionalSeconds(d.RepeatEvery) }},
	{"QUIET HOURS", func(d CheckDoc) string { return d.QuietHours }},
	{"TZ", func(d CheckDoc) string {
		if d.QuietHours != "" {
			return d.TZ
		}
		return ""
	}},
	{"AFTER", func(d CheckDoc) string { return strings.Join(d.After, ",") }},
	{"RECORD ONLY", func(d CheckDoc) string {
		if d.RecordOnly {
			return "yes"
		}
		return ""
	}},
	{"ACKNOWLEDGED BY", func(d CheckDoc) string {
		if d.Acknowledged == nil {
			return ""
		}
		return d.Acknowledged.By
	}},
	{"PROBLEMS", func(d CheckDoc) string { return strings.Join(d.Problems, ", ") }},
}

// addProblems adds why nobody would hear of checks, as far as the database or the API key shows it.
func (p project) addProblems(ctx context.Context, list []checks.Snapshot, documents []CheckDoc) error {
	var available []channels.Channel
	var reach map[uuid.UUID]verdict.Reach
	if p.mon != nil {
		var err error
		if available, reach, err = p.mon.Project(p.ID).Receivers(ctx, false); err != nil {
			return err
		}
	}
	for i, c := range list {
		silent := len(c.Channels) == 0 && c.ID != uuid.Nil // a read-only key sees no integrations
		if p.mon != nil {
			silent = !slices.ContainsFunc(verdict.Receivers(*c.Check, available, reach), verdict.Receiver.Reached)
		}
		if silent && !c.RecordOnly && c.Status != checks.StatusPaused {
			documents[i].Problems = append(documents[i].Problems, "alerts nobody")
		}
		if c.Check != nil && c.Check.NewTooLong(p.mon.Now()) {
			documents[i].Problems = append(documents[i].Problems, "never reported in time")
		}
	}
	return nil
}

// optionalSeconds writes a period, "" for none.
func optionalSeconds(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return (time.Duration(seconds) * time.Second).String()
}

type checkListCmd struct {
	projectFlags
	console.JSONFlag
}

func (checkListCmd) Help() string {
	return "With --json: an array of " + checkDocHelp
}

func (c checkListCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		list, err := p.Checks(ctx, checks.Query{})
		if err != nil {
			return err
		}
		documents := each(list, newCheckDoc)
		if err := p.addProblems(ctx, list, documents); err != nil {
			return err
		}
		return CheckList.print(c.JSONFlag, a.Stdout, documents)
	})
}

type checkShowCmd struct {
	checkFlags
}

func (checkShowCmd) Help() string {
	return `A check is up, late, down, paused or new. Times are in the time zone of the check. With --url, the text is the line of check
list: the sentences need the database.

With --json: the keys of "check list" and "verdict", the text, which is "" with --url.

Examples:

    rollcall check show nightly
    rollcall check show https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f`
}

func (c checkShowCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		list := []CheckDoc{newCheckDoc(check)}
		if err := p.addProblems(ctx, []checks.Snapshot{check}, list); err != nil {
			return err
		}
		document := struct {
			CheckDoc
			Verdict string `json:"verdict"`
		}{CheckDoc: list[0]}
		if p.mon == nil {
			return c.Print(a.Stdout, document, func(w io.Writer) { CheckList.table(w, document.CheckDoc) })
		}
		log, err := checks.Collect(p.Pings(ctx, check.ID, checks.PingQuery{}))
		if err != nil {
			return console.Missing(err, "the check")
		}
		v, err := p.mon.Project(p.ID).Explain(ctx, *check.Check, log)
		if err != nil {
			return console.Missing(err, "the check")
		}
		document.CheckDoc, document.Verdict = newCheckDoc(check.Check.Snapshot(v.Now)), v.Text(nil)
		document.Problems = list[0].Problems
		return c.Print(a.Stdout, document, func(w io.Writer) {
			fmt.Fprintf(w, "%s\n\n%s\n", console.Printable(check.DisplayName()+"  "+check.ID.String()), console.Printable(document.Verdict))
		})
	})
}

type checkMoveCmd struct {
	checkArg
	To string `required:"" placeholder:"NAME" help:"Name of the project to move it to."`
	projectFlag
	console.JSONFlag
	onlyDatabase
}

func (checkMoveCmd) Help() string {
	return `The check keeps its UUID, so its ping address and its badge stay, and it keeps its settings, log and flips. It loses the
integrations of its project, with alerts that were not sent yet, and gets all integrations of the other project. Ping
addresses with its slug need the ping key of the other project. ` + needsDatabase + `

With --json: ` + checkDocHelp + `

Example:

    rollcall check move nightly --to backups`
}

func (c checkMoveCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		to, err := projectByName(ctx, p.mon, c.To)
		if err != nil {
			return err
		}
		moved, err := p.mon.Project(p.ID).Transfer(ctx, check.ID, to.ID)
		if err != nil {
			return console.Missing(err, "the check")
		}
		return c.Say(a.Stdout, newCheckDoc(moved), "moved check %s to project %s", check.ID, console.Printable(to.Name))
	})
}

type checkSetCmd struct {
	checkFlags
	MaxRuntime  *string `placeholder:"DURATION" help:"How long each run may take after its start: 1m to 8760h, or a number of seconds (default: the grace time, for the newest run)."`
	AlertAfter  *string `placeholder:"N" help:"Number of failures in a row before an alert, 2 to 100."`
	RepeatEvery *string `placeholder:"DURATION" help:"Interval at which to repeat the alert while the check is down: 1m to 8760h, or a number of seconds."`
	QuietHours  *string `placeholder:"WINDOWS" help:"Windows in which to hold back alerts, separated by semicolons."`
	TZ          *string `name:"tz" env:"-" placeholder:"ZONE" help:"Time zone of the quiet hours and of the schedule, such as Europe/Riga."`
	After       *string `placeholder:"SLUGS" help:"Checks that this one follows, separated by commas: while one of them is down or late, the alert waits."`
	RecordOnly  *bool   `help:"Never alert, only record runs and outages; --record-only=false ends that."`
}

func (checkSetCmd) Help() string {
	return `Settings without a flag do not change. The value 0, none or "" removes a setting.

Each run that takes longer than --max-runtime takes the check down. The rules for alerts take effect at once, even on alerts
that are being held back. They change neither the status of the check nor its history.

A failure is a fail signal, a missed ping, or a run that did not end in time. Quiet hours are windows such as 22:00-06:00
(every day), Sat,Sun 00:00-24:00, Mon..Fri 22:00-06:00 (the days on which it begins) and 2026-12-24 18:00/2026-12-27 06:00
(once). At the end of a window, one alert summarizes those that were held back.

With --json: ` + checkDocHelp + `

Examples:

    rollcall check set nightly --alert-after 2 --repeat-every 4h
    rollcall check set nightly --quiet-hours '22:00-06:00; Sat,Sun 00:00-24:00' --tz Europe/Riga
    rollcall check set nightly --alert-after none
    rollcall check set nightly-upload --after nightly-dump
    rollcall check set experiment --record-only
    rollcall check set nightly --max-runtime 3h`
}

func (c checkSetCmd) Run(ctx context.Context, a *App) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		updated, err := p.Update(ctx, check.ID, spec)
		if err != nil {
			return console.Missing(err, "the check")
		}
		if c.After != nil && p.mon != nil { // a server says it itself
			warnings, err := p.mon.Project(p.ID).FollowWarnings(ctx, *updated.Check)
			if err != nil {
				return err
			}
			a.warn(warnings)
		}
		document := newCheckDoc(updated)
		return c.Print(a.Stdout, document, func(w io.Writer) { CheckList.table(w, document) })
	})
}

// spec returns the settings that the flags set.
func (c checkSetCmd) spec() (checks.Spec, error) {
	spec := checks.Spec{TZ: c.TZ, RecordOnly: c.RecordOnly}
	given := c.TZ != nil || c.RecordOnly != nil
	for _, flag := range []struct {
		name string
		text *string
	}{
		{"max_runtime", c.MaxRuntime}, {"alert_after", c.AlertAfter}, {"repeat_every", c.RepeatEvery}, {"quiet_hours", c.QuietHours}, {"after", c.After},
	} {
		if flag.text == nil {
			continue
		}
		given = true
		setting := checks.SettingNamed(flag.name)
		value, err := parseSetting(setting, *flag.text)
		if err != nil {
			return spec, console.Usagef("--%s: %q is %v", strings.ReplaceAll(flag.name, "_", "-"), *flag.text, err)
		}
		setting.Set(&spec, value)
	}
	if !given {
		return spec, console.Usagef("nothing to set: give --max-runtime, --alert-after, --repeat-every, --quiet-hours, --tz, --after or --record-only")
	}
	return spec, spec.Validate(time.Now())
}

// parseSetting reads the value of a flag. A period is a number of seconds, or a duration.
func parseSetting(s checks.Setting, text string) (any, error) {
	removes := text == "" || text == "none" || text == "0"
	_, isText := s.Zero.(string)
	switch {
	case isText && removes:
		return "", nil
	case isText:
		return text, nil
	case removes:
		text = "0"
	}
	if _, isCount := s.Zero.(int); isCount {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, errors.New("not a whole number")
		}
		return n, nil
	}
	d, err := parsePeriod(text)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// parsePeriod reads a number of seconds, or a duration.
func parsePeriod(text string) (time.Duration, error) {
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("neither a number of seconds nor a duration such as 90s, 30m or 24h")
	}
	return d, nil
}
