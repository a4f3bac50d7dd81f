package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// checkAction is an action on a check, with a page that asks first.
type checkAction struct {
	// Title and Button name the action.
	Title, Button string
	// Danger marks an action that cannot be undone.
	Danger bool
	// Targets says that the page asks for another project.
	Targets bool
	// text says what the action does, in paragraphs.
	text func(checks.Check) []string
	// do takes the action and leads to the next page.
	do func(q *request) error
}

// checkActions are the actions by the last part of their path.
var checkActions = map[string]checkAction{
	"pause": {Title: "Pause", Button: "Pause", text: func(c checks.Check) []string {
		if c.ManualResume {
			return []string{"No alerts are sent while a check is paused. It ignores pings until you resume it."}
		}
		return []string{"No alerts are sent while a check is paused. Its next ping resumes it."}
	}, do: func(q *request) error {
		if _, err := q.mon.Pause(q.ctx(), q.check.ID); err != nil {
			return err
		}
		q.notice("Paused.")
		return q.redirect("/checks/%s", q.check.UniqueKey())
	}},
	"resume": {Title: "Resume", Button: "Resume", text: func(checks.Check) []string {
		return []string{"The check becomes new. Monitoring resumes at its next ping."}
	}, do: func(q *request) error {
		switch _, err := q.mon.Resume(q.ctx(), q.check.ID); {
		case errors.Is(err, checks.ErrNotPaused):
			q.notice("The check is not paused.")
		case err != nil:
			return err
		default:
			q.notice("Resumed. Waiting for the next ping.")
		}
		return q.redirect("/checks/%s", q.check.UniqueKey())
	}},
	"transfer": {Title: "Move", Button: "Move check", Targets: true, text: func(checks.Check) []string {
		return []string{
			"The check keeps its UUID ping URL, badge, settings, status and history. Its slug URL changes to the new project’s.",
			"All of that project’s integrations replace its current ones. Alerts not yet sent are dropped.",
		}
	}, do: (*request).transfer},
	"delete": {Title: "Delete", Button: "Delete check", Danger: true, text: func(c checks.Check) []string {
		lost := "Its settings, status history, alerts and pings are deleted. This cannot be undone."
		if c.NPings > 0 {
			lost = "Its settings, status history, alerts and " + verdict.Count(int(c.NPings), "ping") + " are deleted. This cannot be undone."
		}
		return []string{lost, "Jobs that still ping it will get an error. To stop alerts for a while, pause it instead."}
	}, do: func(q *request) error {
		if _, err := q.mon.Delete(q.ctx(), q.check.ID); err != nil {
			return err
		}
		q.notice("Deleted " + cut(nameOf(q.check), 100) + ".")
		return q.redirect("/projects/%s/", q.project.ID)
	}},
}

// confirmView is the data of the page that asks.
type confirmView struct {
	checkAction
	Check checks.Check
	Name  string
	Path  string
	Text  []string
	// Projects are those to which the viewer may move the check.
	Projects []checks.Project
	Problem  string
}

// ask shows what the action does, with the button that takes it.
func (a checkAction) ask(q *request) error { return a.show(q, http.StatusOK, "") }

func (a checkAction) show(q *request, status int, problem string) error {
	path := q.r.URL.Path[strings.LastIndexByte(q.r.URL.Path, '/')+1:]
	v := confirmView{checkAction: a, Check: q.check, Name: nameOf(q.check), Path: path, Text: a.text(q.check), Problem: problem}
	if a.Targets {
		for _, other := range q.targets() {
			p, err := q.mon.Project(q.ctx(), other)
			if errors.Is(err, checks.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			p.Name = words.Name(p.Name, "unnamed")
			v.Projects = append(v.Projects, p)
		}
	}
	return q.renderStatus(status, "confirm", a.Title+" "+v.Name, v)
}

func (a checkAction) take(q *request) error {
	err := a.do(q)
	if errors.Is(err, checks.ErrCheckLimit) {
		return a.show(q, http.StatusUnprocessableEntity, "That project’s account has reached its check limit.")
	}
	return err
}

// targets are the projects to which the viewer may move the check.
func (q *request) targets() []uuid.UUID {
	var ids []uuid.UUID
	for _, p := range q.access.Projects {
		if p.Edit && p.ProjectID != q.project.ID {
			ids = append(ids, p.ProjectID)
		}
	}
	return ids
}

// transfer moves the check to the project that the form names.
func (q *request) transfer() error {
	if err := q.r.ParseForm(); err != nil {
		return formError(err)
	}
	target, err := uuid.Parse(q.r.PostForm.Get("project"))
	if err != nil || !slices.Contains(q.targets(), target) {
		return errForbidden
	}
	if _, err = q.mon.Transfer(q.ctx(), q.check.ID, target); err != nil {
		return err
	}
	q.notice("Moved.")
	return q.redirect("/checks/%s", q.check.UniqueKey())
}
