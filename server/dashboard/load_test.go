package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// A search has a bounded length, so that its cost is bounded.
func TestLongSearch(t *testing.T) {
	s := newSite(t)
	s.create(checks.Spec{Name: new("a b")})
	b := s.signedIn(s.keys.ReadWrite)
	long := strings.Repeat("a ", 30_000)
	for _, path := range []string{s.path("?q="), s.path("badges?q="), s.path("integrations/new?q="), s.path("deliveries?check=")} {
		page := b.get(path + url.QueryEscape(long)).is(http.StatusOK)
		if n := len(page.body); n > 20_000 || strings.Contains(page.body, long[:300]) {
			t.Errorf("%s: the page has %d bytes: the search is not cut", path, n)
		}
	}
	b.get(s.path("?q=" + url.QueryEscape(strings.Repeat("A ", 90)+"b"))).is(http.StatusOK).has("a b</a>")
}

// The pages of a key count together. What has not changed, or was just made for another viewer, does not count.
func TestPageLimit(t *testing.T) {
	s := newSite(t, func(c *config) { c.RateLimit = 1 })
	s.create(checks.Spec{Name: new("backup")})
	b, other := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadWrite)
	_, version, _ := strings.Cut(b.get(s.path("")).is(http.StatusOK).body, `data-version="`)
	version, _, _ = strings.Cut(version, `"`)
	b.header.Set("Rollcall-Version", version)
	for range 10 {
		b.get(s.path("")).is(http.StatusNoContent)
	}
	b.header.Set("Rollcall-Version", "older")
	for range 10 {
		b.get(s.path("")).is(http.StatusOK)
	}
	b.header.Del("Rollcall-Version")
	for range limit.PagesPerRequest - 2 {
		b.get(s.path("board")).is(http.StatusOK)
	}
	for _, one := range []*browser{b, other} {
		refused := one.get(s.path("settings")).is(http.StatusTooManyRequests).has("Try again in 6 seconds.")
		if got := refused.header.Get("Retry-After"); got != "6" {
			t.Errorf("Retry-After is %q", got)
		}
		one.post(s.path("bulk"), url.Values{"action": {"pause"}}).is(http.StatusTooManyRequests)
	}
	s.signedIn(s.keys.ReadOnly).get(s.path("")).is(http.StatusOK)
	s.advance(6 * time.Second)
	b.get(s.path("settings")).is(http.StatusOK)
}

// TestTooLargeForm: the page that refuses a form arrives whole, also if the client sends all of the form before it reads.
func TestTooLargeForm(t *testing.T) {
	s := newSite(t)
	srv, err := server.New(s.mon, &server.Config{BaseURL: s.web.URL, Dashboard: &dashboard.Config{}})
	noError(t, err)
	s.web.Config.Handler = srv
	b := s.signedIn(s.keys.ReadWrite)
	for _, path := range []string{"/signin", s.path("bulk")} {
		for _, size := range []int{1 << 20, 3 << 20, 9 << 20} {
			b.post(path, url.Values{"key": {strings.Repeat("x", size)}}).is(http.StatusRequestEntityTooLarge).has("The form is larger than 1 MB.", "</html>")
		}
	}
}

// TestHostileQueries: no number, instant or text in a query makes a page fail.
func TestHostileQueries(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Tags: []string{"db"}})
	b := s.signedIn(s.keys.ReadWrite)
	values := []string{
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "92233720368547758", "-1", "0", "1e300", "NaN", "0x10", "\x00", "\xff",
		"0000-01-01T00:00Z", "0001-01-01T00:00Z", "9999-12-31T23:59Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00", "9999-12-31T23:59",
		"9223372036854775807-9223372036854775807", "-62135596800000000-1",
	}
	for path, names := range map[string][]string{
		s.path(""): {"page", "sort", "state", "tag", "reach"}, s.path("board"): {"at", "span"}, s.path("failures"): {"at", "check"},
		s.path("history"): {"before", "integration", "kind"}, s.path("deliveries"): {"before", "integration", "state", "check"}, s.path("badges"): {"page", "as"},
		"/checks/" + c.UniqueKey(): {"before", "kind", "rehearse"}, "/checks/" + c.UniqueKey() + "/rehearse": {"rehearse", "at"}, s.path("integrations/new"): {"kind"},
	} {
		for _, name := range names {
			for _, value := range values {
				if a := b.get(path + "?" + name + "=" + url.QueryEscape(value)); a.status >= 500 {
					t.Errorf("%s?%s=%q: status %d", path, name, value, a.status)
				}
			}
		}
	}
}
