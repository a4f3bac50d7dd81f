package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

func TestSignInWithPassword(t *testing.T) {
	v := pagetest.NewTown(t)
	b := v.Browser()
	b.Get("/signin").Is(http.StatusOK).Has(`name="key"`).HasNo(`name="password"`) // nobody has an account
	v.Person("ann@example.org", people.Owner)
	b.Get("/signin").Is(http.StatusOK).Has(`name="key"`, `name="password"`)

	wrong := b.Post("/signin", url.Values{"email": {"ann@example.org"}, "password": {"wrong horse battery"}}).Is(http.StatusForbidden)
	unknown := b.Post("/signin", url.Values{"email": {"eve@example.org"}, "password": {pagetest.Password}}).Is(http.StatusForbidden)
	if strings.ReplaceAll(unknown.Body, "eve@", "ann@") != wrong.Body {
		t.Errorf("an unknown account and a wrong password differ:\n%s\n%s", wrong.Body, unknown.Body)
	}
	in := b.Post("/signin", url.Values{"email": {" ANN@example.org"}, "password": {pagetest.Password}, "next": {v.Path("board")}}).Is(http.StatusSeeOther)
	if to := in.Header.Get("Location"); to != v.Path("board") {
		t.Errorf("led to %s", to)
	}
	cookie := strings.Join(in.Header.Values("Set-Cookie"), "\n")
	for _, want := range []string{"rollcall_session=", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if to := b.Get("/").Is(http.StatusSeeOther).Header.Get("Location"); to != v.Path("overview") {
		t.Errorf("the first page is %s", to)
	}
	b.Get(v.Path("")).Is(http.StatusOK).Has("ann@example.org", "Your account").HasNo("read-only")

	stolen := v.Browser()
	stolen.SetCookies(b.Cookies())
	stolen.Get(v.Path("")).Is(http.StatusOK)
	b.Post("/signout", nil).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusSeeOther)
	stolen.Get(v.Path("")).Is(http.StatusSeeOther)
}

// TestSessionToken: the token that a browser had before somebody signed in is worth nothing after it.
func TestSessionToken(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	v.Person("eve@example.org", people.Viewer)
	b, before := v.Browser(), v.As("eve@example.org")
	b.SetCookies(before.Cookies())
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusSeeOther)
	before.Get(v.Path("")).Is(http.StatusSeeOther) // it does not become the session of ann
	b.Post("/signin", url.Values{"key": {v.Keys.ReadOnly}}).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusOK).Has("read-only").HasNo("ann@example.org")
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusOK).Has("ann@example.org").HasNo("read-only")
	b.Post("/signout", nil)
	b.Get(v.Path("")).Is(http.StatusSeeOther)
	for _, forged := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 5000)} {
		b.SetCookies([]*http.Cookie{{Name: "rollcall_session", Value: forged}})
		b.Get(v.Path("")).Is(http.StatusSeeOther)
	}
}

// TestHostCookie: behind https, no cookie of the pages can be set by another host of the domain, and the pages take no other.
func TestHostCookie(t *testing.T) {
	keys, err := passkey.New("https://ops.example.org")
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{Provider: fakeProvider{}})
	v.Person("ann@example.org", people.Owner)
	for base, prefix := range map[string]string{"https://ops.example.org": "__Host-", "https://ops.example.org/jobs": ""} {
		at := strings.TrimPrefix(base, "https://ops.example.org")
		v.Serve(v.Accounts(accounts.Config{KeySignIn: true, Passkeys: keys, Provider: fakeProvider{}}), func(c *pagetest.Config) { c.BaseURL = base })
		seen := map[string]*http.Cookie{}
		send := func(method, path string, form url.Values) *http.Response {
			r := httptest.NewRequest(method, at+path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for _, c := range seen {
				r.AddCookie(c)
			}
			w := httptest.NewRecorder()
			v.Web.Config.Handler.ServeHTTP(w, r)
			for _, c := range w.Result().Cookies() {
				if seen[c.Name] = c; c.MaxAge < 0 {
					delete(seen, c.Name)
				}
				if !strings.HasPrefix(c.Name, prefix+"rollcall_") || !c.Secure || !c.HttpOnly || c.Domain != "" || c.Path != at+"/" {
					t.Errorf("%s: %s", base, c)
				}
			}
			return w.Result()
		}
		kept := func(names ...string) {
			t.Helper()
			for _, name := range names {
				if seen[prefix+name] == nil {
					t.Errorf("%s: no cookie %s among %v", base, name, seen)
				}
			}
		}
		send("GET", "/signin/oidc", nil)
		send("POST", "/signin/passkey-options", nil)
		kept("rollcall_attempt", "rollcall_passkey")
		send("POST", "/signin", url.Values{"key": {v.Keys.ReadWrite}})
		kept("rollcall_session")
		c := v.Create(checks.Spec{})
		send("POST", v.Path("bulk"), url.Values{"check": pagetest.IDs(c), "action": {"pause"}})
		kept("rollcall_notice", "rollcall_undo")
		send("POST", "/signin", pagetest.Credentials("ann@example.org"))
		kept("rollcall_session", "rollcall_device")
		if answer := send("GET", "/account", nil); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: the session answers %d", base, answer.StatusCode)
		}
		session := seen[prefix+"rollcall_session"]
		clear(seen)
		session.Name = strings.TrimPrefix(session.Name, "__Host-")
		seen[session.Name] = session
		if answer := send("GET", "/account", nil); (answer.StatusCode == http.StatusOK) != (prefix == "") {
			t.Errorf("%s: with a cookie that another host could set, %d", base, answer.StatusCode)
		}
	}
}

// fakeProvider is a provider that sends browsers on.
type fakeProvider struct{}

func (fakeProvider) Name() string { return "provider" }

func (fakeProvider) Begin(context.Context, string) (string, []byte, error) {
	return "https://id.example.org", []byte("kept"), nil
}

func (fakeProvider) Finish(context.Context, string, []byte, url.Values) (people.External, error) {
	return people.External{}, errors.New("nobody signs in")
}

func TestFirstAdministrator(t *testing.T) {
	v := pagetest.NewTown(t)
	link, err := v.People.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := v.Browser()
	const nobody = "rollcall user create EMAIL --admin"
	b.Get("/signin").Is(http.StatusOK).Has("Nobody has an account yet", nobody)
	for range 2 { // looking does not use it up
		b.Get("/signin/"+link.Token).Is(http.StatusOK).Has("Create the first account", `name="email"`)
	}
	form := url.Values{"email": {"ann@example.org"}, "name": {"Ann"}, "password": {"short"}}
	b.Post("/signin/"+link.Token, form).Is(http.StatusBadRequest).Has("ann@example.org", "Ann", "12")
	form.Set("password", pagetest.Password)
	b.Post("/signin/"+link.Token, form).Is(http.StatusSeeOther)
	v.Browser().Get("/signin").Is(http.StatusOK).HasNo(nobody)
	b.Get("/people").Is(http.StatusOK).Has("ann@example.org", "administrator")
	b.Get(v.Path("keys")).Is(http.StatusOK)
	v.Browser().Get("/signin/" + link.Token).Is(http.StatusForbidden).Has("expired or was already used")
	v.Browser().Post("/signin/"+link.Token, form).Is(http.StatusForbidden)

	keyLink, err := v.Pages.SignInLink(t.Context(), v.Keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	v.Browser().Get(keyLink).Is(http.StatusSeeOther)
}

func TestWithoutKeys(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	old := v.SignedIn(v.Keys.ReadWrite)
	link, err := v.Pages.SignInLink(t.Context(), v.Keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	v.Serve(v.Accounts(accounts.Config{}))
	old.Get(v.Path("")).Is(http.StatusSeeOther)
	b := v.Browser()
	b.Get("/signin").Is(http.StatusOK).HasNo(`name="key"`)
	b.Post("/signin", url.Values{"key": {v.Keys.ReadWrite}}).Is(http.StatusForbidden)
	b.Get(link).Is(http.StatusForbidden)
	b.Get(v.Path("")).Is(http.StatusSeeOther)
}

func TestCodes(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	b := v.As("ann@example.org")
	page := b.Get("/account/totp").Is(http.StatusOK).Has("<svg class=\"qr\"")
	secret := regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`).FindStringSubmatch(page.Body)[1]
	kept := regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page.Body)[1]
	code := func() string {
		text, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), v.Now())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	b.Post("/account/totp", url.Values{"kept": {kept}, "code": {"000000"}, "password": {pagetest.Password}}).Is(http.StatusBadRequest).Has("Code is wrong", secret)
	b.Post("/account/totp", url.Values{"kept": {kept}, "code": {code()}, "password": {"wrong"}}).Is(http.StatusForbidden).Has("The password is wrong", secret)
	b.Post("/account/totp", url.Values{"kept": {kept[1:]}, "code": {code()}, "password": {pagetest.Password}}).Is(http.StatusBadRequest)
	done := b.Post("/account/totp", url.Values{"kept": {kept}, "code": {code()}, "password": {pagetest.Password}}).Is(http.StatusOK).Has("recovery codes")
	recovery := regexp.MustCompile(`<li>([^<\s]+)</li>\n`).FindStringSubmatch(done.Body)[1]
	b.Get("/account").Is(http.StatusOK).Has("On: you sign in with your password and a code from the app").HasNo(recovery)

	v.Advance(time.Minute)
	b = v.Browser()
	form := pagetest.Credentials("ann@example.org")
	form.Set("next", v.Path("board"))
	b.Post("/signin", form).Is(http.StatusOK).Has("Enter your code", v.Path("board"))
	b.Get(v.Path("")).Is(http.StatusSeeOther) // the password alone opens nothing
	b.Get("/account").Is(http.StatusSeeOther)
	b.Post("/signin/code", url.Values{"code": {"000000"}}).Is(http.StatusForbidden).Has("wrong or was already used")
	used := code()
	if to := b.Post("/signin/code", url.Values{"code": {used[:3] + " " + used[3:]}, "next": {v.Path("board")}}).Is(http.StatusSeeOther).Header.Get("Location"); to != v.Path("board") {
		t.Errorf("led to %s", to)
	}
	b.Get(v.Path("")).Is(http.StatusOK)

	b = v.Browser()
	b.Post("/signin/code", url.Values{"code": {used}}).Is(http.StatusForbidden).Has("Enter your password again")
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusOK)
	b.Post("/signin/code", url.Values{"code": {used}}).Is(http.StatusForbidden)
	b.Post("/signin/code", url.Values{"code": {recovery}}).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK).Has("9 recovery codes left")
	b.Post("/account/totp/remove", url.Values{"password": {"wrong horse battery"}}).Is(http.StatusForbidden)
	b.Post("/account/totp/remove", url.Values{"password": {pagetest.Password}}).Is(http.StatusSeeOther)
	if now, err := v.People.ByID(t.Context(), ann.ID); err != nil || now.HasTOTP {
		t.Errorf("after removal: %+v, %v", now, err)
	}
}

func TestInvitation(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	owner := v.As("ann@example.org")
	owner.Get(v.Path("settings")).Is(http.StatusOK).Has("/members")
	owner.Post(v.Path("members"), url.Values{"email": {"nobody"}, "role": {"viewer"}}).Is(http.StatusBadRequest)
	owner.Post(v.Path("members"), url.Values{"email": {"bob@example.org"}, "role": {"king"}}).Is(http.StatusBadRequest)
	link := owner.Post(v.Path("members"), url.Values{"email": {"Bob@example.org"}, "role": {"viewer"}}).Is(http.StatusOK).Has("Invitation").Link()
	owner.Get(v.Path("members")).Is(http.StatusOK).Has("bob@example.org", "invited").HasNo(link)
	owner.Post(v.Path("members"), url.Values{"email": {"bob@example.org"}, "role": {"owner"}}).Is(http.StatusBadRequest).Has("is a member already")

	bob := v.Browser()
	bob.Get(link).Is(http.StatusOK).Has("Choose a password", "bob@example.org")
	bob.Post(link, url.Values{"password": {"password1234"}, "email": {"eve@example.org"}}).Is(http.StatusBadRequest) // a common one
	bob.Post(link, url.Values{"password": {pagetest.Password}}).Is(http.StatusSeeOther)
	bob.Get(v.Path("")).Is(http.StatusOK).Has("read-only")
	bob.Get(v.Path("checks/new")).Is(http.StatusForbidden).Has("Your role")
	bob.Get(v.Path("members")).Is(http.StatusForbidden)
	bob.Post(v.Path("members"), url.Values{"email": {"eve@example.org"}, "role": {"owner"}}).Is(http.StatusForbidden)

	person, err := v.People.ByEmail(t.Context(), "bob@example.org")
	if err != nil {
		t.Fatal(err)
	}
	member := v.Path("members/" + person.ID.String())
	owner.Post(member+"/role", url.Values{"role": {"editor"}}).Is(http.StatusSeeOther)
	bob.Get(v.Path("checks/new")).Is(http.StatusOK)
	bob.Get(v.Path("keys")).Is(http.StatusForbidden)
	bob.Get(v.Path("delete")).Is(http.StatusForbidden)
	owner.Get(member + "/remove").Is(http.StatusOK)
	owner.Post(member+"/remove", nil).Is(http.StatusSeeOther)
	bob.Get(v.Path("")).Is(http.StatusNotFound) // at once, in the same session
	bob.Get("/projects").Is(http.StatusOK).Has("No projects yet")
}

// TestMembersListsAdministrators: who may do everything in a project stands on its page of members, without a role that could be changed.
// An administrator with a role can lose that.
func TestMembersListsAdministrators(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	root, both := v.Person("root@example.org", ""), v.Person("both@example.org", people.Viewer)
	if err := v.People.SetAdmin(t.Context(), both.ID, true); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?s)<tr>.*?</tr>`).FindAllString(v.As("ann@example.org").Get(v.Path("members")).Is(http.StatusOK).Body, -1)
	row := func(email string) string {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, email) })
		if i < 0 {
			t.Fatalf("%s is not on the page", email)
		}
		return rows[i]
	}
	if got := row("root@example.org"); !strings.Contains(got, "administrator") || strings.Contains(got, root.ID.String()) || strings.Contains(got, "<select") {
		t.Errorf("the row of an administrator: %s", got)
	}
	if got := row("both@example.org"); !strings.Contains(got, "administrator") || !strings.Contains(got, "/members/"+both.ID.String()+"/remove") {
		t.Errorf("the row of an administrator with a role: %s", got)
	}
	if got := row("ann@example.org"); strings.Contains(got, "administrator") || !strings.Contains(got, "<select") {
		t.Errorf("the row of an owner: %s", got)
	}
	v.As("ann@example.org").Post(v.Path("members/"+root.ID.String()+"/role"), url.Values{"role": {"viewer"}}).Is(http.StatusNotFound)
}

// TestInvitationByMail: with a mail server, the person gets the link too, and the page shows it all the same.
func TestInvitationByMail(t *testing.T) {
	var sent []string
	fails := false
	v := pagetest.NewTown(t)
	v.Serve(v.Accounts(accounts.Config{Mail: func(_ context.Context, to, subject, text string) error {
		if fails {
			return errors.New("the mail server is away")
		}
		sent = append(sent, to, subject, text)
		return nil
	}}))
	v.Person("root@example.org", "")
	root := v.As("root@example.org")
	link := root.Post("/people", url.Values{"email": {"bob@example.org"}}).Is(http.StatusOK).Has("Sent by e-mail").Link()
	if len(sent) != 3 || sent[0] != "bob@example.org" || !strings.Contains(sent[2], link) {
		t.Errorf("sent %q", sent)
	}
	fails = true
	root.Post("/people", url.Values{"email": {"carol@example.org"}}).Is(http.StatusOK).HasNo("Sent by e-mail").Link()
	bob, err := v.People.ByEmail(t.Context(), "bob@example.org")
	pagetest.NoError(t, err)
	fresh := root.Post("/people/"+bob.ID.String(), url.Values{"do": {"password"}}).Is(http.StatusOK).Link()
	v.Browser().Get(link).Is(http.StatusForbidden) // a new link ends the older one
	v.Browser().Get(fresh).Is(http.StatusOK)
	root.Post("/people/"+bob.ID.String()+"/delete", url.Values{"email": {"wrong"}}).Is(http.StatusBadRequest)
	root.Post("/people/"+bob.ID.String()+"/delete", url.Values{"email": {"Bob@example.org"}}).Is(http.StatusSeeOther)
	self, err := v.People.ByEmail(t.Context(), "root@example.org")
	pagetest.NoError(t, err)
	root.Post("/people/"+self.ID.String(), url.Values{"do": {"noadmin"}}).Is(http.StatusConflict).Has("last administrator")
	root.Post("/people/"+self.ID.String()+"/delete", url.Values{"email": {"root@example.org"}}).Is(http.StatusConflict).Has("last administrator")
}

// TestSessionEnds: a session ends with the password, the second factors, the person and by its list, at once on every server.
func TestSessionEnds(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	ann := v.Person("ann@example.org", people.Editor)
	other := v.NewPages(v.Accounts(accounts.Config{}))
	t.Cleanup(other.Close)
	first := v.Web.Config.Handler
	ctx := t.Context()
	for name, end := range map[string]func(b *pagetest.Browser){
		"mfa":      func(*pagetest.Browser) { pagetest.NoError(t, v.People.ResetMFA(ctx, ann.ID)) },
		"sign out": func(b *pagetest.Browser) { b.Post("/signout", nil).Is(http.StatusSeeOther) },
		"list": func(*pagetest.Browser) {
			b := v.As("ann@example.org")
			b.Post("/account/sessions", url.Values{"id": {"others"}}).Is(http.StatusSeeOther)
			b.Get("/account").Is(http.StatusOK).Has("this session").HasNo("End all other sessions")
		},
	} {
		v.Web.Config.Handler = first
		b, far := v.As("ann@example.org"), v.Browser()
		far.SetCookies(b.Cookies())
		b.Get(v.Path("")).Is(http.StatusOK)
		end(b)
		b.Get(v.Path("")).Is(http.StatusSeeOther)
		v.Web.Config.Handler = other
		if status := far.Get(v.Path("")).Status; status != http.StatusSeeOther {
			t.Errorf("%s: the other server answers %d", name, status)
		}
	}
	v.Web.Config.Handler = first

	b, elsewhere := v.As("ann@example.org"), v.As("ann@example.org")
	change := url.Values{"old": {"wrong horse battery"}, "password": {pagetest.Password + "!"}}
	b.Post("/account/password", change).Is(http.StatusForbidden).Has("The current password is wrong")
	change.Set("old", pagetest.Password)
	b.Post("/account/password", change).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK).Has("Password changed")
	elsewhere.Get("/account").Is(http.StatusSeeOther)
	v.Browser().Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusForbidden)
	pagetest.NoError(t, v.People.Delete(ctx, ann.ID))
	b.Get("/account").Is(http.StatusSeeOther)
}

// TestIdleSession: a session ends 12 hours after the last visit and after 30 days. An open page is no visit.
func TestIdleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dbtest.Memory(t)
		mon, err := monitor.New(db, nil)
		pagetest.NoError(t, err)
		known, err := people.New(mon, nil)
		pagetest.NoError(t, err)
		project, _, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "harbor"})
		pagetest.NoError(t, err)
		_, link, err := known.Create(t.Context(), people.Spec{Email: "ann@example.org", Admin: true})
		pagetest.NoError(t, err)
		_, err = known.UseLink(t.Context(), link.Token, "", "", pagetest.Password)
		pagetest.NoError(t, err)
		srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{Accounts: accounts.New(known, nil)}})
		pagetest.NoError(t, err)
		pages := srv.Pages().(*dashboard.Dashboard)
		defer pages.Close()
		var cookie *http.Cookie
		send := func(method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			if cookie != nil {
				r.AddCookie(cookie)
			}
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			if set := w.Result().Cookies(); len(set) > 0 && set[0].Name == "rollcall_session" {
				cookie = set[0]
			}
			return w
		}
		path := "/projects/" + project.ID.String() + "/overview"
		visit := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if w := send("GET", path, nil); w.Code != want {
				t.Errorf("after %v: status %d, want %d", after, w.Code, want)
			}
		}
		send("POST", "/signin", pagetest.Credentials("ann@example.org"))
		visit(11*time.Hour, http.StatusOK)
		visit(11*time.Hour, http.StatusOK)
		time.Sleep(6 * time.Hour)
		send("GET", path, nil, "Rollcall-Version", "x") // of the open page
		visit(6*time.Hour, http.StatusSeeOther)

		send("POST", "/signin", pagetest.Credentials("ann@example.org"))
		for range 71 {
			visit(10*time.Hour, http.StatusOK)
		}
		visit(10*time.Hour, http.StatusSeeOther)

		// The stream of an open page says within five seconds that its session has ended.
		send("POST", "/signin", pagetest.Credentials("ann@example.org"))
		r := httptest.NewRequest("GET", strings.Replace(path, "overview", "events", 1), nil)
		r.AddCookie(cookie)
		w := httptest.NewRecorder()
		done := make(chan time.Time)
		go func() {
			pages.ServeHTTP(w, r)
			done <- time.Now()
		}()
		time.Sleep(time.Minute)
		ann, err := known.ByEmail(t.Context(), "ann@example.org")
		pagetest.NoError(t, err)
		pagetest.NoError(t, known.EndSessions(t.Context(), ann.ID, ""))
		ended := time.Now()
		if took := (<-done).Sub(ended); took > 5*time.Second || !strings.Contains(w.Body.String(), "event: gone") {
			t.Errorf("the stream went on for %v: %s", took, w.Body)
		}
	})
}

// TestDatabaseAway: while the database is unavailable, nobody is signed out.
func TestDatabaseAway(t *testing.T) {
	var down atomic.Bool
	v := pagetest.NewTown(t, func(c *pagetest.Config) {
		c.Around = func(_ string, do func() error) error {
			if down.Load() {
				return errors.Join(checks.ErrUnavailable, errors.New("connection refused"))
			}
			return do()
		}
	})
	v.Person("ann@example.org", people.Owner)
	b := v.As("ann@example.org")
	down.Store(true)
	b.Get(v.Path("")).Is(http.StatusServiceUnavailable).Has("Try again")
	b.Get("/account").Is(http.StatusServiceUnavailable)
	v.Browser().Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusServiceUnavailable)
	b.Post("/signout", nil).Is(http.StatusServiceUnavailable)
	down.Store(false)
	b.Get(v.Path("")).Is(http.StatusOK)
}

// TestHeldThroughCode: a form that found the session ended survives signing in with password and code.
func TestHeldThroughCode(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	begun, err := v.People.BeginTOTP(t.Context(), ann.ID)
	pagetest.NoError(t, err)
	b := v.As("ann@example.org")
	code, err := totp.GenerateCode(begun.Secret, v.Now())
	pagetest.NoError(t, err)
	recovery, err := v.People.ConfirmTOTP(t.Context(), ann.ID, pagetest.Password, begun.Secret, code)
	pagetest.NoError(t, err)
	pagetest.NoError(t, v.People.EndSessions(t.Context(), ann.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-for-an-hour"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	held := b.Post(v.Path("checks/new"), form).Is(http.StatusUnauthorized).Has("What you typed is not lost").HasNo("typed-for-an-hour").Held()
	wrong := url.Values{"email": {"ann@example.org"}, "password": {"wrong"}, "held": held["held"]}
	held = b.Post("/signin", wrong).Is(http.StatusForbidden).Held()
	for k, field := range pagetest.Credentials("ann@example.org") {
		held[k] = field
	}
	held = b.Post("/signin", held).Is(http.StatusOK).Has("Enter your code").Held()
	held.Set("code", "wrong")
	held = b.Post("/signin/code", held).Is(http.StatusForbidden).Held()
	held.Set("code", recovery[0])
	held = b.Post("/signin/code", held).Is(http.StatusOK).Has("Signed in again", `action="`+v.Path("checks/new")+`"`).Held()
	b.Post(v.Path("checks/new"), held).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusOK).Has("typed-for-an-hour")
}

// TestHeldForAnother: nobody else who signs in to the browser can send the form, neither on the page that follows nor by its text.
func TestHeldForAnother(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	v.Person("eve@example.org", people.Owner)
	b := v.As("ann@example.org")
	pagetest.NoError(t, v.People.EndSessions(t.Context(), ann.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-by-ann"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	held := b.Post(v.Path("checks/new"), form).Is(http.StatusUnauthorized).Held()
	signIn := pagetest.Credentials("eve@example.org")
	signIn.Set("held", held.Get("held"))
	b.Post("/signin", signIn).Is(http.StatusSeeOther)
	b.Post(v.Path("checks/new"), held).Is(http.StatusForbidden).Has("This is not your form")
	b.Get(v.Path("")).Is(http.StatusOK).HasNo("typed-by-ann")
	b.Post("/signin", url.Values{"key": {v.Keys.ReadWrite}}).Is(http.StatusSeeOther)
	b.Post(v.Path("checks/new"), held).Is(http.StatusForbidden)
	again := v.As("ann@example.org") // in any browser
	again.Post(v.Path("checks/new"), held).Is(http.StatusSeeOther)
	again.Get(v.Path("")).Is(http.StatusOK).Has("typed-by-ann")
}

// TestKnownBrowser: while somebody guesses a password from everywhere, its person gets in from a new address with the browser
// that they have used before. What the browser keeps signs nobody in.
func TestKnownBrowser(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	v.Person("eve@example.org", people.Viewer)
	srv := whole(v)
	send := func(address, email, secret string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader(url.Values{"email": {email}, "password": {secret}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = address + ":1"
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		return w
	}
	device := func(email string) *http.Cookie {
		for _, c := range send("192.0.2.1", email, pagetest.Password).Result().Cookies() {
			if c.Name == "rollcall_device" && c.HttpOnly && c.MaxAge > 300*24*3600 {
				return c
			}
		}
		t.Fatal("no cookie of the browser")
		return nil
	}
	known, foreign := device("ann@example.org"), device("eve@example.org")
	for i := range 101 {
		send(fmt.Sprintf("198.51.100.%d", i), "ann@example.org", "wrong horse battery")
	}
	forged := &http.Cookie{Name: "rollcall_device", Value: known.Value[:40] + "x"}
	for name, cookies := range map[string][]*http.Cookie{"no cookie": nil, "the cookie of eve": {foreign}, "a forged cookie": {forged}} {
		if w := send("203.0.113.1", "ann@example.org", pagetest.Password, cookies...); w.Code != http.StatusTooManyRequests {
			t.Errorf("with %s: status %d", name, w.Code)
		}
	}
	if w := send("203.0.113.2", "ann@example.org", "wrong horse battery", known); w.Code != http.StatusForbidden {
		t.Errorf("a wrong password from the browser: status %d", w.Code)
	}
	if w := send("203.0.113.2", "ann@example.org", pagetest.Password, known); w.Code != http.StatusSeeOther {
		t.Errorf("from the browser: status %d", w.Code)
	}
	b := v.Browser()
	b.SetCookies([]*http.Cookie{known})
	b.Get(v.Path("")).Is(http.StatusSeeOther)
}

// TestNameOfWhoHasIt: colleagues read the name of the account that has an outage, and the audit log its address.
func TestNameOfWhoHasIt(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	v.Person("bob@example.org", people.Editor)
	pagetest.NoError(t, v.People.SetName(t.Context(), ann.ID, "Ann Berzina"))
	for email, want := range map[string]string{"ann@example.org": "Ann Berzina", "bob@example.org": "bob@example.org"} {
		c := v.Create(checks.Spec{Name: new("backup of " + email)})
		v.GoDown(c)
		b := v.As(email)
		b.Post("/checks/"+c.UniqueKey()+"/acknowledge", nil).Is(http.StatusSeeOther)
		if by := v.Check(c).Ack.By; by != want {
			t.Errorf("acknowledged by %q, want %q", by, want)
		}
		b.Get(v.Path("overview")).Has("acknowledged by " + want)
		b.Get("/checks/"+c.UniqueKey()).Has(want, email)
	}
}

// TestPagesOfAPerson: the pages of a person count together, whatever the project.
func TestPagesOfAPerson(t *testing.T) {
	v := pagetest.NewTown(t, func(c *pagetest.Config) { c.RateLimit = 1 })
	v.Person("ann@example.org", people.Owner)
	v.Person("bob@example.org", people.Owner)
	b := v.As("ann@example.org")
	for range 5 {
		b.Get(v.Path("")).Is(http.StatusOK)
		b.Get("/account").Is(http.StatusOK)
	}
	if refused := b.Get("/projects").Is(http.StatusTooManyRequests); refused.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	v.As("bob@example.org").Get(v.Path("")).Is(http.StatusOK)
}

// TestLimitOfSignIns: too many wrong passwords get a page that says when to try again.
func TestLimitOfSignIns(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	b := v.Browser()
	wrong := url.Values{"email": {"ann@example.org"}, "password": {"wrong horse battery"}}
	for range 10 {
		b.Post("/signin", wrong).Is(http.StatusForbidden)
	}
	if a := b.Post("/signin", wrong).Is(http.StatusTooManyRequests).Has("Try again in 60 seconds"); a.Header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	v.Advance(time.Minute)
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusSeeOther)
}

// TestDeletedProject: a project that is deleted while its members look at it is gone for them, and their lists say so.
func TestDeletedProject(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	v.Person("ann@example.org", people.Owner)
	ann, root := v.As("ann@example.org"), v.As("root@example.org")
	ann.Get(v.Path("")).Is(http.StatusOK)
	root.Get("/people").Is(http.StatusOK).Has("1 project")
	pagetest.NoError(t, v.Mon.Projects().Delete(t.Context(), v.Project.ID))
	ann.Get(v.Path("")).Is(http.StatusNotFound)
	ann.Post(v.Path("members"), url.Values{"email": {"eve@example.org"}, "role": {"owner"}}).Is(http.StatusNotFound)
	ann.Get("/projects").Is(http.StatusOK).Has("No projects yet")
	if to := ann.Get("/").Is(http.StatusSeeOther).Header.Get("Location"); to != "/projects" {
		t.Errorf("the first page is %s", to)
	}
	root.Get("/people").Is(http.StatusOK).HasNo("1 project")
}

// TestRefusalsOfKeys: refused keys and links are logged, those of an address for the same reason together, without their texts.
func TestRefusalsOfKeys(t *testing.T) {
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true})
	link, err := v.Pages.SignInLink(t.Context(), v.Keys.ReadWrite)
	pagetest.NoError(t, err)
	wrong := strings.Repeat("rcw_0000", 4)
	v.Browser().Post("/signin", url.Values{"key": {wrong}}).Is(http.StatusForbidden)
	v.Browser().Get(link).Is(http.StatusSeeOther)
	v.Browser().Get(link).Is(http.StatusForbidden)
	v.Browser().Post("/signin/"+strings.Repeat("A", 52), url.Values{"password": {pagetest.Password}}).Is(http.StatusForbidden)
	text := v.Log.String()
	if strings.Count(text, "refused a sign-in") != 2 || strings.Contains(text, wrong) || strings.Contains(text, link[len(link)-20:]) || strings.Contains(text, "AAAA") || strings.Contains(text, pagetest.Password) {
		t.Errorf("the log is %s", text)
	}
}

// TestSignInsAreLogged: each sign-in is logged with who and from where, once the code is right too, and without a secret.
func TestSignInsAreLogged(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	v.As("ann@example.org")
	v.Browser().Post("/signin", url.Values{"key": {v.Keys.ReadWrite}}).Is(http.StatusSeeOther)
	begun, err := v.People.BeginTOTP(t.Context(), ann.ID)
	pagetest.NoError(t, err)
	code, err := totp.GenerateCode(begun.Secret, v.Now())
	pagetest.NoError(t, err)
	recovery, err := v.People.ConfirmTOTP(t.Context(), ann.ID, pagetest.Password, begun.Secret, code)
	pagetest.NoError(t, err)
	b := v.Browser()
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusOK)
	if text := v.Log.String(); strings.Count(text, `msg="signed in"`) != 2 {
		t.Errorf("before the code, the log is %s", text)
	}
	b.Post("/signin/code", url.Values{"code": {recovery[0]}}).Is(http.StatusSeeOther)
	text := v.Log.String()
	if strings.Count(text, `msg="signed in"`) != 3 || strings.Count(text, "person="+ann.ID.String()) != 2 || strings.Count(text, "address=127.0.0.1") != 3 {
		t.Errorf("the log is %s", text)
	}
	for _, secret := range []string{recovery[0], v.Keys.ReadWrite, pagetest.Password} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestProjectsPage: the overview of all projects has those that the viewer may see, the worst first.
func TestProjectsPage(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	v.Person("ann@example.org", people.Editor)
	_, _, err := v.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "another"})
	pagetest.NoError(t, err)
	c := v.Create(checks.Spec{Name: new("nightly"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	_, err = v.Mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure})
	pagetest.NoError(t, err)
	v.As("ann@example.org").Get("/projects").Is(http.StatusOK).Has("1 down", "nightly", "backups", "editor").HasNo("another")
	root := v.As("root@example.org")
	page := root.Get("/projects").Is(http.StatusOK).Has("another", "backups", "owner")
	if strings.Index(page.Body, ">backups<") > strings.Index(page.Body, ">another<") {
		t.Error("the project with a check that is down is not the first")
	}
	if to := root.Get("/").Is(http.StatusSeeOther).Header.Get("Location"); to != "/projects" {
		t.Errorf("with several projects, the first page is %s", to)
	}
	root.Get("/projects?q=%E2%80%AEanother").Is(http.StatusOK).Has(`value="another"`).HasNo("\u202e")
	root.Get("/projects?q=ANOTH").Is(http.StatusOK).Has("another").HasNo(">backups<")
}

// TestCreateProject: administrators create projects, which have no key.
func TestCreateProject(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	v.Person("ann@example.org", people.Owner)
	ann := v.As("ann@example.org")
	ann.Get("/projects").HasNo("Create a project")
	ann.Post("/projects", url.Values{"name": {"mine"}}).Is(http.StatusForbidden)
	root := v.As("root@example.org")
	root.Get("/projects").Has("Create a project")
	for name, problem := range map[string]string{"": "The name is empty.", "backups": "already exists", strings.Repeat("x", 101): "too long", "a\x00b": "control character"} {
		status := http.StatusBadRequest
		if name == "backups" {
			status = http.StatusConflict
		}
		root.Post("/projects", url.Values{"name": {name}}).Is(status).Has(problem)
	}
	to := root.Post("/projects", url.Values{"name": {" new <b> "}}).Is(http.StatusSeeOther).Header.Get("Location")
	root.Get(to).Is(http.StatusOK).Has("new &lt;b&gt;", "Project created.")
	project, err := v.Mon.Projects().ByName(t.Context(), "new <b>")
	pagetest.NoError(t, err)
	if keys, err := v.Mon.Project(project.ID).Keys(t.Context()); err != nil || len(keys) != 0 || to != "/projects/"+project.ID.String()+"/overview" {
		t.Errorf("%d keys, error %v, the page is %s", len(keys), err, to)
	}
	ann.Get(to).Is(http.StatusNotFound)
}

func TestAccountPreferences(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("ann@example.org", people.Owner)
	c := v.Create(checks.Spec{Name: new("nightly"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(time.Hour)})
	_, err := v.Mon.Ping(t.Context(), c.ID, pings.Signal{})
	pagetest.NoError(t, err)
	b := v.As("ann@example.org")
	form := url.Values{"name": {"Ann"}, "zone": {"Nowhere/City"}, "clock": {"12"}, "theme": {"dark"}, "first": {"board"}}
	b.Post("/account", form).Is(http.StatusBadRequest).Has("Unknown time zone: Nowhere/City", `value="Ann"`)
	form.Set("zone", "America/New_York")
	b.Post("/account", form).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK).Has(`data-theme="dark"`, "Ann")
	// The log, the verdict, the rehearsal and the preview of the form.
	b.Get("/checks/"+c.UniqueKey()).Is(http.StatusOK).Has("7:00:00 am</time>", "7:00 am (2:00 pm Riga)", ">9:00 pm</time>", "Times in America/New_York").HasNo("07:00", "21:00</time>")
	b.Get("/checks/"+c.UniqueKey()+"/edit").Is(http.StatusOK).Has("Mon 23 Nov 3:00 am", "Sun 22 Nov 8:00 pm").HasNo("Nov 03:00", "Nov 20:00")
	if to := b.Get("/").Header.Get("Location"); to != v.Path("board") {
		t.Errorf("the first page is %s", to)
	}
	b.Get(v.Path("board")).Is(http.StatusOK).Has(">4 am<", "(3:00 am in Europe/Riga)").HasNo("03:00 in")
	for field, value := range map[string]string{"clock": "13", "theme": "<b>", "first": "https://evil.example"} {
		bad := url.Values{"name": form["name"], "zone": form["zone"], "clock": form["clock"], "theme": form["theme"], "first": form["first"]}
		bad.Set(field, value)
		b.Post("/account", bad).Is(http.StatusBadRequest)
	}
}

// TestFloodOfSignIns sends 2,000 wrong passwords at once while jobs ping. No ping is lost or refused, and the owner signs in.
func TestFloodOfSignIns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where no time passes while anything runs: a slow machine makes no ping late
		v := pagetest.NewTown(t)
		v.Person("ann@example.org", people.Owner)
		v.As("ann@example.org") // from this address before
		c := v.Create(checks.Spec{Name: new("nightly")})
		ping := "/ping/" + c.ID.String()
		srv := whole(v)
		var counts [600]atomic.Int64
		var flood sync.WaitGroup
		for i := range 2000 {
			flood.Go(func() {
				form := url.Values{"email": {fmt.Sprintf("%d@example.org", i%500)}, "password": {"wrong horse battery"}}
				if i%4 == 0 {
					form.Set("email", "ann@example.org")
				}
				counts[post(srv, "/signin", form, fmt.Sprintf("198.51.%d.%d", i%8, i/8)).Code].Add(1)
			})
		}
		var jobs sync.WaitGroup
		for range 4 {
			jobs.Go(func() {
				for range 50 {
					if w := post(srv, ping, nil, "192.0.2.1"); w.Code != http.StatusOK {
						t.Errorf("a ping got %d: %s", w.Code, w.Body)
					}
				}
			})
		}
		jobs.Wait()
		flood.Wait()
		if n := counts[http.StatusForbidden].Load() + counts[http.StatusTooManyRequests].Load(); n != 2000 || counts[http.StatusTooManyRequests].Load() == 0 {
			t.Errorf("%d of 2000 sign-ins were refused, %d with 429", n, counts[http.StatusTooManyRequests].Load())
		}
		now, err := v.Mon.Check(t.Context(), c.ID)
		pagetest.NoError(t, err)
		if now.NPings != 200 {
			t.Errorf("%d of 200 pings are recorded", now.NPings)
		}
		v.As("ann@example.org")
	})
}

// whole is the server of the site, with pings and pages.
func whole(v *pagetest.Town) http.Handler {
	v.T.Helper()
	srv, err := server.New(v.Mon, &server.Config{Logger: slog.New(slog.DiscardHandler), Dashboard: &dashboard.Config{Accounts: accounts.New(v.People, nil)}})
	pagetest.NoError(v.T, err)
	v.T.Cleanup(srv.Close)
	return srv
}

func post(h http.Handler, path string, form url.Values, address string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = address + ":1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// BenchmarkPingsDuringFlood pings while 2,000 wrong passwords arrive each second, and without them.
func BenchmarkPingsDuringFlood(b *testing.B) {
	for _, rate := range []int{0, 2000} {
		b.Run(fmt.Sprint(rate, " a second"), func(b *testing.B) {
			db := dbtest.Memory(b)
			mon, err := monitor.New(db, nil)
			if err != nil {
				b.Fatal(err)
			}
			project, _, err := mon.Projects().Create(b.Context(), checks.ProjectSpec{Name: "harbor"})
			if err != nil {
				b.Fatal(err)
			}
			c, err := mon.Project(project.ID).Create(b.Context(), checks.Spec{})
			if err != nil {
				b.Fatal(err)
			}
			quiet := slog.New(slog.DiscardHandler)
			known, err := people.New(mon, &people.Config{Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			srv, err := server.New(mon, &server.Config{Logger: quiet, Dashboard: &dashboard.Config{Accounts: accounts.New(known, nil)}})
			if err != nil {
				b.Fatal(err)
			}
			defer srv.Close()
			var flood sync.WaitGroup
			ctx, stop := context.WithCancel(b.Context())
			flood.Go(func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for n := 0; ctx.Err() == nil; <-tick.C {
					for range rate / 100 {
						n++
						form := url.Values{"email": {fmt.Sprintf("%d@example.org", n)}, "password": {"wrong horse battery"}}
						flood.Go(func() { post(srv, "/signin", form, fmt.Sprintf("198.51.%d.%d", n/250%250, n%250)) })
					}
				}
			})
			for b.Loop() {
				if w := post(srv, "/ping/"+c.ID.String(), nil, "192.0.2.1"); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			stop()
			flood.Wait()
		})
	}
}

// TestSharedName: of two people of one name, pages name who has an outage with the address, so the second is not taken for the first.
func TestSharedName(t *testing.T) {
	v := pagetest.NewTown(t)
	for email, name := range map[string]string{"ann@example.org": "Ann", "ann.b@example.org": "ann", "bob@example.org": "Bob"} {
		p := v.Person(email, people.Editor)
		pagetest.NoError(t, v.People.SetName(t.Context(), p.ID, name))
	}
	c := v.Create(checks.Spec{Name: new("backup")})
	v.Ping(c, pings.Signal{Kind: pings.Failure})
	path := "/checks/" + c.UniqueKey()
	first, second, bob := v.As("ann@example.org"), v.As("ann.b@example.org"), v.As("bob@example.org")
	first.Post(path+"/acknowledge", nil).Is(http.StatusSeeOther)
	bob.Get(path).Is(http.StatusOK).Has("Ann (ann@example.org)")
	second.Post(path+"/acknowledge", nil).Is(http.StatusSeeOther)
	second.Get(path).Has("Someone else already has it.", "Ann (ann@example.org)")
	second.Post(v.Path("bulk"), url.Values{"action": {"acknowledge"}, "check": pagetest.IDs(c)}).Is(http.StatusSeeOther)
	second.Get(v.Path("")).Has("Ann (ann@example.org)").HasNo("ann.b@example.org)")
	first.Post(path+"/unacknowledge", nil).Is(http.StatusSeeOther)
	bob.Post(path+"/acknowledge", nil).Is(http.StatusSeeOther)
	bob.Get(path).Has("Bob").HasNo("bob@example.org)")
}
