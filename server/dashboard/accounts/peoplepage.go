package accounts

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/people"
)

func (a *Accounts) peopleRoutes() {
	for pattern, h := range map[string]ui.Handler{
		"GET /people": a.peoplePage, "POST /people": a.addPerson,
		"GET /people/{person}": a.personPage, "POST /people/{person}": a.changePerson,
		"GET /people/{person}/delete": a.deletePage, "POST /people/{person}/delete": a.deletePerson,
	} {
		if strings.HasPrefix(pattern, http.MethodPost) {
			h = ui.Recent(h)
		}
		a.site.Look(pattern, admin(h))
	}
}

// peopleView is the data of the page of all people.
type peopleView struct {
	People   []personRow
	Projects []checks.Project
	Roles    []choice
	Fresh    *invitation
	// The fields of an invitation that was refused, and Problem says why.
	Email, Name, Project, Role string
	Admin                      bool
	Problem                    ui.Problem
}

// personRow is a person in the list. Projects counts those that exist: a role outlives its project.
type personRow struct {
	people.Person
	Projects int
}

func (a *Accounts) peoplePage(q *ui.Request) error {
	return a.showPeople(q, http.StatusOK, peopleView{Role: string(people.Viewer)})
}

func (a *Accounts) showPeople(q *ui.Request, status int, view peopleView) (err error) {
	all, err := a.people.List(q.Ctx())
	if err != nil {
		return err
	}
	if view.Projects, err = q.Mon.Projects().List(q.Ctx()); err != nil {
		return err
	}
	for _, p := range all {
		row := personRow{Person: p}
		for _, project := range view.Projects {
			if p.Roles[project.ID] != "" {
				row.Projects++
			}
		}
		view.People = append(view.People, row)
	}
	view.Roles = roles
	return q.RenderStatus(status, "people", "People", view)
}

// addPerson adds a person, with a role in one project if the form has one.
func (a *Accounts) addPerson(q *ui.Request) error {
	form := q.R.PostForm
	view := peopleView{Email: strings.TrimSpace(form.Get("email")), Name: typedName(q), Admin: form.Has("admin"), Project: form.Get("project"), Role: form.Get("role")}
	spec := people.Spec{Email: view.Email, Name: view.Name, Admin: view.Admin}
	if view.Project != "" {
		id, err := uuid.Parse(view.Project)
		if err != nil {
			return ui.ErrBadForm
		}
		role, err := people.ParseRole(view.Role)
		if err != nil {
			return ui.ErrBadForm
		}
		spec.Roles = map[uuid.UUID]people.Role{id: role}
	}
	fresh, problem, status, err := a.create(q, q.Access.Person.ID, spec)
	if err != nil {
		return err
	}
	if problem.Text != "" {
		view.Problem = problem
		return a.showPeople(q, status, view)
	}
	return a.showPeople(q, http.StatusOK, peopleView{Fresh: fresh, Role: string(people.Viewer)})
}

// personView is the data of the page of one person, for administrators.
type personView struct {
	people.Person
	Roles    []projectRole
	Sessions int
	Fresh    *invitation
	// Self says that it is the viewer, and NeedsFactor that the person must have a second factor.
	Self, NeedsFactor bool
	Problem           ui.Problem
	Typed             string // the address that confirms the deletion
}

// projectRole is the role of a person in a project.
type projectRole struct {
	Project checks.Project
	Role    people.Role
}

func (a *Accounts) personPage(q *ui.Request) error {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err != nil {
		return err
	}
	return a.showPerson(q, http.StatusOK, personView{Person: p})
}

func (a *Accounts) showPerson(q *ui.Request, status int, view personView) error {
	view.Self, view.NeedsFactor = view.ID == q.Access.Person.ID, a.people.NeedsFactor(view.Person)
	list, err := a.people.Sessions(q.Ctx(), view.ID)
	if err != nil {
		return err
	}
	view.Sessions = len(list)
	projects, err := q.Mon.Projects().List(q.Ctx())
	if err != nil {
		return err
	}
	for _, project := range projects {
		if role := view.Person.Roles[project.ID]; role != "" {
			project.Name = words.Name(project.Name, "unnamed")
			view.Roles = append(view.Roles, projectRole{project, role})
		}
	}
	return q.RenderStatus(status, "person", view.Email, view)
}

// changePerson does what a button of the page of a person says.
func (a *Accounts) changePerson(q *ui.Request) error {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err != nil {
		return err
	}
	ctx, notice := q.Ctx(), ""
	switch q.R.PostForm.Get("do") {
	case "admin", "noadmin":
		on := q.R.PostForm.Get("do") == "admin"
		notice = p.Email + " is now an administrator."
		if !on {
			notice = p.Email + " is no longer an administrator."
		}
		err = a.people.SetAdmin(ctx, p.ID, on)
	case "password":
		return a.resetPassword(q, p)
	case "mfa":
		notice, err = "The authenticator app, recovery codes and passkeys of "+p.Email+" are removed.", a.people.ResetMFA(ctx, p.ID)
	case "sessions":
		notice, err = "All sessions of "+p.Email+" have ended.", a.people.EndSessions(ctx, p.ID, "")
	default:
		return ui.ErrBadForm
	}
	if field, ok := errors.AsType[*checks.FieldError](err); ok {
		return a.showPerson(q, http.StatusConflict, personView{Person: p, Problem: ui.Problem{Text: words.Sentence(field.Error())}})
	}
	if err != nil {
		return err
	}
	now, err := a.people.ByID(ctx, p.ID)
	if err != nil {
		return err
	}
	if now.NeedsLink && !p.NeedsLink {
		return a.resetPassword(q, now)
	}
	q.Notice(notice)
	if p.ID == q.Access.Person.ID && !now.Admin {
		return q.Redirect("/")
	}
	return q.Redirect("/people/%s", p.ID)
}

// resetPassword ends the password and shows a link for a new one.
func (a *Accounts) resetPassword(q *ui.Request, p people.Person) error {
	if problem := a.tooMany(q, q.Access.Person.ID); problem != "" {
		return a.showPerson(q, http.StatusTooManyRequests, personView{Person: p, Problem: ui.Problem{Text: problem}})
	}
	link, err := a.people.ResetPassword(q.Ctx(), p.ID)
	if err != nil {
		return err
	}
	fresh, err := a.invited(q, link, true)
	if err != nil {
		return err
	}
	if p, err = a.people.ByID(q.Ctx(), p.ID); err != nil {
		return err
	}
	return a.showPerson(q, http.StatusOK, personView{Person: p, Fresh: fresh})
}

func (a *Accounts) deletePage(q *ui.Request) error {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err != nil {
		return err
	}
	return q.Render("persondelete", "Delete a person", personView{Person: p, Self: p.ID == q.Access.Person.ID})
}

// deletePerson deletes a person whose address was typed.
func (a *Accounts) deletePerson(q *ui.Request) error {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err != nil {
		return err
	}
	view := personView{Person: p, Self: p.ID == q.Access.Person.ID, Typed: strings.TrimSpace(q.R.PostForm.Get("email"))}
	if !strings.EqualFold(view.Typed, p.Email) {
		view.Problem = ui.Problem{Text: "That is not the e-mail address of this person. Nothing was deleted.", Field: "email"}
		return q.RenderStatus(http.StatusBadRequest, "persondelete", "Delete a person", view)
	}
	err = a.people.Delete(q.Ctx(), p.ID)
	if field, ok := errors.AsType[*checks.FieldError](err); ok {
		view.Problem.Text = words.Sentence(field.Error())
		return q.RenderStatus(http.StatusConflict, "persondelete", "Delete a person", view)
	}
	if err != nil {
		return err
	}
	q.Notice(fmt.Sprintf("Deleted %.100s.", p.Email))
	return q.Redirect("/people")
}
