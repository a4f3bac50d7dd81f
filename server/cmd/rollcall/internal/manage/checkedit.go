package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type checkCreateCmd struct {
	Name string `arg:"" optional:"" help:"Name of the check, up to 100 characters."`
	settingFlags
	pingAddress
	projectFlags
	console.JSONFlag
}

func (checkCreateCmd) Help() string {
	return `Create a check and print its ping URL, alone on standard output. Standard error says what the check expects, and has a line for
a crontab that reports the job.

The slug is made from the name unless --slug is given. If the project has a check with this slug, nothing changes: the command
prints the ping URL of that check and says so, and the exit status is 0. So a script can be run again.

Without --tz, a schedule and quiet hours are in the time zone of this machine. Without --channels, the check alerts all integrations that the
project has now. Without --grace, a run may be an hour late.

With --json: ` + checkDocHelp + `

Examples:

    rollcall check create 'Nightly backup' --schedule '0 3 * * *' --grace 30m
    rollcall check create mirror --every 6h --tags 'web public' --channels ops,pager
    url=$(rollcall check create nightly --every 1d) && curl -fsS "$url"
    rollcall check create nightly --every 1d --url https://rollcall.example.org --api-key rcw_…`
}

func (c checkCreateCmd) Run(ctx context.Context, a *App) error {
	spec, err := c.newSpec()
	if err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		p.addresses = c.override(p.addresses)
		found, err := p.like(ctx, spec)
		created := false
		if errors.Is(err, checks.ErrNotFound) {
			unique := checks.UniqueSlug // so that of two commands at once, one creates it
			if *spec.Slug == "" {
				unique = checks.UniqueName
			}
			found, created, err = p.Upsert(ctx, spec, unique)
		}
		if err != nil {
			return p.explain(ctx, err)
		}
		documents, err := p.documents(ctx, []checks.Snapshot{found})
		if err != nil {
			return err
		}
		if created {
			a.say("created the check %q%s", found.DisplayName(), expects(documents[0]))
		} else {
			a.say("the check %q exists already and was not changed; to change it: %s", found.DisplayName(),
				console.ShellCommand("rollcall", "check", "set", cmp.Or(found.Slug, found.ID.String())))
		}
		a.sayProblems(documents)
		if created {
			if err := a.warnFollowing(ctx, p, spec, found); err != nil {
				return err
			}
		}
		if p.addresses.note != "" {
			a.say("%s", p.addresses.note)
		}
		if !c.JSON {
			fmt.Fprint(a.Stderr, reportLine(documents[0]))
		}
		return c.Say(a.Stdout, documents[0], "%s", console.Printable(documents[0].PingURL))
	})
}

// newSpec returns the settings of the new check.
func (c checkCreateCmd) newSpec() (checks.Spec, error) {
	spec, _, err := c.spec()
	switch {
	case err != nil:
		return spec, err
	case c.Name != "" && spec.Name != nil:
		return spec, console.Usagef("--name: the name is given twice")
	case c.Name == "" && cmp.Or(console.Or(spec.Name), console.Or(spec.Slug)) == "":
		return spec, console.Usagef("which name? Write rollcall check create NAME")
	case console.Or(spec.Schedule) == "" && spec.Timeout == nil:
		return spec, console.Usagef("when does the job run? Give --schedule '0 3 * * *' or --every 1d")
	}
	if c.Name != "" {
		spec.Name = &c.Name
	}
	if spec.Slug == nil {
		spec.Slug = new(checks.SlugOf(*spec.Name))
	}
	if spec.Channels == nil {
		spec.Channels = new("*")
	}
	if console.Or(spec.Schedule)+console.Or(spec.QuietHours) != "" && spec.TZ == nil {
		zone, err := schedule.LocalZone()
		if err != nil {
			return spec, console.Usagef("--tz: give the time zone of the check: %v", err)
		}
		spec.TZ = &zone
	}
	return spec, namingFlag(spec.Validate(time.Now()))
}

// warnFollowing says which of the checks that a saved one follows holds no alert back.
func (a *App) warnFollowing(ctx context.Context, p project, spec checks.Spec, saved checks.Snapshot) error {
	if spec.After == nil || p.mon == nil { // a server says it itself
		return nil
	}
	warnings, err := p.mon.Project(p.ID).FollowWarnings(ctx, *saved.Check)
	a.warn(warnings)
	return err
}

// like returns the check of the project that has the slug of a spec or, if that is empty, its name.
func (p project) like(ctx context.Context, spec checks.Spec) (checks.Snapshot, error) {
	list, err := p.Checks(ctx, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return checks.Snapshot{}, err
	}
	if *spec.Slug == "" {
		list = slices.DeleteFunc(list, func(c checks.Snapshot) bool { return c.Name != *spec.Name })
	}
	switch {
	case len(list) == 0:
		return checks.Snapshot{}, checks.ErrNotFound
	case list[0].ID == uuid.Nil:
		return checks.Snapshot{}, errReadOnly
	case len(list) > 1:
		return checks.Snapshot{}, severalChecks(list, *spec.Slug)
	}
	return list[0], nil
}

// expects says what a check waits for.
func expects(d checkDoc) string {
	text := ", expected " + d.when()
	if parsed, err := schedule.Read(d.Schedule); d.IsCron() && err == nil {
		if zone, err := schedule.LoadLocation(d.TZ); err == nil {
			text = ", expected " + schedule.Explain(parsed, zone)
		}
	}
	return text + ", with a grace time of " + prose.Period(d.Grace)
}

// crontabTimes matches the expressions that all cron daemons read as Rollcall does.
var crontabTimes = regexp.MustCompile(`^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|([\d*,/-]+ +){3}[\dA-Za-z*,/-]+ +[\dA-Za-z*,/-]+)$`)

// reportLine says how a job reports to a check: a line for a crontab if the schedule is one of cron, or else a command.
func reportLine(d checkDoc) string {
	path, err := os.Executable()
	if err != nil { // without /proc
		path, _ = exec.LookPath(os.Args[0])
		path, _ = filepath.Abs(cmp.Or(path, "rollcall"))
	}
	command := "ROLLCALL_PING_URL=" + console.ShellQuote(d.PingURL) + " " + console.ShellQuote(path) + " run -- COMMAND"
	if crontabTimes.MatchString(d.Schedule) {
		return "\nA line for a crontab, with your command for COMMAND:\n\n    " + console.Printable(d.Schedule+" "+strings.ReplaceAll(command, "%", `\%`)) + "\n\n"
	}
	return "\nTo report a run, with your command for COMMAND:\n\n    " + console.Printable(command) + "\n\n"
}

type checkSetCmd struct {
	checkFlags
	settingFlags
}

func (checkSetCmd) Help() string {
	return `Settings without a flag do not change. The value none or "" removes an optional setting. --every replaces a schedule, and
--schedule an interval.

Each run that takes longer than --max-runtime takes the check down. The rules for alerts take effect at once, even on alerts
that are being held back. They change neither the status of the check nor its history.

A failure is a fail signal, a missed ping, or a run that did not end in time. Quiet hours are windows such as 22:00-06:00
(every day), Sat,Sun 00:00-24:00, Mon..Fri 22:00-06:00 (the days on which it begins) and 2026-12-24 18:00/2026-12-27 06:00
(once). At the end of a window, one alert summarizes those that were held back.

With --json: ` + checkDocHelp + `

Examples:

    rollcall check set nightly --schedule '30 2 * * *' --grace 1h
    rollcall check set nightly --alert-after 2 --repeat-every 4h
    rollcall check set nightly --quiet-hours '22:00-06:00; Sat,Sun 00:00-24:00' --tz Europe/Riga
    rollcall check set nightly --channels ops,pager --alert-after none
    rollcall check set nightly-upload --after nightly-dump
    rollcall check set experiment --record-only`
}

func (c checkSetCmd) Run(ctx context.Context, a *App) error {
	spec, given, err := c.spec()
	if err == nil && len(given) == 0 {
		err = console.Usagef("nothing to set: give a flag such as --schedule, --grace, --tags or --channels; rollcall check set --help lists them")
	}
	if err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		before, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		updated, err := p.Update(ctx, before.ID, spec)
		if err != nil {
			return console.Missing(p.explain(ctx, err), "the check")
		}
		if err := a.warnFollowing(ctx, p, spec, updated); err != nil {
			return err
		}
		names, err := p.names(ctx)
		if err != nil {
			return err
		}
		documents, err := p.documents(ctx, []checks.Snapshot{updated})
		if err != nil {
			return err
		}
		if spec.Channels != nil || spec.RecordOnly != nil {
			a.sayProblems(documents)
		}
		return c.Print(a.Stdout, documents[0], func(w io.Writer) {
			lines := changes(given, p.document(before), documents[0], names)
			if lines == nil {
				fmt.Fprintf(w, "The check %q (%s) has these settings already.\n", updated.DisplayName(), updated.ID)
				return
			}
			fmt.Fprintf(w, "Changed the check %q (%s).\n%s\n", updated.DisplayName(), updated.ID, strings.Join(lines, "\n"))
		})
	})
}

// changes says which settings have changed, and how.
func changes(settings []checks.Setting, before, after checkDoc, names map[uuid.UUID]string) (lines []string) {
	for _, s := range settings {
		from, to := cmp.Or(before.text(s, names), "none"), cmp.Or(after.text(s, names), "none")
		if from != to {
			lines = append(lines, fmt.Sprintf("  %s: %s -> %s", strings.ReplaceAll(flagOf(s), "-", " "), console.Printable(from), console.Printable(to)))
		}
	}
	return lines
}

type checkDeleteCmd struct {
	checkFlags
	Yes bool `env:"-" help:"Delete it. Without this flag nothing happens."`
}

func (checkDeleteCmd) Help() string {
	return `Delete a check with its log and its history. This cannot be undone: its ping URL answers 404 from then on, and a check of the same name
gets another one. "rollcall check pause" keeps it.

With --json: ` + checkDocHelp + `

Example:

    rollcall check delete nightly --yes`
}

func (c checkDeleteCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		if !c.Yes {
			return console.Usagef("deleting the check %q (%s) also deletes its log of %s, and cannot be undone; give --yes", check.DisplayName(), check.ID, prose.Count(check.NPings, "ping"))
		}
		deleted, err := p.Delete(ctx, check.ID)
		if err != nil {
			return console.Missing(err, "the check")
		}
		return c.Say(a.Stdout, p.document(deleted), "Deleted the check %q (%s).", deleted.DisplayName(), check.ID)
	})
}

// explain names the flag in the error of a setting, and similar names in that of an unknown integration.
func (p project) explain(ctx context.Context, err error) error {
	unknown, ok := errors.AsType[*channels.SelectError](err)
	if !ok {
		return namingFlag(err)
	}
	text := "--channels: " + unknown.Reason
	if names, listErr := p.names(ctx); listErr == nil {
		var all []string
		for _, name := range names {
			all = append(all, name)
		}
		slices.Sort(all)
		text += didYouMean(unknown.Item, all)
	}
	return console.Usagef("%s", text)
}
