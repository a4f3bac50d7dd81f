package project_test

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
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestBadges(t *testing.T) {
	signer, err := badges.NewSigner([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Signer, c.Pages.BaseURL, c.BaseURL = signer, c.BaseURL, "https://api.example.org/jobs"
	})
	b := s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("badges")).Is(http.StatusOK).Has("backups: up")
	c := s.Create(checks.Spec{Name: new(`<b>"x" [y](z)`), Tags: []string{"prod", "*"}, Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.Ping(c, pings.Signal{})
	s.Advance(90 * time.Minute)
	// The page is read as a browser does: entities in it stand for characters.
	read := func(query string) string {
		return html.UnescapeString(b.Get(s.Path("badges" + query)).Is(http.StatusOK).Body)
	}
	page := b.Get(s.Path("badges")).Has("backups: late", "prod: late", `aria-label="&lt;b&gt;&#34;x&#34; [y](z): late"`).HasNo("<b>\"x\"", `badge of the tag *"`)
	for _, path := range []string{signer.Path(s.Project.BadgeKey, "*", badges.SVG, true), signer.Path(s.Project.BadgeKey, "prod", badges.SVG, true), badges.CheckPath(c.BadgeKey.String(), badges.SVG, true)} {
		if !strings.Contains(html.UnescapeString(page.Body), "](https://api.example.org/jobs"+path+")") {
			t.Errorf("no badge at %s", path)
		}
	}
	if text := read(""); !strings.Contains(text, `![\<b\>"x" \[y\](z)](https://`) {
		t.Errorf("no Markdown of the check: %s", text)
	}
	if text := read("?as=html"); !strings.Contains(text, `alt="&lt;b&gt;&#34;x&#34; [y](z)">`) {
		t.Errorf("no HTML of the check: %s", text)
	}
	if text := read("?states=2&as=shields&q=prod"); !strings.Contains(text, "prod: up") || !strings.Contains(text, signer.Path(s.Project.BadgeKey, "prod", badges.Shields, false)) || strings.Contains(text, "[y]") {
		t.Errorf("two states, found by text: %s", text)
	}
	if text := read("?" + url.Values{"as": {"<x>"}, "page": {"9"}, "q": {"none"}}.Encode()); !strings.Contains(text, "No matches") {
		t.Errorf("nothing: %s", text)
	}

	s = pagetest.New(t)
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("badges")).Is(http.StatusOK).Has("backups: up")
}
