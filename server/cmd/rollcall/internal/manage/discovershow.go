package manage

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/discover"
)

// terminal is the width of what discover prints, in characters.
const terminal = 80

// labels is the width of the names of what stands behind them.
const labels = 12

// warningTexts are the warnings about a job in words.
var warningTexts = map[string]string{
	"also-interval":        "the timer also has an interval; the check follows its calendar",
	"background":           "& leaves the job in the background, so no wrapper sees how it ends",
	"carriage-return":      "the line ends in a carriage return, which is part of the command",
	"from-end-of-run":      "the interval counts from the end of a run, so long runs may make it late",
	"hash":                 "# ends the line for BusyBox's crond, also within a word or quotes",
	"junk-in-field":        "cron skips a part of a field that it does not know",
	"no-linger":            "it runs only while the user is logged in: loginctl enable-linger",
	"random-start":         "cron chooses the start; the schedule has the first one",
	"six-fields":           "the sixth field is taken for the command",
	"stdin":                "% ends the command; what follows is its standard input",
	"user-in-user-crontab": "a user's crontab has no user field; the name is taken for the command",
	"zone-assumed":         "without timeZone, the zone is that of the controller, mostly UTC",
	"zone-ignored":         "TZ and CRON_TZ do not move the schedule here",
	"zone-in-schedule":     "newer versions of Kubernetes refuse a zone in the schedule: use timeZone",
}

// reasonTexts are the reasons for leaving something out in words.
var reasonTexts = map[string]string{
	"anacron": "anacron runs it instead", "bad-line": "cron cannot read the line", "bad-schedule": "nothing can read the schedule",
	"bad-yaml": "not valid YAML", "binary": "no text", "boot-only": "it runs once after boot", "disabled": "a comment",
	"duplicate": "a copy of another line", "file-ignored": "cron ignores the whole file", "file-name": "cron skips this name",
	"link": "cron does not follow the link", "masked": "masked", "mode": "cron does not trust its mode", "never": "it never runs",
	"no-command": "it has no command", "no-final-newline": "its last line does not end", "no-name": "it has no name",
	"no-schedule": "nothing runs it", "no-service": "its service is missing", "not-a-service": "it starts no service",
	"not-enabled": "not enabled", "not-executable": "not executable", "not-regular": "no regular file", "other-kind": "another kind of CronJob",
	"owner": "cron does not trust its owner", "packaged": "of a package; --system includes it", "reboot": "it runs once after boot",
	"run-parts-line": "its scripts are listed instead", "schedule-too-long": "no check can have its schedule", "suspended": "suspended",
	"template": "a template", "too-large": "too large", "unknown-user": "its user does not exist", "unreadable": "cannot be read",
	"user-unit": "a unit of every user",
}

// unreadable reports whether something could not be read, so that more jobs may exist.
func (d *discovery) unreadable() bool {
	return slices.ContainsFunc(d.LeftOut, func(l discover.LeftOut) bool { return l.Reason == "unreadable" })
}

// show prints what was found for people.
func (c *discoverCmd) show(w io.Writer, d *discovery) {
	where := ""
	if d.host != "" {
		where = " on " + d.host
	}
	fmt.Fprintf(w, "%s%s (%s)\n", prose.Count(len(d.Jobs), "job"), where, d.from)
	for _, job := range d.Jobs {
		showJob(w, job)
	}
	if len(d.LeftOut) > 0 {
		fmt.Fprintf(w, "\nLeft out:\n")
		for _, reason := range reasonsOf(d.LeftOut) {
			showLeft(w, reason, d.LeftOut)
		}
	}
	if len(d.Gone) > 0 {
		limit := ""
		if d.unreadable() {
			limit = " that can be read"
		}
		fmt.Fprintf(w, "\nChecks without a job%s:\n", limit)
		for _, slug := range d.Gone {
			fmt.Fprintf(w, "  %s\n", slug)
		}
	}
	for _, note := range d.Notes {
		fmt.Fprintln(w)
		paragraph(w, "", "Note: "+note+".")
	}
	c.conclude(w, d)
}

// conclude says what was done, and what to do next.
func (c *discoverCmd) conclude(w io.Writer, d *discovery) {
	fmt.Fprintln(w)
	if d.plan != "" {
		fmt.Fprint(w, d.plan)
	}
	if d.wrote != "" {
		paragraph(w, "", d.wrote)
	}
	if d.plan == "" && d.wrote == "" && len(d.Jobs) > 0 {
		paragraph(w, "", "Nothing was changed. --write FILE adds these checks to a file for rollcall apply, --apply creates them. --wrap makes the jobs report.")
	}
	if os.Geteuid() > 0 && d.unreadable() {
		paragraph(w, "", "Only root can read all of this machine, so more jobs may exist.")
	}
	if slices.ContainsFunc(d.Jobs, func(j discover.Job) bool { return j.MaxRuntime == 0 }) {
		paragraph(w, "", "A run that reports its start, of a job without a limit here, may take as long as the grace time.")
	}
}

// showJob prints a job and its check.
func showJob(w io.Writer, job discover.Job) {
	fmt.Fprintf(w, "\n%s\n", console.Printable(job.Slug))
	source := job.Source
	if job.Service != "" {
		source += ", " + job.Service
	}
	if job.User != "" {
		source += " (" + job.User + ")"
	}
	field(w, "source", source)
	for _, also := range job.Also {
		field(w, "", also)
	}
	field(w, "command", prose.Brief(job.Command, 4*terminal))
	if job.Timeout > 0 {
		field(w, "every", checks.ValueText(period(job.Timeout)))
	} else {
		for i, line := range strings.Split(job.Schedule, "\n") {
			field(w, []string{"schedule", ""}[min(i, 1)], line)
		}
		field(w, "zone", job.TZ)
	}
	field(w, "slug from", job.SlugFrom)
	field(w, "grace", checks.ValueText(period(job.Grace))+": "+strings.Join(job.GraceWhy, ", "))
	if job.MaxRuntime > 0 {
		field(w, "limit", checks.ValueText(period(job.MaxRuntime))+" for a run")
	}
	if job.Reports != "" {
		field(w, "reports", "to "+job.Reports+" already")
	}
	for _, code := range job.Warnings {
		field(w, "warning", warningTexts[code])
	}
}

// field prints a value behind its name.
func field(w io.Writer, name, value string) {
	if value != "" {
		paragraph(w, fmt.Sprintf("  %-*s", labels-2, name), value)
	}
}

// reasonsOf returns the reasons in their order.
func reasonsOf(list []discover.LeftOut) (reasons []string) {
	for _, left := range list {
		if !slices.Contains(reasons, left.Reason) {
			reasons = append(reasons, left.Reason)
		}
	}
	return reasons
}

// showLeft prints what was left out for one reason.
func showLeft(w io.Writer, reason string, list []discover.LeftOut) {
	text := reasonTexts[reason]
	if text == "" {
		text = reason
	}
	fmt.Fprintf(w, "  %s:\n", text)
	for _, left := range list {
		if left.Reason != reason {
			continue
		}
		line := left.Source
		if left.Detail != "" {
			line += " (" + left.Detail + ")"
		}
		paragraph(w, "    ", line)
	}
}

// paragraph prints a text behind a head, in lines of a terminal's width.
func paragraph(w io.Writer, head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	fmt.Fprint(w, console.Paragraph(head, indent, console.Printable(strings.ToValidUTF8(text, "\uFFFD")), terminal))
}
