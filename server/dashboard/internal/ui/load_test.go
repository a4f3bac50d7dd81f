package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// A search has a bounded length, so that its cost is bounded.
func TestLongSearch(t *testing.T) {
	s := pagetest.New(t)
	s.Create(checks.Spec{Name: new("a b")})
	b := s.SignedIn(s.Keys.ReadWrite)
	long := strings.Repeat("a ", 30_000)
	for _, path := range []string{s.Path("?q="), s.Path("badges?q="), s.Path("integrations/new?q="), s.Path("deliveries?check=")} {
		page := b.Get(path + url.QueryEscape(long)).Is(http.StatusOK)
		if n := len(page.Body); n > 22_000 || strings.Contains(page.Body, long[:300]) {
			t.Errorf("%s: the page has %d bytes: the search is not cut", path, n)
		}
	}
	b.Get(s.Path("?q=" + url.QueryEscape(strings.Repeat("A ", 90)+"b"))).Is(http.StatusOK).Has("a b</a>")
}

// The pages of a key count together. What has not changed, or was just made for another viewer, does not count.
func TestPageLimit(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) { c.RateLimit = 1 })
	s.Create(checks.Spec{Name: new("backup")})
	b, other := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadWrite)
	_, version, _ := strings.Cut(b.Get(s.Path("")).Is(http.StatusOK).Body, `data-version="`)
	version, _, _ = strings.Cut(version, `"`)
	b.Header.Set("Rollcall-Version", version)
	for range 10 {
		b.Get(s.Path("")).Is(http.StatusNoContent)
	}
	b.Header.Set("Rollcall-Version", "older")
	for range 10 {
		b.Get(s.Path("")).Is(http.StatusOK)
	}
	b.Header.Del("Rollcall-Version")
	for range limit.PagesPerRequest - 2 {
		b.Get(s.Path("board")).Is(http.StatusOK)
	}
	for _, one := range []*pagetest.Browser{b, other} {
		refused := one.Get(s.Path("settings")).Is(http.StatusTooManyRequests).Has("Try again in 6 seconds.")
		if got := refused.Header.Get("Retry-After"); got != "6" {
			t.Errorf("Retry-After is %q", got)
		}
		one.Post(s.Path("bulk"), url.Values{"action": {"pause"}}).Is(http.StatusTooManyRequests)
	}
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("")).Is(http.StatusOK)
	s.Advance(6 * time.Second)
	b.Get(s.Path("settings")).Is(http.StatusOK)
}

// TestTooLargeForm: the page that refuses a form arrives whole, also if the client sends all of the form before it reads.
func TestTooLargeForm(t *testing.T) {
	s := pagetest.New(t)
	srv, err := server.New(s.Mon, &server.Config{BaseURL: s.Web.URL, Dashboard: &dashboard.Config{}})
	pagetest.NoError(t, err)
	s.Web.Config.Handler = srv
	b := s.SignedIn(s.Keys.ReadWrite)
	for _, path := range []string{"/signin", s.Path("bulk")} {
		for _, size := range []int{1 << 20, 3 << 20, 9 << 20} {
			b.Post(path, url.Values{"key": {strings.Repeat("x", size)}}).Is(http.StatusRequestEntityTooLarge).Has("The form is larger than 1 MB.", "</html>")
		}
	}
}
