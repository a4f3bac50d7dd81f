package accounts

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// maxProjects bounds the projects of the overview. Each costs a query; a search finds the others.
const maxProjects = 200

// projectsView is the data of the overview of all projects that the viewer may see.
type projectsView struct {
	Rows []projectRow
	// Down and Late count the checks of all rows. More is how many projects are not listed.
	Total, Down, Late, Up, More int
	Search                      string
	Admin                       bool // offers to create a project, with Form
	Form                        ui.Form
}

func projectForm() ui.Form {
	return ui.Form{Fields: []ui.Field{{Name: "name", Label: "Name", Called: "The name", Taken: "A project with this name already exists.", Attrs: `required maxlength="100" autocomplete="off"`}}}
}

// Counts returns how many checks are down and late, for the title of the page.
func (v projectsView) Counts() (down, late int) { return v.Down, v.Late }

// projectRow is a project in the overview. Worst is the check that went down, or else late, last:
// the one that has just woken a person.
type projectRow struct {
	checks.Project
	ui.Summary
	Role            string
	Worst, WorstKey string
	WorstSince      time.Time
	WorstStatus     checks.Status
}

// Word is the word of the worst state.
func (r projectRow) Word() string {
	switch {
	case r.Down > 0:
		return "down"
	case r.Late > 0:
		return "late"
	case r.Up > 0:
		return "up"
	}
	return "idle"
}

// projectsPage lists the projects, those with checks that are down first.
func (a *Accounts) projectsPage(q *ui.Request) error {
	return a.showProjects(q, http.StatusOK, projectsView{Form: projectForm()})
}

// createProject adds a project without keys. Its administrators are those of the installation, until it has members.
func (a *Accounts) createProject(q *ui.Request) error {
	form := projectForm()
	form.Read(q.R.PostForm)
	project, _, err := q.Mon.Projects().Create(q.Ctx(), checks.ProjectSpec{Name: form.Value("name"), NoKeys: true})
	if status := form.Refuse(err); status != 0 {
		return a.showProjects(q, status, projectsView{Form: form})
	}
	if err != nil {
		return err
	}
	q.Notice("Project created. Invite its members under Settings.")
	q.Lead(q.Base + "/projects/" + project.ID.String() + "/overview")
	return nil
}

func (a *Accounts) showProjects(q *ui.Request, status int, view projectsView) error {
	view.Search = ui.Typed(q.R.URL.Query().Get("q"))
	view.Admin = q.Access.Person != nil && q.Access.Person.Admin
	all, err := q.Mon.Projects().List(q.Ctx())
	if err != nil {
		return err
	}
	for _, project := range all {
		right := q.Access.Right(project.ID)
		if project.Name = words.Name(project.Name, "unnamed"); right == checks.None || !strings.Contains(strings.ToLower(project.Name), strings.ToLower(view.Search)) {
			continue
		}
		if len(view.Rows) == maxProjects {
			view.More++
			continue
		}
		row := projectRow{Project: project, Role: [...]string{checks.Read: "viewer", checks.Edit: "editor", checks.Own: "owner"}[right]}
		if err := row.count(q); err != nil {
			return err
		}
		view.Rows = append(view.Rows, row)
		view.Total, view.Down, view.Late, view.Up = view.Total+row.Total, view.Down+row.Down, view.Late+row.Late, view.Up+row.Up
	}
	slices.SortStableFunc(view.Rows, func(x, y projectRow) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)))
	})
	return q.RenderStatus(status, "projects", "Projects", view)
}

func rank(r projectRow) int {
	return slices.Index([]string{"down", "late", "up", "idle"}, r.Word())
}

// count counts the checks of the project and finds the worst.
func (r *projectRow) count(q *ui.Request) error {
	project := q.Mon.Project(r.ID)
	now := q.Mon.Now()
	all, err := project.Count(q.Ctx(), checks.ListQuery{Now: now})
	if err != nil {
		return err
	}
	r.Total, r.Down, r.Late, r.Up = all.Total(), all[checks.StatusDown], all[checks.StatusGrace], all[checks.StatusUp]
	if r.Down+r.Late == 0 {
		return nil
	}
	worst, err := project.List(q.Ctx(), checks.ListQuery{Now: now, Status: []checks.Status{checks.StatusDown, checks.StatusGrace}, Limit: 1})
	if err != nil {
		return err
	}
	for _, c := range worst {
		r.Worst, r.WorstKey, r.WorstSince, r.WorstStatus = ui.NameOf(c), c.UniqueKey(), c.Since(now), c.Status(now)
	}
	return nil
}
