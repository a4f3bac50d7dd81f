package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
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

func TestHostCookie(t *testing.T) {
	v := newTown(t)
	v.person("ann@example.org", people.Owner)
	for base, want := range map[string]string{
		"https://ops.example.org": "__Host-rollcall_person=", "https://ops.example.org/jobs": "rollcall_person=",
	} {
		v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{}), func(c *config) { c.BaseURL = base })
		path := strings.TrimPrefix(base, "https://ops.example.org") + "/signin"
		cookie := v.browser().post(path, credentials("ann@example.org")).is(http.StatusSeeOther).header.Get("Set-Cookie")
		if !strings.HasPrefix(cookie, want) || !strings.Contains(cookie, "Secure") {
			t.Errorf("%s: %s", base, cookie)
		}
	}
}

func TestFirstAdministrator(t *testing.T) {
	v := newTown(t)
	link, err := v.people.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := v.browser()
	for range 2 { // looking does not use it up
		b.get("/signin/"+link.Token).is(http.StatusOK).has("Create the first account", `name="email"`)
	}
	form := url.Values{"email": {"ann@example.org"}, "name": {"Ann"}, "password": {"short"}}
	b.post("/signin/"+link.Token, form).is(http.StatusBadRequest).has("ann@example.org", "Ann", "12")
	form.Set("password", password)
	b.post("/signin/"+link.Token, form).is(http.StatusSeeOther)
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
	b.post("/account/totp", url.Values{"kept": {kept}, "code": {"000000"}}).is(http.StatusForbidden).has("This code is wrong", secret)
	b.post("/account/totp", url.Values{"kept": {kept[1:]}, "code": {code()}}).is(http.StatusBadRequest)
	done := b.post("/account/totp", url.Values{"kept": {kept}, "code": {code()}}).is(http.StatusOK).has("recovery codes")
	recovery := regexp.MustCompile(`<li>([^<\s]+)</li>\n`).FindStringSubmatch(done.body)[1]
	b.get("/account").is(http.StatusOK).has("On: signing in takes a code").hasNo(recovery)

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
	bob.get(v.path("")).is(http.StatusSeeOther) // the role has changed, so the session has ended
	bob = v.as("bob@example.org")
	bob.get(v.path("checks/new")).is(http.StatusOK)
	bob.get(v.path("keys")).is(http.StatusForbidden)
	bob.get(v.path("delete")).is(http.StatusForbidden)
	owner.get(member + "/remove").is(http.StatusOK)
	owner.post(member+"/remove", nil).is(http.StatusSeeOther)
	v.as("bob@example.org").get(v.path("")).is(http.StatusNotFound)
	v.as("bob@example.org").get("/projects").is(http.StatusOK).has("No projects yet")
}
