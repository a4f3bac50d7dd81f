package browsertest_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
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
	page.Click("button[value=read-only]")
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
