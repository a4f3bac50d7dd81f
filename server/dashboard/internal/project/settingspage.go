package project

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// settingsView is the data of the page of settings, with its forms.
type settingsView struct {
	counts
	Name, Grouping ui.Form
	Storm          string // what the grouping would do with the project as it is
}

// counts are how many checks, integrations and keys a project has.
type counts struct {
	Checks, Channels, Keys int
}

// count counts what the project of a page has.
func count(q *ui.Request) (counts, error) {
	all, err := q.Mon.Project(q.Project.ID).Count(q.Ctx(), checks.ListQuery{})
	if err != nil {
		return counts{}, err
	}
	available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return counts{}, err
	}
	keys, err := q.Mon.Project(q.Project.ID).Keys(q.Ctx())
	return counts{all.Total(), len(available), len(keys)}, err
}

// settingsPage shows what a project is and leads to its settings.
func settingsPage(q *ui.Request) error {
	return showSettings(q, http.StatusOK, newSettings(q))
}

// newSettings returns a view with the settings of the project.
func newSettings(q *ui.Request) settingsView {
	storm := q.Project.Storm
	return settingsView{
		Name: ui.Form{Title: "Not saved", Fields: []ui.Field{
			{Name: "name", Label: "Name of the project", Called: "The name", Taken: "Another project has this name.", Value: q.Project.Name, Attrs: `autocomplete="off" required maxlength="100" spellcheck="false"`},
		}},
		Grouping: ui.Form{Title: "Not saved", Fields: []ui.Field{
			{Name: "storm_checks", Label: "Checks that go down within the window", Called: "The number of checks", Hint: "2 to 1000, or 0 to send each alert alone",
				Value: strconv.Itoa(storm.Checks), Attrs: `inputmode="numeric" autocomplete="off" required maxlength="4"`},
			{Name: "storm_window", Label: "Window", Called: "The window", Hint: words.SpellPeriod(gate.MinStormWindow) + " to " + words.SpellPeriod(gate.MaxStormWindow),
				Value: words.SpellPeriod(storm.Window), Attrs: `autocomplete="off" required maxlength="20" spellcheck="false"`},
		}},
	}
}

func showSettings(q *ui.Request, status int, v settingsView) (err error) {
	if v.counts, err = count(q); err != nil {
		return err
	}
	if v.Storm, err = stormExample(q); err != nil {
		return err
	}
	return q.RenderStatus(status, "settings", "Settings", v)
}

// namedInStorm bounds the integrations that the example of a storm names.
const namedInStorm = 3

// stormExample says what the grouping of the project does if all checks of its integrations go down within the window. It is "" if no
// check has an integration whose alerts are grouped, or too few.
func stormExample(q *ui.Request) (string, error) {
	storm, project := q.Project.Storm, q.Mon.Project(q.Project.ID)
	available, err := project.Channels(q.Ctx())
	if err != nil || !storm.On() {
		return "", err
	}
	combines := make(map[channels.Kind]bool)
	for _, t := range q.Mon.Kinds() {
		combines[t.Kind] = t.Combines
	}
	var ids []uuid.UUID
	names := make(map[bool][]string) // by whether alerts are grouped
	for _, c := range available {
		if c.Kind != channels.Group { // its members get the alerts
			names[combines[c.Kind]] = append(names[combines[c.Kind]], ui.ChannelName(c))
		}
		if combines[c.Kind] {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return "", nil
	}
	all, paused, err := project.CountReached(q.Ctx(), ids)
	n := all - paused
	if err != nil || n < storm.Checks {
		return "", err
	}
	named := func(list []string) string {
		if more := len(list) - namedInStorm; more > 0 {
			list = append(list[:namedInStorm:namedInStorm], fmt.Sprintf("%d more", more))
		}
		return prose.List(list)
	}
	text := fmt.Sprintf("Now, if all %d checks went down within %s, %s would get at most %d messages: %s alone, and one about the others.", n, prose.Duration(storm.Window),
		named(names[true]), storm.Checks, map[bool]string{true: "the first", false: fmt.Sprintf("the first %d", storm.Checks-1)}[storm.Checks == 2])
	if len(names[false]) > 0 {
		text += " " + words.Capital(named(names[false])) + " would get one for each check."
	}
	return text, nil
}

// renameProject changes the name of a project.
func renameProject(q *ui.Request) error {
	v := newSettings(q)
	v.Name.Read(q.R.PostForm)
	_, err := q.Mon.Projects().Update(q.Ctx(), q.Project.ID, checks.ProjectUpdate{Name: new(v.Name.Value("name"))})
	if status := v.Name.Refuse(err); status != 0 {
		return showSettings(q, status, v)
	}
	if err != nil {
		return err
	}
	q.Notice("Renamed.")
	return q.Redirect("/projects/%s/settings", q.Project.ID)
}

// saveGrouping changes when alerts are sent together.
func saveGrouping(q *ui.Request) error {
	v := newSettings(q)
	v.Grouping.Read(q.R.PostForm)
	n, err := strconv.Atoi(v.Grouping.Value("storm_checks"))
	if err != nil {
		v.Grouping.Wrong("storm_checks", "The number of checks is not a number.")
	}
	window, err := words.ParsePeriod(v.Grouping.Value("storm_window"))
	switch {
	case err != nil:
		v.Grouping.Wrong("storm_window", "The window "+err.Error()+".")
	case window < gate.MinStormWindow || window > gate.MaxStormWindow:
		v.Grouping.Wrong("storm_window", "The window is out of range: "+words.SpellPeriod(window)+", it takes "+v.Grouping.Field("storm_window").Hint+".")
	}
	if !v.Grouping.Refused() {
		_, err = q.Mon.Projects().Update(q.Ctx(), q.Project.ID, checks.ProjectUpdate{StormChecks: &n, StormWindow: &window})
	}
	if v.Grouping.Refuse(err) != 0 || v.Grouping.Refused() {
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
	counts
	Form ui.Form
}

func deleteProjectPage(q *ui.Request) error { return askToDelete(q, http.StatusOK, deleteForm(q)) }

// deleteForm is the form in which the name of the project is typed.
func deleteForm(q *ui.Request) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "name", Label: "Type the project’s name:", Confirm: words.Name(q.Project.Name, "unnamed"), Attrs: `autocomplete="off" required maxlength="200" spellcheck="false"`,
	}}}
}

func askToDelete(q *ui.Request, status int, form ui.Form) error {
	has, err := count(q)
	if err != nil {
		return err
	}
	return q.RenderStatus(status, "projectdelete", "Delete the project", deleteView{has, form})
}

// deleteProject deletes a project if its name was typed.
func deleteProject(q *ui.Request) error {
	form := deleteForm(q)
	form.Read(q.R.PostForm)
	name := form.Field("name")
	if words.Name(name.Value, "") != name.Confirm {
		form.Wrong("name", "That is not the project’s name. Nothing was deleted.")
		return askToDelete(q, http.StatusBadRequest, form)
	}
	if err := q.Mon.Projects().Delete(q.Ctx(), q.Project.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	q.Notice(fmt.Sprintf("Deleted the project %.100s.", name.Confirm))
	return q.Redirect("/")
}
