package browsertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// fillIntegrations gives the site integrations with hostile texts, and alerts to them. It returns one of them.
func (s *site) fillIntegrations() channels.Channel {
	s.Helper()
	hook, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Webhook, Name: hostile[:100], Settings: map[string]string{
		"url_down": "https://example.org/s3cret", "headers_down": "X-Token: s3cret", "body_down": hostile,
	}})
	s.must(err)
	_, err = s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: strings.Repeat("long-", 20),
		Settings: map[string]string{"to": "ops@example.org"}, Sources: map[string]string{"to": "$ROLLCALL_" + strings.Repeat("LONG", 30)}})
	s.must(err)
	_, err = s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Group, Name: "everyone", Settings: map[string]string{"channels": "*"}})
	s.must(err)
	c := s.create(checks.Spec{Name: new(hostile[:100]), Tags: []string{"prod", "<b>tag</b>"}, Channels: new("*")})
	s.ping(c.ID, pings.Failure)
	return hook
}

// TestCopy copies a key that was just made.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.admin())
	page.Go(s.path("keys"))
	page.Click("[value=read-only]")
	page.Submit("form:has([value=read-only]) button")
	page.Wait("document.querySelector('#fresh-key')")
	page.Click("[data-copy=fresh-key]")
	page.WaitText("[data-copy=fresh-key]", "Copied")
	page.Go(s.path("badges"))
	page.Click("[data-copy=b0]")
	page.WaitText("[data-copy=b0]", "Copied")
}

// TestIntegrationWithoutScript makes, changes, tests and deletes an integration without JavaScript.
func TestIntegrationWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Go(s.path("integrations"))
	page.Tolerate("400 (Bad Request)")
	page.Submit(".empty .btn")
	page.Submit("a[href$='kind=email']")
	page.Type("#name", "ops")
	page.Type("#s-to", "nobody")
	page.Submit("main form.form .primary")
	page.WaitText("main", "To is not a comma-separated list")
	page.Type("#s-to", "ops@example.org")
	page.Submit("main form.form .primary")
	page.WaitText("main", "ops created")
	page.Submit("button[value=test]")
	page.WaitText("main", "Test alert failed")
	page.Submit(".danger-zone .btn")
	page.Submit(".actions .danger")
	page.WaitText("main", "Deleted ops")
}

// TestAdvanced follows links to a folded setting of a form without JavaScript: the fold opens, also for a setting that is wrong. The
// answer to a test stands below the form, in view, and what would be sent beside it, or below it on a phone.
func TestAdvanced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Tolerate("400 (Bad Request)")
	open := func() bool { return browsertest.Eval[bool](page, "document.querySelector('.advanced').open") }
	form := s.path("integrations/new?kind=webhook")
	page.Go(form)
	if open() {
		t.Error("the advanced settings are open")
	}
	page.Go(s.path("integrations"))
	page.Go(form + "#s-headers_down")
	if !open() || !page.InView("#s-headers_down") {
		t.Error("a link to an advanced setting does not show it")
	}
	page.Type("#s-url_down", "https://example.org/")
	page.Type("#s-headers_down", "nothing")
	page.Submit("#integration .primary")
	page.WaitText("#problems a[href='#s-headers_down']", "has no colon in line 1")
	if !open() {
		t.Error("what is wrong is folded")
	}
	page.Type("#s-headers_down", "X-Token: s3cret")
	page.Submit(".sends button")
	page.WaitText(".sends pre", "POST https://example.org/…")
	page.WaitText(".sends pre", "X-Token: …")
	if !page.InView("#sends") {
		t.Error("the preview is out of view once it is updated")
	}
	page.Submit("button[value=test]")
	page.WaitText("#result", "Test alert failed")
	if !page.InView("#result") {
		t.Error("the answer to the test is out of view")
	}
	const box = "document.querySelector('%s').getBoundingClientRect().%s"
	at := func(selector, side string) int {
		return browsertest.Eval[int](page, "Math.round("+fmt.Sprintf(box, selector, side)+")")
	}
	if at("#result", "top") < at("#integration", "bottom") || at(".sends", "left") < at("#integration", "right") {
		t.Error("the answer does not stand below the form, or the preview not beside it")
	}
	page.Resize(phone)
	if at(".sends", "top") < at("#result", "bottom") {
		t.Error("on a phone the preview does not stand below the form")
	}
}

// TestKindsFit: who looks for a kind of integration sees nearly all on one screen.
func TestKindsFit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path("integrations/new"))
	if height := browsertest.Eval[int](page, "document.documentElement.scrollHeight"); height > 940 {
		t.Errorf("the page is %d px high", height)
	}
}

// TestTestOnce sends a test alert from an open page, which then follows the changes of the project, and sends no other.
func TestTestOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hook := s.fillIntegrations()
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path("integrations/" + hook.ID.String()))
	stay(page)
	page.Click("button[value=test]")
	page.WaitText("main", "Test alert failed")
	s.create(checks.Spec{Name: new("another")})
	s.ping(s.create(checks.Spec{Name: new("down")}).ID, pings.Failure)
	page.Wait("performance.getEntriesByType('resource').some(e => e.name == location.href)") // the page was asked for again
	stayed(t, page)
}

// TestMaintenanceForm: the form shows the fields of what is chosen alone, filters the checks, and says while it is filled in what the
// maintenance covers and when.
func TestMaintenanceForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path("maintenance"))
	visible := func(selector string, want bool) {
		t.Helper()
		if got := browsertest.Eval[bool](page, "document.querySelector('"+selector+"').checkVisibility()"); got != want {
			t.Errorf("%s can be seen: %v, want %v", selector, got, want)
		}
	}
	visible("#for", true)
	visible("#start", false)
	visible("#schedule", false)
	visible("#tags", false)
	visible("#checks", false)
	visible("button[name=preview]", false)
	page.Click("#scope-checks")
	visible("#checks", true)
	page.Type("#filter", "ORDERS")
	page.Wait("[...document.querySelectorAll('#checks .choice')].filter((c) => c.checkVisibility()).length === 1")
	page.Click("#checks .choice:not([hidden]) input")
	page.WaitText("#preview", "Covers 1 check: orders-export")
	page.Click("#when-recurring")
	visible("#for", false)
	visible("#schedule", true)
	page.Type("#schedule", "0 3 * * SUN")
	page.Type("#each", "90 min")
	page.WaitText("#preview", "and so on")
	page.Type("#filter", "nothing at all")
	page.Wait("[...document.querySelectorAll('#checks .choice')].filter((c) => c.checkVisibility()).length === 1") // what is ticked stays
	for _, size := range []browsertest.Size{browsertest.Narrow, browsertest.Wide} {
		page.Resize(size)
		page.Fits()
		page.Axe()
	}
	page.Submit("form .primary")
	page.WaitText(".notice", "Maintenance planned.")
}

// TestMaintenanceFormWithoutScript previews maintenance with scripts turned off.
func TestMaintenanceFormWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	page := s.browser(s.keys.ReadWrite)
	page.NoScript()
	page.Go(s.path("maintenance"))
	page.Submit("button[name=preview]")
	page.WaitText("#preview", "Covers 5 checks")
	page.Submit("form .primary")
	page.WaitText(".notice", "Maintenance until")
}
