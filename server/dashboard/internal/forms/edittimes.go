package forms

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// previewTimesCount is how many expected runs a preview shows.
const previewTimesCount = 10

// timesPreview shows when pings are expected by the settings of a form.
type timesPreview struct {
	// Words say it in a sentence.
	Words string
	// Entry says what was taken from a line of a crontab, or how words were understood; Seen are words that leave something open.
	Entry, Seen string
	// Down says that the check is down, so that no timing brings it up.
	Down bool
	// Problem says what is wrong with an input. Before, Fault and After are then the expression, if the place of the fault is
	// known.
	Problem, Field       string
	Before, Fault, After string
	// Zone is the zone of the schedule, and Viewer that of the viewer, "" if its clock shows the same times.
	Zone, Viewer string
	Rows         []timeRow
	// Ends says that there are no runs after the rows.
	Ends bool
}

// timeRow is an expected run.
type timeRow struct {
	ISO, Local, Viewer string
	// Note says how a change of the clock affects the run.
	Note string
}

// previewTimes makes the preview of when pings are expected of a check, which is the zero value if it is not stored yet.
func previewTimes(f form, c checks.Check, viewer words.Clock, now time.Time) (p timesPreview) {
	p.Entry, p.Seen, p.Down = f["entry"], f["words"], c.Status(now) == checks.StatusDown
	var spec checks.Spec
	err := whenSetting.set(f, &spec)
	if err == nil {
		err = spec.Validate(now)
	}
	if p.Field = "timeout"; f["kind"] == kindSchedule || p.Entry != "" {
		p.Field = "schedule"
	}
	if err != nil {
		p.fail(err, f["schedule"])
		return p
	}
	grace, graceErr := words.Period(checks.SettingNamed("grace"), f["grace"])
	if spec.Timeout != nil {
		p.Words = "A ping is expected within " + words.SpellPeriod(*spec.Timeout) + " of the last one."
		if graceErr == nil {
			p.Words += " After that the check is late; it goes down " + words.SpellPeriod(grace) + " later."
		}
		return p
	}
	zone, err := schedule.LoadLocation(f["tz"])
	if err != nil {
		p.Problem, p.Field = words.ZoneProblem(err), "tz"
		return p
	}
	s, err := schedule.Read(*spec.Schedule)
	if err != nil {
		p.fail(err, f["schedule"])
		return p
	}
	p.Zone = zone.String()
	p.Words = "A ping is expected " + strings.TrimSuffix(schedule.Explain(s, zone), ", in "+viewer.Zone.String()) + "."
	if graceErr == nil {
		p.Words += " If none arrives, the check goes down " + words.SpellPeriod(grace) + " later."
	}
	p.list(s, viewer, now.In(zone))
	return p
}

// list adds the runs after an instant, in its location.
func (p *timesPreview) list(s schedule.Schedule, viewer words.Clock, from time.Time) {
	for _, o := range schedule.Upcoming(s, from, previewTimesCount) {
		row := timeRow{ISO: o.Time.UTC().Format(time.RFC3339), Local: dayAndTime(viewer.In(from.Location()), o.Time, from), Note: o.Note}
		if o.Note != "" {
			row.Local += " " + o.Time.Format("MST")
		}
		row.Viewer = dayAndTime(viewer, o.Time, from)
		_, here := o.Time.Zone()
		if _, there := o.Time.In(viewer.Zone).Zone(); there != here {
			p.Viewer = viewer.Zone.String()
		}
		p.Rows = append(p.Rows, row)
	}
	p.Ends = len(p.Rows) < previewTimesCount
}

// dayAndTime writes an instant: "Mon 23 Nov 03:00", with seconds and the year where they matter.
func dayAndTime(clock words.Clock, t, now time.Time) string {
	layout := "Mon 2 Jan "
	if t.In(clock.Zone).Year() != now.Year() {
		layout += "2006 "
	}
	if t.Second() != 0 {
		return clock.Format(t, layout+"15:04:05")
	}
	return clock.Format(t, layout+"15:04")
}

// fail sets the problem, with the place of the fault in the expression.
func (p *timesPreview) fail(err error, expr string) {
	if found, ok := errors.AsType[*schedule.Error](err); ok {
		p.Problem = found.Error()
		p.place(expr, found.Offset)
	} else {
		p.Problem = explain(err)
	}
	p.Problem = words.Sentence(p.Problem)
}

// place splits an expression at the byte at which a fault begins.
func (p *timesPreview) place(expr string, at int) {
	if at < 0 || at >= len(expr) {
		return
	}
	end := at + strings.IndexAny(expr[at:]+" ", " \t\n,")
	if end == at {
		_, size := utf8.DecodeRuneInString(expr[at:])
		end += size
	}
	p.Before, p.Fault, p.After = expr[:at], expr[at:end], expr[end:]
}

// slugPreview shows the address that a slug makes, and which other checks have the slug.
type slugPreview struct {
	Slug, Address string
	Taken         []takenSlug
}

type takenSlug struct {
	ID   uuid.UUID
	Name string
}

// previewSlug makes the preview of the slug of a form. Self is the check that the form is about.
func previewSlug(q *ui.Request, f form, self uuid.UUID) (p slugPreview, err error) {
	slug := f["slug"]
	if slug == "" || !checks.ValidSlug(slug) {
		return p, nil
	}
	p.Slug, p.Address = slug, q.Config.PingBaseURL+"/"+q.Project.PingKey+"/"+slug
	list, err := checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{Slug: slug}))
	if err != nil {
		return p, err
	}
	for _, c := range list {
		if c.ID != self {
			p.Taken = append(p.Taken, takenSlug{c.ID, ui.NameOf(c)})
		}
	}
	return p, nil
}

// afterPreview shows the checks for which an alert of the check would wait, as they are now, the names that mean none, and what is
// likely not meant.
type afterPreview struct {
	Parents        []parent
	Lost, Warnings []string
}

// parent is a check that another one waits for, with the word of its state.
type parent struct{ Name, Word string }

// Keeps reports whether it keeps alerts back now.
func (p parent) Keeps() bool { return p.Word == "down" || p.Word == "late" }

// previewAfter makes the preview of what the check of a form waits for. Self is that check.
func previewAfter(q *ui.Request, f form, self uuid.UUID) (p afterPreview, err error) {
	spec := checks.Spec{After: new(f["after"])}
	if f["after"] == "" || spec.Validate(q.Mon.Now()) != nil {
		return p, nil
	}
	c := checks.Check{ID: self, ProjectID: q.Project.ID, Settings: checks.Settings{After: f["after"]}}
	related, err := q.Mon.Project(q.Project.ID).Related(q.Ctx(), c)
	if err != nil {
		return p, err
	}
	for _, c := range related.Parents {
		p.Parents = append(p.Parents, parent{ui.NameOf(*c.Check), words.State(c.Status)})
	}
	p.Lost = words.Names(related.Lost)
	p.Warnings, err = q.Mon.Project(q.Project.ID).FollowWarnings(q.Ctx(), c)
	return p, err
}
