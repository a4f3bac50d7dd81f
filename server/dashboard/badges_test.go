package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestBadges(t *testing.T) {
	signer, err := badges.NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *config) {
		c.Signer, c.pages.BaseURL, c.BaseURL = signer, c.BaseURL, "https://api.example.org/jobs"
	})
	b := s.signedIn(s.keys.ReadOnly)
	b.get(s.path("badges")).is(http.StatusOK).has("backups: up")
	c := s.create(checks.Spec{Name: new(`<b>"x" [y](z)`), Tags: []string{"prod", "*"}, Timeout: new(time.Hour), Grace: new(time.Hour)})
	if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	s.advance(90 * time.Minute)
	// The page is read as a browser does: entities in it stand for characters.
	read := func(query string) string {
		return html.UnescapeString(b.get(s.path("badges" + query)).is(http.StatusOK).body)
	}
	page := b.get(s.path("badges")).has("backups: late", "prod: late", `aria-label="&lt;b&gt;&#34;x&#34; [y](z): late"`).hasNo("<b>\"x\"", `badge of the tag *"`)
	for _, path := range []string{signer.Path(s.project.BadgeKey, "*", badges.SVG, true), signer.Path(s.project.BadgeKey, "prod", badges.SVG, true), badges.CheckPath(c.BadgeKey.String(), badges.SVG, true)} {
		if !strings.Contains(html.UnescapeString(page.body), "](https://api.example.org/jobs"+path+")") {
			t.Errorf("no badge at %s", path)
		}
	}
	if text := read(""); !strings.Contains(text, `![\<b\>"x" \[y\](z)](https://`) {
		t.Errorf("no Markdown of the check: %s", text)
	}
	if text := read("?as=html"); !strings.Contains(text, `alt="&lt;b&gt;&#34;x&#34; [y](z)">`) {
		t.Errorf("no HTML of the check: %s", text)
	}
	if text := read("?states=2&as=shields&q=prod"); !strings.Contains(text, "prod: up") || !strings.Contains(text, signer.Path(s.project.BadgeKey, "prod", badges.Shields, false)) || strings.Contains(text, "[y]") {
		t.Errorf("two states, found by text: %s", text)
	}
	if text := read("?" + url.Values{"as": {"<x>"}, "page": {"9"}, "q": {"none"}}.Encode()); !strings.Contains(text, "No matches") {
		t.Errorf("nothing: %s", text)
	}

	s = newSite(t)
	s.signedIn(s.keys.ReadOnly).get(s.path("badges")).is(http.StatusOK).has("backups: up")
}
