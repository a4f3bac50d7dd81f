package accounts_test

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// with returns a form with more fields.
func with(form url.Values, more ...string) url.Values {
	all := url.Values{}
	for name, values := range form {
		all[name] = values
	}
	for i := 0; i < len(more); i += 2 {
		all.Set(more[i], more[i+1])
	}
	return all
}

var (
	totpSecret = regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`)
	totpKept   = regexp.MustCompile(`name="kept" value="([^"]+)"`)
)

// setUp sets up an authenticator app in a browser, and returns its secret.
func setUp(v *pagetest.Town, b *pagetest.Browser) string {
	v.T.Helper()
	page := b.Get("/account/totp").Is(http.StatusOK).Body
	secret := strings.ReplaceAll(totpSecret.FindStringSubmatch(page)[1], " ", "")
	b.Post("/account/totp", url.Values{"kept": {totpKept.FindStringSubmatch(page)[1]}, "code": {code(v.T, secret, v.Now())}, "password": {pagetest.Password}}).Is(http.StatusOK).Has("recovery codes")
	return secret
}

// code returns what the app shows.
func code(t *testing.T, secret string, now time.Time) string {
	t.Helper()
	text, err := totp.GenerateCode(secret, now)
	pagetest.NoError(t, err)
	return text
}

// count returns how many keys the project has.
func count(v *pagetest.Town) int {
	v.T.Helper()
	list, err := v.Mon.Project(v.Project.ID).Keys(v.T.Context())
	pagetest.NoError(v.T, err)
	return len(list)
}

// TestConfirm: after 15 minutes, an action asks who it is, and goes on with what was typed once that is proved. The session gets a new
// token, and its end in any case stays.
func TestConfirm(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	v.Person("eve@example.org", people.Owner)
	b, keys := v.As("root@example.org"), count(v)
	v.Advance(time.Hour)
	form := url.Values{"kind": {"read-only"}, "expires": {"2027-03-31"}}
	asked := b.Post(v.Path("keys"), form).Is(http.StatusForbidden).Has("Confirm it’s you", "What you entered is kept", `action="`+v.Path("keys")+`"`, `name="confirm-password"`).HasNo(`name="confirm-code"`, "2027-03-31")
	held := asked.Held()
	wrong := b.Post(v.Path("keys"), with(held, "confirm", "password", "confirm-password", "wrong")).Is(http.StatusForbidden).Has("The password is wrong.").HasNo("wrong\"")
	b.Post(v.Path("keys"), with(wrong.Held(), "confirm", "nonsense")).Is(http.StatusForbidden)
	b.Post(v.Path("keys"), with(wrong.Held(), "confirm", "passkey", "answer", "{}")).Is(http.StatusForbidden)
	b.Post(v.Path("keys"), with(wrong.Held(), "confirm", "key", "confirm-key", v.Key(checks.Admin))).Is(http.StatusForbidden)
	keys++ // that of the line above
	if n := count(v); n != keys {
		t.Fatalf("%d keys before anything was confirmed, want %d", n, keys)
	}
	before := b.Cookies()
	b.Post(v.Path("keys"), with(wrong.Held(), "confirm", "password", "confirm-password", pagetest.Password)).Is(http.StatusOK).Has("Your new read-only key", "31 Mar 2027")
	if n := count(v); n != keys+1 {
		t.Errorf("%d keys, want %d", n, keys+1)
	}
	stolen := v.Browser()
	stolen.SetCookies(before)
	stolen.Get("/account").Is(http.StatusSeeOther)
	b.Post(v.Path("ping-key"), nil).Is(http.StatusSeeOther)
	v.Serve(v.Accounts(accounts.Config{KeySignIn: true})) // another server, or this one after a restart
	b.Post(v.Path("ping-key"), nil).Is(http.StatusSeeOther)

	// A form without fields, and a page.
	v.Advance(time.Hour)
	b.Post(v.Path("ping-key"), nil).Is(http.StatusForbidden)
	b.Post(v.Path("ping-key"), url.Values{"confirm": {"password"}, "confirm-password": {pagetest.Password}}).Is(http.StatusSeeOther)
	v.Advance(time.Hour)
	b.Get(v.Path("keys")).Is(http.StatusForbidden).Has("open this page").HasNo("What you entered")
	if to := b.Post(v.Path("keys"), url.Values{"confirm": {"password"}, "confirm-password": {pagetest.Password}}).Is(http.StatusSeeOther).Location(); to != v.Path("keys") {
		t.Errorf("led to %s", to)
	}
	b.Get(v.Path("keys")).Is(http.StatusOK)

	// What one person typed is not sent by another, and a session that has ended confirms nothing.
	v.Advance(time.Hour)
	held = b.Post(v.Path("keys"), form).Is(http.StatusForbidden).Held()
	v.As("eve@example.org").Post(v.Path("keys"), with(held, "confirm", "password", "confirm-password", pagetest.Password)).Is(http.StatusForbidden).Has("This is not your form")
	root, err := v.People.ByEmail(t.Context(), "root@example.org")
	pagetest.NoError(t, err)
	pagetest.NoError(t, v.People.EndSessions(t.Context(), root.ID, ""))
	keys = count(v)
	b.Post(v.Path("keys"), with(held, "confirm", "password", "confirm-password", pagetest.Password)).Is(http.StatusUnauthorized)
	if n := count(v); n != keys {
		t.Errorf("%d keys after the session had ended, want %d", n, keys)
	}
}

// TestConfirmIsNoSignIn: confirming with one factor does not prolong the session beyond its end. The clock of a server may be set.
func TestConfirmIsNoSignIn(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	b := v.As("root@example.org")
	proof := url.Values{"confirm": {"password"}, "confirm-password": {pagetest.Password}}
	for begun := v.Now(); v.Now().Sub(begun) < accounts.Lifetime-8*time.Hour; v.Advance(8 * time.Hour) {
		b.Post(v.Path("ping-key"), proof).Is(http.StatusSeeOther)
	}
	v.Advance(8 * time.Hour)
	b.Post(v.Path("ping-key"), proof).Is(http.StatusUnauthorized)

	b = v.As("root@example.org")
	v.Advance(-2 * time.Hour) // what is in the future proves nothing
	b.Post(v.Path("ping-key"), nil).Is(http.StatusForbidden)
	v.Advance(2 * time.Hour)
	b.Post(v.Path("ping-key"), nil).Is(http.StatusSeeOther)
}

// TestConfirmLimit: wrong passwords on the page that asks are limited.
func TestConfirmLimit(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	b := v.As("root@example.org")
	v.Advance(time.Hour)
	for range 10 {
		b.Post(v.Path("ping-key"), url.Values{"confirm": {"password"}, "confirm-password": {"wrong"}}).Is(http.StatusForbidden)
	}
	if a := b.Post(v.Path("ping-key"), url.Values{"confirm": {"password"}, "confirm-password": {pagetest.Password}}).Is(http.StatusTooManyRequests); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestConfirmByCodeAndPasskey confirms with an app and with a passkey, of the same person alone.
func TestConfirmByCodeAndPasskey(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{Passkeys: keys})
	root, eve := v.Person("root@example.org", ""), v.Person("eve@example.org", "")
	b, other := v.As("root@example.org"), v.As("eve@example.org")
	mine, theirs := newToken(t, "mine"), newToken(t, "theirs")
	add := func(b *pagetest.Browser, k *token) {
		t.Helper()
		options := b.Post("/account/passkeys/options", url.Values{"password": {pagetest.Password}}).Is(http.StatusOK)
		b.Post("/account/passkeys", url.Values{"answer": {k.create(options.Body)}}).Is(http.StatusSeeOther)
	}
	add(b, mine)
	add(other, theirs)
	secret := setUp(v, b)
	try := func(form func() url.Values, want int) {
		t.Helper()
		b.Post(v.Path("ping-key"), nil).Is(http.StatusForbidden).Has("Confirm with a passkey", "Use a code")
		b.Post(v.Path("ping-key"), form()).Is(want)
		v.Advance(time.Hour)
	}
	v.Advance(time.Hour)
	answer := func(k *token, who people.Person) func() url.Values {
		return func() url.Values {
			k.counter++
			return url.Values{"confirm": {"passkey"}, "answer": {k.get(b.Post("/signin/passkey-options", nil).Is(http.StatusOK).Body, who)}}
		}
	}
	try(answer(mine, root), http.StatusSeeOther)
	try(answer(theirs, eve), http.StatusForbidden)
	try(func() url.Values { return url.Values{"confirm": {"code"}, "confirm-code": {code(t, secret, v.Now())}} }, http.StatusSeeOther)
	try(func() url.Values { return url.Values{"confirm": {"code"}, "confirm-code": {"000000"}} }, http.StatusForbidden)
}

// TestConfirmWithKey: the holder of an admin key confirms with such a key of the project, not with another one.
func TestConfirmWithKey(t *testing.T) {
	v := pagetest.NewTown(t)
	text := v.Key(checks.Admin)
	b := v.SignedIn(text)
	v.Advance(time.Hour)
	b.Post("/signin", url.Values{"key": {v.Keys.ReadOnly}}).Is(http.StatusSeeOther) // proves nothing about the other
	asked := b.Post(v.Path("keys"), url.Values{"kind": {"read-ids"}}).Is(http.StatusForbidden).Has("Admin key of the project").HasNo("confirm-password").Held()
	b.Post(v.Path("keys"), with(asked, "confirm", "key", "confirm-key", v.Keys.ReadWrite)).Is(http.StatusForbidden).Has("not an admin key")
	b.Post(v.Path("keys"), with(asked, "confirm", "key", "confirm-key", "rca_x")).Is(http.StatusForbidden)
	b.Post(v.Path("keys"), with(asked, "confirm", "key", "confirm-key", text)).Is(http.StatusOK).Has("Your new read-ids key")
}

// TestProxyConfirms: the pages do not ask people for whom the proxy vouches, but those who come without its word.
func TestProxyConfirms(t *testing.T) {
	s := pagetest.New(t)
	v := s.Town(accounts.Config{Header: "Remote-Email"}, func(c *pagetest.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	v.Person("root@example.org", "")
	b := v.Browser()
	b.Header.Set("Remote-Email", "root@example.org")
	b.Get("/account").Is(http.StatusOK)
	v.Advance(time.Hour)
	b.Post(v.Path("ping-key"), nil).Is(http.StatusSeeOther)
	b.Header.Del("Remote-Email")
	b.Post(v.Path("ping-key"), nil).Is(http.StatusForbidden).Has("This account cannot confirm here")
}

// required returns a town on which some must use a second factor.
func required(t *testing.T, demand people.Demand, c accounts.Config) *pagetest.Town {
	t.Helper()
	s := pagetest.New(t)
	known, err := people.New(s.Mon, &people.Config{SecondFactor: demand})
	pagetest.NoError(t, err)
	v := s.Town(c)
	v.People = known
	v.Serve(v.Accounts(c))
	return v
}

// TestRequiredFactor: who must have a second factor and has none sets one up after signing in, and can do nothing else before.
func TestRequiredFactor(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	pagetest.NoError(t, err)
	for _, demand := range []people.Demand{people.OfAdmins, people.OfAll} {
		v := required(t, demand, accounts.Config{KeySignIn: true, Passkeys: keys})
		root := v.Person("root@example.org", "")
		v.Person("viewer@example.org", people.Viewer)
		c := v.Create(checks.Spec{Name: new("backup")})
		viewer := v.As("viewer@example.org").Get(v.Path(""))
		if demand == people.OfAdmins {
			viewer.Is(http.StatusOK)
		} else if viewer.Is(http.StatusSeeOther); viewer.Location() != "/account/totp" {
			t.Errorf("a viewer is led to %s", viewer.Location())
		}
		v.SignedIn(v.Keys.ReadOnly).Get(v.Path("")).Is(http.StatusOK)

		b := v.As("root@example.org")
		for _, path := range []string{"/projects", "/people", "/account", v.Path(""), v.Path("keys"), v.Path("events"), "/checks/" + c.UniqueKey(), "/people/" + root.ID.String()} {
			if to := b.Get(path).Is(http.StatusSeeOther).Location(); to != "/account/totp" {
				t.Errorf("%s leads to %s", path, to)
			}
		}
		name := url.Values{"name": {"typed-for-an-hour"}}
		refused := b.Post("/projects", name).Is(http.StatusForbidden).Has("Second factor required", "Set it up in another tab")
		b.Get("/account/totp").Is(http.StatusOK).Has("requires a second factor", "Use a passkey instead").HasNo("Cancel")
		b.Get("/account/passkeys").Is(http.StatusOK).Has("requires a second factor")
		secret := setUp(v, b)
		b.Get("/projects").Is(http.StatusOK).HasNo("typed-for-an-hour")
		b.Post("/projects", refused.Held()).Is(http.StatusSeeOther)
		b.Get("/projects").Is(http.StatusOK).Has("typed-for-an-hour")

		// The last one stays, and one of two goes.
		b.Get("/account").Is(http.StatusOK).Has("the app stays on").HasNo("Turn off")
		b.Post("/account/totp/remove", url.Values{"password": {pagetest.Password}}).Is(http.StatusConflict).Has("requires a second factor")
		k := newToken(t, "key of "+string(demand))
		options := b.Post("/account/passkeys/options", url.Values{"password": {pagetest.Password}}).Is(http.StatusOK)
		b.Post("/account/passkeys", url.Values{"answer": {k.create(options.Body)}}).Is(http.StatusSeeOther)
		b.Post("/account/totp/remove", url.Values{"password": {pagetest.Password}}).Is(http.StatusSeeOther)
		now, err := v.People.ByID(t.Context(), root.ID)
		pagetest.NoError(t, err)
		b.Post("/account/passkeys/delete", url.Values{"id": {base64.RawURLEncoding.EncodeToString(now.Passkeys[0].ID)}}).Is(http.StatusConflict).Has("requires a second factor")
		b.Get("/projects").Is(http.StatusOK)

		// A password alone does not sign in beside a passkey, and neither did it before the server required more.
		v.Browser().Post("/signin", pagetest.Credentials("root@example.org")).Is(http.StatusForbidden).Has("sign in with your passkey")
		k.counter++
		byKey := v.Browser()
		byKey.Post("/signin/passkey", url.Values{"answer": {k.get(byKey.Post("/signin/passkey-options", nil).Body, now)}}).Is(http.StatusSeeOther)
		byKey.Get("/projects").Is(http.StatusOK)

		// A lost phone: an administrator or the command line removes all, and the person sets up a new one.
		pagetest.NoError(t, v.People.ResetMFA(t.Context(), root.ID))
		b = v.As("root@example.org")
		if to := b.Get("/projects").Is(http.StatusSeeOther).Location(); to != "/account/totp" {
			t.Errorf("after the reset it leads to %s", to)
		}
		if setUp(v, b) == secret {
			t.Error("the old secret came back")
		}
		b.Get("/projects").Is(http.StatusOK)
	}
}

// TestFactorRequiredLater: sessions that began with a password alone, on a server that did not require more, go no further on one that
// does. A role that makes somebody an administrator does the same.
func TestFactorRequiredLater(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	bob := v.Person("bob@example.org", people.Viewer)
	b, other, viewer := v.As("root@example.org"), v.As("root@example.org"), v.As("bob@example.org")
	known, err := people.New(v.Mon, &people.Config{SecondFactor: people.OfAdmins})
	pagetest.NoError(t, err)
	v.People = known
	v.Serve(v.Accounts(accounts.Config{KeySignIn: true}))
	if to := b.Get("/projects").Is(http.StatusSeeOther).Location(); to != "/account/totp" {
		t.Errorf("led to %s", to)
	}
	setUp(v, b)
	b.Get("/projects").Is(http.StatusOK)
	if to := other.Get("/projects").Is(http.StatusSeeOther).Location(); !strings.HasPrefix(to, "/signin") {
		t.Errorf("the other session leads to %s", to)
	}
	viewer.Get("/projects").Is(http.StatusOK)
	pagetest.NoError(t, v.People.SetAdmin(t.Context(), bob.ID, true))
	if to := viewer.Get("/projects").Is(http.StatusSeeOther).Location(); to != "/account/totp" {
		t.Errorf("a new administrator is led to %s", to)
	}
}
