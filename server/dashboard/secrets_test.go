package dashboard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestNoSecretOnAnyPage walks all pages of a project, as an editor and as a reader, and looks for what no page may show.
func TestNoSecretOnAnyPage(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	secrets := []string{"t0psecret", "q7xz", "s3cretpath", "s3crettoken", "fr0mfile", s.Keys.ReadWrite, s.Keys.ReadOnly}
	s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "pin": "q7xz"})
	s.Channel(channels.Webhook, "<script>alert(1)</script>", map[string]string{"url_down": "https://example.org/s3cretpath", "headers_down": "X-Token: s3crettoken"})
	if _, err := s.Mon.Project(s.Project.ID).CreateChannel(t.Context(), channels.Channel{
		Kind: channels.Email, Name: "mail", Settings: map[string]string{"to": "fr0mfile@example.org"}, Sources: map[string]string{"to": "$ROLLCALL_TO"},
	}); err != nil {
		t.Fatal(err)
	}
	c := s.Create(checks.Spec{Name: new("<script>alert(2)</script>"), Tags: []string{"<script>alert(3)</script>"}, Slug: new("backup"), Channels: new("*")})
	r.Fail(pagetest.ErrEcho)
	s.GoDown(c)

	link := regexp.MustCompile(`(?:href|action)="(/[^"#]*)"`)
	walk := func(b *pagetest.Browser, edit bool) int {
		seen, queue := map[string]bool{}, []string{s.Path(""), s.Path("integrations/new?kind=pager")}
		for len(queue) > 0 {
			path := queue[0]
			queue = queue[1:]
			if seen[path] || strings.Contains(path, "/assets/") || strings.Contains(path, "/events") {
				continue
			}
			seen[path] = true
			page := b.Get(path)
			page.HasNo(secrets...)
			if strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
				page.HasNo("<script>alert")
			}
			if !edit {
				page.HasNo(s.Project.PingKey, `class="btn danger`, c.ID.String()) // the UUID allows pings
			}
			for _, found := range link.FindAllStringSubmatch(page.Body, -1) {
				queue = append(queue, strings.ReplaceAll(found[1], "&amp;", "&"))
			}
		}
		return len(seen)
	}
	editor, reader := walk(s.SignedIn(s.Keys.ReadWrite), true), walk(s.SignedIn(s.Keys.ReadOnly), false)
	if editor < 20 || reader < 6 {
		t.Errorf("walked %d and %d pages", editor, reader)
	}
}
