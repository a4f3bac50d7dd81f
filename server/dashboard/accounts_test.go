package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
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
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
)

// password is that of everybody in the tests.
const password = "correct horse battery"

// town is a site with accounts.
type town struct {
	*site
	people *people.People
}

// newTown returns a site with accounts, on which people sign in with keys too.
func newTown(t *testing.T, configure ...func(*config)) *town {
	t.Helper()
	return newTownOn(newSite(t), configure...)
}

// newTownOn adds accounts to a site.
func newTownOn(s *site, configure ...func(*config)) *town {
	s.t.Helper()
	known, err := people.New(s.db, &people.Config{Now: s.now, Audit: true})
	if err != nil {
		s.t.Fatal(err)
	}
	v := &town{s, known}
	v.pages.Close()
	v.pages = v.newPages(append([]func(*config){v.accounts(accounts.Config{KeySignIn: true})}, configure...)...)
	v.web.Config.Handler = v.pages
	s.t.Cleanup(v.pages.Close)
	return v
}

// accounts configures accounts.
func (v *town) accounts(c accounts.Config) func(*config) {
	return func(of *config) { of.pages.Accounts = accounts.New(v.people, &c) }
}

// person adds a person who has chosen the password. Without a role, it is an administrator.
func (v *town) person(email string, role people.Role) people.Person {
	v.t.Helper()
	spec := people.Spec{Email: email, Admin: role == ""}
	if role != "" {
		spec.Roles = map[uuid.UUID]people.Role{v.project.ID: role}
	}
	_, link, err := v.people.Create(v.t.Context(), spec)
	if err != nil {
		v.t.Fatal(err)
	}
	p, err := v.people.UseLink(v.t.Context(), link.Token, "", "", password)
	if err != nil {
		v.t.Fatal(err)
	}
	return p
}

// as is a browser in which a person has signed in.
func (v *town) as(email string) *browser {
	v.t.Helper()
	b := v.browser()
	b.post("/signin", credentials(email)).is(http.StatusSeeOther)
	return b
}

func credentials(email string) url.Values {
	return url.Values{"email": {email}, "password": {password}}
}

// cookies returns the cookies of a browser, for another one.
func (b *browser) cookies() []*http.Cookie {
	u, _ := url.Parse(b.web.URL)
	return b.client.Jar.Cookies(u)
}

func (b *browser) setCookies(list []*http.Cookie) {
	u, _ := url.Parse(b.web.URL)
	b.client.Jar.SetCookies(u, list)
}

var linkText = regexp.MustCompile(`/signin/[A-Za-z0-9_.-]{20,}`)

// link returns the path of the link that a page shows.
func (a *answer) link() string {
	a.t.Helper()
	found := linkText.FindString(a.body)
	if found == "" {
		a.t.Fatalf("the page shows no link: %s", a.body)
	}
	return found
}

func TestSignInWithPassword(t *testing.T) {
	v := newTown(t)
	b := v.browser()
	b.get("/signin").is(http.StatusOK).has(`name="key"`).hasNo(`name="password"`) // nobody has an account
	v.person("ann@example.org", people.Owner)
	b.get("/signin").is(http.StatusOK).has(`name="key"`, `name="password"`)

	wrong := b.post("/signin", url.Values{"email": {"ann@example.org"}, "password": {"wrong horse battery"}}).is(http.StatusForbidden)
	unknown := b.post("/signin", url.Values{"email": {"eve@example.org"}, "password": {password}}).is(http.StatusForbidden)
	if strings.ReplaceAll(unknown.body, "eve@", "ann@") != wrong.body {
		t.Errorf("an unknown account and a wrong password differ:\n%s\n%s", wrong.body, unknown.body)
	}
	in := b.post("/signin", url.Values{"email": {" ANN@example.org"}, "password": {password}, "next": {v.path("board")}}).is(http.StatusSeeOther)
	if to := in.header.Get("Location"); to != v.path("board") {
		t.Errorf("led to %s", to)
	}
	cookie := strings.Join(in.header.Values("Set-Cookie"), "\n")
	for _, want := range []string{"rollcall_person=", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if to := b.get("/").is(http.StatusSeeOther).header.Get("Location"); to != v.path("overview") {
		t.Errorf("the first page is %s", to)
	}
	b.get(v.path("")).is(http.StatusOK).has("ann@example.org", "Your account").hasNo("read-only")

	stolen := v.browser()
	stolen.setCookies(b.cookies())
	stolen.get(v.path("")).is(http.StatusOK)
	b.post("/signout", nil).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusSeeOther)
	stolen.get(v.path("")).is(http.StatusSeeOther)
}

// TestSessionToken: the token that a browser had before somebody signed in is worth nothing after it.
func TestSessionToken(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	v.person("eve@example.org", people.Viewer)
	b, before := v.browser(), v.as("eve@example.org")
	b.setCookies(before.cookies())
	b.post("/signin", credentials("ann@example.org")).is(http.StatusSeeOther)
	before.get(v.path("")).is(http.StatusSeeOther) // it does not become the session of ann
	b.post("/signin", url.Values{"key": {v.keys.ReadOnly}}).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusOK).has("read-only").hasNo("ann@example.org")
	b.post("/signin", credentials("ann@example.org")).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusOK).has("ann@example.org").hasNo("read-only")
	b.post("/signout", nil)
	b.get(v.path("")).is(http.StatusSeeOther)
	for _, forged := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 5000)} {
		b.setCookies([]*http.Cookie{{Name: "rollcall_person", Value: forged}})
		b.get(v.path("")).is(http.StatusSeeOther)
	}
}

// TestHostCookie: behind https, no cookie of the pages can be set by another host of the domain, and the pages take no other.
func TestHostCookie(t *testing.T) {
	keys, err := passkey.New("https://ops.example.org")
	noError(t, err)
	v := newCity(t).town
	v.person("ann@example.org", people.Owner)
	for base, prefix := range map[string]string{"https://ops.example.org": "__Host-", "https://ops.example.org/jobs": ""} {
		at := strings.TrimPrefix(base, "https://ops.example.org")
		v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{KeySignIn: true, Passkeys: keys, Provider: fakeProvider{}}), func(c *config) { c.BaseURL = base })
		seen := map[string]*http.Cookie{}
		send := func(method, path string, form url.Values) *http.Response {
			r := httptest.NewRequest(method, at+path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for _, c := range seen {
				r.AddCookie(c)
			}
			w := httptest.NewRecorder()
			v.web.Config.Handler.ServeHTTP(w, r)
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
		send("POST", "/signin", url.Values{"key": {v.keys.ReadWrite}})
		kept("rollcall_session")
		c := v.create(checks.Spec{})
		send("POST", v.path("bulk"), url.Values{"check": ids(c), "action": {"pause"}})
		kept("rollcall_notice", "rollcall_undo")
		send("POST", "/signin", credentials("ann@example.org"))
		kept("rollcall_person", "rollcall_device")
		if answer := send("GET", "/account", nil); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: the session answers %d", base, answer.StatusCode)
		}
		session := seen[prefix+"rollcall_person"]
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
	v := newTown(t)
	link, err := v.people.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := v.browser()
	const nobody = "rollcall user create EMAIL --admin"
	b.get("/signin").is(http.StatusOK).has("Nobody has an account yet", nobody)
	for range 2 { // looking does not use it up
		b.get("/signin/"+link.Token).is(http.StatusOK).has("Create the first account", `name="email"`)
	}
	form := url.Values{"email": {"ann@example.org"}, "name": {"Ann"}, "password": {"short"}}
	b.post("/signin/"+link.Token, form).is(http.StatusBadRequest).has("ann@example.org", "Ann", "12")
	form.Set("password", password)
	b.post("/signin/"+link.Token, form).is(http.StatusSeeOther)
	v.browser().get("/signin").is(http.StatusOK).hasNo(nobody)
	b.get("/people").is(http.StatusOK).has("ann@example.org", "administrator")
	b.get(v.path("keys")).is(http.StatusOK)
	v.browser().get("/signin/" + link.Token).is(http.StatusForbidden).has("expired or was already used")
	v.browser().post("/signin/"+link.Token, form).is(http.StatusForbidden)

	keyLink, err := v.pages.SignInLink(t.Context(), v.keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	v.browser().get(keyLink).is(http.StatusSeeOther)
}

func TestWithoutKeys(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	old := v.signedIn(v.keys.ReadWrite)
	link, err := v.pages.SignInLink(t.Context(), v.keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{}))
	old.get(v.path("")).is(http.StatusSeeOther)
	b := v.browser()
	b.get("/signin").is(http.StatusOK).hasNo(`name="key"`)
	b.post("/signin", url.Values{"key": {v.keys.ReadWrite}}).is(http.StatusForbidden)
	b.get(link).is(http.StatusForbidden)
	b.get(v.path("")).is(http.StatusSeeOther)
}

func TestCodes(t *testing.T) {
	v := newTown(t)
	ann := v.person("ann@example.org", people.Owner)
	b := v.as("ann@example.org")
	page := b.get("/account/totp").is(http.StatusOK).has("<svg class=\"qr\"")
	secret := regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`).FindStringSubmatch(page.body)[1]
	kept := regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page.body)[1]
	code := func() string {
		text, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), v.now())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	b.post("/account/totp", url.Values{"kept": {kept}, "code": {"000000"}, "password": {password}}).is(http.StatusBadRequest).has("Code is wrong", secret)
	b.post("/account/totp", url.Values{"kept": {kept}, "code": {code()}, "password": {"wrong"}}).is(http.StatusForbidden).has("The password is wrong", secret)
	b.post("/account/totp", url.Values{"kept": {kept[1:]}, "code": {code()}, "password": {password}}).is(http.StatusBadRequest)
	done := b.post("/account/totp", url.Values{"kept": {kept}, "code": {code()}, "password": {password}}).is(http.StatusOK).has("recovery codes")
	recovery := regexp.MustCompile(`<li>([^<\s]+)</li>\n`).FindStringSubmatch(done.body)[1]
	b.get("/account").is(http.StatusOK).has("On: after the password, you sign in with a code from the app").hasNo(recovery)

	v.advance(time.Minute)
	b = v.browser()
	form := credentials("ann@example.org")
	form.Set("next", v.path("board"))
	b.post("/signin", form).is(http.StatusOK).has("Enter your code", v.path("board"))
	b.get(v.path("")).is(http.StatusSeeOther) // the password alone opens nothing
	b.get("/account").is(http.StatusSeeOther)
	b.post("/signin/code", url.Values{"code": {"000000"}}).is(http.StatusForbidden).has("wrong or was already used")
	used := code()
	if to := b.post("/signin/code", url.Values{"code": {used[:3] + " " + used[3:]}, "next": {v.path("board")}}).is(http.StatusSeeOther).header.Get("Location"); to != v.path("board") {
		t.Errorf("led to %s", to)
	}
	b.get(v.path("")).is(http.StatusOK)

	b = v.browser()
	b.post("/signin/code", url.Values{"code": {used}}).is(http.StatusForbidden).has("Enter your password again")
	b.post("/signin", credentials("ann@example.org")).is(http.StatusOK)
	b.post("/signin/code", url.Values{"code": {used}}).is(http.StatusForbidden)
	b.post("/signin/code", url.Values{"code": {recovery}}).is(http.StatusSeeOther)
	b.get("/account").is(http.StatusOK).has("9 recovery codes left")
	b.post("/account/totp/remove", url.Values{"password": {"wrong horse battery"}}).is(http.StatusForbidden)
	b.post("/account/totp/remove", url.Values{"password": {password}}).is(http.StatusSeeOther)
	if now, err := v.people.ByID(t.Context(), ann.ID); err != nil || now.HasTOTP {
		t.Errorf("after removal: %+v, %v", now, err)
	}
}

func TestInvitation(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	owner := v.as("ann@example.org")
	owner.get(v.path("settings")).is(http.StatusOK).has("/members")
	owner.post(v.path("members"), url.Values{"email": {"nobody"}, "role": {"viewer"}}).is(http.StatusBadRequest)
	owner.post(v.path("members"), url.Values{"email": {"bob@example.org"}, "role": {"king"}}).is(http.StatusBadRequest)
	link := owner.post(v.path("members"), url.Values{"email": {"Bob@example.org"}, "role": {"viewer"}}).is(http.StatusOK).has("Invitation").link()
	owner.get(v.path("members")).is(http.StatusOK).has("bob@example.org", "invited").hasNo(link)
	owner.post(v.path("members"), url.Values{"email": {"bob@example.org"}, "role": {"owner"}}).is(http.StatusBadRequest).has("is a member already")

	bob := v.browser()
	bob.get(link).is(http.StatusOK).has("Choose a password", "bob@example.org")
	bob.post(link, url.Values{"password": {"password1234"}, "email": {"eve@example.org"}}).is(http.StatusBadRequest) // a common one
	bob.post(link, url.Values{"password": {password}}).is(http.StatusSeeOther)
	bob.get(v.path("")).is(http.StatusOK).has("read-only")
	bob.get(v.path("checks/new")).is(http.StatusForbidden).has("Your role")
	bob.get(v.path("members")).is(http.StatusForbidden)
	bob.post(v.path("members"), url.Values{"email": {"eve@example.org"}, "role": {"owner"}}).is(http.StatusForbidden)

	person, err := v.people.ByEmail(t.Context(), "bob@example.org")
	if err != nil {
		t.Fatal(err)
	}
	member := v.path("members/" + person.ID.String())
	owner.post(member+"/role", url.Values{"role": {"editor"}}).is(http.StatusSeeOther)
	bob.get(v.path("checks/new")).is(http.StatusOK)
	bob.get(v.path("keys")).is(http.StatusForbidden)
	bob.get(v.path("delete")).is(http.StatusForbidden)
	owner.get(member + "/remove").is(http.StatusOK)
	owner.post(member+"/remove", nil).is(http.StatusSeeOther)
	bob.get(v.path("")).is(http.StatusNotFound) // at once, in the same session
	bob.get("/projects").is(http.StatusOK).has("No projects yet")
}

// TestInvitationByMail: with a mail server, the person gets the link too, and the page shows it all the same.
func TestInvitationByMail(t *testing.T) {
	var sent []string
	fails := false
	v := newTown(t)
	v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{Mail: func(_ context.Context, to, subject, text string) error {
		if fails {
			return errors.New("the mail server is away")
		}
		sent = append(sent, to, subject, text)
		return nil
	}}))
	v.person("root@example.org", "")
	root := v.as("root@example.org")
	link := root.post("/people", url.Values{"email": {"bob@example.org"}}).is(http.StatusOK).has("Sent by e-mail").link()
	if len(sent) != 3 || sent[0] != "bob@example.org" || !strings.Contains(sent[2], link) {
		t.Errorf("sent %q", sent)
	}
	fails = true
	root.post("/people", url.Values{"email": {"carol@example.org"}}).is(http.StatusOK).hasNo("Sent by e-mail").link()
	bob, err := v.people.ByEmail(t.Context(), "bob@example.org")
	noError(t, err)
	fresh := root.post("/people/"+bob.ID.String(), url.Values{"do": {"password"}}).is(http.StatusOK).link()
	v.browser().get(link).is(http.StatusForbidden) // a new link ends the older one
	v.browser().get(fresh).is(http.StatusOK)
	root.post("/people/"+bob.ID.String()+"/delete", url.Values{"email": {"wrong"}}).is(http.StatusBadRequest)
	root.post("/people/"+bob.ID.String()+"/delete", url.Values{"email": {"Bob@example.org"}}).is(http.StatusSeeOther)
	self, err := v.people.ByEmail(t.Context(), "root@example.org")
	noError(t, err)
	root.post("/people/"+self.ID.String(), url.Values{"do": {"noadmin"}}).is(http.StatusConflict).has("last administrator")
	root.post("/people/"+self.ID.String()+"/delete", url.Values{"email": {"root@example.org"}}).is(http.StatusConflict).has("last administrator")
}

// TestSessionEnds: a session ends with the password, the second factors, the person and by its list, at once on every server.
func TestSessionEnds(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	ann := v.person("ann@example.org", people.Editor)
	other := v.newPages(v.accounts(accounts.Config{}))
	t.Cleanup(other.Close)
	first := v.web.Config.Handler
	ctx := t.Context()
	for name, end := range map[string]func(b *browser){
		"mfa":      func(*browser) { noError(t, v.people.ResetMFA(ctx, ann.ID)) },
		"sign out": func(b *browser) { b.post("/signout", nil).is(http.StatusSeeOther) },
		"list": func(*browser) {
			b := v.as("ann@example.org")
			b.post("/account/sessions", url.Values{"id": {"others"}}).is(http.StatusSeeOther)
			b.get("/account").is(http.StatusOK).has("this session").hasNo("End all other sessions")
		},
	} {
		v.web.Config.Handler = first
		b, far := v.as("ann@example.org"), v.browser()
		far.setCookies(b.cookies())
		b.get(v.path("")).is(http.StatusOK)
		end(b)
		b.get(v.path("")).is(http.StatusSeeOther)
		v.web.Config.Handler = other
		if status := far.get(v.path("")).status; status != http.StatusSeeOther {
			t.Errorf("%s: the other server answers %d", name, status)
		}
	}
	v.web.Config.Handler = first

	b, elsewhere := v.as("ann@example.org"), v.as("ann@example.org")
	change := url.Values{"old": {"wrong horse battery"}, "password": {password + "!"}}
	b.post("/account/password", change).is(http.StatusForbidden).has("The current password is wrong")
	change.Set("old", password)
	b.post("/account/password", change).is(http.StatusSeeOther)
	b.get("/account").is(http.StatusOK).has("Password changed")
	elsewhere.get("/account").is(http.StatusSeeOther)
	v.browser().post("/signin", credentials("ann@example.org")).is(http.StatusForbidden)
	noError(t, v.people.Delete(ctx, ann.ID))
	b.get("/account").is(http.StatusSeeOther)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestIdleSession: a session ends 12 hours after the last visit and after 30 days. An open page is no visit.
func TestIdleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dbtest.Memory(t)
		mon, err := monitor.New(db, nil)
		noError(t, err)
		known, err := people.New(db, nil)
		noError(t, err)
		project, _, err := mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "harbor"})
		noError(t, err)
		_, link, err := known.Create(t.Context(), people.Spec{Email: "ann@example.org", Admin: true})
		noError(t, err)
		_, err = known.UseLink(t.Context(), link.Token, "", "", password)
		noError(t, err)
		srv, err := server.New(mon, &server.Config{Dashboard: &dashboard.Config{Accounts: accounts.New(known, nil)}})
		noError(t, err)
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
			if set := w.Result().Cookies(); len(set) > 0 && set[0].Name == "rollcall_person" {
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
		send("POST", "/signin", credentials("ann@example.org"))
		visit(11*time.Hour, http.StatusOK)
		visit(11*time.Hour, http.StatusOK)
		time.Sleep(6 * time.Hour)
		send("GET", path, nil, "Rollcall-Version", "x") // of the open page
		visit(6*time.Hour, http.StatusSeeOther)

		send("POST", "/signin", credentials("ann@example.org"))
		for range 71 {
			visit(10*time.Hour, http.StatusOK)
		}
		visit(10*time.Hour, http.StatusSeeOther)

		// The stream of an open page says within five seconds that its session has ended.
		send("POST", "/signin", credentials("ann@example.org"))
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
		noError(t, err)
		noError(t, known.EndSessions(t.Context(), ann.ID, ""))
		ended := time.Now()
		if took := (<-done).Sub(ended); took > 5*time.Second || !strings.Contains(w.Body.String(), "event: gone") {
			t.Errorf("the stream went on for %v: %s", took, w.Body)
		}
	})
}

// TestDatabaseAway: while the database is unavailable, nobody is signed out.
func TestDatabaseAway(t *testing.T) {
	var down atomic.Bool
	v := newTownOn(newSiteStored(t, func(_ string, do func() error) error {
		if down.Load() {
			return errors.Join(checks.ErrUnavailable, errors.New("connection refused"))
		}
		return do()
	}))
	v.person("ann@example.org", people.Owner)
	b := v.as("ann@example.org")
	down.Store(true)
	b.get(v.path("")).is(http.StatusServiceUnavailable).has("Try again")
	b.get("/account").is(http.StatusServiceUnavailable)
	v.browser().post("/signin", credentials("ann@example.org")).is(http.StatusServiceUnavailable)
	b.post("/signout", nil).is(http.StatusServiceUnavailable)
	down.Store(false)
	b.get(v.path("")).is(http.StatusOK)
}

// TestHeldThroughCode: a form that found the session ended survives signing in with password and code.
func TestHeldThroughCode(t *testing.T) {
	v := newTown(t)
	ann := v.person("ann@example.org", people.Owner)
	begun, err := v.people.BeginTOTP(t.Context(), ann.ID)
	noError(t, err)
	b := v.as("ann@example.org")
	code, err := totp.GenerateCode(begun.Secret, v.now())
	noError(t, err)
	recovery, err := v.people.ConfirmTOTP(t.Context(), ann.ID, password, begun.Secret, code)
	noError(t, err)
	noError(t, v.people.EndSessions(t.Context(), ann.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-for-an-hour"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	held := b.post(v.path("checks/new"), form).is(http.StatusUnauthorized).has("What you typed is not lost").hasNo("typed-for-an-hour").held()
	wrong := url.Values{"email": {"ann@example.org"}, "password": {"wrong"}, "held": held["held"]}
	held = b.post("/signin", wrong).is(http.StatusForbidden).held()
	for k, field := range credentials("ann@example.org") {
		held[k] = field
	}
	held = b.post("/signin", held).is(http.StatusOK).has("Enter your code").held()
	held.Set("code", "wrong")
	held = b.post("/signin/code", held).is(http.StatusForbidden).held()
	held.Set("code", recovery[0])
	held = b.post("/signin/code", held).is(http.StatusOK).has("Signed in again", `action="`+v.path("checks/new")+`"`).held()
	b.post(v.path("checks/new"), held).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusOK).has("typed-for-an-hour")
}

// TestHeldForAnother: nobody else who signs in to the browser can send the form, neither on the page that follows nor by its text.
func TestHeldForAnother(t *testing.T) {
	v := newTown(t)
	ann := v.person("ann@example.org", people.Owner)
	v.person("eve@example.org", people.Owner)
	b := v.as("ann@example.org")
	noError(t, v.people.EndSessions(t.Context(), ann.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-by-ann"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	held := b.post(v.path("checks/new"), form).is(http.StatusUnauthorized).held()
	signIn := credentials("eve@example.org")
	signIn.Set("held", held.Get("held"))
	b.post("/signin", signIn).is(http.StatusSeeOther)
	b.post(v.path("checks/new"), held).is(http.StatusForbidden).has("This is not your form")
	b.get(v.path("")).is(http.StatusOK).hasNo("typed-by-ann")
	b.post("/signin", url.Values{"key": {v.keys.ReadWrite}}).is(http.StatusSeeOther)
	b.post(v.path("checks/new"), held).is(http.StatusForbidden)
	again := v.as("ann@example.org") // in any browser
	again.post(v.path("checks/new"), held).is(http.StatusSeeOther)
	again.get(v.path("")).is(http.StatusOK).has("typed-by-ann")
}

// TestKnownBrowser: while somebody guesses a password from everywhere, its person gets in from a new address with the browser
// that they have used before. What the browser keeps signs nobody in.
func TestKnownBrowser(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	v.person("eve@example.org", people.Viewer)
	srv := v.whole()
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
		for _, c := range send("192.0.2.1", email, password).Result().Cookies() {
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
		if w := send("203.0.113.1", "ann@example.org", password, cookies...); w.Code != http.StatusTooManyRequests {
			t.Errorf("with %s: status %d", name, w.Code)
		}
	}
	if w := send("203.0.113.2", "ann@example.org", "wrong horse battery", known); w.Code != http.StatusForbidden {
		t.Errorf("a wrong password from the browser: status %d", w.Code)
	}
	if w := send("203.0.113.2", "ann@example.org", password, known); w.Code != http.StatusSeeOther {
		t.Errorf("from the browser: status %d", w.Code)
	}
	b := v.browser()
	b.setCookies([]*http.Cookie{known})
	b.get(v.path("")).is(http.StatusSeeOther)
}

// TestPagesOfAPerson: the pages of a person count together, whatever the project.
func TestPagesOfAPerson(t *testing.T) {
	v := newTown(t, func(c *config) { c.RateLimit = 1 })
	v.person("ann@example.org", people.Owner)
	v.person("bob@example.org", people.Owner)
	b := v.as("ann@example.org")
	for range 5 {
		b.get(v.path("")).is(http.StatusOK)
		b.get("/account").is(http.StatusOK)
	}
	if refused := b.get("/projects").is(http.StatusTooManyRequests); refused.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	v.as("bob@example.org").get(v.path("")).is(http.StatusOK)
}

// TestLimitOfSignIns: too many wrong passwords get a page that says when to try again.
func TestLimitOfSignIns(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	b := v.browser()
	wrong := url.Values{"email": {"ann@example.org"}, "password": {"wrong horse battery"}}
	for range 10 {
		b.post("/signin", wrong).is(http.StatusForbidden)
	}
	if a := b.post("/signin", wrong).is(http.StatusTooManyRequests).has("Try again in 60 seconds"); a.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	v.advance(time.Minute)
	b.post("/signin", credentials("ann@example.org")).is(http.StatusSeeOther)
}

// TestDeletedProject: a project that is deleted while its members look at it is gone for them, and their lists say so.
func TestDeletedProject(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	v.person("ann@example.org", people.Owner)
	ann, root := v.as("ann@example.org"), v.as("root@example.org")
	ann.get(v.path("")).is(http.StatusOK)
	root.get("/people").is(http.StatusOK).has("1 project")
	noError(t, v.mon.Projects().Delete(t.Context(), v.project.ID))
	ann.get(v.path("")).is(http.StatusNotFound)
	ann.post(v.path("members"), url.Values{"email": {"eve@example.org"}, "role": {"owner"}}).is(http.StatusNotFound)
	ann.get("/projects").is(http.StatusOK).has("No projects yet")
	if to := ann.get("/").is(http.StatusSeeOther).header.Get("Location"); to != "/projects" {
		t.Errorf("the first page is %s", to)
	}
	root.get("/people").is(http.StatusOK).hasNo("1 project")
}

// TestRefusalsOfKeys: each refused key and link is logged once, without its text.
func TestRefusalsOfKeys(t *testing.T) {
	v, log := configured(t, newSite(t), accounts.Config{KeySignIn: true})
	link, err := v.pages.SignInLink(t.Context(), v.keys.ReadWrite)
	noError(t, err)
	wrong := strings.Repeat("rcw_0000", 4)
	v.browser().post("/signin", url.Values{"key": {wrong}}).is(http.StatusForbidden)
	v.browser().get(link).is(http.StatusSeeOther)
	v.browser().get(link).is(http.StatusForbidden)
	v.browser().post("/signin/"+strings.Repeat("A", 52), url.Values{"password": {password}}).is(http.StatusForbidden)
	text := log.String()
	if strings.Count(text, "refused a sign-in") != 3 || strings.Contains(text, wrong) || strings.Contains(text, link[len(link)-20:]) || strings.Contains(text, "AAAA") || strings.Contains(text, password) {
		t.Errorf("the log is %s", text)
	}
}

// TestProjectsPage: the overview of all projects has those that the viewer may see, the worst first.
func TestProjectsPage(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	v.person("ann@example.org", people.Editor)
	_, _, err := v.mon.Projects().Create(t.Context(), projectSpec("another"))
	noError(t, err)
	c := v.create(checks.Spec{Name: new("nightly"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	_, err = v.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure})
	noError(t, err)
	v.as("ann@example.org").get("/projects").is(http.StatusOK).has("1 down", "nightly", "backups", "editor").hasNo("another")
	root := v.as("root@example.org")
	page := root.get("/projects").is(http.StatusOK).has("another", "backups", "owner")
	if strings.Index(page.body, ">backups<") > strings.Index(page.body, ">another<") {
		t.Error("the project with a check that is down is not the first")
	}
	if to := root.get("/").is(http.StatusSeeOther).header.Get("Location"); to != "/projects" {
		t.Errorf("with several projects, the first page is %s", to)
	}
	root.get("/projects?q=ANOTH").is(http.StatusOK).has("another").hasNo(">backups<")
}

// TestCreateProject: administrators create projects, which have no key.
func TestCreateProject(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	v.person("ann@example.org", people.Owner)
	ann := v.as("ann@example.org")
	ann.get("/projects").hasNo("Create a project")
	ann.post("/projects", url.Values{"name": {"mine"}}).is(http.StatusForbidden)
	root := v.as("root@example.org")
	root.get("/projects").has("Create a project")
	for name, problem := range map[string]string{"": "The name is empty.", "backups": "exists already", strings.Repeat("x", 101): "too long", "a\x00b": "control character"} {
		root.post("/projects", url.Values{"name": {name}}).is(http.StatusBadRequest).has(problem)
	}
	to := root.post("/projects", url.Values{"name": {" new <b> "}}).is(http.StatusSeeOther).header.Get("Location")
	root.get(to).is(http.StatusOK).has("new &lt;b&gt;", "Project created.")
	project, err := v.mon.Projects().ByName(t.Context(), "new <b>")
	noError(t, err)
	if keys, err := v.mon.Project(project.ID).Keys(t.Context()); err != nil || len(keys) != 0 || to != "/projects/"+project.ID.String()+"/overview" {
		t.Errorf("%d keys, error %v, the page is %s", len(keys), err, to)
	}
	ann.get(to).is(http.StatusNotFound)
}

func TestAccountPreferences(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	c := v.create(checks.Spec{Name: new("nightly"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(time.Hour)})
	_, err := v.mon.Ping(t.Context(), c.ID, pings.Signal{})
	noError(t, err)
	b := v.as("ann@example.org")
	form := url.Values{"name": {"Ann"}, "zone": {"Nowhere/City"}, "clock": {"12"}, "theme": {"dark"}, "first": {"board"}}
	b.post("/account", form).is(http.StatusBadRequest).has("Unknown time zone: Nowhere/City", `value="Ann"`)
	form.Set("zone", "America/New_York")
	b.post("/account", form).is(http.StatusSeeOther)
	b.get("/account").is(http.StatusOK).has(`data-theme="dark"`, "Ann")
	// The log, the verdict, the rehearsal and the preview of the form.
	b.get("/checks/"+c.UniqueKey()).is(http.StatusOK).has("7:00:00 am</time>", "7:00 am (2:00 pm Riga)", ">9:00 pm</time>", "Times in America/New_York").hasNo("07:00", "21:00</time>")
	b.get("/checks/"+c.UniqueKey()+"/edit").is(http.StatusOK).has("Mon 23 Nov 3:00 am", "Sun 22 Nov 8:00 pm").hasNo("Nov 03:00", "Nov 20:00")
	if to := b.get("/").header.Get("Location"); to != v.path("board") {
		t.Errorf("the first page is %s", to)
	}
	b.get(v.path("board")).is(http.StatusOK).has(">4 am<", "(3:00 am in Europe/Riga)").hasNo("03:00 in")
	for field, value := range map[string]string{"clock": "13", "theme": "<b>", "first": "https://evil.example"} {
		bad := url.Values{"name": form["name"], "zone": form["zone"], "clock": form["clock"], "theme": form["theme"], "first": form["first"]}
		bad.Set(field, value)
		b.post("/account", bad).is(http.StatusBadRequest)
	}
}

// TestFloodOfSignIns sends 2,000 wrong passwords at once while jobs ping. No ping is lost or refused, and the owner signs in.
func TestFloodOfSignIns(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	v.as("ann@example.org") // from this address before
	c := v.create(checks.Spec{Name: new("nightly")})
	ping := "/ping/" + c.ID.String()
	srv := v.whole()
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
	now, err := v.mon.Check(t.Context(), c.ID)
	noError(t, err)
	if now.NPings != 200 {
		t.Errorf("%d of 200 pings are recorded", now.NPings)
	}
	v.as("ann@example.org")
}

// whole is the server of the site, with pings and pages.
func (v *town) whole() http.Handler {
	v.t.Helper()
	srv, err := server.New(v.mon, &server.Config{Logger: slog.New(slog.DiscardHandler), Dashboard: &dashboard.Config{Accounts: accounts.New(v.people, nil)}})
	noError(v.t, err)
	v.t.Cleanup(srv.Close)
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
			project, _, err := mon.Projects().Create(b.Context(), monitor.ProjectSpec{Name: "harbor"})
			if err != nil {
				b.Fatal(err)
			}
			c, err := mon.Project(project.ID).Create(b.Context(), checks.Spec{})
			if err != nil {
				b.Fatal(err)
			}
			quiet := slog.New(slog.DiscardHandler)
			known, err := people.New(db, &people.Config{Logger: quiet})
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
