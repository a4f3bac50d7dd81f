package browsertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

func value(page *browsertest.Page, selector string) string {
	return browsertest.Eval[string](page, "document.querySelector("+browsertest.Quote(selector)+").value")
}

// TestFormSurvives saves a form while the server is away and after the session has ended. What was typed stays, and saving
// again works.
func TestFormSurvives(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("net::ERR_", "status of 401", "status of 404")
	page.Go(s.path("checks/new"))
	stay(page)
	page.Type("#name", "nightly-backup")
	page.Type("#grace", "7 min")
	s.stop()
	page.Click(".actions .primary")
	page.WaitText("#edit .problem", "the server did not answer")
	if value(page, "#name") != "nightly-backup" || value(page, "#grace") != "7 min" {
		t.Error("the form has lost what was typed")
	}
	s.start()
	browsertest.Eval[any](page, "fetch('/signout', {method: 'POST'}).then(() => 0)")
	page.Click(".actions .primary")
	page.WaitText("#edit .problem", "your session has ended")
	stayed(t, page)
	browsertest.Eval[any](page, "fetch('/signin', {method: 'POST', body: new URLSearchParams({key: "+browsertest.Quote(s.keys.ReadWrite)+"})}).then(() => 0)")
	page.Submit(".actions .primary")
	page.WaitText("h1", "nightly-backup")
	page.WaitText(".notice", "Check created")
	list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(t.Context(), checks.Query{}))
	s.must(err)
	if len(list) != 1 || list[0].Grace != 7*time.Minute {
		t.Errorf("saved %+v", list)
	}
}

// TestSecretsStay corrects a form that was refused. The secrets that were typed need not be typed again.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("status of 400")
	page.Go(s.path("integrations/new?kind=webhook"))
	stay(page)
	page.Type("#name", "hook")
	page.Click(".advanced summary")
	page.Type("#s-headers_down", "X-Token: s3cret")
	for _, field := range []string{"#s-url_down", "#s-headers_down"} {
		security := func() string {
			return browsertest.Eval[string](page, "getComputedStyle(document.querySelector('"+field+"')).webkitTextSecurity")
		}
		if security() != "disc" || page.Count(field+"[autocomplete=off]:not([type=password])") != 1 {
			t.Errorf("%s can be read while it is typed, or a browser offers to save it", field)
		}
		page.Click(".field:has(" + field + ") .show input")
		if security() != "none" {
			t.Errorf("%s is not shown when asked for", field)
		}
	}
	page.Type("#s-url_down", "nowhere")
	page.Click("#integration .primary")
	page.WaitText("#integration .wrong", "URL down")
	if got := value(page, "#s-headers_down"); got != "X-Token: s3cret" {
		t.Errorf("the secret is %q", got)
	}
	page.Type("#s-url_down", "https://example.org/hook")
	page.Click("button[value=test]")
	page.WaitText("#result", "Test alert failed")
	page.WaitText("#result", "not saved")
	stayed(t, page)
	page.Submit("#integration .primary")
	page.WaitText(".notice", "hook created")
	page.WaitText("#s-url_down-hint", "Stored: https://example.org/…")
	page.Click(".advanced summary")
	page.WaitText("#s-headers_down-hint", "Stored: X-Token: …")
	if html := browsertest.Eval[string](page, "document.documentElement.outerHTML"); strings.Contains(html, "s3cret") || strings.Contains(html, "example.org/hook") {
		t.Error("a stored secret is on the page")
	}
	list, err := s.mon.Project(s.project.ID).Channels(t.Context())
	s.must(err)
	if len(list) != 1 || list[0].Settings["headers_down"] != "X-Token: s3cret" {
		t.Errorf("saved %+v", list)
	}
}

// TestTouchedForm changes a check in another browser, and then deletes it, while its form is open and was touched.
func TestTouchedForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	page := s.browser(s.keys.ReadWrite)
	page.Tolerate("status of 404")
	page.Go("/checks/" + c.UniqueKey() + "/edit")
	stay(page)
	page.Type("#desc", "")
	browsertest.Eval[any](page, "document.querySelector('details:has(#desc)').open = true, 0")
	page.Type("#desc", "typed for an hour")
	_, err := s.mon.Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Grace: new(7 * time.Minute)})
	s.must(err)
	page.WaitText("#edit .notice", "Someone has just changed this check")
	_, err = s.mon.Project(c.ProjectID).Delete(t.Context(), c.ID)
	s.must(err)
	page.WaitText("#gone", "This page is gone")
	stayed(t, page)
	if got := value(page, "#desc"); got != "typed for an hour" {
		t.Errorf("the text is %q", got)
	}
}

// TestFormSurvivesWithoutScript signs in again, and sends the form again that found the session ended.
func TestFormSurvivesWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Tolerate("status of 401", "status of 404")
	page.Go(s.path("checks/new"))
	page.Type("#name", "nightly-backup")
	browsertest.Eval[any](page, "fetch('/signout', {method: 'POST'}).then(() => 0)")
	page.Submit(".actions .primary")
	page.WaitText("main", "What you typed is not lost")
	page.Type("#key", s.keys.ReadWrite)
	page.Submit("main .primary")
	page.WaitText("h1", "Signed in again")
	page.Submit("main .primary")
	page.WaitText("main", "Check created")
	page.WaitText("h1", "nightly-backup")
}

// TestLeave leaves forms: the browser asks only if something was typed that is not saved.
func TestLeave(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	for path, field := range map[string]string{"checks/new": "#name", "integrations/new?kind=webhook": "#name", "import": "#url"} {
		page.Go(s.path(path))
		const asks = "(() => { const e = new Event('beforeunload', { cancelable: true }); dispatchEvent(e); return e.defaultPrevented })()"
		if browsertest.Eval[bool](page, asks) {
			t.Errorf("%s asks before anything is typed", path)
		}
		page.Type(field, "x")
		if !browsertest.Eval[bool](page, asks) {
			t.Errorf("%s does not ask before what was typed is lost", path)
		}
		page.Type(field, "")
		browsertest.Eval[any](page, "document.querySelectorAll('form[data-keep], form[data-guard]').forEach(f => f.remove())") // so that the test can leave
	}
}
