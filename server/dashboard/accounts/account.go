package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

// accountRoutes adds the pages of an account. What changes the password or the app asks for the password, and so needs no recent
// sign-in beside that.
func (a *Accounts) accountRoutes() {
	for pattern, h := range map[string]ui.Handler{
		"GET /account": a.accountPage, "POST /account": a.saveAccount, "POST /account/password": a.changePassword,
		"GET /account/totp": a.totpPage, "POST /account/totp": a.confirmTOTP, "POST /account/totp/remove": a.removeTOTP,
		"POST /account/sessions": ui.Recent(a.endSessions),
	} {
		a.site.Look(pattern, personal(h))
	}
}

func (a *Accounts) templateFuncs() template.FuncMap {
	return template.FuncMap{"browser": browserOf, "howLong": words.For, "passkeyID": passkeyID, "signsIn": a.signsIn}
}

// signsIn says how a person signs in, or "" for one who has not yet chosen a password.
func (a *Accounts) signsIn(p people.Person) string {
	var ways []string
	if p.Issuer != "" {
		ways = append(ways, "identity provider")
	}
	switch {
	case p.HasPassword && p.HasTOTP:
		ways = append(ways, "password and app")
	case p.HasPassword:
		ways = append(ways, "password")
	}
	if n := len(p.Passkeys); n > 0 {
		ways = append(ways, prose.Count(n, "passkey"))
	}
	if len(ways) == 0 && a.header != nil {
		return "proxy"
	}
	return strings.Join(ways, ", ")
}

// accountView is the data of the page of an account, with its forms.
type accountView struct {
	people.Person
	Profile, Password, TOTP ui.Form

	Sessions []sessionRow
	Zones    []string
	// OffersPasskeys says that there is a page of passkeys.
	OffersPasskeys bool
	// NeedsFactor says that the person must have a second factor.
	NeedsFactor bool
}

// accountViewOf returns the page of an account with its forms as they are stored.
func accountViewOf(p people.Person) *accountView {
	clock := "24"
	if p.Preferences.Clock == 12 {
		clock = "12"
	}
	return &accountView{
		Person: p,
		Profile: ui.Form{Fields: []ui.Field{
			{Name: "name", Label: "Name", Value: p.Name, Attrs: `autocomplete="name" maxlength="100"`},
			{Name: "zone", Label: "Time zone", Hint: "The zone of all times on these pages, such as Europe/Riga.", Value: p.Preferences.Zone,
				Attrs: `list="zones" autocomplete="off" spellcheck="false" maxlength="64" placeholder="Same as the browser"`},
			{Name: "clock", Label: "Clock", Value: clock, Options: []ui.Choice{{Value: "24", Label: "24 hours"}, {Value: "12", Label: "12 hours, with am and pm"}}},
			{Name: "theme", Label: "Theme", Value: p.Preferences.Theme, Options: []ui.Choice{{Label: "Same as the system"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}},
			{Name: "first", Label: "First page", Value: p.Preferences.FirstPage, Options: []ui.Choice{
				{Label: "Overview"}, {Value: "projects", Label: "All projects"}, {Value: "overview", Label: "Overview of the first project"},
				{Value: "checks", Label: "Checks of the first project"}, {Value: "board", Label: "Board of the first project"},
			}},
		}},
		Password: ui.Form{Fields: []ui.Field{
			{Name: "old", Label: "Current password", Type: "password", Attrs: `autocomplete="current-password" required maxlength="200"`},
			newPassword("New password", "At least 12 characters. Changing it ends your other sessions."),
		}},
		TOTP: ui.Form{Fields: []ui.Field{ownPassword("Password")}},
	}
}

// newPassword is the field for a new password.
func newPassword(label, hint string) ui.Field {
	return ui.Field{Name: "password", Label: label, Called: "Password", Hint: hint, Type: "password", Attrs: `autocomplete="new-password" required minlength="12" maxlength="200"`}
}

// ownPassword is the field for the password of the viewer in a form about an authenticator app.
func ownPassword(label string) ui.Field {
	return ui.Field{Name: "password", ID: "totp-password", Label: label, Type: "password", Attrs: `autocomplete="current-password" required maxlength="200"`}
}

// sessionRow is a session in the list. Current says that the request belongs to it.
type sessionRow struct {
	people.Session
	Current bool
}

// account loads the person who sends the request.
func (a *Accounts) account(q *ui.Request) (people.Person, error) {
	return a.people.ByID(q.Ctx(), q.Access.Person.ID)
}

func (a *Accounts) accountPage(q *ui.Request) error {
	return a.showAccount(q, http.StatusOK, func(*accountView) {})
}

// showAccount shows the account. refuse says what is wrong with one of its forms.
func (a *Accounts) showAccount(q *ui.Request, status int, refuse func(*accountView)) error {
	person, err := a.account(q)
	if err != nil {
		return err
	}
	view := accountViewOf(person)
	view.OffersPasskeys, view.NeedsFactor, view.Zones = a.Passkeys != nil, a.people.NeedsFactor(person), schedule.Zones()
	refuse(view)
	list, err := a.people.Sessions(q.Ctx(), person.ID)
	if err != nil {
		return err
	}
	own := a.sessions.ID(q.R)
	for _, s := range list {
		view.Sessions = append(view.Sessions, sessionRow{s, s.ID == own})
	}
	slices.SortStableFunc(view.Sessions, func(x, y sessionRow) int {
		return cmp.Or(ui.TrueFirst(x.Current, y.Current), y.SeenAt.Compare(x.SeenAt))
	})
	return q.RenderStatus(status, "account", "Your account", view)
}

func typedName(q *ui.Request) string { return words.Name(words.Cut(q.R.PostForm.Get("name"), 100), "") }

func typedPreferences(q *ui.Request) people.Preferences {
	form := q.R.PostForm
	clock, _ := strconv.Atoi(form.Get("clock"))
	return people.Preferences{Zone: strings.TrimSpace(form.Get("zone")), Clock: clock, FirstPage: form.Get("first"), Theme: form.Get("theme")}
}

// saveAccount stores the name and the preferences.
func (a *Accounts) saveAccount(q *ui.Request) error {
	p := typedPreferences(q)
	if _, err := schedule.LoadLocation(p.Zone); p.Zone != "" && err != nil {
		return a.showAccount(q, http.StatusBadRequest, func(v *accountView) {
			v.Profile.Read(q.R.PostForm)
			v.Profile.Wrong("zone", "Unknown time zone: "+words.Cut(prose.Plain(p.Zone), 40)+". Write it like Europe/Riga.")
		})
	}
	if !slices.Contains([]int{0, 12, 24}, p.Clock) || !slices.Contains([]string{"", "light", "dark"}, p.Theme) || p.FirstPage != "" && !slices.Contains(ui.FirstPages, p.FirstPage) {
		return ui.ErrBadForm
	}
	id := q.Access.Person.ID
	if err := a.people.SetName(q.Ctx(), id, typedName(q)); err != nil {
		return err
	}
	if err := a.people.SetPreferences(q.Ctx(), id, p); err != nil {
		return err
	}
	q.Notice("Saved.")
	return q.Redirect("/account")
}

// changePassword changes the password. The other sessions of the person end, and this one continues.
func (a *Accounts) changePassword(q *ui.Request) error {
	form, id := q.R.PostForm, q.Access.Person.ID
	before, err := a.sessions.Current(q.R)
	if errors.Is(err, server.ErrSignedOut) { // a proxy vouches for the person
		before, err = strong, nil
	}
	if err != nil {
		return err
	}
	person, err := a.people.ChangePassword(q.Ctx(), id, form.Get("old"), form.Get("password"), "")
	if problem, status := refusal(q, err, "The current password is wrong."); problem != "" {
		return a.showAccount(q, status, func(v *accountView) { v.Password.Wrong("old", problem) })
	}
	if _, ok := errors.AsType[*checks.FieldError](err); ok {
		return a.showAccount(q, http.StatusBadRequest, func(v *accountView) { v.Password.Refuse(err) })
	}
	if err != nil {
		return err
	}
	err = a.start(q, person, sessions.Session{Strong: before.Strong})
	if errors.Is(err, people.ErrChanged) {
		return a.changedMeanwhile(q, session.SignIn{})
	}
	if err != nil {
		return err
	}
	q.Notice("Password changed. Your other sessions have ended.")
	return q.Redirect("/account")
}

// endSessions ends one session, or all but this one.
func (a *Accounts) endSessions(q *ui.Request) error {
	id, own := q.R.PostForm.Get("id"), a.sessions.ID(q.R)
	if id == "others" {
		if err := a.people.EndSessions(q.Ctx(), q.Access.Person.ID, own); err != nil {
			return err
		}
		q.Notice("All other sessions have ended.")
		return q.Redirect("/account")
	}
	if err := a.people.EndSession(q.Ctx(), q.Access.Person.ID, id); err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	if id == own {
		return q.Redirect("/signin")
	}
	q.Notice("The session has ended.")
	return q.Redirect("/account")
}

// browserOf says in a few words which browser sent a User-Agent header, as far as the usual ones can be told apart.
func browserOf(agent string) string {
	return cmp.Or(knownBrowser(agent), words.Cut(words.Name(agent, "unknown browser"), 60))
}

// knownBrowser returns the name of a usual browser, or "". It has no text that the sender could choose.
func knownBrowser(agent string) string {
	find := func(names [][2]string) string {
		for _, n := range names {
			if strings.Contains(agent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	browser := find([][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}})
	system := find([][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}})
	if browser != "" && system != "" {
		return fmt.Sprintf("%s on %s", browser, system)
	}
	return browser + system
}

// from notes in the context of a request which browser sends it, for the mails about what it changes.
func from(r *http.Request) *http.Request {
	return r.WithContext(people.WithBrowser(r.Context(), cmp.Or(knownBrowser(r.UserAgent()), "an unknown browser")))
}
