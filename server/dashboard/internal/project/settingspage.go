package project

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// settingsView is the data of the page of settings.
type settingsView struct {
	ui.Counts
	// Name, StormChecks and StormWindow are what stands in the forms.
	Name                     string
	StormChecks, StormWindow string
	Problem                  ui.Problem
}

// settingsPage shows what a project is and leads to its settings.
func settingsPage(q *ui.Request) error {
	return showSettings(q, http.StatusOK, newSettings(q))
}

// newSettings returns a view with the settings of the project.
func newSettings(q *ui.Request) settingsView {
	storm := q.Project.Storm
	return settingsView{Name: q.Project.Name, StormChecks: strconv.Itoa(storm.Checks), StormWindow: checks.ValueText(storm.Window)}
}

func showSettings(q *ui.Request, status int, v settingsView) (err error) {
	if v.Counts, err = q.Count(); err != nil {
		return err
	}
	return q.RenderStatus(status, "settings", "Settings", v)
}

// renameProject changes the name of a project.
func renameProject(q *ui.Request) error {
	name := strings.TrimSpace(q.R.PostForm.Get("name"))
	_, err := q.Mon.Projects().Update(q.Ctx(), q.Project.ID, checks.ProjectUpdate{Name: new(name)})
	refused, isName := errors.AsType[*checks.FieldError](err)
	v := newSettings(q)
	v.Name = name
	switch {
	case isName:
		v.Problem = ui.Problem{Text: "Not saved: the name " + refused.Reason + ".", Field: "name"}
		return showSettings(q, http.StatusBadRequest, v)
	case errors.Is(err, checks.ErrExists):
		v.Problem = ui.Problem{Text: "Not saved: another project has this name.", Field: "name"}
		return showSettings(q, http.StatusConflict, v)
	case err != nil:
		return err
	}
	q.Notice("Renamed.")
	return q.Redirect("/projects/%s/settings", q.Project.ID)
}

// saveGrouping changes when alerts are sent together.
func saveGrouping(q *ui.Request) error {
	v := newSettings(q)
	v.StormChecks, v.StormWindow = strings.TrimSpace(q.R.PostForm.Get("storm_checks")), strings.TrimSpace(q.R.PostForm.Get("storm_window"))
	n, err := strconv.Atoi(v.StormChecks)
	if err != nil {
		v.Problem = ui.Problem{Text: "Not saved: the number of checks is not a number.", Field: "storm_checks"}
		return showSettings(q, http.StatusBadRequest, v)
	}
	window, err := time.ParseDuration(v.StormWindow)
	if err != nil {
		v.Problem = ui.Problem{Text: "Not saved: the window is not a duration such as 1m or 90s.", Field: "storm_window"}
		return showSettings(q, http.StatusBadRequest, v)
	}
	_, err = q.Mon.Projects().Update(q.Ctx(), q.Project.ID, checks.ProjectUpdate{StormChecks: &n, StormWindow: &window})
	if refused, ok := errors.AsType[*checks.FieldError](err); ok {
		what := map[string]string{"storm_checks": "the number of checks ", "storm_window": "the window in seconds "}[refused.Field]
		v.Problem = ui.Problem{Text: "Not saved: " + what + refused.Reason + ".", Field: refused.Field}
		return showSettings(q, http.StatusBadRequest, v)
	}
	if err != nil {
		return err
	}
	q.Notice("Saved.")
	return q.Redirect("/projects/%s/settings", q.Project.ID)
}

// export answers with the project as a file for rollcall apply. It has no secrets.
func export(q *ui.Request) error {
	state, err := declare.OnProjects(q.Mon.Projects()).Read(q.Ctx(), q.Project.Name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	document := declare.Document{Projects: []declare.Project{declare.Export(state)}}
	if err := document.Write(&text); err != nil {
		return err
	}
	h := q.W.Header()
	h.Set("Content-Type", "application/yaml; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(q.Project.Name) + ".yaml"}))
	q.Write(http.StatusOK, text.Bytes())
	return nil
}

// fileName returns a name for a file, made of the letters and digits of a text.
func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, text)
	name = strings.Trim(name, "-")
	if name == "" {
		return "rollcall"
	}
	return name[:min(len(name), 60)]
}

// deleteView is the data of the page that asks before a project is deleted.
type deleteView struct {
	ui.Counts
	Name    string // what was typed
	Problem ui.Problem
}

func deleteProjectPage(q *ui.Request) error {
	return askToDelete(q, http.StatusOK, "")
}

func askToDelete(q *ui.Request, status int, problem string) error {
	counts, err := q.Count()
	if err != nil {
		return err
	}
	return q.RenderStatus(status, "projectdelete", "Delete the project", deleteView{counts, q.R.PostForm.Get("name"), ui.Problem{Text: problem, Field: "name"}})
}

// deleteProject deletes a project if its name was typed.
func deleteProject(q *ui.Request) error {
	if words.Name(q.R.PostForm.Get("name"), "") != words.Name(q.Project.Name, "unnamed") {
		return askToDelete(q, http.StatusBadRequest, "That is not the project’s name. Nothing was deleted.")
	}
	if err := q.Mon.Projects().Delete(q.Ctx(), q.Project.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	q.Notice(fmt.Sprintf("Deleted the project %.100s.", words.Name(q.Project.Name, "unnamed")))
	return q.Redirect("/")
}
