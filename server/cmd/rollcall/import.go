package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client/healthchecks"
)

// progressEvery is after how many checks a line tells how far an import is.
const progressEvery = 100

type importHealthchecksCmd struct {
	URL         address `name:"url" required:"" placeholder:"URL" help:"The Healthchecks server, such as https://healthchecks.io."`
	APIKey      string  `name:"api-key" secret:"" required:"" placeholder:"KEY" help:"API key of the project there, read-write: a read-only one does not show UUIDs."`
	DryRun      bool    `help:"Show what would be done, without doing it."`
	SkipInvalid bool    `help:"Import the other checks when some cannot be imported. By default none is imported then."`
	projectFlag
	jsonFlag
}

func (importHealthchecksCmd) Help() string {
	return `Takes over all checks of a Healthchecks project, with their UUIDs, into a project that exists here, so that ping URLs change
only their host. Names, slugs, tags, descriptions, timing, methods, keywords and filters are taken over, and which checks
are paused; pings and flips are not. Integrations cannot be, because their settings are not told: the output names them.

It can be repeated: checks that are there are updated to the settings at the source, and keep their channels.

With --json: {"dry_run", "created", "updated", "unchanged", "refused", "channels"}, where refused is an array of
{"uuid", "name", "error"} and channels an array of {"name", "kind", "checks"}: the integrations that were not taken over, and how
many checks have each.

Example:

    ROLLCALL_API_KEY_FILE=hc.key rollcall import healthchecks --url https://healthchecks.io --project backups`
}

type refusedDoc struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

type leftDoc struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Checks int    `json:"checks"`
}

type importDoc struct {
	DryRun    bool         `json:"dry_run"`
	Created   int          `json:"created"`
	Updated   int          `json:"updated"`
	Unchanged int          `json:"unchanged"`
	Refused   []refusedDoc `json:"refused"`
	Channels  []leftDoc    `json:"channels"`
}

func (c *importHealthchecksCmd) Run(ctx context.Context, a *app) error {
	source, err := healthchecks.New(string(c.URL), c.APIKey, nil)
	if err != nil {
		return usageError{plainError(err)}
	}
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := c.find(ctx, mon)
		if err != nil {
			return err
		}
		list, err := source.Checks(ctx)
		if err != nil {
			return plainError(err)
		}
		left, err := source.Channels(ctx)
		if err != nil {
			return plainError(err)
		}
		result, err := healthchecks.Import(ctx, mon, project.ID, list, &healthchecks.Options{
			SkipInvalid: c.SkipInvalid, DryRun: c.DryRun, Progress: func(done, total int) {
				if done%progressEvery == 0 && done < total {
					fmt.Fprintf(a.stderr, "rollcall: %d of %d checks\n", done, total)
				}
			},
		})
		for _, r := range result.Refused {
			fmt.Fprintf(a.stderr, "rollcall: %s\n", oneLine(r.Error()))
		}
		if errors.Is(err, healthchecks.ErrRefused) {
			return fmt.Errorf("%s of %d cannot be imported, and nothing was; --skip-invalid imports the others", plural(len(result.Refused), "check"), len(list))
		}
		if err != nil {
			return fmt.Errorf("%w (before that: %s)", err, result)
		}
		return c.report(a.stdout, project.Name, result, list, left)
	})
}

// plainError is an error without the name of the package.
func plainError(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "healthchecks: "))
}

func (c *importHealthchecksCmd) report(w io.Writer, project string, result healthchecks.Result, list []healthchecks.Check, left []healthchecks.Channel) error {
	used := make(map[string]int)
	for _, check := range list {
		for _, id := range check.Channels {
			used[id]++
		}
	}
	document := importDoc{
		DryRun: c.DryRun, Created: result.Created, Updated: result.Updated, Unchanged: result.Unchanged,
		Refused: []refusedDoc{}, Channels: []leftDoc{},
	}
	for _, r := range result.Refused {
		document.Refused = append(document.Refused, refusedDoc{r.ID.String(), r.Name, r.Err.Error()})
	}
	rows := [][]string{{"  NAME", "KIND", "CHECKS"}}
	for _, channel := range left {
		document.Channels = append(document.Channels, leftDoc{channel.Name, channel.Kind, used[channel.ID]})
		rows = append(rows, []string{"  " + channel.Name, channel.Kind, fmt.Sprint(used[channel.ID])})
	}
	return c.print(w, document, func(w io.Writer) {
		verb := "Imported"
		if c.DryRun {
			verb = "Nothing was changed. Would import"
		}
		fmt.Fprintf(w, "%s %s into the project %q: %s.\n", verb, plural(len(list)-len(result.Refused), "check"), project, result)
		if len(left) > 0 {
			fmt.Fprintf(w, "\nThese integrations were not taken over; make them with rollcall channel create:\n\n")
			table(w, rows...)
		}
	})
}
