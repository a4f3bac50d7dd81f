package project

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// pastShown is how long the page shows maintenance that is over, and checksShown how many checks its form lists.
	pastShown   = 30 * 24 * time.Hour
	checksShown = 200
)

// windowsView is the data of the page for maintenance.
type windowsView struct {
	Running, Coming, Past []windowRow
	// Form is what was typed.
	Form    url.Values
	Problem ui.Problem
	Tags    []tagChoice
	Checks  []ui.Choice
	More    int // checks that the form does not list
	Lengths []ui.Choice
	Zones   []string
	Zone    string
}

// Value is what was typed into a field.
func (v windowsView) Value(name string) string { return v.Form.Get(name) }

// windowRow is a window in the list.
type windowRow struct {
	gate.Window
	Title      string
	From, To   time.Time // of the occurrence that is running or comes next, or was the last
	Schedule   string    // in words
	Members    []windowMember
	MoreChecks int
}

// windowMember is a check that a window names.
type windowMember struct{ Key, Name string }

// windowsPage shows maintenance and snoozes, and the form for maintenance.
func windowsPage(q *ui.Request) error {
	return showWindows(q, http.StatusOK, windowsView{Form: url.Values{"scope": {"all"}, "when": {"now"}, "for": {"2h"}}})
}

func showWindows(q *ui.Request, status int, v windowsView) error {
	project, now := q.Mon.Project(q.Project.ID), q.Mon.Now()
	list, err := project.Windows(q.Ctx(), checks.WindowQuery{EndsAfter: now.Add(-pastShown)})
	if err != nil {
		return err
	}
	shown, err := project.List(q.Ctx(), checks.ListQuery{Order: checks.ListByName, Limit: checksShown})
	if err != nil {
		return err
	}
	names, err := namesOf(q, list, shown)
	if err != nil {
		return err
	}
	for _, w := range list {
		row := windowRowOf(w, names)
		until, in := w.At(now)
		start, end, next := w.Next(now)
		switch {
		case in:
			row.To = until
			v.Running = append(v.Running, row)
		case next:
			row.From, row.To = start, end
			v.Coming = append(v.Coming, row)
		case w.Kind == gate.Maintenance:
			row.From, row.To = w.Start, w.End
			v.Past = append(v.Past, row)
		}
	}
	slices.Reverse(v.Past)
	slices.SortStableFunc(v.Coming, func(a, b windowRow) int { return a.From.Compare(b.From) })
	if q.Right.Edits() {
		if err := v.addForm(q, shown); err != nil {
			return err
		}
	}
	return q.RenderStatus(status, "maintenance", "Maintenance", v)
}

// namesOf returns the checks that windows name. Those that the list has are not read again.
func namesOf(q *ui.Request, list []gate.Window, known []checks.Check) (map[uuid.UUID]windowMember, error) {
	names := make(map[uuid.UUID]windowMember)
	for _, c := range known {
		names[c.ID] = windowMember{c.UniqueKey(), ui.NameOf(c)}
	}
	var missing []uuid.UUID
	for _, w := range list {
		for _, id := range w.Checks[:min(len(w.Checks), membersShown)] {
			if _, ok := names[id]; !ok {
				missing = append(missing, id)
			}
		}
	}
	if len(missing) == 0 {
		return names, nil
	}
	found, err := q.Mon.Project(q.Project.ID).List(q.Ctx(), checks.ListQuery{IDs: missing, Order: checks.ListByAge})
	for _, c := range found {
		names[c.ID] = windowMember{c.UniqueKey(), ui.NameOf(c)}
	}
	return names, err
}

// membersShown is how many checks of a window the page names.
const membersShown = 5

func windowRowOf(w gate.Window, names map[uuid.UUID]windowMember) windowRow {
	row := windowRow{Window: w, Title: "Maintenance"}
	if w.Kind == gate.Snooze {
		row.Title = "Snooze"
	}
	if w.Schedule != "" {
		row.Schedule = ui.Schedule(checks.Settings{Schedule: w.Schedule, TZ: w.TZ}) + ", for " + prose.Duration(w.Duration)
	}
	for _, id := range w.Checks[:min(len(w.Checks), membersShown)] {
		if c, ok := names[id]; ok { // it may have been deleted
			row.Members = append(row.Members, c)
		}
	}
	row.MoreChecks = max(len(w.Checks)-membersShown, 0)
	return row
}

// windowLengths are how long maintenance that starts now may take.
var windowLengths = []ui.Choice{
	{Value: "30m", Label: "30 minutes"}, {Value: "1h", Label: "1 hour"}, {Value: "2h", Label: "2 hours"}, {Value: "4h", Label: "4 hours"},
	{Value: "8h", Label: "8 hours"}, {Value: "24h", Label: "1 day"}, {Value: "168h", Label: "1 week"},
}

// addForm adds what the form offers.
func (v *windowsView) addForm(q *ui.Request, shown []checks.Check) error {
	sets, err := q.Mon.Project(q.Project.ID).TagSets(q.Ctx(), nil)
	if err != nil {
		return err
	}
	v.Tags = tagChoices(sets, v.Form["tag"])
	chosen := ui.Ticked(v.Form, "check")
	for _, c := range shown {
		v.Checks = append(v.Checks, ui.Choice{Value: c.ID.String(), Label: ui.NameOf(c), Selected: chosen[c.ID.String()]})
	}
	v.More = checks.CountAll(sets).Total() - len(shown)
	v.Lengths, v.Zones, v.Zone = windowLengths, schedule.Zones(), q.Clock().Zone.String()
	return nil
}

// addWindow adds the maintenance window that the form describes.
func addWindow(q *ui.Request) error {
	form := q.R.PostForm
	w, notes, err := typedWindow(q, form)
	if err == nil {
		w, err = q.Mon.Project(q.Project.ID).AddWindow(q.Ctx(), w)
	}
	if field, ok := errors.AsType[*checks.FieldError](err); ok {
		text := windowLabels[field.Field] + " " + field.Reason + "."
		return showWindows(q, http.StatusBadRequest, windowsView{Form: form, Problem: ui.Problem{Text: "Not saved: " + text, Field: formField(field.Field, form.Get("when"))}})
	}
	if err != nil {
		return err
	}
	now, clock := q.Mon.Now(), q.Clock()
	q.Config.RefreshStatusPages()
	if until, in := w.At(now); in {
		q.Notice("Maintenance until " + clock.Text(until, now) + ". No alerts that checks are down until then." + notes)
	} else if start, _, ok := w.Next(now); ok {
		q.Notice("Maintenance planned. It starts " + clock.Text(start, now) + "." + notes)
	}
	return q.Redirect("/projects/%s/maintenance", q.Project.ID)
}

// windowLabels is what the page calls the fields of a window.
var windowLabels = map[string]string{
	"start": "The start", "end": "The end", "duration": "The duration", "schedule": "The schedule", "tz": "The time zone", "note": "The note",
	"tags": "The list of tags", "checks": "The list of checks", "project": "The project",
}

// formField is the input for a field of a window.
func formField(field, when string) string {
	switch {
	case field == "duration" && when == "now":
		return "for"
	case field == "duration":
		return "each"
	}
	return field
}

// typedWindow reads the form. The notes say of a time that occurs twice which it is.
func typedWindow(q *ui.Request, form url.Values) (w gate.Window, notes string, err error) {
	w.Kind, w.Note = gate.Maintenance, form.Get("note")
	switch form.Get("scope") {
	case "tags":
		if w.Tags = form["tag"]; len(w.Tags) == 0 {
			return w, "", &checks.FieldError{Field: "tags", Reason: "is empty: choose a tag, or another answer"}
		}
	case "checks":
		for _, text := range form["check"] {
			id, err := uuid.Parse(text)
			if err != nil {
				return w, "", ui.ErrBadForm
			}
			w.Checks = append(w.Checks, id)
		}
		if len(w.Checks) == 0 {
			return w, "", &checks.FieldError{Field: "checks", Reason: "is empty: choose a check, or another answer"}
		}
	}
	switch form.Get("when") {
	case "planned":
		var start, end string
		if w.Start, start, err = typedTime(q, form, "start"); err == nil {
			w.End, end, err = typedTime(q, form, "end")
		}
		notes = start + end
	case "recurring":
		if w.Schedule = strings.TrimSpace(form.Get("schedule")); w.Schedule == "" {
			return w, "", &checks.FieldError{Field: "schedule", Reason: "is empty"}
		}
		w.TZ = form.Get("tz")
		if w.Duration, err = words.ParsePeriod(form.Get("each")); err != nil {
			err = &checks.FieldError{Field: "duration", Reason: err.Error()}
		}
	default:
		if w.Duration, err = time.ParseDuration(form.Get("for")); err != nil {
			err = ui.ErrBadForm
		}
	}
	return w, notes, err
}

// typedTime reads a date with a time of day, in the viewer's zone. The note says of one that occurs twice which it is.
func typedTime(q *ui.Request, form url.Values, name string) (at time.Time, note string, err error) {
	at, note, err = schedule.ParseLocal(strings.TrimSpace(form.Get(name)), q.Clock().Zone)
	switch {
	case errors.Is(err, schedule.ErrNotLocal):
		err = &checks.FieldError{Field: name, Reason: "is not a date and a time"}
	case err != nil:
		err = &checks.FieldError{Field: name, Reason: err.Error()}
	case note != "":
		note = " " + windowLabels[name] + ": " + note + "."
	}
	return at, note, err
}

// endWindow ends a window.
func endWindow(q *ui.Request) error {
	w, err := q.EndWindow(q.R.PathValue("window"))
	if err != nil {
		return err
	}
	q.Config.RefreshStatusPages()
	q.Notice(map[gate.WindowKind]string{gate.Maintenance: "Maintenance ended.", gate.Snooze: "Snooze ended."}[w.Kind] + " Alerts that were kept back and are still true are sent.")
	return q.Redirect("/projects/%s/maintenance", q.Project.ID)
}

// snoozeCheck snoozes the check of the page, or ends a snooze of it.
func snoozeCheck(q *ui.Request) error {
	if id := q.R.PostForm.Get("end"); id != "" {
		if _, err := q.EndWindow(id); err != nil && !errors.Is(err, checks.ErrNotFound) { // it may have ended
			return err
		}
		q.Notice("Snooze ended.")
	} else if err := q.Snooze(q.R.PostForm.Get("for"), q.Check); err != nil {
		return err
	}
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}
