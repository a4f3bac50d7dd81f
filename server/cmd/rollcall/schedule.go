package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// maxTimes is the maximum of -n.
const maxTimes = 10_000

type scheduleCmd struct {
	Expression string        `arg:"" name:"expr" help:"A cron expression of five fields, or a systemd OnCalendar expression; rollcall detects which. Quote it for the shell."`
	TZ         string        `name:"tz" default:"UTC" placeholder:"ZONE" help:"Time zone of the expression, such as Europe/Riga."`
	From       *time.Time    `placeholder:"TIME" help:"List the times after this one, in the form 2026-01-02T15:04:05Z or with an offset. Now by default."`
	Count      int           `short:"n" default:"10" placeholder:"N" help:"Number of times to list, 1 to 10000."`
	Grace      time.Duration `default:"1h" placeholder:"DURATION" help:"Grace time of the check, 1m to 8760h."`
	console.JSONFlag
}

func (scheduleCmd) Help() string {
	return `The list marks times that a clock change moves, skips or repeats. The last column is when a check with this schedule and
grace time goes down if the ping for that time does not arrive. The command uses no database. It exits with status 1 if a
check would not accept the expression.

With --json: {"expression", "type", "tz", "explanation", "from", "grace", "next"}, where type is cron or oncalendar,
grace is in seconds, and next is an array of {"time", "local", "moved", "repeated", "note", "down"}.

Examples:

    rollcall schedule '0 3 * * *' --tz Europe/Riga
    rollcall schedule 'Mon..Fri *-*-* 09:00:00' -n 5
    rollcall schedule @daily -n 3
    rollcall schedule '30 2 * * *' --tz America/New_York --from 2026-03-07T00:00:00Z -n 3`
}

// Validate checks the flags. Kong calls it.
func (c *scheduleCmd) Validate() error {
	if c.Count < 1 || c.Count > maxTimes {
		return fmt.Errorf("-n: must be 1 to %d: %d", maxTimes, c.Count)
	}
	if c.From != nil && (c.From.Year() < 1970 || c.From.Year() > 9999) {
		return errors.New("--from: the year must be 1970 to 9999")
	}
	return nil
}

// scheduleDoc is a schedule in JSON.
type scheduleDoc struct {
	Expression  string        `json:"expression"`
	Type        schedule.Kind `json:"type"`
	TZ          string        `json:"tz"`
	Explanation string        `json:"explanation"`
	From        string        `json:"from"`
	Grace       int64         `json:"grace"`
	Zoneinfo    string        `json:"zoneinfo"` // the release of the time zone data
	Next        []timeDoc     `json:"next"`
}

type timeDoc struct {
	Time     string `json:"time"`  // in UTC
	Local    string `json:"local"` // in the time zone
	Moved    bool   `json:"moved"`
	Repeated bool   `json:"repeated"`
	Note     string `json:"note"`
	Down     string `json:"down"` // in UTC
}

func (c *scheduleCmd) Run(_ context.Context, a *app) error {
	from := time.Now()
	if c.From != nil {
		from = *c.From
	}
	// Validate as for a check, so that the errors are the same.
	spec := checks.Spec{Schedule: &c.Expression, TZ: &c.TZ, Grace: &c.Grace}
	if err := spec.Validate(from); err != nil {
		if field, ok := errors.AsType[*checks.FieldError](err); ok && field.Field == "schedule" {
			return errors.New(err.Error()) // an answer about the expression, not wrong usage
		}
		return err
	}
	parsed, err := schedule.Read(c.Expression)
	if err != nil {
		return err
	}
	zone, err := schedule.LoadLocation(c.TZ)
	if err != nil {
		return err
	}
	times := schedule.Upcoming(parsed, from.In(zone), c.Count)
	return c.Print(a.stdout, c.document(parsed, zone, from, times), func(w io.Writer) {
		c.printText(w, parsed, zone, from, times)
	})
}

func (c *scheduleCmd) document(parsed schedule.Schedule, zone *time.Location, from time.Time, times []schedule.Occurrence) scheduleDoc {
	doc := scheduleDoc{
		Expression: c.Expression, Type: schedule.Detect(c.Expression), TZ: zone.String(),
		Explanation: schedule.Explain(parsed, zone), From: console.Timestamp(from), Grace: int64(c.Grace / time.Second),
		Zoneinfo: schedule.Zoneinfo().Version,
		Next:     make([]timeDoc, len(times)),
	}
	for i, o := range times {
		doc.Next[i] = timeDoc{
			Time: console.Timestamp(o.Time), Local: o.Time.In(zone).Format(console.TimeFormat),
			Moved: o.Moved, Repeated: o.Repeated, Note: o.Note, Down: console.Timestamp(o.Time.Add(c.Grace)),
		}
	}
	return doc
}

func (c *scheduleCmd) printText(w io.Writer, parsed schedule.Schedule, zone *time.Location, from time.Time, times []schedule.Occurrence) {
	console.Table(w,
		[]string{"Expression:", fmt.Sprintf("%s (%s)", c.Expression, schedule.Detect(c.Expression))},
		[]string{"Meaning:", schedule.Explain(parsed, zone)},
		[]string{"Times after:", from.In(zone).Format(wallFormat)},
		[]string{"Grace time:", c.Grace.String()},
		[]string{"Time zone data:", schedule.Zoneinfo().String()},
	)
	fmt.Fprintln(w)
	const utcFormat = "2006-01-02 15:04:05"
	rows := [][]string{{"", zone.String(), "UTC", "DOWN WITHOUT A PING (UTC)", ""}}
	for i, o := range times {
		rows = append(rows, []string{strconv.Itoa(i + 1), o.Time.In(zone).Format(wallFormat), o.Time.UTC().Format(utcFormat),
			o.Time.Add(c.Grace).UTC().Format(utcFormat), mark(o)})
	}
	console.Table(w, rows...)
	if len(times) < c.Count {
		fmt.Fprintln(w, "\nThere are no more times.")
	}
}

// wallFormat is the layout of local times.
const wallFormat = "Mon 2006-01-02 15:04:05 -0700 MST"

// mark describes how a clock change affects a time or the times before it.
func mark(o schedule.Occurrence) string {
	text := ""
	switch {
	case o.Moved:
		text = "! MOVED: "
	case o.Repeated:
		text = "! REPEATED: "
	case o.Note != "":
		text = "! "
	}
	return text + o.Note
}
