package browsertest_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// restart starts the server with other accounts.
func (s *site) restart(c accounts.Config) {
	s.Helper()
	answer, err := http.Get(s.url + "/livez") // a server that has not begun would not release its address
	s.must(err)
	answer.Body.Close()
	s.stop()
	s.accounts = &c
	s.start()
}

// TestSignInWithProvider goes to an identity provider and comes back, with nobody having an account before.
func TestSignInWithProvider(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	idp := oidctest.New(t, s.url+"/signin/oidc/callback", oidctest.Person{Subject: "s-ann", Email: "ann@example.org", Name: "Ann", Groups: []string{"ops"}})
	rule, err := oidc.ParseRule("groups:ops=owner@harbor")
	s.must(err)
	provider, err := oidc.New(oidc.Config{Issuer: idp.Issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret, Roles: []oidc.Rule{rule}, Logger: slog.New(slog.DiscardHandler)})
	s.must(err)
	s.restart(accounts.Config{Provider: provider})

	page := browsertest.Open(t, s.url)
	page.Tolerate("request to another host: " + idp.Issuer)
	page.Go(s.path("board"))
	page.WaitText("h1", "Sign in")
	page.Axe()
	page.Submit("main a.primary")
	page.Type("input[name=email]", "ann@example.org")
	page.Type("input[name=password]", oidctest.Password)
	page.Submit("button")
	if got, want := page.Path(), s.path("board"); got != want {
		t.Errorf("signing in led to %s, want %s", got, want)
	}
	page.WaitText("header", "Ann")
	page.Go(s.path("members"))
	page.WaitText("main", "ann@example.org")

	idp.Fail(oidctest.Faults{Deny: true})
	page = browsertest.Open(t, s.url)
	page.Tolerate("request to another host: " + idp.Issuer)
	page.Tolerate("status of 403")
	page.Go("/signin")
	page.Submit("main a.primary")
	page.Submit("button")
	page.WaitText("main", "The identity provider did not let you in.")
}

// TestSignInWithPasskey adds a passkey, signs in with it instead of a password and a code, and deletes it.
func TestSignInWithPasskey(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.host = "localhost" // browsers have no passkeys for addresses
	keys, err := passkey.New(strings.Replace(s.url, "127.0.0.1", s.host, 1))
	s.must(err)
	s.restart(accounts.Config{Passkeys: keys})
	s.person("ann@example.org", people.Owner)
	page := s.as("ann@example.org")
	page.Authenticator()
	s.setUpApp(page)

	page.Go("/account")
	page.Submit("a[href$='/account/passkeys']")
	page.Axe()
	page.Type("#name", "my phone")
	page.Type("#passkey-password", "wrong horse battery")
	page.Tolerate("status of 403")
	page.Click("main .primary")
	page.WaitText("main form", "The password is wrong.")
	page.Type("#passkey-password", password)
	page.Submit("main .primary")
	page.WaitText("main", "my phone")
	page.Fits()

	page.Click(".viewer summary")
	page.Submit(".viewer button")
	page.Go(s.path("board"))
	page.Axe()
	page.Submit("form[data-passkey] button")
	if got, want := page.Path(), s.path("board"); got != want {
		t.Errorf("signing in led to %s, want %s", got, want)
	}
	page.WaitText("header", "ann@example.org")

	page.Go("/account/passkeys")
	page.Submit("main button.danger")
	page.WaitText("body", "Deleted the passkey")
	page.Click(".viewer summary")
	page.Submit(".viewer button")
	page.Submit("form[data-passkey] button")
	page.WaitText("main", "This passkey was not accepted.")
}
