package session_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// Signing out ends the session: no cookie that the browser ever got works any more, on no server. Another browser that
// signed in with the same key stays signed in.
func TestSignOutEndsTheSession(t *testing.T) {
	var db pagetest.Away
	s := pagetest.New(t, func(c *pagetest.Config) { c.Around = db.Around })
	another := s.NewPages()
	b, colleague := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadWrite)
	u, _ := url.Parse(s.Web.URL)
	stolen := []*http.Cookie{b.Client.Jar.Cookies(u)[0]}
	s.Advance(2 * 24 * time.Hour)
	b.Get(s.Path("")).Is(http.StatusOK)
	b.Post("/signin", url.Values{"key": {s.Keys.ReadOnly}}).Is(http.StatusSeeOther)
	stolen = append(stolen, b.Client.Jar.Cookies(u)[0])
	if stolen[0].Value == stolen[1].Value {
		t.Fatal("signing in with one more key keeps the token")
	}
	statuses := func() (list []int) {
		for _, pages := range []http.Handler{s.Pages, another} {
			for _, cookie := range stolen {
				r := httptest.NewRequest(http.MethodGet, s.Path(""), nil)
				r.AddCookie(cookie)
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, r)
				list = append(list, w.Code)
			}
		}
		return list
	}
	if got, want := statuses(), []int{303, 200, 303, 200}; !slices.Equal(got, want) {
		t.Fatalf("statuses before signing out: %v, want %v", got, want)
	}
	db.Store(true)
	b.Post("/signout", nil).Is(http.StatusServiceUnavailable)
	db.Store(false)
	b.Post("/signout", nil).Is(http.StatusSeeOther)
	if got, want := statuses(), []int{303, 303, 303, 303}; !slices.Equal(got, want) {
		t.Errorf("statuses after signing out: %v, want %v", got, want)
	}
	colleague.Get(s.Path("")).Is(http.StatusOK)
	b.Get(s.Path("")).Is(http.StatusSeeOther)
	b.Post("/signin", url.Values{"key": {s.Keys.ReadWrite}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Is(http.StatusOK)
}

// A key that is revoked ends its sessions, on every server at once. A session with another key too keeps that one.
func TestSessionDiesWithItsKey(t *testing.T) {
	s := pagetest.New(t)
	another := s.NewPages()
	text, key, err := s.Mon.Project(s.Project.ID).CreateKey(t.Context(), checks.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	b, both := s.SignedIn(text), s.SignedIn(text)
	both.Post("/signin", url.Values{"key": {s.Keys.ReadOnly}}).Is(http.StatusSeeOther)
	status := func(b *pagetest.Browser) int {
		r := httptest.NewRequest(http.MethodGet, s.Path(""), nil)
		u, _ := url.Parse(s.Web.URL)
		r.AddCookie(b.Client.Jar.Cookies(u)[0])
		w := httptest.NewRecorder()
		another.ServeHTTP(w, r)
		return w.Code
	}
	if code := status(b); code != http.StatusOK {
		t.Errorf("on another server: %d", code)
	}
	both.Get(s.Path("")).Is(http.StatusOK).HasNo("read-only")
	if err := s.Mon.Project(s.Project.ID).DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	b.Get(s.Path("")).Is(http.StatusSeeOther)
	if code := status(b); code != http.StatusSeeOther {
		t.Errorf("on another server after the key was revoked: %d", code)
	}
	both.Get(s.Path("")).Is(http.StatusOK).Has("read-only")
}
