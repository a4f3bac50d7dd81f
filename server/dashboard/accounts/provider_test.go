package accounts_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestHeaderAndClaim: the word of a proxy counts more than an address that the provider has not verified.
func TestHeaderAndClaim(t *testing.T) {
	v := proxied(t, "127.0.0.0/8")
	v.Person("root@example.org", "")
	eve, err := v.People.SignInExternal(t.Context(), people.External{Issuer: "https://id.example.org", Subject: "eve", Email: "ann@example.org", Name: "Eve"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		by(v, "ann@example.org").Get("/account").Is(http.StatusOK).Has("ann@example.org").HasNo("Eve")
	}
	if found, err := v.People.ByEmail(t.Context(), "ann@example.org"); err != nil || found.ID == eve.ID || !found.Proved {
		t.Errorf("%+v, %v", found, err)
	}
}

// proxied believes the header Remote-Email from these networks.
func proxied(t *testing.T, networks ...string) *pagetest.Town {
	t.Helper()
	return pagetest.New(t).Town(accounts.Config{Header: "Remote-Email", KeySignIn: true}, func(of *pagetest.Config) {
		for _, text := range networks {
			of.TrustedProxies = append(of.TrustedProxies, netip.MustParsePrefix(text))
		}
	})
}

// by is a browser behind a proxy that signs this person in.
func by(v *pagetest.Town, email ...string) *pagetest.Browser {
	b := v.Browser()
	b.Header["Remote-Email"] = email
	return b
}

func TestTrustedHeader(t *testing.T) {
	v := proxied(t, "127.0.0.0/8")
	b := by(v, "ann@example.org")
	b.Get("/").Is(http.StatusForbidden).Has("rollcall user create EMAIL --admin")
	v.Person("root@example.org", "")

	// Somebody new has no roles, and gets them from an owner.
	b.Get(v.Path("")).Is(http.StatusNotFound)
	b.Get("/projects").Is(http.StatusOK).Has("Ask the owner of a project", "ann@example.org")
	created, err := v.People.ByEmail(t.Context(), "ann@example.org")
	if err != nil || created.Admin || len(created.Roles) > 0 || created.HasPassword {
		t.Fatalf("%+v, %v", created, err)
	}
	if err := v.People.SetRole(t.Context(), created.ID, v.Project.ID, people.Editor); err != nil {
		t.Fatal(err)
	}
	b.Get(v.Path("")).Is(http.StatusOK)

	// The session goes on without the header, and becomes another's with that of another.
	b.Header.Del("Remote-Email")
	b.Get(v.Path("")).Is(http.StatusOK).Has("ann@example.org")
	b.Header.Set("Remote-Email", "root@example.org")
	b.Get("/people").Is(http.StatusOK).Has("root@example.org")
	b.Header.Del("Remote-Email")
	b.Get("/people").Is(http.StatusOK)
	if sessions, err := v.People.Sessions(t.Context(), created.ID); err != nil || len(sessions) != 0 {
		t.Errorf("the first session is still there: %v, %v", sessions, err)
	}

	// A form that is sent with the header alone is taken.
	by(v, "ANN@example.org ").Post(v.Path("checks/new"), url.Values{}).Is(http.StatusBadRequest)
	for _, values := range [][]string{{"ann@example.org", "root@example.org"}, {"root@example.org", "root@example.org"}, {"root"}, {""}} {
		by(v, values...).Get("/people").Is(http.StatusSeeOther)
	}
	if text := v.Log.String(); strings.Count(text, "must have one value") != 1 {
		t.Errorf("the log is %s", text)
	}
}

// TestHeaderOfStrangers ignores the header unless a trusted proxy has sent it, and says so once a minute.
func TestHeaderOfStrangers(t *testing.T) {
	v := proxied(t, "192.0.2.0/24")
	v.Person("root@example.org", "")
	b := by(v, "root@example.org")
	b.Header.Set("X-Forwarded-For", "192.0.2.1")
	for range 3 {
		b.Get("/people").Is(http.StatusSeeOther)
	}
	v.Advance(time.Minute)
	b.Get("/people").Is(http.StatusSeeOther)
	text := v.Log.String()
	if strings.Count(text, "not sent by one of the trusted proxies") != 2 || !strings.Contains(text, "unlogged=2") || strings.Contains(text, "root@") {
		t.Errorf("the log is %s", text)
	}
	// A session by key is not touched.
	b = v.SignedIn(v.Keys.ReadWrite)
	b.Header.Set("Remote-Email", "root@example.org")
	b.Get(v.Path("")).Is(http.StatusOK)
}

// TestPasskeySignIn refuses what proves nothing, and adds no passkey without the password.
func TestPasskeySignIn(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	v := pagetest.New(t).Town(accounts.Config{Passkeys: keys})
	v.Person("ann@example.org", people.Owner)
	b := v.Browser()
	b.Get("/signin").Is(http.StatusOK).Has("Sign in with a passkey")
	b.Post("/signin/passkey", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden)
	b.Post("/signin/passkey-options", url.Values{}).Is(http.StatusOK).Has(`"userVerification":"required"`)
	kept := b.Cookies()
	b.Post("/signin/passkey", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden).Has("was not accepted")
	b.SetCookies(kept)
	b.Post("/signin/passkey", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden)
	if lines := strings.Count(v.Log.String(), "refused a passkey"); lines == 0 || lines > 3 { // those for one reason are counted
		t.Errorf("%d lines: %s", lines, v.Log.String())
	}

	b.Get("/account/passkeys").Is(http.StatusSeeOther)
	b.Post("/signin", pagetest.Credentials("ann@example.org")).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK).Has("/account/passkeys")
	b.Get("/account/passkeys").Is(http.StatusOK)
	b.Post("/account/passkeys/options", url.Values{"password": {"guess"}}).Is(http.StatusForbidden).Has("The password is wrong.")
	b.Post("/account/passkeys", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden).Has("was not added")
	b.Post("/account/passkeys/options", url.Values{"password": {pagetest.Password}}).Is(http.StatusOK).Has(`"residentKey":"required"`)
	b.Post("/account/passkeys", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden)
	b.Post("/account/passkeys/delete", url.Values{"id": {"AAAA"}}).Is(http.StatusNotFound)
	// What was kept for a sign-in adds no passkey.
	b.Post("/signin/passkey-options", url.Values{}).Is(http.StatusOK)
	b.Post("/account/passkeys", url.Values{"answer": {"{}"}}).Is(http.StatusForbidden)
}

// TestHeaderIsForPages: what is for machines answers alike with and without the header, and starts no session.
func TestHeaderIsForPages(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	check := v.Create(checks.Spec{Name: new("nightly"), Tags: []string{"public"}})
	if _, err := v.Mon.Project(v.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "jobs", Title: "Jobs", Tags: []string{"public"}}); err != nil {
		t.Fatal(err)
	}
	c := pagetest.Config{Pages: dashboard.Config{Accounts: accounts.New(v.People, &accounts.Config{Header: "Remote-Email"})}}
	c.BaseURL, c.TrustedProxies, c.Dashboard = v.Web.URL, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, &c.Pages
	srv, err := server.New(v.Mon, &c.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	v.Web.Config.Handler = srv
	by(v, "root@example.org").Get("/people").Is(http.StatusOK)
	for path, want := range map[string]int{
		"/api/v3/checks/": 401, "/api/v3/channels/": 401, "/api/v3/metrics/": 401, "/api/v3/status/": 200, "/badge/none/none/all.svg": 404,
		"/status/jobs": 200, "/status/jobs/feed.atom": 200, "/ping/" + check.ID.String(): 200, "/ping/" + v.Project.PingKey + "/none": 404,
		"/livez": 200, "/readyz": 200, "/unsubscribe/none": 404, "/metrics": 404,
	} {
		without := v.Browser().Get(path).Is(want)
		with := by(v, "eve@example.org").Get(path).Is(want)
		if with.Body != without.Body || with.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s depends on the header: %s", path, with.Body)
		}
	}
	if _, err := v.People.ByEmail(t.Context(), "eve@example.org"); err == nil {
		t.Error("a request of a machine has made an account")
	}
}
