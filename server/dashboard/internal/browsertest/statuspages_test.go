package browsertest_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestStatusPages makes a status page, reads it as a stranger and deletes it.
func TestStatusPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path("status"))
	page.WaitText("main", "No status pages yet")
	page.Axe()
	page.Submit("a[href$='/status/new']")
	page.WaitText("#preview", "The public will see no checks")
	page.Type("#title", "Acme status")
	page.Click("input[name=tag][value=prod]")
	page.WaitText("#preview", "The public will see 2 of 5 checks")
	page.WaitText("#preview", "orders-export")
	page.Click("#scope-all")
	page.WaitText("#preview", "The public will see 5 of 5 checks")
	for _, size := range []browsertest.Size{browsertest.Narrow, browsertest.Wide} {
		page.Resize(size)
		page.Fits()
		page.Axe()
	}
	page.Submit("button.primary")
	page.WaitText(".notice", "Published Acme status. Anyone can view it at "+s.url+"/status/acme-status")
	page.Resize(browsertest.Narrow)
	page.Fits()
	page.Axe()

	stranger := browsertest.Open(t, s.url)
	stranger.Go("/status/acme-status")
	stranger.WaitText(".say", "1 of 5 services is down, 1 late.")
	if stranger.Count("main img, main b, .services a") > 0 || browsertest.Eval[string](stranger, "document.title") != "1 down · Acme status" {
		t.Errorf("a name has left its place: %s", browsertest.Eval[string](stranger, "document.title"))
	}
	stranger.Resize(browsertest.Narrow)
	stranger.Fits()
	stranger.Axe()

	page.Submit("td .name")
	page.Axe()
	page.Submit("a.danger")
	page.Axe()
	page.Submit("button.danger")
	page.WaitText("main", "No status pages yet")
	stranger.Tolerate("status of 404")
	stranger.Go("/status/acme-status")
	stranger.WaitText("body", "Status page not found.")
}

// TestStatusPageFormWithoutScript previews and makes a page with scripts turned off.
func TestStatusPageFormWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Go(s.path("status/new"))
	page.Type("#title", "Acme status")
	page.Click("input[name=tag][value=prod]")
	page.Submit("button[name=preview]")
	page.WaitText("#preview", "The public will see 2 of 5 checks")
	page.Submit("button.primary")
	page.WaitText(".notice", "Published Acme status.")
}

// TestStatusPageKeyboard reaches everything in the form by keyboard.
func TestStatusPageKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	_, err := s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: hostile[:100], Tags: []string{"prod"}})
	s.must(err)
	page := s.browser(s.keys.ReadWrite)
	for _, path := range []string{s.path("status"), s.path("status/new"), "/status/acme"} {
		page.Go(path)
		var reached []string
		for _, f := range tabs(t, page) {
			reached = append(reached, f.Name)
		}
		if len(reached) == 0 || strings.HasSuffix(path, "/new") && !strings.Contains(strings.Join(reached, " "), "input#tag-0") {
			t.Errorf("%s: the keyboard reaches %v", path, reached)
		}
	}
}
