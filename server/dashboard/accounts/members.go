package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/people"
)

func (a *Accounts) memberRoutes() {
	a.site.Own("GET /projects/{project}/members", personal(a.membersPage))
	a.site.Own("POST /projects/{project}/members", personal(a.invite))
	a.site.Own("GET /projects/{project}/members/{person}/remove", personal(a.removePage))
	a.site.Own("POST /projects/{project}/members/{person}/remove", personal(a.removeMember))
	a.site.Own("POST /projects/{project}/members/{person}/role", personal(a.changeRole))
}

// roles are the roles as forms offer them.
var roles = []ui.Choice{
	{Value: string(people.Viewer), Label: "Viewer"}, {Value: string(people.Editor), Label: "Editor"}, {Value: string(people.Owner), Label: "Owner"},
}

// invitation is a link that was just created, for the page that shows it once.
type invitation struct {
	Email, URL string
	Until      string
	// Sent says that the person has it by e-mail too.
	Sent bool
	// Reset says that it is for a new password of a person who has an account.
	Reset bool
	// Claimed says that another account has the address too, unverified.
	Claimed bool
}

// invited returns what a page shows of a link, after sending it if the server sends e-mail.
func (a *Accounts) invited(q *ui.Request, l people.Link, reset bool) (*invitation, error) {
	i := &invitation{Email: l.Person.Email, URL: a.site.URL + "/signin/" + l.Token, Until: q.Clock().Format(l.Until, "2 Jan 15:04"), Reset: reset}
	if a.Mail == nil {
		return i, nil
	}
	subject, text := "Your invitation to Rollcall", "Choose a password to sign in to Rollcall at "+a.site.URL+":"
	if reset {
		subject, text = "Choose a new password for Rollcall", "Choose a new password for Rollcall at "+a.site.URL+":"
	}
	text += "\n\n" + i.URL + "\n\nThe link works once. If you did not expect this message, ignore it.\n"
	if err := a.Mail(q.Ctx(), i.Email, subject, text); err != nil {
		a.site.Log.WarnContext(q.Ctx(), "cannot send a link to sign in", "error", err)
		return i, q.Ctx().Err()
	}
	i.Sent = true
	return i, nil
}

// membersView is the data of the page of members.
type membersView struct {
	Members []memberRow
	Roles   []ui.Choice
	Fresh   *invitation
	Form    ui.Form
	// Unverified asks whether the person with the address is the one who is meant.
	Unverified bool
}

// memberRow is a member in the list. An administrator of the installation may have no role. Self says that it is the viewer.
type memberRow struct {
	people.Person
	Role people.Role
	Self bool
}

func (a *Accounts) membersPage(q *ui.Request) error {
	return a.showMembers(q, http.StatusOK, membersView{Form: memberForm()})
}

func memberForm() ui.Form { return ui.Form{Fields: []ui.Field{emailField(), roleField()}} }

func emailField() ui.Field {
	return ui.Field{Name: "email", Setting: "e-mail", Label: "E-mail", Taken: "There is an account with this e-mail address already.", Type: "email", Attrs: `required maxlength="254" autocomplete="off"`}
}

func roleField() ui.Field {
	return ui.Field{Name: "role", Label: "Role", Options: roles, Value: string(people.Viewer)}
}

func (a *Accounts) showMembers(q *ui.Request, status int, view membersView) error {
	list, err := a.people.Members(q.Ctx(), q.Project.ID)
	if err != nil {
		return err
	}
	for _, p := range list {
		view.Members = append(view.Members, memberRow{p, p.Roles[q.Project.ID], p.ID == q.Access.Person.ID})
	}
	view.Roles = roles
	return q.RenderStatus(status, "members", "Members", view)
}

// invite gives a person a role in the project. If the person is new, the page shows a link.
func (a *Accounts) invite(q *ui.Request) error {
	view := membersView{Form: memberForm()}
	view.Form.Read(q.R.PostForm)
	email := view.Form.Value("email")
	role, err := people.ParseRole(view.Form.Value("role"))
	if err != nil {
		return ui.ErrBadForm
	}
	known, err := a.people.ByEmail(q.Ctx(), email)
	sure := q.R.PostForm.Get("sure")
	if err == nil && known.Unverified && sure == "no" {
		err = checks.ErrNotFound // the owner of the address has no account yet
	}
	switch {
	case err == nil && known.Roles[q.Project.ID] != "":
		view.Form.Wrong("email", words.Cut(prose.Plain(email), 100)+" is a member already. Change the role in the list.")
		return a.showMembers(q, http.StatusBadRequest, view)
	case err == nil && known.Unverified && sure == "":
		view.Form.Wrong("email", "The identity provider has not verified that "+known.Email+" belongs to this account. Ask the person first.")
		view.Unverified = true
		return a.showMembers(q, http.StatusConflict, view)
	case err == nil:
		return a.setRole(q, known, role, fmt.Sprintf("%s is now %s of this project.", known.Email, withArticle(role)))
	case !errors.Is(err, checks.ErrNotFound):
		return err
	}
	fresh, status, err := a.create(q, q.Project.ID, people.Spec{Email: email, Roles: map[uuid.UUID]people.Role{q.Project.ID: role}}, &view.Form)
	if err != nil {
		return err
	}
	if fresh != nil {
		view = membersView{Fresh: fresh, Form: memberForm()}
	}
	return a.showMembers(q, status, view)
}

// An invitation creates an account and sends mail, so those of a project, or of an administrator, are limited.
const invitationsAtOnce, invitationsPerMinute = 20, 1

// tooMany returns what a page says if there are too many invitations, or "".
func (a *Accounts) tooMany(q *ui.Request, by uuid.UUID) string {
	if wait := a.invitations.Wait(by); wait > 0 {
		return "Too many invitations. " + tryAgain(q, wait)
	}
	return ""
}

// create adds a person, as one of the invitations of a project or an administrator, and returns the status of the answer. The
// invitation is nil if something is wrong with the form.
func (a *Accounts) create(q *ui.Request, by uuid.UUID, spec people.Spec, form *ui.Form) (fresh *invitation, status int, err error) {
	if form.Problem = a.tooMany(q, by); form.Refused() {
		return nil, http.StatusTooManyRequests, nil
	}
	before, err := a.people.ByEmail(q.Ctx(), spec.Email)
	if err != nil && !errors.Is(err, checks.ErrNotFound) {
		return nil, 0, err
	}
	_, link, err := a.people.Create(q.Ctx(), spec)
	if status := form.Refuse(err); status != 0 {
		return nil, status, nil
	}
	if err != nil {
		return nil, 0, err
	}
	a.someone.Store(true)
	if fresh, err = a.invited(q, link, false); err == nil {
		fresh.Claimed = before.Unverified
	}
	return fresh, http.StatusOK, err
}

// askAnew gives a new link to a person whose new role has ended the link or the password of an invitation. An administrator sees the
// link. An owner does not, because it opens other projects too: it goes to the mailbox alone, and more says so.
func (a *Accounts) askAnew(q *ui.Request, p people.Person) (fresh *invitation, more string, err error) {
	p, err = a.people.ByID(q.Ctx(), p.ID)
	if err != nil || !p.NeedsLink {
		return nil, "", err
	}
	if q.Access.Person.Admin {
		link, err := a.people.ResetPassword(q.Ctx(), p.ID)
		if err != nil {
			return nil, "", err
		}
		fresh, err = a.invited(q, link, true)
		return fresh, "", err
	}
	const ended = " Someone else had invited them, so their old link and password have ended: "
	const ask = ended + "ask an administrator to give them a new link."
	if a.Mail == nil || a.invitations.Wait(q.Project.ID) > 0 {
		return nil, ask, nil
	}
	link, err := a.people.ProofLink(q.Ctx(), p.ID)
	if err != nil {
		return nil, "", err
	}
	i, err := a.invited(q, link, true)
	if err != nil || !i.Sent {
		return nil, ask, err
	}
	return nil, ended + "they get a new link by e-mail.", nil
}

func withArticle(r people.Role) string {
	if r == people.Viewer {
		return "a viewer"
	}
	return "an " + string(r)
}

// setRole changes a role, and leads to the page of members.
func (a *Accounts) setRole(q *ui.Request, p people.Person, role people.Role, notice string) error {
	if err := a.people.SetRole(q.Ctx(), p.ID, q.Project.ID, role); err != nil {
		return err
	}
	if !p.NeedsLink {
		fresh, more, err := a.askAnew(q, p)
		if err != nil {
			return err
		}
		if fresh != nil {
			return a.showMembers(q, http.StatusOK, membersView{Fresh: fresh, Form: memberForm()})
		}
		notice += more
	}
	q.Notice(notice)
	if p.ID == q.Access.Person.ID && !p.Admin && !role.Right().Owns() {
		return q.Redirect("/")
	}
	return q.Redirect("/projects/%s/members", q.Project.ID)
}

// member returns the member that the path names.
func (a *Accounts) member(q *ui.Request) (people.Person, error) {
	p, err := a.person(q.Ctx(), q.R.PathValue("person"))
	if err == nil && p.Roles[q.Project.ID] == "" {
		err = checks.ErrNotFound
	}
	return p, err
}

// person returns the person with an identifier of a path.
func (a *Accounts) person(ctx context.Context, id string) (people.Person, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return people.Person{}, checks.ErrNotFound
	}
	return a.people.ByID(ctx, parsed)
}

func (a *Accounts) changeRole(q *ui.Request) error {
	role, err := people.ParseRole(q.R.PostForm.Get("role"))
	if err != nil {
		return ui.ErrBadForm
	}
	p, err := a.member(q)
	if err != nil {
		return err
	}
	if p.Roles[q.Project.ID] == role {
		return q.Redirect("/projects/%s/members", q.Project.ID)
	}
	return a.setRole(q, p, role, fmt.Sprintf("%s is now %s.", p.Email, withArticle(role)))
}

// removePage asks before a person loses the project.
func (a *Accounts) removePage(q *ui.Request) error {
	p, err := a.member(q)
	if err != nil {
		return err
	}
	return q.Render("memberremove", "Remove a member", memberRow{p, p.Roles[q.Project.ID], p.ID == q.Access.Person.ID})
}

func (a *Accounts) removeMember(q *ui.Request) error {
	p, err := a.member(q)
	if err != nil {
		return err
	}
	return a.setRole(q, p, "", p.Email+" is no longer a member.")
}
