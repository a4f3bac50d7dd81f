package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// maxTimes is the maximum of -n.
const maxTimes = 10_000

type scheduleCmd struct {
	Expression string           `arg:"" name:"expr" help:"A cron expression of five fields, a systemd OnCalendar expression, or words such as 'weekdays 7:30'; rollcall detects which. Quote it for the shell."`
	TZ         string           `name:"tz" completion:"zone" default:"UTC" placeholder:"ZONE" help:"Time zone of the expression, such as Europe/Riga."`
	From       *console.Instant `env:"-" placeholder:"TIME" help:"List the times after this one, in the form 2026-01-02T15:04:05Z or with an offset. Now by default."`
	Count      int              `short:"n" default:"10" placeholder:"N" help:"Number of times to list, 1 to 10000."`
	Grace      time.Duration    `default:"1h" placeholder:"DURATION" help:"Grace time of the check, 1m to 8760h."`
	console.JSONFlag

	words schedule.Understood // what became the expression, if it was in words
	typed string
}

func (scheduleCmd) Help() string {
	return `The list marks times that a clock change moves, skips or repeats. The last column is when, in the time zone of --tz, a check with this schedule and
grace time goes down if the ping for that time does not arrive. The command uses no database. It exits with status 1 if a
check would not accept the expression. Words become an expression, or an interval where no expression says the same; only this
command and the pages take them.

With --json: {"expression", "type", "tz", "explanation", "from", "grace", "next"}, where type is cron or oncalendar,
grace is in seconds, and next is an array of {"time", "local", "moved", "repeated", "note", "down"}. For words there are also
"words" and "taken", which says how something was read that they leave open. For an interval there are "words" and "timeout" in
seconds alone.

Examples:

    rollcall schedule '0 3 * * *' --tz Europe/Riga
    rollcall schedule 'Mon..Fri *-*-* 09:00:00' -n 5
    rollcall schedule @daily -n 3
    rollcall schedule 'first Monday of the month at 9:00'
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
	Words       string        `json:"words,omitempty"`
	Taken       string        `json:"taken,omitempty"`
}

// intervalDoc is an interval in words in JSON.
type intervalDoc struct {
	Words   string `json:"words"`
	Timeout int64  `json:"timeout"`
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
		from = c.From.Time
	}
	asked := c.takeWords()
	// Validate as for a check, so that the errors are the same.
	spec := checks.Spec{Schedule: &c.Expression, TZ: &c.TZ, Grace: &c.Grace}
	if c.words.Every != 0 {
		spec.Schedule, spec.Timeout = nil, &c.words.Every
	}
	if err := spec.Validate(from); err != nil {
		invalid, isExpr := errors.AsType[*schedule.Error](err)
		field, isField := errors.AsType[*checks.FieldError](err)
		switch {
		case !isField || field.Field != "schedule" && field.Field != "timeout":
			return err
		case asked != nil && isExpr && asked.Error() != invalid.Error():
			return fmt.Errorf("not understood: %s", asked.Reason)
		}
		return errors.New(err.Error()) // an answer about the expression, not wrong usage
	}
	if c.words.Every != 0 {
		return c.Say(a.stdout, intervalDoc{c.typed, int64(c.words.Every / time.Second)},
			"%s is an interval: give the check a timeout of %v instead of a schedule.", c.typed, c.words.Every)
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

// takeWords replaces words by their expression. The error says why words are not understood.
func (c *scheduleCmd) takeWords() *schedule.Error {
	said, err := schedule.FromWords(c.Expression)
	if err == nil && said.Expression != c.Expression {
		c.typed, c.words, c.Expression = c.Expression, said, said.Expression
	}
	asked, _ := errors.AsType[*schedule.Error](err)
	return asked
}

func (c *scheduleCmd) document(parsed schedule.Schedule, zone *time.Location, from time.Time, times []schedule.Occurrence) scheduleDoc {
	doc := scheduleDoc{
		Expression: c.Expression, Type: schedule.Detect(c.Expression), TZ: zone.String(),
		Explanation: schedule.Explain(parsed, zone), From: console.Timestamp(from), Grace: int64(c.Grace / time.Second),
		Zoneinfo: schedule.Zoneinfo().Version,
		Next:     make([]timeDoc, len(times)), Words: c.typed, Taken: c.words.Taken,
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
	facts := [][]string{
		{"Expression:", fmt.Sprintf("%s (%s)", strings.ReplaceAll(c.Expression, "\n", " and "), schedule.Detect(c.Expression))},
		{"Meaning:", schedule.Explain(parsed, zone)},
		{"Times after:", from.In(zone).Format(wallFormat)},
		{"Grace time:", prose.Period(c.Grace)},
		{"Time zone data:", schedule.Zoneinfo().String()},
	}
	if c.typed != "" {
		facts = slices.Insert(facts, 0, []string{"Words:", strings.TrimSpace(c.typed + ". " + c.words.Taken)})
	}
	console.Table(w, facts...)
	fmt.Fprintln(w)
	const utcFormat = "2006-01-02 15:04:05"
	rows := [][]string{{"", zone.String(), "UTC", "DOWN WITHOUT A PING", ""}}
	for i, o := range times {
		rows = append(rows, []string{strconv.Itoa(i + 1), o.Time.In(zone).Format(wallFormat), o.Time.UTC().Format(utcFormat),
			o.Time.Add(c.Grace).In(zone).Format(wallFormat), mark(o)})
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
