package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestPushWorker checks the headers of the service worker. Its path decides which pages it serves, and browsers refuse
// another media type.
func TestPushWorker(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) { c.BaseURL += "/jobs" })
	script := s.Browser().Get("/jobs/push.js").Is(http.StatusOK).Has(`addEventListener("push"`)
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Service-Worker-Allowed": "",
	} {
		if got := script.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if policy := script.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "worker-src 'self'") {
		t.Errorf("Content-Security-Policy: %s", policy)
	}
}
