package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestHostileQueries: no number, instant or text in a query makes a page fail.
func TestHostileQueries(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Tags: []string{"db"}})
	b := s.SignedIn(s.Keys.ReadWrite)
	values := []string{
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "92233720368547758", "-1", "0", "1e300", "NaN", "0x10", "\x00", "\xff",
		"0000-01-01T00:00Z", "0001-01-01T00:00Z", "9999-12-31T23:59Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00", "9999-12-31T23:59",
		"9223372036854775807-9223372036854775807", "-62135596800000000-1",
	}
	for path, names := range map[string][]string{
		s.Path(""): {"page", "sort", "state", "tag", "reach"}, s.Path("board"): {"at", "span"}, s.Path("failures"): {"at", "check"},
		s.Path("history"): {"before", "integration", "kind"}, s.Path("deliveries"): {"before", "integration", "state", "check"}, s.Path("badges"): {"page", "as"},
		"/checks/" + c.UniqueKey(): {"before", "kind", "rehearse"}, "/checks/" + c.UniqueKey() + "/rehearse": {"rehearse", "at"}, s.Path("integrations/new"): {"kind"},
	} {
		for _, name := range names {
			for _, value := range values {
				if a := b.Get(path + "?" + name + "=" + url.QueryEscape(value)); a.Status >= 500 {
					t.Errorf("%s?%s=%q: status %d", path, name, value, a.Status)
				}
			}
		}
	}
}

func TestHostileNames(t *testing.T) {
	s := pagetest.New(t)
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	s.Create(checks.Spec{Name: new(evil), Tags: []string{"<i>", `"x"`}})
	b := s.SignedIn(s.Keys.ReadWrite)
	for _, path := range []string{s.Path(""), s.Path("?q=" + url.QueryEscape(evil)), "/signin?next=" + url.QueryEscape("/"+evil)} {
		b.Get(path).Is(http.StatusOK).HasNo("<script>alert", "<img src=x", "<i>")
	}
}
