package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// TestPushWorker checks the headers of the service worker. Its path decides which pages it serves, and browsers refuse
// another media type.
func TestPushWorker(t *testing.T) {
	s := newSite(t, func(c *config) { c.BaseURL += "/jobs" })
	script := s.browser().get("/jobs/push.js").is(http.StatusOK).has(`addEventListener("push"`)
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Service-Worker-Allowed": "",
	} {
		if got := script.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if policy := script.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "worker-src 'self'") {
		t.Errorf("Content-Security-Policy: %s", policy)
	}
}

// TestPushForm checks that a form offers to subscribe the browser only for a setting that is a subscription, and only if
// the server has a key.
func TestPushForm(t *testing.T) {
	for _, key := range []string{"", "k3y"} {
		s := newSiteOn(t, &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true}, func(c *config) { c.pages.PushKey = key })
		b := s.signedIn(s.keys.ReadWrite)
		b.get(s.path("integrations/new?kind=webhook")).is(http.StatusOK).hasNo("subscribe")
		form := b.get(s.path("integrations/new?kind=webpush")).is(http.StatusOK)
		if key == "" {
			form.hasNo(`id="subscribe"`, "subscribe.js")
			continue
		}
		form.has(`data-key="k3y" data-into="s-subscription" data-worker="/push.js" data-scope="/"`, "subscribe.js")
	}
}
