package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/internal/healthchecks"
)

const (
	// importTime bounds the reading of the source, with its pauses.
	importTime = 5 * time.Minute
	// maxRefused is how many refused entries of the source are named.
	maxRefused = 100
)

// progressEvery is how many checks an import handles between two lines of progress.
const progressEvery = 100

type importHealthchecksCmd struct {
	URL         console.Address `name:"url" env:"-" required:"" placeholder:"URL" help:"The Healthchecks server, such as https://healthchecks.io."`
	APIKey      string          `name:"api-key" secret:"" required:"" placeholder:"KEY" help:"Read-write API key of the project at the source. A read-only key does not show UUIDs."`
	DryRun      bool            `help:"Show the changes without making them."`
	SkipInvalid bool            `help:"Import the valid checks even if others are malformed or refused. Without it, one such check stops the import."`
	projectFlag
	console.JSONFlag
}

func (importHealthchecksCmd) Help() string {
	return `The command imports all checks of a Healthchecks project into an existing project. They keep their UUIDs, so that only
the host of their ping URLs changes. The command imports names, slugs, tags, descriptions, timing, methods, keywords
and filters, and which checks are paused, but neither pings nor flips. It cannot import integrations, because the API
of Healthchecks does not show their settings; the output lists them.

You can repeat an import: it updates existing checks to the settings at the source and keeps their integrations. If a check
is malformed or refused, the command imports nothing and names each such check on standard error; --skip-invalid imports
the others.

With --json: {"dry_run", "created", "updated", "unchanged", "refused", "channels"}. Refused is an array of {"uuid", "name",
"error"}, with "" for an unreadable UUID or name. Channels is an array of {"name", "kind", "checks"}: the integrations at
the source, with the number of checks that use each.

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

func (c *importHealthchecksCmd) Run(ctx context.Context, a *App) error {
	source, err := healthchecks.New(string(c.URL), c.APIKey, &client.Config{UserAgent: "rollcall import", MaxWait: maxWait, OnRetry: a.onRetry})
	if err != nil {
		return console.Usage(plainError(err))
	}
	return a.withMonitor(ctx, false, func(mon *monitor.Monitor) error {
		project, err := projectByName(ctx, mon, c.Project)
		if err != nil {
			return err
		}
		reading, cancel := context.WithTimeoutCause(ctx, importTime, fmt.Errorf("the source could not be read within %v", importTime))
		defer cancel()
		list, malformed, err := readable(source.Checks(reading))
		if err != nil {
			return err
		}
		left, ignored, err := readable(source.Channels(reading))
		if err != nil {
			return err
		}
		result, err := healthchecks.Import(ctx, mon, project.ID, list, &healthchecks.Options{
			SkipInvalid: c.SkipInvalid, Malformed: malformed, DryRun: c.DryRun, Progress: func(done, total int) {
				if done%progressEvery == 0 && done < total {
					fmt.Fprintf(a.Stderr, "rollcall: %d of %d checks\n", done, total)
				}
			},
		})
		refused := slices.Concat(ignored, result.Refused)
		for _, r := range refused[:min(len(refused), maxRefused)] {
			console.Fail(a.Stderr, r)
		}
		if more := len(refused) - maxRefused; more > 0 {
			a.say("and %d more", more)
		}
		if errors.Is(err, healthchecks.ErrRefused) {
			return fmt.Errorf("%s of %d cannot be imported, so none was; --skip-invalid imports the others", prose.Count(len(result.Refused), "check"), len(list)+len(malformed))
		}
		if err != nil {
			return fmt.Errorf("%w (before that: %s)", err, result)
		}
		return c.report(a.Stdout, project.Name, result, list, left)
	})
}

// readable splits the error of a list: unreadable entries on the one hand, any other error on the other.
func readable[T any](list []T, err error) ([]T, healthchecks.Malformed, error) {
	malformed, ok := errors.AsType[healthchecks.Malformed](err)
	if err != nil && !ok {
		return nil, nil, plainError(err)
	}
	return list, malformed, nil
}

// plainError returns the error without package names.
func plainError(err error) error {
	return console.PlainError(errors.New(strings.TrimPrefix(err.Error(), "healthchecks: ")))
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
		id := ""
		if r.ID != uuid.Nil {
			id = r.ID.String()
		}
		document.Refused = append(document.Refused, refusedDoc{id, r.Name, r.Err.Error()})
	}
	rows := [][]string{{"  NAME", "KIND", "CHECKS"}}
	for _, channel := range left {
		document.Channels = append(document.Channels, leftDoc{channel.Name, channel.Kind, used[channel.ID]})
		rows = append(rows, []string{"  " + channel.Name, channel.Kind, fmt.Sprint(used[channel.ID])})
	}
	return c.Print(w, document, func(w io.Writer) {
		verb := "Imported"
		if c.DryRun {
			verb = "Nothing was changed. Would import"
		}
		fmt.Fprintf(w, "%s %s into the project %q: %s.\n", verb, prose.Count(result.Created+result.Updated+result.Unchanged, "check"), project, result)
		if len(left) > 0 {
			fmt.Fprintf(w, "\nThese integrations were not imported. Create them with rollcall channel create:\n\n")
			console.Table(w, rows...)
		}
	})
}
