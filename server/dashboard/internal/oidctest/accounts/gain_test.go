package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestOwnerAndProvider: an owner who has invited an address, or set its password by the link, does not get what the person has at
// the provider.
func TestOwnerAndProvider(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		c := newCity(t, "groups:root=admin")
		c.idp.Set(oidctest.Person{Subject: "s-boss", Email: "boss@example.org", Name: "Boss", Groups: []string{"root"}})
		link := c.Invite("Boss@example.org")
		var session *pagetest.Browser
		if prepare {
			session = c.Prepared(link)
		}
		boss := c.Browser()
		c.signIn(boss, "boss@example.org").Is(http.StatusSeeOther)
		page := boss.Get("/people").Is(http.StatusOK)
		if told := strings.Contains(page.Body, "have ended, because somebody else"); told != prepare {
			t.Errorf("prepared %t: the page says what has ended: %t", prepare, told)
		}
		c.NothingOpens(link, "boss@example.org", session)
		boss.Get("/people").Is(http.StatusOK)
		boss.Get("/account").Is(http.StatusOK)
	}
}

// TestAtProviderWhileSessionsEnd: all sessions end while a person is at the provider; the sign-in must start over.
func TestAtProviderWhileSessionsEnd(t *testing.T) {
	c := newCity(t)
	c.signIn(c.Browser(), ann.Email).Is(http.StatusSeeOther)
	known, err := c.People.ByEmail(t.Context(), ann.Email)
	pagetest.NoError(t, err)
	b := c.Browser()
	begun := b.Get("/signin/oidc").Is(http.StatusSeeOther)
	c.Advance(time.Second)
	pagetest.NoError(t, c.People.EndSessions(t.Context(), known.ID, ""))
	b.Get(c.idp.SignIn(t, begun.Header.Get("Location"), ann.Email).String()).Is(http.StatusForbidden).Has("Your account changed while you signed in")
	b.Get("/account").Is(http.StatusSeeOther)
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get("/account").Is(http.StatusOK)
}

// TestNamesOfProviders: no name that a provider sends keeps a person out.
func TestNamesOfProviders(t *testing.T) {
	c := newCity(t)
	for i, names := range [][2]string{
		{"علی\u200cرضا", "علی\u200cرضا"}, {"👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"}, {"क्\u200dष", "क्\u200dष"},
		{"An\u200dn", "Ann"}, {"Ann\u202e\u2066 Ops\x00\x1b[31m\u00ad\ufeff", "Ann Ops[31m"}, {" Ann\r\n\tOps \u200d", "Ann   Ops"},
		{strings.Repeat("ä", 101), strings.Repeat("ä", 100)}, {strings.Repeat("n", 5000), strings.Repeat("n", 100)},
		{strings.Repeat("👨\u200d", 60), strings.Repeat("👨\u200d", 49) + "👨"}, {"\u200b\u202e", ""}, {"A\u030a", "\u00c5"},
	} {
		email := fmt.Sprintf("p%d@example.org", i)
		c.idp.Set(oidctest.Person{Subject: email, Email: email, Name: names[0]})
		c.signIn(c.Browser(), email).Is(http.StatusSeeOther)
		known, err := c.People.ByEmail(t.Context(), email)
		pagetest.NoError(t, err)
		if known.Name != names[1] {
			t.Errorf("%q is stored as %q, want %q", names[0], known.Name, names[1])
		}
	}
	// What people type is refused, and what joins is none of it.
	known, err := c.People.ByEmail(t.Context(), "p0@example.org")
	pagetest.NoError(t, err)
	pagetest.NoError(t, c.People.SetName(t.Context(), known.ID, "علی\u200cرضا"))
	for _, name := range []string{"An\u200dn", "Ann\u202e", strings.Repeat("n", 101), "\xff"} {
		if c.People.SetName(t.Context(), known.ID, name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}
