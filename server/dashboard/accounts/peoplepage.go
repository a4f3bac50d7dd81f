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
	People []personRow
	Fresh  *invitation
	Form   ui.Form
	Admin  bool // the box of the form is ticked
}

func personForm() ui.Form {
	return ui.Form{Fields: []ui.Field{
		emailField(), {Name: "name", Label: "Name", Optional: true, Attrs: `maxlength="100" autocomplete="off"`},
		{Name: "project", Label: "Project", Options: []ui.Choice{{Label: "None"}}}, roleField(),
	}}
}

// personRow is a person in the list. Projects counts those that exist: a role outlives its project.
type personRow struct {
	people.Person
	Projects int
}

func (a *Accounts) peoplePage(q *ui.Request) error {
	return a.showPeople(q, http.StatusOK, peopleView{Form: personForm()})
}

func (a *Accounts) showPeople(q *ui.Request, status int, view peopleView) (err error) {
	all, err := a.people.List(q.Ctx())
	if err != nil {
		return err
	}
	projects, err := q.Mon.Projects().List(q.Ctx())
	if err != nil {
		return err
	}
	offered := view.Form.Find("project")
	for _, p := range projects {
		offered.Options = append(offered.Options, ui.Choice{Value: p.ID.String(), Label: p.Name})
	}
	for _, p := range all {
		row := personRow{Person: p}
		for _, project := range projects {
			if p.Roles[project.ID] != "" {
				row.Projects++
			}
		}
		view.People = append(view.People, row)
	}
	return q.RenderStatus(status, "people", "People", view)
}

// addPerson adds a person, with a role in one project if the form has one.
func (a *Accounts) addPerson(q *ui.Request) error {
	view := peopleView{Form: personForm(), Admin: q.R.PostForm.Has("admin")}
	view.Form.Read(q.R.PostForm)
	spec := people.Spec{Email: view.Form.Value("email"), Name: typedName(q), Admin: view.Admin}
	if project := view.Form.Value("project"); project != "" {
		id, err := uuid.Parse(project)
		if err != nil {
			return ui.ErrBadForm
		}
		role, err := people.ParseRole(view.Form.Value("role"))
		if err != nil {
			return ui.ErrBadForm
		}
		spec.Roles = map[uuid.UUID]people.Role{id: role}
	}
	fresh, status, err := a.create(q, q.Access.Person.ID, spec, &view.Form)
	if err != nil {
		return err
	}
	if fresh != nil {
		view = peopleView{Fresh: fresh, Form: personForm()}
	}
	return a.showPeople(q, status, view)
}

// personView is the data of the page of one person, for administrators.
type personView struct {
	people.Person
	Roles    []projectRole
	Sessions int
	Fresh    *invitation
	// Self says that it is the viewer, and NeedsFactor that the person must have a second factor.
	Self, NeedsFactor bool
	Form              ui.Form
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
		return a.showPerson(q, http.StatusConflict, personView{Person: p, Form: ui.Form{Problem: words.Sentence(field.Error())}})
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
		return a.showPerson(q, http.StatusTooManyRequests, personView{Person: p, Form: ui.Form{Problem: problem}})
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
	return q.Render("persondelete", "Delete a person", deletion(q, p))
}

// deletion is the page that asks before a person is deleted.
func deletion(q *ui.Request, p people.Person) personView {
	return personView{Person: p, Self: p.ID == q.Access.Person.ID, Form: ui.Form{Fields: []ui.Field{
		{Name: "email", Label: "Type the e-mail address:", Confirm: p.Email, Type: "email", Attrs: `required autocomplete="off" maxlength="254"`},
	}}}
}

// deletePerson deletes a person whose address was typed.
func (a *Accounts) deletePerson(q *ui.Request) error {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err != nil {
		return err
	}
	view := deletion(q, p)
	view.Form.Read(q.R.PostForm)
	if !strings.EqualFold(view.Form.Value("email"), p.Email) {
		view.Form.Wrong("email", "That is not the e-mail address of this person. Nothing was deleted.")
		return q.RenderStatus(http.StatusBadRequest, "persondelete", "Delete a person", view)
	}
	err = a.people.Delete(q.Ctx(), p.ID)
	if field, ok := errors.AsType[*checks.FieldError](err); ok {
		view.Form.Problem = words.Sentence(field.Error())
		return q.RenderStatus(http.StatusConflict, "persondelete", "Delete a person", view)
	}
	if err != nil {
		return err
	}
	q.Notice(fmt.Sprintf("Deleted %.100s.", p.Email))
	return q.Redirect("/people")
}
