package main

import (
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestAlertLink(t *testing.T) {
	c := checks.Check{ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f")}
	c.Name, c.Slug = "näht & ly/../?#$UUID%", "nightly"
	tests := []struct{ template, want string }{
		{"https://wiki.example.org/jobs", "https://wiki.example.org/jobs"},
		{"https://wiki.example.org:8443/$PROJECT/$SLUG", "https://wiki.example.org:8443/a%20b/nightly"},
		{"http://x/?id=$UUID&key=$UNIQUE_KEY#$SLUG", "http://x/?id=5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f&key=" + c.UniqueKey() + "#nightly"},
		{"https://x/$NAME", "https://x/n%C3%A4ht%20%26%20ly%2F..%2F%3F%23%24UUID%25"},
		{"https://x/%24%7Bx%7D$SLUG.html", "https://x/%24%7Bx%7Dnightly.html"},
	}
	for _, tt := range tests {
		var l linkTemplate
		if err := l.UnmarshalText([]byte(tt.template)); err != nil {
			t.Errorf("%s: %v", tt.template, err)
		}
		if got := l.expand(c, "a b"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.template, got, tt.want)
		}
	}
	for _, template := range []string{"", "x", "//x/", "ftp://x/", "https://", "https://u:p@x/", "https://$SLUG.example.org/", "https://x:$SLUG/",
		"https://x/$ID", "https://x/$UUIDS", "https://x/$", "https://x/$slug", "https://x/a b", "https://x/%zz", "https://x/\n"} {
		var l linkTemplate
		if err := l.UnmarshalText([]byte(template)); err == nil || l != "" {
			t.Errorf("%q is accepted", template)
		}
	}
}

// TestLinkOfUnnamed links to a page of the check alone, although the check has neither a name nor a slug.
func TestLinkOfUnnamed(t *testing.T) {
	c := checks.Check{ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f")}
	if got, want := linkTemplate("https://x/$SLUG/$NAME").expand(c, "p"), "https://x/"+c.ID.String()+"/5c1ae2b0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLinkAlerts checks where alerts lead to: the dashboard, unless the administrator says otherwise.
func TestLinkAlerts(t *testing.T) {
	c := checks.Check{ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f")}
	tests := []struct {
		serve serveCmd
		want  string
	}{
		{serveCmd{BaseURL: "https://rollcall.example.org/jobs"}, "https://rollcall.example.org/jobs/checks/" + c.UniqueKey()},
		{serveCmd{BaseURL: "https://rollcall.example.org", AlertLink: "https://wiki/$UUID"}, "https://wiki/" + c.ID.String()},
		{serveCmd{BaseURL: "https://rollcall.example.org", NoDashboard: true}, ""},
		{serveCmd{NoDashboard: true, AlertLink: "https://wiki/$UUID"}, "https://wiki/" + c.ID.String()},
	}
	for _, tt := range tests {
		got := ""
		if link := (&service{serveCmd: &tt.serve}).linkAlerts(); link != nil {
			got = link(c, "p")
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.serve, got, tt.want)
		}
		if link := (&service{serveCmd: &tt.serve}).linkLists(); (link != nil) != (tt.serve.AlertLink == "" && !tt.serve.NoDashboard) {
			t.Errorf("%+v: a link to the list: %t", tt.serve, link != nil)
		} else if got := "https://rollcall.example.org/jobs/projects/" + c.ID.String() + "/?state=down"; link != nil && link(c.ID, "p") != got {
			t.Errorf("the list is at %s, want %s", link(c.ID, "p"), got)
		}
	}
}
