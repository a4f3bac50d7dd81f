package ui_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestHeldForm sends a form while the database is unavailable and after the session has ended. The page that says so holds
// it, unreadable, and sends it again to where it belongs.
func TestHeldForm(t *testing.T) {
	var down atomic.Bool
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if down.Load() && op == "Update" {
				return errors.Join(checks.ErrUnavailable, errors.New("the database is locked"))
			}
			return do()
		}
	})
	c := s.Create(checks.Spec{Name: new("backup"), Desc: new("before")})
	b := s.SignedIn(s.Keys.ReadWrite)
	path := "/checks/" + c.UniqueKey() + "/edit"
	was := "kind=simple&timeout=1+day&grace=1+h&tz=UTC&alert_after=1&name=backup&desc=before"
	form := url.Values{"was": {was}, "name": {"backup"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}, "alert_after": {"1"}, "desc": {"typed for an hour"}}
	down.Store(true)
	failed := b.Post(path, form).Is(http.StatusServiceUnavailable).Has("not responding", "What you typed is not lost", `action="`+path+`"`).HasNo("typed for an hour")
	again := b.Post(path, failed.Held()).Is(http.StatusServiceUnavailable).Held()
	down.Store(false)
	other := s.Create(checks.Spec{Name: new("other")})
	b.Post("/checks/"+other.UniqueKey()+"/edit", again).Is(http.StatusBadRequest)
	b.Post(path, url.Values{"held": {again.Get("held")[1:]}}).Is(http.StatusBadRequest)
	s.SignedIn(s.Keys.ReadOnly).Post(path, again).Is(http.StatusForbidden)
	b.Post(path, again).Is(http.StatusSeeOther)
	if got := s.Check(c); got.Desc != "typed for an hour" {
		t.Errorf("saved %q", got.Desc)
	}

	b.Post("/signout", nil).Is(http.StatusSeeOther)
	form.Set("was", strings.Replace(was, "before", "typed+for+an+hour", 1))
	form.Set("desc", "typed for a day")
	ended := b.Post(path, form).Is(http.StatusUnauthorized).Has("Your session has ended", "What you typed is not lost").HasNo("typed for a day").Held()
	wrong := url.Values{"key": {"wrong"}, "held": {ended.Get("held")}}
	ended = b.Post("/signin", wrong).Is(http.StatusForbidden).Has("not valid").Held()
	ended.Set("key", s.Keys.ReadWrite)
	again = b.Post("/signin", ended).Is(http.StatusOK).Has("Signed in again", `action="`+path+`"`).Held()
	b.Post(path, again).Is(http.StatusSeeOther)
	if got := s.Check(c); got.Desc != "typed for a day" {
		t.Errorf("saved %q", got.Desc)
	}
	b.Post("/signin", url.Values{"key": {s.Keys.ReadWrite}, "held": {"forged"}}).Is(http.StatusSeeOther)
}

// TestFetchedForm answers a script that keeps the page: it learns where to go, and the notice waits for the next page.
func TestFetchedForm(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	form := url.Values{"id": {"9b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10"}, "name": {"backup"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	b.Header.Set("Rollcall-Form", "1")
	saved := b.Post(s.Path("checks/new"), form).Is(http.StatusNoContent)
	to := saved.Header.Get("Rollcall-Location")
	if again := b.Post(s.Path("checks/new"), form).Is(http.StatusNoContent).Header.Get("Rollcall-Location"); again != to {
		t.Errorf("sent twice, the form leads to %s and %s", to, again)
	}
	b.Get(to).Is(http.StatusOK).Has("Check created.")
	b.Post("/signout", nil)
	if ended := b.Post(s.Path("checks/new"), form).Is(http.StatusUnauthorized).HasNo("held"); ended.Header.Get("Rollcall-Location") != "/signin" {
		t.Errorf("the session ended: %v", ended.Header)
	}
}
