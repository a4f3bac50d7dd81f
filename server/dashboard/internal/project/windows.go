package project

import (
	"errors"
	"net/http"
	"slices"
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
	Form                  ui.Form
	Tags                  []tagChoice
	Checks                []ui.Choice
	More                  int // checks that the form does not list
	Zones                 []string
	Zone                  string
	Preview               *windowPreview
}

// windowForm is the form of a window. Its choices of what and when are fields that the page draws.
func windowForm(q *ui.Request) ui.Form {
	return ui.Form{Title: "Not saved", Fields: []ui.Field{
		{Name: "scope", Value: "all"}, {Name: "when", Value: "now"},
		{Name: "tags", Called: "The list of tags"}, {Name: "checks", Called: "The list of checks"},
		{Name: "for", Called: "The duration", Options: windowLengths, Value: "2h"},
		{Name: "start", Called: "The start", Described: "zone", Type: "datetime-local"},
		{Name: "end", Called: "The end", Described: "zone", Type: "datetime-local"},
		{Name: "schedule", Called: "The schedule", Described: "schedule-hint", Attrs: `placeholder="0 3 * * SUN" maxlength="100" spellcheck="false" autocapitalize="none"`},
		{Name: "each", Called: "The duration", Attrs: `placeholder="1 h" maxlength="40" class="short"`},
		{Name: "tz", Called: "The time zone", Value: q.Clock().Zone.String(), Attrs: `list="zones" maxlength="64" spellcheck="false" autocapitalize="none"`},
		{Name: "note", Label: "Note", Called: "The note", Hint: "Optional. Status pages show it too, so it is public if you have one.", Attrs: `maxlength="500"`},
	}}
}

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
	return showWindows(q, http.StatusOK, windowsView{Form: windowForm(q)})
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
		row := windowRowOf(w, names, q.Clock().Zone)
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

func windowRowOf(w gate.Window, names map[uuid.UUID]windowMember, viewer *time.Location) windowRow {
	row := windowRow{Window: w, Title: "Maintenance"}
	if w.Kind == gate.Snooze {
		row.Title = "Snooze"
	}
	if w.Schedule != "" {
		row.Schedule = ui.Schedule(checks.Settings{Schedule: w.Schedule, TZ: w.TZ}, viewer) + ", for " + prose.Duration(w.Duration)
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
	v.Tags = tagChoices(sets, q.R.PostForm["tag"])
	chosen := ui.Ticked(q.R.PostForm, "check")
	for _, c := range shown {
		v.Checks = append(v.Checks, ui.Choice{Value: c.ID.String(), Label: ui.NameOf(c), Selected: chosen[c.ID.String()]})
	}
	v.More = checks.CountAll(sets).Total() - len(shown)
	v.Zones, v.Zone = schedule.Zones(), q.Clock().Zone.String()
	return nil
}

// addWindow adds the maintenance window that the form describes.
func addWindow(q *ui.Request) error {
	form := windowForm(q)
	form.Read(q.R.PostForm)
	w, notes, err := typedWindow(q, &form)
	if err != nil {
		return err
	}
	refuseWindow(&form, w, q.Mon.Now(), q.Clock())
	if q.R.PostForm.Has("preview") {
		return showPreview(q, form, w)
	}
	if form.Refused() {
		return showWindows(q, http.StatusBadRequest, windowsView{Form: form})
	}
	w, err = q.Mon.Project(q.Project.ID).AddWindow(q.Ctx(), w)
	if status := form.Refuse(err); status != 0 {
		return showWindows(q, status, windowsView{Form: form})
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

// showPreview shows the form with a preview, or with what is wrong. A form that nobody has filled in yet is no error.
func showPreview(q *ui.Request, form ui.Form, w gate.Window) error {
	view := windowsView{Form: form}
	if view.Form.Title = "Not complete"; !form.Refused() {
		w, err := w.Normalize(q.Mon.Now())
		if err != nil {
			return err
		}
		if view.Preview, err = previewWindow(q, w); err != nil {
			return err
		}
	}
	return showWindows(q, http.StatusOK, view)
}

// refuseWindow says of each field what is wrong with it. A field that is wrong is replaced, so that the next is found.
func refuseWindow(form *ui.Form, w gate.Window, now time.Time, clock words.Clock) {
	for range form.Fields {
		_, err := w.Normalize(now)
		wrong, ok := errors.AsType[*gate.Error](err)
		if !ok {
			return
		}
		if field := form.Find(wrong.Field); field == nil || field.Error == "" {
			form.Refuse(&checks.FieldError{Field: wrong.Field, Reason: clock.Spoken(wrong.Reason), Err: wrong.Err})
		}
		switch wrong.Field {
		case "note":
			w.Note = ""
		case "checks":
			w.Checks = nil
		case "tags":
			w.Tags = nil
		case "start":
			w.Start, w.End = now, now.Add(time.Hour)
		case "schedule":
			w.Schedule = "@weekly"
		case "tz":
			w.TZ = ""
		default: // of the end and the duration, a window has one
			if w.End = (time.Time{}); w.Schedule == "" {
				w.Start = now
			}
			w.Duration = time.Hour
		}
	}
}

// typedWindow reads the form, and says in it what cannot be read. The notes say of a time that occurs twice which it is.
func typedWindow(q *ui.Request, form *ui.Form) (w gate.Window, notes string, err error) {
	w.Kind, w.Note = gate.Maintenance, form.Value("note")
	wrong := func(field, reason string) { form.Refuse(&checks.FieldError{Field: field, Reason: reason}) }
	switch form.Value("scope") {
	case "tags":
		if w.Tags = q.R.PostForm["tag"]; len(w.Tags) == 0 {
			wrong("tags", "is empty: choose a tag, or another answer")
		}
	case "checks":
		for _, text := range q.R.PostForm["check"] {
			id, err := uuid.Parse(text)
			if err != nil {
				return w, "", ui.ErrBadForm
			}
			w.Checks = append(w.Checks, id)
		}
		if len(w.Checks) == 0 {
			wrong("checks", "is empty: choose a check, or another answer")
		}
	}
	switch form.Value("when") {
	case "planned":
		var start, end string
		w.Start, start = typedTime(q, form, "start")
		w.End, end = typedTime(q, form, "end")
		if notes = start + end; w.Start.IsZero() || w.End.IsZero() { // which the form says
			w.Start, w.End, w.Duration = time.Time{}, time.Time{}, time.Hour
		}
	case "recurring":
		if w.Schedule = form.Value("schedule"); w.Schedule == "" {
			wrong("schedule", "is empty")
			w.Schedule = "@weekly"
		}
		w.TZ, form.Find("each").Setting = form.Value("tz"), "duration"
		if w.Duration, err = words.ParsePeriod(form.Value("each")); err != nil {
			wrong("duration", err.Error())
			w.Duration = time.Hour
		}
	default:
		form.Find("for").Setting = "duration"
		if w.Duration, err = time.ParseDuration(form.Value("for")); err != nil {
			return w, "", ui.ErrBadForm
		}
	}
	return w, notes, nil
}

// typedTime reads a date with a time of day, in the viewer's zone. It is the zero time if the form says what is wrong. The note says
// of one that occurs twice which it is.
func typedTime(q *ui.Request, form *ui.Form, name string) (at time.Time, note string) {
	at, note, err := schedule.ParseLocal(form.Value(name), q.Clock().Zone)
	switch {
	case errors.Is(err, schedule.ErrNotLocal):
		form.Refuse(&checks.FieldError{Field: name, Reason: "is not a date and a time"})
		return time.Time{}, ""
	case err != nil:
		form.Refuse(&checks.FieldError{Field: name, Reason: err.Error()})
		return time.Time{}, ""
	case note != "":
		note = " " + form.Field(name).Called + ": " + note + "."
	}
	return at, note
}

// endWindow ends a window.
func endWindow(q *ui.Request) error {
	w, err := closeWindow(q, q.R.PathValue("window"))
	if err != nil {
		return err
	}
	q.Config.RefreshStatusPages()
	q.Notice(map[gate.WindowKind]string{gate.Maintenance: "Maintenance ended.", gate.Snooze: "Snooze ended."}[w.Kind] + " Alerts that were kept back and are still true are sent.")
	return q.Redirect("/projects/%s/maintenance", q.Project.ID)
}

// closeWindow ends the window that a form names.
func closeWindow(q *ui.Request, text string) (gate.Window, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return gate.Window{}, checks.ErrNotFound
	}
	return q.Mon.Project(q.Project.ID).EndWindow(q.Ctx(), id)
}

// snoozeCheck snoozes the check of the page, or ends a snooze of it.
func snoozeCheck(q *ui.Request) error {
	if id := q.R.PostForm.Get("end"); id != "" {
		if _, err := closeWindow(q, id); err != nil && !errors.Is(err, checks.ErrNotFound) { // it may have ended
			return err
		}
		q.Notice("Snooze ended.")
	} else if err := q.Snooze(q.R.PostForm.Get("for"), q.Check); err != nil {
		return err
	}
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}
