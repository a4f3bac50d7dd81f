package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

func (d *Dashboard) settingsRoutes() {
	d.look("GET /projects/{project}/settings", d.settingsPage)
	d.change("GET /projects/{project}/export", d.export)
	d.change("GET /projects/{project}/delete", d.deleteProjectPage)
	d.change("POST /projects/{project}/delete", d.deleteProject)
}

// settingsView is the data of the page of a project.
type settingsView struct {
	Checks, Channels, Keys int
}

// settingsPage shows what a project is and leads to its settings.
func (d *Dashboard) settingsPage(q *request) error {
	view, err := q.countProject()
	if err != nil {
		return err
	}
	return q.render("settings", "Settings", view)
}

func (q *request) countProject() (settingsView, error) {
	list, err := q.mon.Checks(q.ctx(), q.project.ID, monitor.CheckQuery{})
	if err != nil {
		return settingsView{}, err
	}
	available, err := q.mon.Channels(q.ctx(), q.project.ID)
	if err != nil {
		return settingsView{}, err
	}
	keys, err := q.mon.Keys(q.ctx(), q.project.ID)
	return settingsView{len(list), len(available), len(keys)}, err
}

// export answers with the project as a file for rollcall apply. It has no secrets.
func (d *Dashboard) export(q *request) error {
	state, err := declare.OnMonitor(q.mon).Read(q.ctx(), q.project.Name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	document := declare.Document{Projects: []declare.Project{declare.Export(state, q.mon.ChannelKinds())}}
	if err := document.Write(&text); err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Content-Type", "application/yaml; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(q.project.Name) + ".yaml"}))
	q.write(http.StatusOK, text.Bytes())
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
	settingsView
	Problem string
}

func (d *Dashboard) deleteProjectPage(q *request) error {
	return q.askToDelete(http.StatusOK, "")
}

func (q *request) askToDelete(status int, problem string) error {
	counts, err := q.countProject()
	if err != nil {
		return err
	}
	return q.renderStatus(status, "projectdelete", "Delete the project", deleteView{counts, problem})
}

// deleteProject deletes a project if its name was typed.
func (d *Dashboard) deleteProject(q *request) error {
	if err := q.r.ParseForm(); err != nil {
		return formError(err)
	}
	if words.Name(q.r.PostForm.Get("name"), "") != words.Name(q.project.Name, "unnamed") {
		return q.askToDelete(http.StatusBadRequest, "That is not the project’s name. Nothing was deleted.")
	}
	if err := q.mon.DeleteProject(q.ctx(), q.project.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	d.sessions.forget(q.project.ID)
	q.notice(fmt.Sprintf("Deleted the project %.100s.", words.Name(q.project.Name, "unnamed")))
	return q.redirect("/")
}

// Limit is the largest number of checks of the account, or "" for any number.
func (p *page) Limit() string {
	if n := p.Project.CheckLimit(); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}
