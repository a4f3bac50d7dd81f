package forms

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// checkAction is an action on a check, with a page that asks first.
type checkAction struct {
	// Title and Button name the action.
	Title, Button string
	// Danger marks an action that cannot be undone.
	Danger bool
	// Targets says that the page asks for another project, and Acks that it asks for how long, and for a note.
	Targets, Acks bool
	// text says what the action does, in paragraphs.
	text func(checks.Check) []string
	// do takes the action and leads to the next page.
	do func(q *ui.Request) error
}

// checkActions are the actions by the last part of their path.
var checkActions = map[string]checkAction{
	"pause": {Title: "Pause", Button: "Pause", text: func(c checks.Check) []string {
		if c.ManualResume {
			return []string{"No alerts are sent while a check is paused. It ignores pings until you resume it."}
		}
		return []string{"No alerts are sent while a check is paused. Its next ping resumes it."}
	}, do: func(q *ui.Request) error {
		if q.Check.Stored == checks.StatusPaused {
			q.Notice("The check was paused already.")
			return q.Redirect("/checks/%s", q.Check.UniqueKey())
		}
		paused, err := q.Mon.Project(q.Check.ProjectID).Pause(q.Ctx(), q.Check.ID)
		if err != nil {
			return err
		}
		if err := noticeState(q, "Paused.", *paused.Check); err != nil {
			return err
		}
		return q.Redirect("/checks/%s", q.Check.UniqueKey())
	}},
	"resume": {Title: "Resume", Button: "Resume", text: func(checks.Check) []string {
		return []string{"The check becomes new. Monitoring resumes at its next ping."}
	}, do: func(q *ui.Request) error {
		resumed, err := q.Mon.Project(q.Check.ProjectID).Resume(q.Ctx(), q.Check.ID)
		switch {
		case errors.Is(err, checks.ErrNotPaused):
			q.Notice("The check is not paused.")
		case err != nil:
			return err
		default:
			if err := noticeState(q, "Resumed. Waiting for the next ping.", *resumed.Check); err != nil {
				return err
			}
		}
		return q.Redirect("/checks/%s", q.Check.UniqueKey())
	}},
	"acknowledge": {Title: "Acknowledge", Button: "I have it", Acks: true, text: func(checks.Check) []string {
		return []string{"Everyone can see who has it. Reminders and escalation stop until the check is up again, or until the time is over."}
	}, do: acknowledge},
	"unacknowledge": {Title: "Give back", Button: "Give back", text: func(checks.Check) []string {
		return []string{"Nobody will have it. Reminders and escalation continue."}
	}, do: func(q *ui.Request) error {
		if _, err := q.Mon.Project(q.Check.ProjectID).Unacknowledge(q.Ctx(), q.Check.ID); err != nil {
			return err
		}
		q.Notice("Nobody has it now.")
		return q.Redirect("/checks/%s", q.Check.UniqueKey())
	}},
	"transfer": {Title: "Move", Button: "Move check", Targets: true, text: func(checks.Check) []string {
		return []string{
			"The check keeps its UUID ping URL, badge, settings, status and history. Its slug URL changes to the new project’s.",
			"All of that project’s integrations replace its current ones. Alerts not yet sent are dropped.",
		}
	}, do: transfer},
	"delete": {Title: "Delete", Button: "Delete check", Danger: true, text: func(c checks.Check) []string {
		lost := "Its settings, status history, alerts and pings are deleted. This cannot be undone."
		if c.NPings > 0 {
			lost = "Its settings, status history, alerts and " + prose.Count(c.NPings, "ping") + " are deleted. This cannot be undone."
		}
		return []string{lost, "Jobs that still ping it will get an error. To stop alerts for a while, pause it instead."}
	}, do: func(q *ui.Request) error {
		if _, err := q.Mon.Project(q.Check.ProjectID).Delete(q.Ctx(), q.Check.ID); err != nil {
			return err
		}
		q.Notice("Deleted " + words.Cut(ui.NameOf(q.Check), 100) + ".")
		return q.Redirect("/projects/%s/", q.Project.ID)
	}},
}

// noticeState says that the check was paused or resumed, with Undo.
func noticeState(q *ui.Request, text string, after checks.Check) error {
	var undo ui.Undo
	undo.State(q.Check, after)
	return q.NoticeUndo(text, undo)
}

// confirmView is the data of the page that asks.
type confirmView struct {
	checkAction
	Check checks.Check
	Name  string
	Path  string
	Text  []string
	Form  ui.Form
	Row   ui.Row // says who has acknowledged the outage
	Mine  bool   // the viewer has
}

// ackFields are the fields of an acknowledgement.
func ackFields() []ui.Field {
	hours := []ui.Choice{{Label: "until it is up again"}}
	for _, n := range []int{1, 4, 12, 24, 72} {
		hours = append(hours, ui.Choice{Value: strconv.Itoa(n), Label: prose.Count(n, "hour")})
	}
	return []ui.Field{
		{Name: "hours", Label: "For", Options: hours},
		{Name: "note", Label: "Note", Called: "The note", Attrs: `maxlength="500" autocomplete="off" placeholder="Why, or what is being done"`},
	}
}

// ask shows what the action does, with the button that takes it.
func (a checkAction) ask(q *ui.Request) error { return a.show(q, nil) }

// show shows the page that asks, with the error that refused the action.
func (a checkAction) show(q *ui.Request, refused error) error {
	path := q.R.URL.Path[strings.LastIndexByte(q.R.URL.Path, '/')+1:]
	v := confirmView{checkAction: a, Check: q.Check, Name: ui.NameOf(q.Check), Path: path, Text: a.text(q.Check)}
	if a.Acks {
		v.Row, v.Mine, v.Form.Fields = ui.RowOf(q.Check, q.Mon.Now(), q.Clock().Zone), q.Has(q.Check), ackFields()
	}
	if a.Targets {
		field := ui.Field{Name: "project", Label: "Move to project"}
		for _, other := range targets(q) {
			p, err := q.Mon.Projects().ByID(q.Ctx(), other)
			if errors.Is(err, checks.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			field.Options = append(field.Options, ui.Choice{Value: p.ID.String(), Label: words.Name(p.Name, "unnamed")})
		}
		if field.Options != nil {
			v.Form.Fields = append(v.Form.Fields, field)
		}
	}
	v.Form.Read(q.R.PostForm)
	status := http.StatusOK
	if errors.Is(refused, checks.ErrCheckLimit) {
		v.Form.Wrong("project", "That project’s account has reached its check limit.")
	}
	if v.Form.Refuse(refused) != 0 || v.Form.Refused() {
		status = http.StatusUnprocessableEntity
	}
	return q.RenderStatus(status, "confirm", a.Title+" "+v.Name, v)
}

func (a checkAction) take(q *ui.Request) error {
	err := a.do(q)
	if _, wrong := errors.AsType[*checks.FieldError](err); wrong || errors.Is(err, checks.ErrCheckLimit) {
		return a.show(q, err)
	}
	return err
}

// acknowledge acknowledges an outage in the name of the viewer, and leads back to the page with the button.
func acknowledge(q *ui.Request) error {
	spec := checks.AckSpec{Note: q.R.PostForm.Get("note"), TakeOver: q.R.PostForm.Has("take_over")}
	if hours, err := strconv.Atoi(q.R.PostForm.Get("hours")); err == nil {
		spec.For = time.Duration(min(max(hours, 0), 1000)) * time.Hour
	}
	acked, err := q.Mon.Project(q.Check.ProjectID).Acknowledge(q.Ctx(), q.Check.ID, spec)
	switch {
	case errors.Is(err, checks.ErrNotDown):
		q.Notice("The check is not down.")
	case errors.Is(err, checks.ErrAcknowledged):
		q.Notice("Someone else already has it.")
	case err != nil:
		return err
	default:
		var undo ui.Undo
		if q.Check.Acknowledged(q.Mon.Now()).By == "" {
			undo.Acknowledged(*acked.Check)
		}
		if err := q.NoticeUndo("Acknowledged: you have it.", undo); err != nil {
			return err
		}
		if q.R.URL.Query().Get("to") == "overview" {
			return q.Redirect("/projects/%s/overview", q.Check.ProjectID)
		}
	}
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}

// targets are the projects to which the viewer may move the check.
func targets(q *ui.Request) []uuid.UUID {
	var ids []uuid.UUID
	for _, p := range q.Access.Projects {
		if p.Right.Edits() && p.ProjectID != q.Project.ID {
			ids = append(ids, p.ProjectID)
		}
	}
	return ids
}

// transfer moves the check to the project that the form names.
func transfer(q *ui.Request) error {
	target, err := uuid.Parse(q.R.PostForm.Get("project"))
	if err != nil || !slices.Contains(targets(q), target) {
		return ui.ErrForbidden
	}
	if _, err = q.Mon.Project(q.Check.ProjectID).Transfer(q.Ctx(), q.Check.ID, target); err != nil {
		return err
	}
	q.Notice("Moved.")
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}
