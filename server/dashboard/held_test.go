package dashboard_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

var heldField = regexp.MustCompile(`name="held" value="([^"]+)"`)

// held returns the form that a page holds.
func (a *answer) held() url.Values {
	a.t.Helper()
	found := heldField.FindStringSubmatch(a.body)
	if found == nil {
		a.t.Fatalf("the page holds no form: %s", a.body)
	}
	return url.Values{"held": {found[1]}}
}

// TestHeldForm sends a form while the database is unavailable and after the session has ended. The page that says so holds
// it, unreadable, and sends it again to where it belongs.
func TestHeldForm(t *testing.T) {
	var down atomic.Bool
	s := newSiteStored(t, func(op string, do func() error) error {
		if down.Load() && op == "Update" {
			return errors.Join(checks.ErrUnavailable, errors.New("the database is locked"))
		}
		return do()
	})
	c := s.create(checks.Spec{Name: new("backup"), Desc: new("before")})
	b := s.signedIn(s.keys.ReadWrite)
	path := "/checks/" + c.UniqueKey() + "/edit"
	was := "kind=simple&timeout=1+day&grace=1+h&tz=UTC&alert_after=1&name=backup&desc=before"
	form := url.Values{"was": {was}, "name": {"backup"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}, "alert_after": {"1"}, "desc": {"typed for an hour"}}
	down.Store(true)
	failed := b.post(path, form).is(http.StatusServiceUnavailable).has("not responding", "What you typed is not lost", `action="`+path+`"`).hasNo("typed for an hour")
	again := b.post(path, failed.held()).is(http.StatusServiceUnavailable).held()
	down.Store(false)
	other := s.create(checks.Spec{Name: new("other")})
	b.post("/checks/"+other.UniqueKey()+"/edit", again).is(http.StatusBadRequest)
	b.post(path, url.Values{"held": {again.Get("held")[1:]}}).is(http.StatusBadRequest)
	s.signedIn(s.keys.ReadOnly).post(path, again).is(http.StatusForbidden)
	b.post(path, again).is(http.StatusSeeOther)
	if got := s.current(c); got.Desc != "typed for an hour" {
		t.Errorf("saved %q", got.Desc)
	}

	b.post("/signout", nil).is(http.StatusSeeOther)
	form.Set("was", strings.Replace(was, "before", "typed+for+an+hour", 1))
	form.Set("desc", "typed for a day")
	ended := b.post(path, form).is(http.StatusUnauthorized).has("Your session has ended", "What you typed is not lost").hasNo("typed for a day").held()
	wrong := url.Values{"key": {"wrong"}, "held": {ended.Get("held")}}
	ended = b.post("/signin", wrong).is(http.StatusForbidden).has("not valid").held()
	ended.Set("key", s.keys.ReadWrite)
	again = b.post("/signin", ended).is(http.StatusOK).has("Signed in again", `action="`+path+`"`).held()
	b.post(path, again).is(http.StatusSeeOther)
	if got := s.current(c); got.Desc != "typed for a day" {
		t.Errorf("saved %q", got.Desc)
	}
	b.post("/signin", url.Values{"key": {s.keys.ReadWrite}, "held": {"forged"}}).is(http.StatusSeeOther)
}

// TestFetchedForm answers a script that keeps the page: it learns where to go, and the notice waits for the next page.
func TestFetchedForm(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	form := url.Values{"id": {"9b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10"}, "name": {"backup"}, "kind": {"simple"}, "timeout": {"1 day"}, "grace": {"1 h"}, "tz": {"UTC"}}
	b.header.Set("Rollcall-Form", "1")
	saved := b.post(s.path("checks/new"), form).is(http.StatusNoContent)
	to := saved.header.Get("Rollcall-Location")
	if again := b.post(s.path("checks/new"), form).is(http.StatusNoContent).header.Get("Rollcall-Location"); again != to {
		t.Errorf("sent twice, the form leads to %s and %s", to, again)
	}
	b.get(to).is(http.StatusOK).has("Check created.")
	b.post("/signout", nil)
	if ended := b.post(s.path("checks/new"), form).is(http.StatusUnauthorized).hasNo("held"); ended.header.Get("Rollcall-Location") != "/signin" {
		t.Errorf("the session ended: %v", ended.header)
	}
}

// TestIntegrationConflict saves an integration that somebody else has changed since the form was opened.
func TestIntegrationConflict(t *testing.T) {
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	c := s.created(b.post(s.path("integrations/new?kind=pager"), house()))
	path := s.path("integrations/" + c.ID.String())
	was := regexp.MustCompile(`name="was" value="([^"]+)"`)
	mine := url.Values{"was": {was.FindStringSubmatch(b.get(path).body)[1]}, "name": {"mine"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"low"}}
	b.post(path, url.Values{"name": {"theirs"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"high"}}).is(http.StatusSeeOther)
	refused := b.post(path, mine).is(http.StatusConflict).has("someone else has changed", `value="mine"`)
	if got := s.stored(c.ID); got.Name != "theirs" {
		t.Errorf("saved %+v", got)
	}
	mine.Set("was", was.FindStringSubmatch(refused.body)[1])
	b.post(path, mine).is(http.StatusSeeOther)
}
