package accounts_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestConfirmAtProvider: who signs in at a provider confirms there, and only by signing in there since.
func TestConfirmAtProvider(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	c.idp.Set(oidctest.Person{Subject: "s-eve", Email: "eve@example.org", Groups: []string{"ops"}})
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	c.Advance(time.Hour)
	form := url.Values{"kind": {"read-ids"}}
	held := b.Post(c.Path("keys"), form).Is(http.StatusForbidden).Has("Confirm with 127.0.0.1", "/signin/oidc?again=1").HasNo("confirm-password").Held()
	held.Set("confirm", "provider")
	b.Post(c.Path("keys"), held).Is(http.StatusForbidden).Has("You have not confirmed yet.")
	again := func(email string) *pagetest.Answer {
		t.Helper()
		to := b.Get("/signin/oidc?again=1").Is(http.StatusSeeOther).Location()
		u, err := url.Parse(to)
		pagetest.NoError(t, err)
		if q := u.Query(); q.Get("prompt") != "login" || q.Get("max_age") != "0" {
			t.Errorf("the provider is asked for %s", to)
		}
		return b.Get(c.idp.SignIn(t, to, email).String())
	}
	for _, fault := range []oidctest.Faults{
		{Claims: func(claims map[string]any) { delete(claims, "auth_time") }},
		{Claims: func(claims map[string]any) { claims["auth_time"] = time.Now().Add(-5 * time.Minute).Unix() }},
		{Claims: func(claims map[string]any) { claims["auth_time"] = "now" }},
		{Claims: func(claims map[string]any) { claims["auth_time"] = -1 }},
	} {
		c.idp.Fail(fault)
		again(ann.Email).Is(http.StatusForbidden)
		b.Post(c.Path("keys"), held).Is(http.StatusForbidden).Has("You have not confirmed yet.")
	}
	c.idp.Fail(oidctest.Faults{})
	again("eve@example.org").Is(http.StatusForbidden).Has("as somebody else")
	b.Post(c.Path("keys"), held).Is(http.StatusForbidden)
	again(ann.Email).Is(http.StatusSeeOther)
	b.Post(c.Path("keys"), held).Is(http.StatusOK).Has("Your new read-ids key")

	// A sign-in with a session that the provider has had for an hour is not recent.
	c.idp.Fail(oidctest.Faults{Claims: func(claims map[string]any) { claims["auth_time"] = time.Now().Add(-time.Hour).Unix() }})
	b = c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Post(c.Path("keys"), form).Is(http.StatusForbidden).Has("Confirm with")
}

// TestFactorOfProvider: the second factor of who signs in at a provider or by a proxy is the business of those.
func TestFactorOfProvider(t *testing.T) {
	c := newCity(t, "groups:ops=owner@backups")
	known, err := people.New(c.Mon, &people.Config{SecondFactor: people.OfAll})
	pagetest.NoError(t, err)
	c.People = known
	c.Serve(c.Accounts(accounts.Config{Provider: c.provider, Header: "Remote-Email"}), func(of *pagetest.Config) {
		of.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	b := c.Browser()
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get(c.Path("")).Is(http.StatusOK)
	proxied := c.Browser()
	proxied.Header.Set("Remote-Email", ann.Email)
	proxied.Get(c.Path("")).Is(http.StatusOK)
	// With a password beside the provider, they sign in like others.
	who, err := c.People.ByEmail(t.Context(), ann.Email)
	pagetest.NoError(t, err)
	link, err := c.People.ResetPassword(t.Context(), who.ID)
	pagetest.NoError(t, err)
	_, err = c.People.UseLink(t.Context(), link.Token, "", "", pagetest.Password)
	pagetest.NoError(t, err)
	if to := c.As(ann.Email).Get(c.Path("")).Is(http.StatusSeeOther).Location(); to != "/account/totp" {
		t.Errorf("by password it leads to %s", to)
	}
	c.signIn(b, ann.Email).Is(http.StatusSeeOther)
	b.Get(c.Path("")).Is(http.StatusOK)
}
