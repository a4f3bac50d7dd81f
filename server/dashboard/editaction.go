package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
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
			return []string{"Nobody is alerted about a paused check. It ignores pings until you resume it."}
		}
		return []string{"Nobody is alerted about a paused check. Its next ping resumes it."}
	}, do: func(q *request) error {
		if _, err := q.mon.Pause(q.ctx(), q.check.ID); err != nil {
			return err
		}
		q.notice("Paused.")
		return q.redirect("/checks/%s", q.check.UniqueKey())
	}},
	"resume": {Title: "Resume", Button: "Resume", text: func(checks.Check) []string {
		return []string{"The check becomes new. Its next ping starts the monitoring."}
	}, do: func(q *request) error {
		switch _, err := q.mon.Resume(q.ctx(), q.check.ID); {
		case errors.Is(err, checks.ErrNotPaused):
			q.notice("The check is not paused.")
		case err != nil:
			return err
		default:
			q.notice("Resumed. The check is new until its next ping.")
		}
		return q.redirect("/checks/%s", q.check.UniqueKey())
	}},
	"transfer": {Title: "Move", Button: "Move the check", Targets: true, text: func(checks.Check) []string {
		return []string{
			"Its ping address by identifier, its badge, settings, state and history stay. Its slug counts in the other project.",
			"All integrations of that project replace those that it has now. Alerts that were not sent yet are dropped.",
		}
	}, do: (*request).transfer},
	"delete": {Title: "Delete", Button: "Delete the check", Danger: true, text: func(c checks.Check) []string {
		lost := "Its settings, its history of states and alerts, and its log of pings are removed for good."
		if c.NPings > 0 {
			lost = "Its settings, its history of states and alerts, and its log are removed for good. It has received " + verdict.Count(int(c.NPings), "ping") + "."
		}
		return []string{lost, "Pings to its address are refused from then on. To stop alerts for a while, pause it instead."}
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
			v.Projects = append(v.Projects, p)
		}
	}
	return q.renderStatus(status, "confirm", a.Title+" "+v.Name, v)
}

func (a checkAction) take(q *request) error {
	err := a.do(q)
	if errors.Is(err, checks.ErrCheckLimit) {
		return a.show(q, http.StatusUnprocessableEntity, "The account of that project has as many checks as its plan allows.")
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
