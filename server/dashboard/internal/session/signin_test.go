package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestSignInByKey(t *testing.T) {
	s := pagetest.New(t)
	b := s.Browser()
	to := b.Get(s.Path("?state=down")).Is(http.StatusSeeOther).Header.Get("Location")
	if want := "/signin?next=" + url.QueryEscape(s.Path("?state=down")); to != want {
		t.Errorf("led to %s, want %s", to, want)
	}
	b.Get(to).Is(http.StatusOK).Has(`name="key"`)
	b.Post("/signin", url.Values{"key": {"rcw_wrong"}}).Is(http.StatusForbidden).Has("This key is not valid.").HasNo("rcw_wrong")
	in := b.Post("/signin", url.Values{"key": {" " + s.Keys.ReadWrite + "\n"}, "next": {s.Path("?state=down")}}).Is(http.StatusSeeOther)
	if to := in.Header.Get("Location"); to != s.Path("?state=down") {
		t.Errorf("led to %s after signing in", to)
	}
	cookie := in.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=1209600"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if strings.Contains(cookie, "Secure") {
		t.Errorf("a cookie for http is Secure: %s", cookie)
	}
	b.Get(s.Path("")).Is(http.StatusOK).Has("Sign out")
	b.Post("/signout", nil).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Is(http.StatusSeeOther)
}

func TestSessionExpires(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	s.Advance(10 * 24 * time.Hour)
	if b.Get(s.Path("")).Is(http.StatusOK).Header.Get("Set-Cookie") == "" {
		t.Error("a visit after 10 days does not renew the session")
	}
	s.Advance(10 * 24 * time.Hour)
	b.Get(s.Path("")).Is(http.StatusOK)
	s.Advance(14 * 24 * time.Hour)
	b.Get(s.Path("")).Is(http.StatusSeeOther)
}

// TestKeySessionEnds: a key signs in for 90 days, however often its holder comes back, and whatever other keys are entered later.
func TestKeySessionEnds(t *testing.T) {
	s := pagetest.New(t)
	other, otherKeys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	pagetest.NoError(t, err)
	b := s.SignedIn(s.Keys.ReadOnly)
	for day := range 89 {
		if day == 60 {
			b.Post("/signin", url.Values{"key": {otherKeys.ReadOnly}}).Is(http.StatusSeeOther)
		}
		s.Advance(24 * time.Hour)
		b.Get(s.Path("")).Is(http.StatusOK)
	}
	s.Advance(24 * time.Hour)
	b.Get(s.Path("")).Is(http.StatusNotFound)
	b.Get("/projects/" + other.ID.String() + "/").Is(http.StatusOK)
	s.Advance(-time.Hour) // the clock is set back
	b.Get("/projects/" + other.ID.String() + "/").Is(http.StatusOK)
	for range 61 {
		s.Advance(24 * time.Hour)
		b.Get("/")
	}
	b.Get("/projects/" + other.ID.String() + "/").Is(http.StatusSeeOther)
}

// TestVisitsOfKeys: pages write nothing for a session but once a day, also those that an open page asks for. The stream never does.
func TestVisitsOfKeys(t *testing.T) {
	var writes atomic.Int64
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if op == "Update" {
				writes.Add(1)
			}
			return do()
		}
	})
	b := s.SignedIn(s.Keys.ReadOnly)
	writes.Store(0)
	open := func(want int64) {
		t.Helper()
		for range 3 {
			b.Get(s.Path("")).Is(http.StatusOK)
		}
		if n := writes.Swap(0); n != want {
			t.Errorf("%d transactions for three pages, want %d", n, want)
		}
	}
	open(0)
	s.Advance(23 * time.Hour)
	open(0)
	s.Advance(time.Hour)
	open(1)
	s.Advance(13 * 24 * time.Hour)
	b.Header.Set("Rollcall-Version", "x")
	open(1)
	s.Advance(13 * 24 * time.Hour)
	open(1)
}

// TestOutageOfKeys: while the database is away, nobody is signed out, and nobody is let in.
func TestOutageOfKeys(t *testing.T) {
	var db pagetest.Away
	s := pagetest.New(t, func(c *pagetest.Config) { c.Around = db.Around })
	b := s.SignedIn(s.Keys.ReadOnly)
	db.Store(true)
	if a := b.Get(s.Path("")).Is(http.StatusServiceUnavailable); a.Header.Get("Set-Cookie") != "" {
		t.Errorf("the outage sets cookies: %s", a.Header.Get("Set-Cookie"))
	}
	s.Browser().Post("/signin", url.Values{"key": {s.Keys.ReadWrite}}).Is(http.StatusServiceUnavailable)
	db.Store(false)
	b.Get(s.Path("")).Is(http.StatusOK)
}

func TestForgedSession(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	u, _ := url.Parse(s.Web.URL)
	cookie := b.Client.Jar.Cookies(u)[0]
	hash := sha256.Sum256([]byte(cookie.Value))
	stored := hex.EncodeToString(hash[:]) // by which readers of the database know the session
	for _, value := range []string{"", ".", "x", cookie.Value[1:], cookie.Value + "A", strings.ToLower(cookie.Value), stored, stored[:16], "AAAA.AAAA", strings.Repeat("A", 5000)} {
		other := s.Browser()
		other.Client.Jar.SetCookies(u, []*http.Cookie{{Name: cookie.Name, Value: value}})
		other.Get(s.Path("")).Is(http.StatusSeeOther)
	}
}

func TestSignInLink(t *testing.T) {
	s := pagetest.New(t)
	link, err := s.Pages.SignInLink(t.Context(), s.Keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	ahead := s.Browser()
	ahead.Header.Set("Sec-Purpose", "prefetch;prerender")
	ahead.Get(link).Is(http.StatusNoContent)
	b := s.Browser()
	if to := b.Get(link).Is(http.StatusSeeOther).Header.Get("Location"); to != s.Path("overview") {
		t.Errorf("the link leads to %s", to)
	}
	b.Get(s.Path("")).Is(http.StatusOK).HasNo("read-only")
	s.Browser().Get(link).Is(http.StatusForbidden).Has("already used")

	if link, err = s.Pages.SignInLink(t.Context(), s.Keys.ReadOnly); err != nil {
		t.Fatal(err)
	}
	s.Advance(24 * time.Hour)
	s.Browser().Get(link).Is(http.StatusForbidden)
	s.Browser().Get(link[:len(link)-3]).Is(http.StatusForbidden)
}

func TestReadOnlyAndStrangers(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	other, otherKeys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	reader := s.SignedIn(s.Keys.ReadOnly)
	reader.Get(s.Path("")).Is(http.StatusOK).Has("read-only").HasNo(`name="action"`, "New check")
	reader.Post(s.Path("bulk"), url.Values{"action": {"delete"}, "check": {c.ID.String()}}).Is(http.StatusForbidden)
	stranger := s.SignedIn(otherKeys.ReadWrite)
	stranger.Get(s.Path("")).Is(http.StatusNotFound)
	stranger.Post(s.Path("bulk"), url.Values{"action": {"delete"}, "check": {c.ID.String()}}).Is(http.StatusNotFound)
	stranger.Post("/projects/"+other.ID.String()+"/bulk", url.Values{"action": {"delete"}, "check": {c.ID.String()}}).Is(http.StatusSeeOther)
	if _, err := s.Mon.Check(t.Context(), c.ID); err != nil {
		t.Errorf("a stranger has deleted the check: %v", err)
	}
	// A second key adds its project to the session.
	stranger.Post("/signin", url.Values{"key": {s.Keys.ReadOnly}}).Is(http.StatusSeeOther)
	stranger.Get(s.Path("")).Is(http.StatusOK).Has("read-only", "other")
	stranger.Get("/projects/" + uuid.NewString() + "/").Is(http.StatusNotFound)
}

func TestOpenRedirect(t *testing.T) {
	s := pagetest.New(t)
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil.example", "/\t/evil.example", "javascript:alert(1)"} {
		to := s.Browser().Post("/signin", url.Values{"key": {s.Keys.ReadOnly}, "next": {next}}).Is(http.StatusSeeOther).Header.Get("Location")
		if to != s.Path("overview") {
			t.Errorf("%q leads to %s", next, to)
		}
	}
}
