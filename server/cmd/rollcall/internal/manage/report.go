package manage

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type reportCmd struct {
	projectFlags
	Month string `env:"-" placeholder:"YYYY-MM" help:"The month, in UTC. Default: the last full month."`
	console.JSONFlag
	Format string `default:"table" enum:"table,json,csv,html" placeholder:"FORMAT" help:"Output format: table, json, csv or html. A page in html prints well and loads nothing."`
}

func (reportCmd) Help() string {
	return `For each check that existed in the month: how many runs ended, how many of them failed or were missed, for how long the
check was down, its availability, and the durations of its runs. Availability is the share of the watched time in which
the check was up. Time in which it was paused, new or not there yet is unwatched and does not count,
nor does time in maintenance in which it was down. The days and the month
are those of UTC. Of the current month, the report has the part until now.

With --json, or --format json: {"project", "month", "until", "total", "checks"}. Each check has "uuid", "name" and "slug"; it and the total have "runs",
"failures", "up", "down", "maintenance" and "unwatched" in seconds, "availability" from 0 to 1 or null, and "durations": {"count", "sum",
"min", "max"} in seconds, or null. In csv, a text that a spreadsheet could take for a formula begins with an apostrophe.

Examples:

    rollcall report
    rollcall report --project backups --month 2026-10 --format html > october.html`
}

// Validate checks the flags. Kong calls it.
func (c *reportCmd) Validate() error {
	if _, err := c.month(time.Now()); err != nil {
		return err
	}
	if c.JSON && c.Format != "table" && c.Format != "json" {
		return errors.New("--json and --format exclude each other")
	}
	return c.placeFlags.Validate()
}

// format returns the format; --json selects it as with any command.
func (c *reportCmd) format() string {
	if c.JSON {
		return "json"
	}
	return c.Format
}

// month returns the first day of the month.
func (c *reportCmd) month(now time.Time) (time.Time, error) {
	if c.Month == "" {
		year, month, _ := now.UTC().Date()
		return time.Date(year, month-1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	month, err := time.Parse("2006-01", c.Month)
	if err != nil {
		return month, fmt.Errorf("--month: %q is not a month such as 2026-10", c.Month)
	}
	return month, nil
}

// report is the report about a month in JSON.
type report struct {
	Project string        `json:"project"`
	Month   string        `json:"month"`
	Until   string        `json:"until"`
	Total   wire.StatsSum `json:"total"`
	Checks  []reportCheck `json:"checks"`
}

// reportCheck is a check in a report.
type reportCheck struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	Slug string `json:"slug"`
	wire.StatsSum

	days []checks.DayStats
	// Title is what people call the check.
	Title string `json:"-"`
}

func (c *reportCmd) Run(ctx context.Context, a *App) error {
	return c.in(ctx, a, func(p project) error {
		now := time.Now()
		if p.mon != nil {
			now = p.mon.Now()
		}
		month, err := c.month(now)
		if err != nil {
			return err
		}
		r, err := newReport(ctx, p, month, now)
		if err != nil {
			return err
		}
		r.Project = cmp.Or(r.Project, string(c.URL)) // the server does not reveal the name of the key's project
		return r.print(a.Stdout, c.format())
	})
}

// newReport collects the statistics of a project.
func newReport(ctx context.Context, p project, month, now time.Time) (*report, error) {
	end := month.AddDate(0, 1, 0)
	r := &report{Project: p.Name, Month: month.Format("2006-01"), Until: console.Timestamp(end), Checks: []reportCheck{}}
	if end.After(now) {
		r.Until = console.Timestamp(now)
	}
	list, err := p.Checks(ctx, checks.Query{})
	if err != nil {
		return nil, err
	}
	var all []checks.DayStats
	for _, c := range list {
		if c.ID == uuid.Nil {
			return nil, errReadOnly
		}
		days, err := p.Stats(ctx, c.ID, month, end.Add(-1))
		if errors.Is(err, checks.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(days) > 0 {
			r.Checks = append(r.Checks, reportCheck{c.ID.String(), c.Name, c.Slug, sumOf(days), days, c.DisplayName()})
			all = append(all, days...)
		}
	}
	r.Total = sumOf(all)
	return r, nil
}

func sumOf(days []checks.DayStats) wire.StatsSum {
	return wire.NewStats(time.Time{}, time.Time{}, days).Total
}

// reportPage is the report as a page that loads nothing. A day that was up is a light bar, one that was down in part a
// lower dark bar, one that was down a high dark bar, and one that was not watched a line.
//
//go:embed report.html
var reportPage string

// print writes the report in a format.
func (r *report) print(w io.Writer, format string) error {
	switch format {
	case "json":
		return console.JSONFlag{JSON: true}.Print(w, r, nil)
	case "csv":
		return r.csv(w)
	case "html":
		page, err := template.New("report").Parse(reportPage)
		if err != nil {
			return err
		}
		var out strings.Builder
		if err := page.Execute(&out, r); err != nil {
			return err
		}
		return console.WriteLines(w, out.String())
	}
	return console.JSONFlag{}.Print(w, nil, func(w io.Writer) {
		fmt.Fprintf(w, "%s, %s until %s\n\n", console.Printable(r.Project), r.Month, r.Until)
		rows := [][]string{{"CHECK", "RUNS", "FAILED", "AVAILABILITY", "DOWN", "MAINTENANCE", "UNWATCHED", "MEAN", "SHORTEST", "LONGEST"}}
		for _, c := range r.Checks {
			rows = append(rows, append([]string{c.Title}, c.cells()...))
		}
		console.Table(w, append(rows, append([]string{"all"}, totalOf(r).cells()...))...)
	})
}

func totalOf(r *report) reportCheck { return reportCheck{StatsSum: r.Total} }

// cells returns the columns after the title.
func (c reportCheck) cells() []string {
	cells := []string{strconv.FormatInt(c.Runs, 10), strconv.FormatInt(c.Failures, 10), c.Share(), inWords(c.Down), inWords(c.Maintenance), inWords(c.Unwatched), "", "", ""}
	if d := c.Durations; d != nil {
		copy(cells[6:], []string{inWords(d.Sum / float64(d.Count)), inWords(d.Min), inWords(d.Max)})
	}
	return cells
}

// Share returns the availability in percent, or "" if the check was not watched.
func (c reportCheck) Share() string {
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	return flips.Times{Up: seconds(c.Up), Down: seconds(c.Down)}.Percent()
}

// inWords returns a number of seconds such as 2 h 5 min or 41 s, or "0".
func inWords(seconds float64) string {
	if seconds < 0.005 {
		return "0"
	}
	return prose.Duration(time.Duration(seconds * float64(time.Second)))
}

func (r *report) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"uuid", "name", "slug", "runs", "failures", "up", "down", "unwatched", "availability",
		"durations_count", "durations_sum", "durations_min", "durations_max", "maintenance"}}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	for _, c := range r.Checks {
		row := []string{c.UUID, cell(c.Name), cell(c.Slug), strconv.FormatInt(c.Runs, 10), strconv.FormatInt(c.Failures, 10),
			number(c.Up), number(c.Down), number(c.Unwatched), "", "", "", "", "", number(c.Maintenance)}
		if c.Availability != nil {
			row[8] = number(*c.Availability)
		}
		if d := c.Durations; d != nil {
			copy(row[9:], []string{strconv.FormatInt(d.Count, 10), number(d.Sum), number(d.Min), number(d.Max)})
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// cell escapes control characters and marks a text that a spreadsheet could run as a formula.
func cell(text string) string {
	text = console.Printable(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Columns returns the columns of the page after the title.
func (c reportCheck) Columns() []string { return c.cells() }

// All returns the last row of the page.
func (r *report) All() reportCheck { return totalOf(r) }

// Days returns the days of the check for the page.
func (c reportCheck) Days() []reportDay {
	list := make([]reportDay, len(c.days))
	for i, d := range c.days {
		list[i] = reportDay{X: 10 * (d.Date.Day() - 1), Class: classOf(d.Times), Text: fmt.Sprintf("%s: %d runs, %d failed, down %s",
			d.Date.Format(time.DateOnly), d.Runs, d.Failures, inWords(d.Times.Down.Seconds()))}
		list[i].Height = map[string]int{"up": 16, "down": 16, "part": 10, "none": 4}[list[i].Class]
	}
	return list
}

// reportDay is a bar of the page: its place, its height, which differs by class, and its text.
type reportDay struct {
	X, Height   int
	Class, Text string
}

// Y returns the upper end of the bar.
func (d reportDay) Y() int { return 16 - d.Height }

// classOf returns how a day went: up, down all day, down in part, or none if it was not watched.
func classOf(t flips.Times) string {
	switch {
	case t.Up+t.Down == 0:
		return "none"
	case t.Down == 0:
		return "up"
	case t.Up == 0:
		return "down"
	}
	return "part"
}
