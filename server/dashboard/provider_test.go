package dashboard_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
)

// configured is a town with other accounts, and its log.
func configured(t *testing.T, s *site, c accounts.Config, configure ...func(*config)) (*town, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log)
		}
	})
	v := newTownOn(s)
	v.pages.Close()
	v.pages = v.newPages(append([]func(*config){v.accounts(c), func(of *config) {
		of.Logger = slog.New(slog.NewTextHandler(log, nil))
	}}, configure...)...)
	v.web.Config.Handler = v.pages
	return v, log
}

// city is a town whose people sign in at a provider.
type city struct {
	*town
	idp *oidctest.Provider
	log *bytes.Buffer
}

var ann = oidctest.Person{Subject: "s-ann", Email: "ann@example.org", Name: "Ann", Groups: []string{"ops"}}

func newCity(t *testing.T, roles ...string) *city {
	t.Helper()
	s := newSite(t)
	c := &city{idp: oidctest.New(t, s.web.URL+"/signin/oidc/callback", ann)}
	settings := oidc.Config{Issuer: c.idp.Issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret}
	for _, text := range roles {
		rule, err := oidc.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		settings.Roles = append(settings.Roles, rule)
	}
	provider, err := oidc.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	c.town, c.log = configured(t, s, accounts.Config{Provider: provider})
	return c
}

// signIn signs in at the provider, and returns the answer at the callback.
func (c *city) signIn(b *browser, email string) *answer {
	c.t.Helper()
	begun := b.get("/signin/oidc?next=" + url.QueryEscape(c.path("board"))).is(http.StatusSeeOther)
	return b.get(c.idp.SignIn(c.t, begun.header.Get("Location"), email).String())
}

// TestProviderSignIn signs in with nobody having an account before, and applies the roles at each sign-in.
func TestProviderSignIn(t *testing.T) {
	c := newCity(t, "groups:ops=editor@backups", "groups:root=admin")
	b := c.browser()
	b.get("/signin").is(http.StatusOK).has("Sign in with 127.0.0.1").hasNo(`name="password"`, `name="key"`)
	if to := c.signIn(b, ann.Email).is(http.StatusSeeOther).header.Get("Location"); to != c.path("board") {
		t.Errorf("signing in led to %s", to)
	}
	b.get(c.path("")).is(http.StatusOK).has("<summary>Ann</summary>").hasNo("read-only")
	b.get(c.path("members")).is(http.StatusForbidden)
	b.get("/people").is(http.StatusForbidden)

	promoted := ann
	promoted.Groups = []string{"root"}
	c.idp.Set(promoted)
	c.signIn(b, ann.Email).is(http.StatusSeeOther)
	b.get("/people").is(http.StatusOK)

	promoted.Groups = []string{"others"}
	c.idp.Set(promoted)
	c.signIn(b, ann.Email).is(http.StatusSeeOther)
	b.get("/people").is(http.StatusForbidden)
	b.get(c.path("")).is(http.StatusNotFound)
	b.get("/projects").is(http.StatusOK).has("Ask the owner of a project")
}

// TestProviderAttempts takes the answer to an attempt once, from the browser that began it, in time.
func TestProviderAttempts(t *testing.T) {
	c := newCity(t)
	b := c.browser()
	begin := func() string {
		return c.idp.SignIn(t, b.get("/signin/oidc").is(http.StatusSeeOther).header.Get("Location"), ann.Email).String()
	}
	back := begin()
	c.browser().get(back).is(http.StatusForbidden).has("began in another browser")
	b.get(back).is(http.StatusSeeOther)
	b.get(back).is(http.StatusForbidden)
	b.get("/projects").is(http.StatusOK) // the session goes on

	b = c.browser()
	back = begin()
	c.advance(11 * time.Minute)
	b.get(back).is(http.StatusForbidden).has("took too long")
	begin()
	b.get("/signin/oidc/callback?state=forged&code=stolen").is(http.StatusBadRequest).has("Start again")
	begin()
	b.get("/signin/oidc/callback?error=access_denied&state=forged").is(http.StatusBadRequest)
	b.get("/projects").is(http.StatusSeeOther)
	c.idp.Fail(oidctest.Faults{Deny: true})
	b.get(begin()).is(http.StatusForbidden).has("did not let you in")
	if text := c.log.String(); !strings.Contains(text, "not in the group") || strings.Contains(text, "code=") {
		t.Errorf("the log is %s", text)
	}
}

// TestProviderAccounts: an address that the provider has not verified takes over no account.
func TestProviderAccounts(t *testing.T) {
	c := newCity(t)
	known := c.person("ann@example.org", people.Owner)
	unverified := ann
	unverified.Unverified = true
	c.idp.Set(unverified)
	b := c.browser()
	c.signIn(b, ann.Email).is(http.StatusForbidden).has("has not verified that the address is yours")
	b.get(c.path("")).is(http.StatusSeeOther)
	c.idp.Set(ann)
	c.signIn(b, ann.Email).is(http.StatusSeeOther)
	b.get(c.path("members")).is(http.StatusOK)
	list, err := c.people.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != known.ID {
		t.Errorf("%+v, %v", list, err)
	}

	// Somebody else at the provider gets the address later.
	c.idp.Set(oidctest.Person{Subject: "s-gone", Email: "gone@example.org"})
	c.idp.Set(oidctest.Person{Subject: "s-ann", Email: "ann.new@example.org"})
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "ann@example.org"})
	c.signIn(c.browser(), "ann@example.org").is(http.StatusForbidden)
}

// TestHeldAtProvider: the page that holds a form sends it to where it belongs after signing in in another tab, also after a wrong
// password.
func TestHeldAtProvider(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	b := c.browser()
	c.signIn(b, ann.Email).is(http.StatusSeeOther)
	known, err := c.people.ByEmail(t.Context(), ann.Email)
	noError(t, err)
	noError(t, c.people.EndSessions(t.Context(), known.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-for-an-hour"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	to := `action="` + c.path("checks/new") + `"`
	held := b.post(c.path("checks/new"), form).is(http.StatusUnauthorized).has(to).held()
	b.post("/signin", url.Values{"email": {ann.Email}, "password": {"wrong"}, "held": held["held"]}).is(http.StatusForbidden).has(to)
	c.signIn(b, ann.Email).is(http.StatusSeeOther) // in another tab
	b.post(c.path("checks/new"), held).is(http.StatusSeeOther)
	b.get(c.path("")).is(http.StatusOK).has("typed-for-an-hour")
}

// TestUnverifiedAddress: an account whose address the provider has not verified gets no role that is meant for its owner.
func TestUnverifiedAddress(t *testing.T) {
	c := newCity(t)
	c.person("root@example.org", people.Owner)
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "boss@example.org", Unverified: true})
	c.signIn(c.browser(), "boss@example.org").is(http.StatusSeeOther)
	root := c.as("root@example.org")
	form := url.Values{"email": {"Boss@example.org"}, "role": {"owner"}}
	root.post(c.path("members"), form).is(http.StatusConflict).has("has not verified", `name="sure"`)
	eve, err := c.people.ByEmail(t.Context(), "boss@example.org")
	if err != nil || len(eve.Roles) > 0 {
		t.Errorf("%+v, %v", eve, err)
	}
	form.Set("sure", "1")
	root.post(c.path("members"), form).is(http.StatusSeeOther)
	root.get(c.path("members")).is(http.StatusOK).has("address not verified")
}

// TestEmergencyDoor signs in by a link of the command line while the provider is away.
func TestEmergencyDoor(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	c.idp.Fail(oidctest.Faults{Down: true})
	b := c.browser()
	b.get("/signin/oidc").is(http.StatusServiceUnavailable).has("does not answer", "rollcall user reset-password")
	_, link, err := c.people.Create(t.Context(), people.Spec{Email: "root@example.org", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	b.post("/signin/"+link.Token, url.Values{"password": {password}}).is(http.StatusSeeOther)
	b.get("/people").is(http.StatusOK)
	b.post("/signout", nil).is(http.StatusSeeOther)
	b.post("/signin", credentials("root@example.org")).is(http.StatusSeeOther)
	b.get("/people").is(http.StatusOK)
}

// proxied believes the header Remote-Email from these networks.
func proxied(t *testing.T, networks ...string) (*town, *bytes.Buffer) {
	t.Helper()
	return configured(t, newSite(t), accounts.Config{Header: "Remote-Email", KeySignIn: true}, func(of *config) {
		for _, text := range networks {
			of.TrustedProxies = append(of.TrustedProxies, netip.MustParsePrefix(text))
		}
	})
}

// by is a browser behind a proxy that signs this person in.
func (v *town) by(email ...string) *browser {
	b := v.browser()
	b.header["Remote-Email"] = email
	return b
}

func TestTrustedHeader(t *testing.T) {
	v, log := proxied(t, "127.0.0.0/8")
	b := v.by("ann@example.org")
	b.get("/").is(http.StatusForbidden).has("rollcall user create EMAIL --admin")
	v.person("root@example.org", "")

	// Somebody new has no roles, and gets them from an owner.
	b.get(v.path("")).is(http.StatusNotFound)
	b.get("/projects").is(http.StatusOK).has("Ask the owner of a project", "ann@example.org")
	created, err := v.people.ByEmail(t.Context(), "ann@example.org")
	if err != nil || created.Admin || len(created.Roles) > 0 || created.HasPassword {
		t.Fatalf("%+v, %v", created, err)
	}
	if err := v.people.SetRole(t.Context(), created.ID, v.project.ID, people.Editor); err != nil {
		t.Fatal(err)
	}
	b.get(v.path("")).is(http.StatusOK)

	// The session goes on without the header, and becomes another's with that of another.
	b.header.Del("Remote-Email")
	b.get(v.path("")).is(http.StatusOK).has("ann@example.org")
	b.header.Set("Remote-Email", "root@example.org")
	b.get("/people").is(http.StatusOK).has("root@example.org")
	b.header.Del("Remote-Email")
	b.get("/people").is(http.StatusOK)
	if sessions, err := v.people.Sessions(t.Context(), created.ID); err != nil || len(sessions) != 0 {
		t.Errorf("the first session is still there: %v, %v", sessions, err)
	}

	// A form that is sent with the header alone is taken.
	v.by("ANN@example.org ").post(v.path("checks/new"), url.Values{}).is(http.StatusBadRequest)
	for _, values := range [][]string{{"ann@example.org", "root@example.org"}, {"root@example.org", "root@example.org"}, {"root"}, {""}} {
		v.by(values...).get("/people").is(http.StatusSeeOther)
	}
	if text := log.String(); strings.Count(text, "must have one value") != 1 {
		t.Errorf("the log is %s", text)
	}
}

// TestHeaderOfStrangers ignores the header unless a trusted proxy has sent it, and says so once a minute.
func TestHeaderOfStrangers(t *testing.T) {
	v, log := proxied(t, "192.0.2.0/24")
	v.person("root@example.org", "")
	b := v.by("root@example.org")
	b.header.Set("X-Forwarded-For", "192.0.2.1")
	for range 3 {
		b.get("/people").is(http.StatusSeeOther)
	}
	v.advance(time.Minute)
	b.get("/people").is(http.StatusSeeOther)
	text := log.String()
	if strings.Count(text, "not sent by one of the trusted proxies") != 2 || !strings.Contains(text, "unlogged=2") || strings.Contains(text, "root@") {
		t.Errorf("the log is %s", text)
	}
	// A session by key is not touched.
	b = v.signedIn(v.keys.ReadWrite)
	b.header.Set("Remote-Email", "root@example.org")
	b.get(v.path("")).is(http.StatusOK)
}

// TestPasskeySignIn refuses what proves nothing, and adds no passkey without the password.
func TestPasskeySignIn(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	v, log := configured(t, newSite(t), accounts.Config{Passkeys: keys})
	v.person("ann@example.org", people.Owner)
	b := v.browser()
	b.get("/signin").is(http.StatusOK).has("Sign in with a passkey")
	b.post("/signin/passkey", url.Values{"answer": {"{}"}}).is(http.StatusForbidden)
	b.post("/signin/passkey-options", url.Values{}).is(http.StatusOK).has(`"userVerification":"required"`)
	kept := b.cookies()
	b.post("/signin/passkey", url.Values{"answer": {"{}"}}).is(http.StatusForbidden).has("was not accepted")
	b.setCookies(kept)
	b.post("/signin/passkey", url.Values{"answer": {"{}"}}).is(http.StatusForbidden)
	if lines := strings.Count(log.String(), "refused a passkey"); lines != 3 {
		t.Errorf("%d lines: %s", lines, log)
	}

	b.get("/account/passkeys").is(http.StatusSeeOther)
	b.post("/signin", credentials("ann@example.org")).is(http.StatusSeeOther)
	b.get("/account").is(http.StatusOK).has("/account/passkeys")
	b.get("/account/passkeys").is(http.StatusOK)
	b.post("/account/passkeys/options", url.Values{"password": {"guess"}}).is(http.StatusForbidden).has("The password is wrong.")
	b.post("/account/passkeys", url.Values{"answer": {"{}"}}).is(http.StatusForbidden).has("was not added")
	b.post("/account/passkeys/options", url.Values{"password": {password}}).is(http.StatusOK).has(`"residentKey":"required"`)
	b.post("/account/passkeys", url.Values{"answer": {"{}"}}).is(http.StatusForbidden)
	b.post("/account/passkeys/delete", url.Values{"id": {"AAAA"}}).is(http.StatusNotFound)
	// What was kept for a sign-in adds no passkey.
	b.post("/signin/passkey-options", url.Values{}).is(http.StatusOK)
	b.post("/account/passkeys", url.Values{"answer": {"{}"}}).is(http.StatusForbidden)
}

// TestHeaderIsForPages: what is for machines answers alike with and without the header, and starts no session.
func TestHeaderIsForPages(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	check := v.create(checks.Spec{Name: new("nightly"), Tags: []string{"public"}})
	if _, err := v.mon.Project(v.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "jobs", Title: "Jobs", Tags: []string{"public"}}); err != nil {
		t.Fatal(err)
	}
	c := config{pages: dashboard.Config{Accounts: accounts.New(v.people, &accounts.Config{Header: "Remote-Email"})}}
	c.BaseURL, c.TrustedProxies, c.Dashboard = v.web.URL, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, &c.pages
	srv, err := server.New(v.mon, &c.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	v.web.Config.Handler = srv
	v.by("root@example.org").get("/people").is(http.StatusOK)
	for path, want := range map[string]int{
		"/api/v3/checks/": 401, "/api/v3/channels/": 401, "/api/v3/metrics/": 401, "/api/v3/status/": 200, "/badge/none/none/all.svg": 404,
		"/status/jobs": 200, "/status/jobs/feed.atom": 200, "/ping/" + check.ID.String(): 200, "/ping/" + v.project.PingKey + "/none": 404,
		"/livez": 200, "/readyz": 200, "/unsubscribe/none": 404, "/metrics": 404,
	} {
		without := v.browser().get(path).is(want)
		with := v.by("eve@example.org").get(path).is(want)
		if with.body != without.body || with.header.Get("Set-Cookie") != "" {
			t.Errorf("%s depends on the header: %s", path, with.body)
		}
	}
	if _, err := v.people.ByEmail(t.Context(), "eve@example.org"); err == nil {
		t.Error("a request of a machine has made an account")
	}
}
