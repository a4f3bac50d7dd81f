package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// windowFlags say how long alerts are kept back, and why.
type windowFlags struct {
	For   string `env:"-" placeholder:"DURATION" help:"How long, such as 90m, 24h or 1d."`
	Until string `env:"-" placeholder:"TIME" help:"When it ends, instead of --for: a time such as 2026-12-01T22:00 in the zone of --tz, or with an offset. A time that clocks skip is refused; one that they show twice is the first."`
	TZ    string `name:"tz" env:"-" completion:"zone" placeholder:"ZONE" help:"Time zone of times, schedules and the answer, such as Europe/Riga (default: UTC)."`
	Note  string `env:"-" placeholder:"TEXT" help:"Why, for people. Status pages show the note of maintenance."`
}

// window returns the window that the flags describe.
func (f windowFlags) window(a *App, kind gate.WindowKind) (w gate.Window, err error) {
	w.Kind, w.Note = kind, f.Note
	if f.For != "" {
		if w.Duration, err = checks.ParseDuration(f.For); err != nil {
			return w, console.Usagef("--for: %q %v", f.For, err)
		}
	}
	if w.End, err = f.instant(a, "--until", f.Until); err == nil && f.For == "" && f.Until == "" {
		err = console.Usagef("give --for or --until")
	}
	return w, err
}

// zone returns the zone of --tz.
func (f windowFlags) zone() (*time.Location, error) {
	zone, err := schedule.LoadLocation(cmp.Or(f.TZ, "UTC"))
	if err != nil {
		return nil, console.Usagef("--tz: %s", schedule.Detail(err))
	}
	return zone, nil
}

// instant reads a time: with an offset, or in the zone of --tz, where it says of one that occurs twice which it is.
func (f windowFlags) instant(a *App, flag, text string) (time.Time, error) {
	zone, err := f.zone()
	if err != nil || text == "" {
		return time.Time{}, err
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	at, note, err := schedule.ParseLocal(text, zone)
	if err != nil {
		return time.Time{}, console.Usagef("%s: %q %v", flag, text, err)
	}
	if note != "" {
		a.say("%s: %s", flag, note)
	}
	return at, nil
}

// coverFlags select the checks of a window. Without any, they select the whole project.
type coverFlags struct {
	Check []string `env:"-" sep:"none" completion:"check" placeholder:"CHECK" help:"A check: its slug, its UUID or its ping URL. Repeatable."`
	Tag   []string `env:"-" sep:"none" placeholder:"TAG" help:"The checks with this tag. Repeatable."`
}

// ids returns the checks that the flags name.
func (f coverFlags) ids(ctx context.Context, p project) (ids []uuid.UUID, err error) {
	for _, name := range f.Check {
		check, err := p.check(ctx, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, check.ID)
	}
	return ids, nil
}

// windowStart are the flags of commands that add a window.
type windowStart struct {
	coverFlags
	windowFlags
	projectFlags
	console.JSONFlag
}

// add adds a window about the checks that the flags name, and says so.
func (c *windowStart) add(ctx context.Context, a *App, w gate.Window) error {
	return c.projectFlags.in(ctx, a, func(p project) (err error) {
		if w.Checks, err = c.ids(ctx, p); err != nil {
			return err
		}
		w.Tags = c.Tag
		if _, similar, err := p.unknownTag(ctx, c.Tag); err == nil && similar != "" { // a warning says that no check has it
			defer a.say("did you mean --tag %s?", console.ShellQuote(similar))
		}
		return p.addWindow(ctx, a, c.windowFlags, c.JSONFlag, w)
	})
}

// addWindow adds a window and says so.
func (p project) addWindow(ctx context.Context, a *App, flags windowFlags, f console.JSONFlag, w gate.Window) error {
	zone, err := flags.zone()
	if err != nil {
		return err
	}
	if w, err = p.AddWindow(ctx, w); err != nil {
		return err
	}
	if p.mon != nil { // a server says it itself
		warnings, err := p.mon.Project(p.ID).WindowWarnings(ctx, w)
		if err != nil {
			return err
		}
		a.warn(warnings)
	}
	documents, err := p.windowDocs(ctx, []gate.Window{w})
	if err != nil {
		return err
	}
	return f.Say(a.Stdout, documents[0].Window, "%s", documents[0].sentence(zone))
}

// now is the time by which windows are running or not.
func (p project) now() time.Time {
	if p.mon != nil {
		return p.mon.Now()
	}
	return time.Now()
}

type maintenanceStartCmd struct {
	windowStart
	At       string `env:"-" placeholder:"TIME" help:"When it starts, as for --until (default: now)."`
	Schedule string `env:"-" placeholder:"EXPR" help:"Start at each time of a cron or OnCalendar expression, for as long as --for says, until --until if that is given."`
}

func (maintenanceStartCmd) Help() string {
	return `During maintenance, the checks that it covers alert nobody that they are down. Pings, statuses and history go on, and what is still
down at its end is alerted then. Statistics leave it out of the downtime, and status pages announce and show it. Without
--check and --tag it covers the whole project.

With --json: ` + windowDocHelp + `

Examples:

    rollcall maintenance start --tag db --for 2h --note 'New disks'
    rollcall maintenance start --check nightly --at 2026-12-01T22:00 --until 2026-12-02T02:00 --tz Europe/Riga
    rollcall maintenance start --schedule '0 3 * * SUN' --for 1h --tz Europe/Riga`
}

func (c *maintenanceStartCmd) Run(ctx context.Context, a *App) error {
	w, err := c.window(a, gate.Maintenance)
	if err != nil {
		return err
	}
	if w.Start, err = c.instant(a, "--at", c.At); err != nil {
		return err
	}
	if w.Schedule = c.Schedule; w.Schedule != "" {
		w.TZ = c.TZ
	}
	return c.add(ctx, a, w)
}

type snoozeStartCmd struct{ windowStart }

func (snoozeStartCmd) Help() string {
	return `A snooze keeps alerts back that checks are down, and nothing else. Neither a ping nor a change of a check ends it, and what is still
down at its end is alerted then. Without --check and --tag it covers the whole project. A script without an API key can
snooze by the ping key, with curl: see server/API.md.

With --json: ` + windowDocHelp + `

Examples:

    rollcall snooze start --tag web --for 30m --note Deploy
    rollcall snooze start --until 2026-12-02T09:00 --tz Europe/Riga`
}

func (c *snoozeStartCmd) Run(ctx context.Context, a *App) error {
	w, err := c.window(a, gate.Snooze)
	if err != nil {
		return err
	}
	return c.add(ctx, a, w)
}

type checkSnoozeCmd struct {
	checkFlags
	windowFlags
}

func (checkSnoozeCmd) Help() string {
	return `A snooze keeps alerts back that the check is down. Neither a ping nor a change of the check ends it; "rollcall snooze end" does. If the
check is still down at its end, that is alerted then.

With --json: ` + windowDocHelp + `

Examples:

    rollcall check snooze nightly --for 2h
    rollcall check snooze nightly --until 2026-12-02T09:00 --tz Europe/Riga --note 'Waiting for the vendor'`
}

func (c *checkSnoozeCmd) Run(ctx context.Context, a *App) error {
	w, err := c.window(a, gate.Snooze)
	if err != nil {
		return err
	}
	return c.in(ctx, a, func(p project) error {
		check, err := p.check(ctx, c.Check)
		if err != nil {
			return err
		}
		w.Checks = []uuid.UUID{check.ID}
		return p.addWindow(ctx, a, c.windowFlags, c.JSONFlag, w)
	})
}

// windowKind is a parameter of commands that are the same for maintenance and for snoozes.
type windowKind interface{ kind() gate.WindowKind }

type (
	ofMaintenance struct{}
	ofSnooze      struct{}
)

func (ofMaintenance) kind() gate.WindowKind { return gate.Maintenance }
func (ofSnooze) kind() gate.WindowKind      { return gate.Snooze }

// windowEndCmd ends windows.
type windowEndCmd[K windowKind] struct {
	ID []string `arg:"" optional:"" help:"Ids, as the list shows them."`
	coverFlags
	All bool `env:"-" help:"End all of the project."`
	projectFlags
	console.JSONFlag
}

func (windowEndCmd[K]) Help() string {
	var of K
	return fmt.Sprintf(`Alerts that were kept back and are still true are sent. What has not begun is cancelled, and what recurs does not occur again.
--check and --tag end what names this check or this tag.

With --json: an array of %[2]s

Examples:

    rollcall %[1]s end --tag db
    rollcall %[1]s end --all`, of.kind(), windowDocHelp)
}

// Validate checks the command line. Kong calls it.
func (c *windowEndCmd[K]) Validate() error {
	if given := len(c.ID) + len(c.Check) + len(c.Tag); c.All == (given > 0) {
		return errors.New("give ids, --check, --tag or --all")
	}
	return c.placeFlags.Validate()
}

func (c *windowEndCmd[K]) Run(ctx context.Context, a *App) error {
	return c.projectFlags.in(ctx, a, func(p project) error {
		var of K
		list, err := p.Windows(ctx, checks.WindowQuery{Kind: of.kind()})
		if err != nil {
			return err
		}
		ids, err := c.ids(ctx, p)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(w gate.Window) bool { return !c.names(w, ids) })
		if len(list) == 0 && !c.All {
			return fmt.Errorf("nothing to end; \"rollcall %s list\" shows what is running or planned", of.kind())
		}
		for i, w := range list {
			if list[i], err = p.EndWindow(ctx, w.ID); err != nil {
				return err
			}
		}
		documents, err := p.windowDocs(ctx, list)
		if err != nil {
			return err
		}
		return c.Print(a.Stdout, each(documents, windowDoc.wire), func(w io.Writer) {
			for _, d := range documents {
				fmt.Fprintf(w, "Ended the %s of %s (%s).\n", d.Kind, console.Printable(d.covers), d.ID)
			}
		})
	})
}

// names reports whether the command line names a window.
func (c *windowEndCmd[K]) names(w gate.Window, ids []uuid.UUID) bool {
	return c.All || slices.Contains(c.ID, w.ID.String()) ||
		slices.ContainsFunc(ids, func(id uuid.UUID) bool { return slices.Contains(w.Checks, id) }) ||
		slices.ContainsFunc(c.Tag, func(tag string) bool { return slices.Contains(w.Tags, tag) })
}

// windowListCmd lists windows.
type windowListCmd[K windowKind] struct {
	Past bool `env:"-" help:"List those that have ended in the last 366 days instead; of snoozes, those that are still stored."`
	projectFlags
	console.JSONFlag
}

func (windowListCmd[K]) Help() string { return "With --json: an array of " + windowDocHelp }

func (c *windowListCmd[K]) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		var of K
		query, now := checks.WindowQuery{Kind: of.kind()}, p.now()
		if c.Past {
			query.EndsAfter = now.AddDate(0, 0, -366)
		}
		list, err := p.Windows(ctx, query)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(w gate.Window) bool { return c.Past != w.Over(now) })
		documents, err := p.windowDocs(ctx, list)
		if err != nil {
			return err
		}
		return c.Print(a.Stdout, each(documents, windowDoc.wire), func(w io.Writer) { windowTable.table(w, documents...) })
	})
}

// windowDoc is a window in JSON, with what the table shows beside it.
type windowDoc struct {
	wire.Window
	covers string
}

var windowDocHelp = keys[wire.Window]() + `,
as the API has them: checks has UUIDs, tags is one text, and active_until is the end of the occurrence that is running, or null.`

// windowDocs returns the documents of windows.
func (p project) windowDocs(ctx context.Context, list []gate.Window) ([]windowDoc, error) {
	names := make(map[uuid.UUID]string)
	if slices.ContainsFunc(list, func(w gate.Window) bool { return len(w.Checks) > 0 }) {
		all, err := p.Checks(ctx, checks.Query{})
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			names[c.ID] = c.DisplayName()
		}
	}
	return each(list, func(w gate.Window) windowDoc {
		return windowDoc{wire.NewWindow(w, p.now(), true), covers(w, names)}
	}), nil
}

// covers says which checks a window is about.
func covers(w gate.Window, names map[uuid.UUID]string) string {
	var parts []string
	for _, id := range w.Checks {
		if name, ok := names[id]; ok && id != uuid.Nil {
			parts = append(parts, name)
		}
	}
	if unnamed := len(w.Checks) - len(parts); unnamed > 0 { // deleted, or with a key that sees no UUIDs
		parts = append(parts, prose.Count(unnamed, "check"))
	}
	for _, tag := range w.Tags {
		parts = append(parts, "tag "+tag)
	}
	if len(parts) == 0 {
		return "the whole project"
	}
	return strings.Join(parts, ", ")
}

// wire is the document as the API has it.
func (d windowDoc) wire() wire.Window { return d.Window }

// sentence says what was added, such as "Maintenance of tag db until 2026-12-01T22:00:00+02:00 (…).", with times in a zone.
func (d windowDoc) sentence(zone *time.Location) string {
	when := ""
	if d.ActiveUntil == nil && d.Next != nil {
		when = " from " + d.Next.Time.In(zone).Format(console.TimeFormat)
	}
	switch {
	case d.Schedule != "":
		when += ", recurring"
	case d.End != nil:
		when += " until " + d.End.Time.In(zone).Format(console.TimeFormat)
	}
	title := map[string]string{"maintenance": "Maintenance of ", "snooze": "Snoozed "}[d.Kind]
	return console.Printable(title+d.covers) + when + " (" + d.ID + ")."
}

// windowTable is how windows are listed.
var windowTable = list[windowDoc]{
	{"ID", func(d windowDoc) string { return d.ID }},
	{"OF", func(d windowDoc) string { return d.covers }},
	{"RUNNING UNTIL", func(d windowDoc) string { return optionalTime(d.ActiveUntil) }},
	{"NEXT START", func(d windowDoc) string { return optionalTime(d.Next) }},
	{"END", func(d windowDoc) string { return optionalTime(d.End) }},
	{"RECURS", func(d windowDoc) string {
		if d.Schedule == "" {
			return ""
		}
		return d.Schedule + " for " + prose.Duration(time.Duration(d.Duration)*time.Second) + ", " + d.TZ
	}},
	{"NOTE", func(d windowDoc) string { return d.Note }},
	{"BY", func(d windowDoc) string { return d.By }},
}

// optionalTime writes a time, "" for none.
func optionalTime(t *wire.Time) string {
	if t == nil {
		return ""
	}
	return console.Timestamp(t.Time)
}
