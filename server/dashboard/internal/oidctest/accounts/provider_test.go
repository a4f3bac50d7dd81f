package accounts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// city is a town whose people sign in at a provider.
type city struct {
	*pagetest.Town
	idp      *oidctest.Provider
	provider *oidc.Provider
}

var ann = oidctest.Person{Subject: "s-ann", Email: "ann@example.org", Name: "Ann", Groups: []string{"ops"}}

func newCity(t *testing.T, roles ...string) *city {
	t.Helper()
	s := pagetest.New(t)
	c := &city{idp: oidctest.New(t, s.Web.URL+"/signin/oidc/callback", ann)}
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
	c.provider = provider
	c.Town = s.Town(accounts.Config{Provider: provider})
	return c
}

// signIn signs in at the provider, and returns the answer at the callback.
func (c *city) signIn(b *pagetest.Browser, email string) *pagetest.Answer {
	c.T.Helper()
	begun := b.Get("/signin/oidc?next=" + url.QueryEscape(c.Path("board"))).Is(http.StatusSeeOther)
	return b.Get(c.idp.SignIn(c.T, begun.Header.Get("Location"), email).String())
}

// TestProviderSignIn signs in with nobody having an account before, and applies the roles at each sign-in.
func TestProviderSignIn(t *testing.T) {
	c := newCity(t, "groups:ops=editor@backups", "groups:root=admin")
	b := c.Browser()
	b.Get("/signin").Is(http.StatusOK).Has("Sign in with 127.0.0.1").HasNo(`name="password"`, `name="key"`)
	if to := c.signIn(b, ann.Email).Is(http.StatusSeeOther).Header.Get("Location"); to != c.Path("board") {
		t.Errorf("signing in led to %s", to)
	}
	b.Get(c.Path("")).Is(http.StatusOK).Has("<summary>Ann</summary>").HasNo("read-only")
	b.Get(c.Path("members")).Is(http.StatusForbidden)
	b.Get("/people").Is(http.StatusForbidden)

	promoted := ann
	promoted.Groups = []string{"root"}
	c.idp.Set(promoted)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get("/people").Is(http.StatusOK)

	c.Person("root@example.org", "") // the last administrator stays one
	promoted.Groups = []string{"others"}
	c.idp.Set(promoted)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get("/people").Is(http.StatusForbidden)
	b.Get(c.Path("")).Is(http.StatusNotFound)
	b.Get("/projects").Is(http.StatusOK).Has("Ask the owner of a project")
}

// TestProviderAttempts takes the answer to an attempt once, from the browser that began it, in time.
func TestProviderAttempts(t *testing.T) {
	c := newCity(t)
	b := c.Browser()
	begin := func() string {
		return c.idp.SignIn(t, b.Get("/signin/oidc").Is(http.StatusSeeOther).Header.Get("Location"), ann.Email).String()
	}
	back := begin()
	c.Browser().Get(back).Is(http.StatusForbidden).Has("began in another browser")
	b.Get(back).Is(http.StatusSeeOther)
	b.Get(back).Is(http.StatusForbidden)
	b.Get("/projects").Is(http.StatusOK) // the session goes on

	b = c.Browser()
	back = begin()
	c.Advance(11 * time.Minute)
	b.Get(back).Is(http.StatusForbidden).Has("took too long")
	begin()
	b.Get("/signin/oidc/callback?state=forged&code=stolen").Is(http.StatusBadRequest).Has("Start again")
	begin()
	b.Get("/signin/oidc/callback?error=access_denied&state=forged").Is(http.StatusBadRequest)
	b.Get("/projects").Is(http.StatusSeeOther)
	c.idp.Fail(oidctest.Faults{Deny: true})
	b.Get(begin()).Is(http.StatusForbidden).Has("did not let you in")
	if text := c.Log.String(); !strings.Contains(text, "not in the group") || strings.Contains(text, "code=") {
		t.Errorf("the log is %s", text)
	}
}

// TestProviderAccounts: an address that the provider has not verified takes over no account.
func TestProviderAccounts(t *testing.T) {
	c := newCity(t)
	known := c.Person("ann@example.org", people.Owner)
	unverified := ann
	unverified.Unverified = true
	c.idp.Set(unverified)
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusForbidden).Has("has not verified that the address is yours")
	b.Get(c.Path("")).Is(http.StatusSeeOther)
	c.idp.Set(ann)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get(c.Path("members")).Is(http.StatusOK)
	list, err := c.People.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != known.ID {
		t.Errorf("%+v, %v", list, err)
	}

	// Somebody else at the provider gets the address later.
	c.idp.Set(oidctest.Person{Subject: "s-gone", Email: "gone@example.org"})
	c.idp.Set(oidctest.Person{Subject: "s-ann", Email: "ann.new@example.org"})
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "ann@example.org"})
	c.signIn(c.Browser(), "ann@example.org").Is(http.StatusForbidden)
}

// TestHeldAtProvider: the page that holds a form sends it to where it belongs after signing in in another tab, also after a wrong
// password.
func TestHeldAtProvider(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	known, err := c.People.ByEmail(t.Context(), ann.Email)
	pagetest.NoError(t, err)
	pagetest.NoError(t, c.People.EndSessions(t.Context(), known.ID, ""))
	form := url.Values{"id": {uuid.NewString()}, "name": {"typed-for-an-hour"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	to := `action="` + c.Path("checks/new") + `"`
	held := b.Post(c.Path("checks/new"), form).Is(http.StatusUnauthorized).Has(to).Held()
	b.Post("/signin", url.Values{"email": {ann.Email}, "password": {"wrong"}, "held": held["held"]}).Is(http.StatusForbidden).Has(to)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther) // in another tab
	b.Post(c.Path("checks/new"), held).Is(http.StatusSeeOther)
	b.Get(c.Path("")).Is(http.StatusOK).Has("typed-for-an-hour")
}

// TestUnverifiedAddress: an account whose address the provider has not verified gets no role that is meant for its owner.
func TestUnverifiedAddress(t *testing.T) {
	c := newCity(t)
	c.Person("root@example.org", people.Owner)
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "boss@example.org", Unverified: true})
	c.signIn(c.Browser(), "boss@example.org").Is(http.StatusSeeOther)
	root := c.As("root@example.org")
	form := url.Values{"email": {"Boss@example.org"}, "role": {"owner"}}
	root.Post(c.Path("members"), form).Is(http.StatusConflict).Has("has not verified", `name="sure"`)
	eve, err := c.People.ByEmail(t.Context(), "boss@example.org")
	if err != nil || len(eve.Roles) > 0 {
		t.Errorf("%+v, %v", eve, err)
	}
	form.Set("sure", "1")
	root.Post(c.Path("members"), form).Is(http.StatusSeeOther)
	root.Get(c.Path("members")).Is(http.StatusOK).Has("address not verified")

	// If it is not, the owner of the address gets an account of their own.
	c.idp.Set(oidctest.Person{Subject: "s-mallory", Email: "chief@example.org", Unverified: true})
	mallory := c.Browser()
	c.signIn(mallory, "chief@example.org").Is(http.StatusSeeOther)
	form = url.Values{"email": {"chief@example.org"}, "role": {"owner"}, "sure": {"no"}}
	root.Post(c.Path("members"), form).Is(http.StatusOK).Has("/signin/", "Another account claims this address")
	chief, err := c.People.ByEmail(t.Context(), "chief@example.org")
	if err != nil || chief.Unverified || chief.Roles[c.Project.ID] != people.Owner {
		t.Errorf("%+v, %v", chief, err)
	}
	mallory.Get(c.Path("")).Is(http.StatusNotFound)
	root.Post(c.Path("members"), form).Is(http.StatusBadRequest).Has("a member already")
}

// TestUnverifiedHolds: an account whose address the provider has not verified does not keep its owner out.
func TestUnverifiedHolds(t *testing.T) {
	c := newCity(t)
	c.Person("root@example.org", people.Owner)
	c.idp.Set(oidctest.Person{Subject: ann.Subject, Email: "away@example.org"})
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: ann.Email, Name: "Eve", Unverified: true})
	eve := c.Browser()
	c.signIn(eve, ann.Email).Is(http.StatusSeeOther)
	held, err := c.People.ByEmail(t.Context(), ann.Email)
	if err != nil || !held.Unverified {
		t.Fatalf("%+v, %v", held, err)
	}
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "eve@example.net"})
	c.idp.Set(ann)
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK).Has(ann.Email, "Ann").HasNo("Eve")
	eve.Get("/account").Is(http.StatusOK).Has("Eve")
	if found, err := c.People.ByEmail(t.Context(), ann.Email); err != nil || found.ID == held.ID || found.Unverified {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestLastAdministratorStays: a sign-in whose claims would take the last administrator says that it does not.
func TestLastAdministratorStays(t *testing.T) {
	c := newCity(t, "groups:root=admin")
	root := ann
	root.Groups = []string{"root"}
	c.idp.Set(root)
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	c.idp.Set(ann)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get("/people").Is(http.StatusOK).Has("You are still an administrator, because there is no other.")
}

// TestEmergencyDoor signs in by a link of the command line while the provider is away.
func TestEmergencyDoor(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	c.idp.Fail(oidctest.Faults{Down: true})
	b := c.Browser()
	b.Get("/signin/oidc").Is(http.StatusServiceUnavailable).Has("does not answer", "rollcall user reset-password")
	_, link, err := c.People.Create(t.Context(), people.Spec{Email: "root@example.org", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Post("/signin/"+link.Token, url.Values{"password": {pagetest.Password}}).Is(http.StatusSeeOther)
	b.Get("/people").Is(http.StatusOK)
	b.Post("/signout", nil).Is(http.StatusSeeOther)
	b.Post("/signin", pagetest.Credentials("root@example.org")).Is(http.StatusSeeOther)
	b.Get("/people").Is(http.StatusOK)
}
