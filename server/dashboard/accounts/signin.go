package accounts

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

// signInRoutes adds the pages that sign in and out. The router has one route for links and words, so words are no link.
func (a *Accounts) signInRoutes() {
	a.words = map[string]map[string]ui.Handler{http.MethodGet: {}, http.MethodPost: {"code": a.giveCode}}
	if a.Provider != nil {
		a.words[http.MethodGet]["oidc"] = a.beginProvider
	}
	a.site.Public("GET /signin", public(a.signInPage))
	a.site.Public("POST /signin", public(a.signIn))
	a.site.Public("GET /signin/{link}", public(a.wordOr(a.linkPage)))
	a.site.Public("POST /signin/{link}", public(a.wordOr(a.useLink)))
	a.site.Public("GET /signin/{link}/callback", public(a.finishProvider))
	a.site.Public("POST /signout", public(a.sessions.SignOut))
}

// wordOr answers with the handler of a word, or else as for a link.
func (a *Accounts) wordOr(link ui.Handler) ui.Handler {
	return func(q *ui.Request) error {
		if h := a.words[q.R.Method][q.R.PathValue("link")]; h != nil {
			return h(q)
		}
		return link(q)
	}
}

func (a *Accounts) signInPage(q *ui.Request) error {
	return a.sessions.AskToSignIn(q, http.StatusOK, session.SignIn{Next: ui.LocalPath(q.R.URL.Query().Get("next"))})
}

// signIn signs in with a password, or with an API key.
func (a *Accounts) signIn(q *ui.Request) error {
	form := q.R.PostForm
	if form.Has("key") {
		if !a.KeySignIn {
			return a.sessions.AskToSignIn(q, http.StatusForbidden, session.SignIn{Problem: "This server does not accept API keys here."})
		}
		return a.sessions.SignIn(q)
	}
	page := session.SignIn{Next: ui.LocalPath(form.Get("next")), Held: form.Get("held"), Email: strings.TrimSpace(form.Get("email"))}
	person, err := a.people.SignIn(q.Ctx(), people.Attempt{Email: page.Email, Password: form.Get("password"), Address: q.Address(q.R), Device: a.device(q.R)})
	if problem, status := refusal(q, err, "The e-mail address or the password is wrong."); problem != "" {
		page.Problem = problem
		return a.sessions.AskToSignIn(q, status, page)
	}
	if err != nil {
		return err
	}
	return a.enter(q, person, page)
}

// enter begins the session of a person whose password is right, or asks for the code.
func (a *Accounts) enter(q *ui.Request, person people.Person, page session.SignIn) error {
	switch {
	case person.HasTOTP:
	case a.people.NeedsFactor(person) && len(person.Passkeys) > 0:
		page.Problem = "This server requires a second factor: sign in with your passkey. If you have lost it, ask an administrator."
		return a.sessions.AskToSignIn(q, http.StatusForbidden, page)
	default:
		return a.admit(q, person, sessions.Session{}, page)
	}
	err := a.start(q, person, sessions.Session{Pending: true})
	if errors.Is(err, people.ErrChanged) {
		return a.changedMeanwhile(q, page)
	}
	if err != nil {
		return err
	}
	return showCode(q, http.StatusOK, page)
}

// admit begins the session of a person who has proved who they are.
func (a *Accounts) admit(q *ui.Request, person people.Person, fresh sessions.Session, page session.SignIn) error {
	err := a.start(q, person, fresh)
	if errors.Is(err, people.ErrChanged) {
		return a.changedMeanwhile(q, page)
	}
	if err != nil {
		return err
	}
	page.Person = person.ID
	return a.sessions.Enter(q, page, "/")
}

// changedMeanwhile answers a sign-in during which what it was made with ended.
func (a *Accounts) changedMeanwhile(q *ui.Request, page session.SignIn) error {
	page.Problem = "Your account changed while you signed in. Sign in again."
	return a.sessions.AskToSignIn(q, http.StatusForbidden, page)
}

func showCode(q *ui.Request, status int, page session.SignIn) error {
	return q.RenderStatus(status, "code", "Sign in", page)
}

// giveCode takes the code that follows the password.
func (a *Accounts) giveCode(q *ui.Request) error {
	page := session.SignIn{Next: ui.LocalPath(q.R.PostForm.Get("next")), Held: q.R.PostForm.Get("held")}
	current, err := a.sessions.Current(q.R)
	if errors.Is(err, server.ErrSignedOut) || err == nil && !current.Pending {
		page.Problem = "Signing in took too long. Enter your password again."
		return a.sessions.AskToSignIn(q, http.StatusForbidden, page)
	}
	if err != nil {
		return err
	}
	err = a.people.CheckCode(q.Ctx(), current.Person, strings.ReplaceAll(q.R.PostForm.Get("code"), " ", ""), q.Address(q.R), a.device(q.R))
	if problem, status := refusal(q, err, "This code is wrong or was already used."); problem != "" {
		page.Problem = problem
		return showCode(q, status, page)
	}
	if errors.Is(err, people.ErrSecret) {
		page.Problem = "The server cannot read the secret of your authenticator app any more, so no code of it works. Use a recovery code, or ask an administrator to reset your second factors."
		return showCode(q, http.StatusInternalServerError, page)
	}
	if err != nil {
		return err
	}
	return a.admit(q, people.Person{ID: current.Person, Revision: current.Revision}, strong, page)
}

// refusal returns what a page says of a sign-in that was refused, and its status.
func refusal(q *ui.Request, err error, wrong string) (problem string, status int) {
	if limited, ok := errors.AsType[*people.LimitedError](err); ok {
		return "Too many failed attempts. " + tryAgain(q, limited.Wait), http.StatusTooManyRequests
	}
	if errors.Is(err, people.ErrRefused) {
		return wrong, http.StatusForbidden
	}
	return "", 0
}

// tryAgain says when to try again, in the header too.
func tryAgain(q *ui.Request, wait time.Duration) string {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	q.W.Header().Set("Retry-After", strconv.Itoa(seconds))
	text := prose.Count(seconds, "second")
	if wait > 2*time.Minute {
		text = prose.Count((seconds+59)/60, "minute")
	}
	return "Try again in " + text + "."
}

// linkView is the data of the page on which a person chooses a password.
type linkView struct {
	people.Person
	// First says that the link creates the first administrator, who also types the address.
	First bool
	Link  string
	Form  ui.Form
}

func linkViewOf(p people.Person) linkView {
	v := linkView{Person: p, First: p.Email == ""}
	password := newPassword("Password", "At least 12 characters. A few random words are a good choice.")
	if v.First {
		v.Form.Fields = []ui.Field{
			{Name: "email", Setting: "e-mail", Label: "E-mail", Type: "email", Attrs: `autocomplete="username" required autofocus maxlength="254"`},
			{Name: "name", Label: "Name", Optional: true, Attrs: `autocomplete="name" maxlength="100"`}, password,
		}
		return v
	}
	password.Attrs += " autofocus"
	v.Form.Fields = []ui.Field{password}
	return v
}

// linkPage asks for a password. Only its form uses the link up, because browsers and mail programs fetch links ahead.
func (a *Accounts) linkPage(q *ui.Request) error {
	link, err := a.people.Link(q.Ctx(), q.R.PathValue("link"))
	if errors.Is(err, checks.ErrNotFound) {
		return a.noLink(q)
	}
	if err != nil {
		return err
	}
	return showLink(q, http.StatusOK, linkViewOf(link.Person))
}

// noLink answers a link that belongs to no person. It may be a key's.
func (a *Accounts) noLink(q *ui.Request) error {
	if a.KeySignIn && q.R.Method == http.MethodGet {
		return a.sessions.UseLink(q)
	}
	a.sessions.LogRefusal(q, "refused a sign-in", "used, expired or unknown link")
	return a.sessions.AskToSignIn(q, http.StatusForbidden, session.SignIn{Problem: "This link has expired or was already used. Ask an administrator for a new one."})
}

func showLink(q *ui.Request, status int, view linkView) error {
	view.Link = q.R.PathValue("link")
	return q.RenderStatus(status, "link", "Choose a password", view)
}

// useLink stores the password and signs in.
func (a *Accounts) useLink(q *ui.Request) error {
	token, form := q.R.PathValue("link"), q.R.PostForm
	link, err := a.people.Link(q.Ctx(), token)
	if errors.Is(err, checks.ErrNotFound) {
		return a.noLink(q)
	}
	if err != nil {
		return err
	}
	view := linkViewOf(link.Person)
	if view.Form.Read(form); view.First {
		view.Email, view.Name = view.Form.Value("email"), view.Form.Value("name")
	}
	person, err := a.people.UseLink(q.Ctx(), token, view.Email, view.Name, form.Get("password"))
	if status := view.Form.Refuse(err); status != 0 {
		return showLink(q, status, view)
	}
	if errors.Is(err, checks.ErrNotFound) {
		return a.noLink(q)
	}
	if err != nil {
		return err
	}
	return a.enter(q, person, session.SignIn{})
}
